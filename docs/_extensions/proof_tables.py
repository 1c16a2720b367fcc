"""Tables for the documentation, made from what the tests and the classes declare. Needs no Sphinx."""

import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def _find_tests() -> None:
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))


def read_differences() -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """The classes put in the place of scikit-learn's, and the reason for each of its tests that differs."""
    _find_tests()
    from mercer.app.switch.differences import DIFFERENCES, REPLACED

    return REPLACED, DIFFERENCES


def render_differences(replaced: dict[str, tuple[str, ...]], differences: dict[str, str]) -> str:
    """Which classes take part, then one table per test module, tests of one reason in one row."""
    classes = [f"`{family}.{name}`" for family, names in sorted(replaced.items()) for name in names]
    lines = [f"scikit-learn's tests are run with {', '.join(classes) or 'no class yet'} in the place of its own.", ""]
    modules: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for pattern, reason in differences.items():
        module, _, test = pattern.partition("::")
        modules[module][reason].append(test or "*")
    for module, reasons in sorted(modules.items()):
        lines += [f"**`{module}.py`**", "", "| reason | tests |", "|---|---|"]
        lines += [f"| {_prose(reason)} | {_codes(tests)} |" for reason, tests in reasons.items()]
        lines.append("")
    if not modules:
        lines += ["No test is expected to fail: there is no deliberate difference.", ""]
    return "\n".join(lines)


def list_models() -> list[Any]:
    """Every public estimator, in each setting that the laws try."""
    _find_tests()
    from tests.laws.subjects import subjects

    return [subject.make() for subject in subjects()]


def render_exceptions(models: list[Any]) -> str:
    """The laws and scikit-learn checks that a class is exempt from, in some setting at least, each with its reason."""
    rows: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for model in models:
        for declared in ("_law_exceptions", "_check_exceptions"):
            for name, reason in getattr(model, declared, {}).items():
                rows[type(model).__name__, reason][name] = None
    if not rows:
        return "No class declares an exception.\n"
    lines = [f"| `{name}` | {_codes(list(laws))} | {_prose(reason)} |" for (name, reason), laws in rows.items()]
    return "\n".join(["| class | exempt from | reason |", "|---|---|---|", *lines, ""])


def render_numbers() -> str:
    """Return the measured table of README.md without its column of links, which lead to files of the repository."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.split("<!-- numbers: ", 1)[1].split("-->", 1)[1].split("<!-- end of numbers -->", 1)[0]
    return "\n".join("|".join(line.split("|")[:4]) + "|" for line in table.strip().splitlines())


def render_places(models: list[Any]) -> str:
    """In which places each class runs, as its tags say."""
    from mercer._source.opening import PLACES

    tags = {type(model).__name__: model.__sklearn_tags__() for model in models}
    lines = [
        "| class | " + " | ".join(PLACES) + " | all rows at once, because |",
        "|---|" + ":-:|" * len(PLACES) + "---|",
    ]
    for name, tag in sorted(tags.items()):
        marks = ["yes" if place in tag.places else "all" if _is_gathered(tag, place) else "" for place in PLACES]
        why = tag.needs_rows if "all" in marks else ""
        lines.append(f"| `{name}` | " + " | ".join(marks) + f" | {why} |")
    kinds = [f"- **{place}**: {what}" for place, what in PLACES.items()]
    return "\n".join([*lines, "", *kinds, ""])


def _is_gathered(tag: Any, place: str) -> bool:
    """Return whether rows of a place are brought to memory for a fit."""
    return bool(tag.needs_rows) and place != "device" and place not in tag.places


def render_stable_names() -> str:
    """The stable names of each module, those of scikit-learn first."""
    _find_tests()
    from tools.stable_names import is_scikit_name, is_stable, list_public

    modules: dict[str, list[tuple[bool, str]]] = defaultdict(list)
    experimental: dict[str, int] = defaultdict(int)
    for module, name, _ in list_public():
        if is_stable(module, name):
            modules[module].append((not is_scikit_name(module, name), name))
        else:
            experimental[module] += 1
    lines = [
        "| module | stable because scikit-learn has them | stable besides | number of experimental names |",
        "|---|---|---|---|",
    ]
    for module in sorted({*modules, *experimental}):
        theirs, ours = (
            _codes([name for own, name in sorted(modules[module]) if own is mine]) for mine in (False, True)
        )
        lines.append(f"| `{module}` | {theirs or '-'} | {ours or '-'} | {experimental[module]} |")
    return "\n".join([*lines, ""])


def list_experimental() -> frozenset[str]:
    """The addresses of the experimental names."""
    _find_tests()
    from tools import stable_names

    return stable_names.list_experimental()


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", r"\|")


def _prose(text: str) -> str:
    """A table cell of plain words: names such as ``_private_`` are no emphasis."""
    parts = re.split(r"(`[^`]*`)", _cell(text))
    return "".join(part if part.startswith("`") else re.sub(r"([_*<])", r"\\\1", part) for part in parts)


def _codes(tests: list[str]) -> str:
    return ", ".join(f"`{_cell(test)}`" for test in sorted(tests))

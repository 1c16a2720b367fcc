"""Tables for the documentation, made from what the tests and the classes declare. Needs no Sphinx."""

import importlib
import inspect
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def read_differences() -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """The classes put in the place of scikit-learn's, and the reason for each of its tests that differs."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from tests.sklearn_suite.differences import DIFFERENCES, REPLACED

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


def list_estimators() -> list[type]:
    """Every public estimator class, by name."""
    from mercer._families import FAMILIES

    packages = [importlib.import_module(f"mercer.{family}") for family in FAMILIES]
    found = {getattr(package, name) for package in packages for name in package.__all__}
    return sorted((one for one in found if inspect.isclass(one)), key=lambda one: one.__name__)


def render_exceptions(estimators: list[Any]) -> str:
    """The laws and scikit-learn checks that a class is exempt from, each with its reason."""
    rows = []
    for estimator in estimators:
        for kind, declared in (("law", "_law_exceptions"), ("scikit-learn check", "_check_exceptions")):
            for name, reason in getattr(estimator, declared, {}).items():
                rows.append(f"| `{estimator.__name__}` | {kind} `{_cell(name)}` | {_prose(reason)} |")
    if not rows:
        return "No class declares an exception.\n"
    return "\n".join(["| class | exempt from | reason |", "|---|---|---|", *rows, ""])


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", r"\|")


def _prose(text: str) -> str:
    """A table cell of plain words: names such as ``_private_`` are no emphasis."""
    parts = re.split(r"(`[^`]*`)", _cell(text))
    return "".join(part if part.startswith("`") else re.sub(r"([_*<])", r"\\\1", part) for part in parts)


def _codes(tests: list[str]) -> str:
    return ", ".join(f"`{_cell(test)}`" for test in sorted(tests))

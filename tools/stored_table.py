#!/usr/bin/env python3
"""Write docs/stored_attributes.md, the attributes that model files hold, from the declarations of the classes.

``python -m tools.stored_table`` rewrites the page; a test checks that it is up to date.
"""

import importlib
from pathlib import Path

from mercer._base.estimator import Estimator
from mercer._families import FAMILIES
from mercer._stored import collect_stored

PAGE = Path(__file__).parents[1] / "docs" / "stored_attributes.md"
HEAD = """\
# Attributes in model files

This page is made from the declarations (`_stored`) of the classes by `python -m tools.stored_table`. A [model
file](model_files.md) holds these attributes beside the parameters of the class, and `mercer.load` refuses others.

A word in a shape is a size: wherever it occurs in one object it stands for the same number. `columns` is
`n_features_in_` and `classes` the number of classes; `*` is any length, `...` any shape.

## All estimators

"""


def make_page() -> str:
    """Return the page as Markdown."""
    parts = [HEAD + make_table(Estimator._stored)]
    for family in FAMILIES:
        module = importlib.import_module(f"mercer.{family}")
        classes = [getattr(module, name) for name in sorted(module.__all__)]
        own = [cls for cls in classes if isinstance(cls, type) and issubclass(cls, Estimator)]
        if own:
            parts.append(f"## `mercer.{family}`\n")
        for cls in own:
            rules = {
                name: rule for name, rule in collect_stored(cls).items() if Estimator._stored.get(name) is not rule
            }
            parts.append(f"### {cls.__name__}\n\n{make_table(rules)}")
    return "\n".join(parts)


def make_table(rules: dict[str, object]) -> str:
    """Return the table of some declarations."""
    rows = [f"| `{name}` | {_escape(rule.describe())} |" for name, rule in sorted(rules.items())]  # type: ignore[attr-defined]
    return "\n".join(["| attribute | is |", "|---|---|", *rows]) + "\n" if rows else "Only those of all estimators.\n"


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def main() -> None:
    """Write the page."""
    PAGE.write_text(make_page(), encoding="utf-8")


if __name__ == "__main__":
    main()

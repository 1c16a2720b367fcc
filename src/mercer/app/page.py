"""One self-contained HTML page: no scripts, no fonts, no files beside it."""

import platform
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

import mercer
from mercer import _native

__all__ = ["write_page"]


def write_page(sections: Sequence[Any], path: Path) -> None:
    """Render the sections to `path`, making its folder if need be."""
    template = (files("mercer.app") / "page.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["svg"] = Markup
    facts = {
        "mercer": mercer.__version__,
        "scikit-learn": version("scikit-learn"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "native code": _native.level(),
        "made": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(environment.from_string(template).render(sections=sections, facts=facts), encoding="utf-8")

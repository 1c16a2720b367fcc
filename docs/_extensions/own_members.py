"""Leave scikit-learn's inherited methods out of class pages.

They are documented where they are defined, and their texts refer to pages that only scikit-learn has.
"""

from typing import Any


def skip_foreign(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Skip what was written outside mercer; leave the rest to autodoc."""
    home = getattr(member, "__module__", None) or getattr(getattr(member, "fget", None), "__module__", None) or ""
    return True if home.split(".")[0] == "sklearn" else None


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-skip-member", skip_foreign)
    return {"parallel_read_safe": True}

"""A pytest plugin that puts one mutant in place of its module."""

import importlib.abc
import importlib.machinery
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType

from tools.mutation.mutants import mutate_source

_PATH = Path(os.environ["MUTATION_PATH"])
_INDEX = int(os.environ["MUTATION_INDEX"])


class _Loader(importlib.machinery.SourceFileLoader):
    """Load the mutant in place of the module."""

    def get_code(self, fullname: str) -> CodeType:
        return compile(mutate_source(_PATH, _INDEX), str(_PATH), "exec")


class _Finder(importlib.abc.MetaPathFinder):
    """Find the one module that is changed, and leave all others to the next finder."""

    def find_spec(
        self, fullname: str, path: object, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _name_module(_PATH):
            return None
        loader = _Loader(fullname, str(_PATH))
        package = [str(_PATH.parent)] if _PATH.name == "__init__.py" else None
        spec = ModuleSpec(fullname, loader, origin=str(_PATH), is_package=package is not None)
        spec.submodule_search_locations = package
        spec.has_location = True
        return spec


def _name_module(path: Path) -> str:
    """Return the dotted name of the module at `path`, which lies under ``src``."""
    parts = path.with_suffix("").parts
    parts = parts[parts.index("src") + 1 :]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


sys.meta_path.insert(0, _Finder())

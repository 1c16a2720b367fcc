"""No module that is installed imports, when it is imported itself, a package that its requirements do not bring."""

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

from tools.wheel_check.contents import list_native_modules

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
NATIVE = list_native_modules()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# What is imported under another name than it is installed by.
IMPORT_NAMES = {"scikit-learn": "sklearn"}
# Rooms whose modules are imported only by who has the extra, and by whose options. No other module may import them.
OPTIONAL = {"mercer.app": "app", "mercer._source.dask": "dask"}
# Packages that functions import when they are called with something that only these packages make.
BROUGHT_BY_CALLERS = {
    "array_api_strict": "arrays of this package are the caller's",
    "cupy": "its name depends on the CUDA version, so that no extra can name it; arrays are the caller's",
    "cupyx": "a part of CuPy",
    "triton": "comes with PyTorch on the systems that it exists for; the caller does without it elsewhere",
}


def read_packages(requirements):
    """Return the names by which the required packages are imported."""
    names = [re.match(r"[\w.-]+", one)[0] for one in requirements]
    return {IMPORT_NAMES.get(name, name).replace("-", "_").lower() for name in names}


REQUIRED = read_packages(PROJECT["dependencies"])
EXTRAS = {name: read_packages(listed) for name, listed in PROJECT["optional-dependencies"].items()}


def is_guard(node):
    """Whether a statement's body is not run where a package is missing: TYPE_CHECKING, or an import that may fail."""
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    return isinstance(node, ast.Try) and any(
        handler.type is None or re.search(r"ImportError|ModuleNotFoundError|Exception", ast.unparse(handler.type))
        for handler in node.handlers
    )


def list_imports(tree, deep=False):
    """Yield the imports that run when a module is imported; with `deep`, all others too."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif deep or not (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or is_guard(node)):
            yield from list_imports(node, deep)


def name_of(path):
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


TREES = {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in (SOURCE / "mercer").rglob("*.py")}


@cache
def list_needs(module):
    """Return the packages that a module imports at once, and the modules of the library that come with it."""
    packages, modules = set(), set()
    for name in list_imports(TREES[module]):
        package = name.split(".")[0]
        if package == "mercer":
            modules |= find_modules(name)
        elif package not in sys.stdlib_module_names:
            packages.add(package)
    # A module is imported after the packages around it.
    parents = module.split(".")[:-1]
    return packages, modules | {".".join(parents[: n + 1]) for n in range(len(parents))}


def find_modules(name):
    """Return the module that an import runs: the name itself, or the one that it is taken from."""
    room, _, last = name.rpartition(".")
    if room.startswith("mercer._native.") and last in NATIVE:
        return {room}  # the compiled module, not its source
    return {name} if name in TREES else {room} & set(TREES)


def is_native_source(module):
    """Whether a module is translated, inlined, or run only where Cython is installed."""
    room, _, name = module.rpartition(".")
    return room.startswith("mercer._native.") and (
        name in NATIVE or "cython" in {one.split(".")[0] for one in list_imports(TREES[module])}
    )


def find_all_needs(module):
    """Return the packages that an import of a module needs, each with the module that imports it."""
    found, seen, queue = {}, {module}, [module]
    while queue:
        packages, modules = list_needs(current := queue.pop())
        found |= {package: current for package in packages if package not in found}
        queue += modules - seen
        seen |= modules
    return found


def find_extra(module):
    return next((extra for room, extra in OPTIONAL.items() if f"{module}.".startswith(f"{room}.")), None)


def test_modules_need_only_what_the_requirements_bring():
    wrong = {}
    for module in TREES:
        extra = find_extra(module)
        allowed = REQUIRED | (EXTRAS[extra] if extra else set())
        if not is_native_source(module):
            lacking = {package: place for package, place in find_all_needs(module).items() if package not in allowed}
            wrong |= {package: f"{place}, which {module} imports" for package, place in lacking.items()}
    assert not wrong, "pip does not install these packages with mercer"


def test_functions_import_only_packages_of_some_extra():
    known = REQUIRED.union(
        BROUGHT_BY_CALLERS, *(EXTRAS[extra] for extra in ("app", "files", "onnx", "interop", "dask", "gpu"))
    )
    wrong = {
        (package, module)
        for module, tree in TREES.items()
        if not module.startswith("mercer._native.")
        for package in {name.split(".")[0] for name in list_imports(tree, deep=True)}
        if package != "mercer" and package not in sys.stdlib_module_names and package not in known
    }
    assert not wrong


def test_a_module_that_imports_cython_is_found(monkeypatch):
    monkeypatch.setitem(TREES, "mercer.wrong", ast.parse("from mercer._native.boosting import leaves"))
    assert find_all_needs("mercer.wrong")["cython"] == "mercer._native.boosting.leaves"


def test_imports_inside_functions_and_guards_do_not_run_at_once():
    text = "if TYPE_CHECKING:\n    import a\ntry:\n    import b\nexcept ImportError:\n    b = None\n"
    text += "def f():\n    import c\nclass C:\n    import d\nif x:\n    import e.f\n"
    assert list(list_imports(ast.parse(text))) == ["d", "e.f"]
    assert list(list_imports(ast.parse(text), deep=True)) == ["a", "b", "c", "d", "e.f"]

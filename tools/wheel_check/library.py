"""Try an installed library: every public name, every estimator, every example of the README.

Runs in an environment that has the library's requirements alone; what fails is listed, and the status is then 1.
"""

import importlib
import importlib.util
import pickle
import shutil
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path

# Rows of a fit: as few as every setting of the laws can be fitted to.
ROWS = 60
ABSENT_MODULES = ("Cython", "cython", "mesonpy", "pytest", "pandas")
ABSENT_PROGRAMS = ("cc", "gcc", "clang", "cl", "meson", "ninja", "cython")
# What a check found: the subject, and what is wrong with it.
Failures = Iterator[tuple[str, str]]


def main() -> int:
    """Return 0 if everything works, after a line for each thing that does not."""
    warnings.simplefilter("ignore")
    checks = (check_surroundings, check_names, check_native_modules, check_estimators, check_readme)
    failures = [failure for check in checks for failure in check()]
    for subject, reason in failures:
        print(f"{subject}: {reason}")
    print(f"{len(failures)} failures")
    return int(bool(failures))


def check_surroundings() -> Failures:
    """Yield what is there that a user's machine need not have."""
    for name in ABSENT_MODULES:
        if importlib.util.find_spec(name) is not None:
            yield name, "this package must not be here"
    for name in ABSENT_PROGRAMS:
        if place := shutil.which(name):
            yield name, f"this program must not be here, but is at {place}"
    if Path(sys.prefix).resolve() not in find_package().resolve().parents:
        yield "mercer", f"it is not the installed one, but lies at {find_package()}"


def find_package() -> Path:
    """Return the folder of the installed library."""
    import mercer

    return Path(mercer.__file__).parent


def list_public_modules() -> list[str]:
    """Return the names of the modules without the command line, which needs an extra, and without private ones."""
    found = []
    for path in find_package().rglob("*.py"):
        parts = ("mercer", *path.relative_to(find_package()).with_suffix("").parts)
        if "app" not in parts and not any(part.startswith("_") and part != "__init__" for part in parts):
            found.append(".".join(parts).removesuffix(".__init__"))
    return sorted(found)


def check_names() -> Failures:
    """Yield the public names that cannot be imported."""
    for name in list_public_modules():
        try:
            module = importlib.import_module(name)
        except Exception as error:
            yield name, describe(error)
            continue
        for public in getattr(module, "__all__", ()):
            try:
                getattr(module, public)
            except Exception as error:
                yield f"{name}.{public}", describe(error)


def check_native_modules() -> Failures:
    """Yield the native modules that cannot be imported, at each level that was built and that this CPU runs."""
    import numpy as np

    from mercer._native.level import list_built_levels

    for level in list_built_levels():
        for path in sorted((find_package() / "_native" / level).iterdir()):
            name = f"mercer._native.{level}.{path.name.split('.')[0]}"
            try:
                importlib.import_module(name)
            except Exception as error:
                yield name, describe(error)
        out = np.empty(9)
        importlib.import_module(f"mercer._native.{level}.elementary").exp(np.zeros(9), out)
        if not (out == 1.0).all():
            yield f"mercer._native.{level}.elementary.exp", f"the exponential of 0 is {out[0]}"


def check_estimators() -> Failures:
    """Yield the estimators that cannot be fitted, saved, loaded or pickled, or are another one afterwards."""
    try:
        from tests.laws.subjects import subjects

        tried = subjects()
    except Exception as error:
        yield "settings of the laws", describe(error)
        return
    for subject in tried:
        try:
            _try_estimator(subject)
        except Exception as error:
            yield " ".join(repr(subject).split()), describe(error)


def _try_estimator(subject) -> None:
    """Fit one estimator in one setting, and raise unless the saved and the pickled model say the same as it does."""
    import mercer
    from tests.laws.subjects import digest, outputs

    X, y = subject.data(ROWS, 5)
    model = subject.make().fit(X, y)
    said = digest(outputs(model, X))
    mercer.save(model, "model.mercer")
    assert digest(outputs(mercer.load("model.mercer"), X)) == said, "the loaded model predicts otherwise"
    assert digest(outputs(pickle.loads(pickle.dumps(model)), X)) == said, "the pickled model predicts otherwise"


def check_readme() -> Failures:
    """Yield why the examples of the README do not run."""
    from tools.code_blocks import run_page

    try:
        run_page(Path(__file__).parents[2] / "README.md")
    except Exception as error:
        yield "README.md", describe(error)


def describe(error: Exception) -> str:
    """Return an error and the line of the library that raised it."""
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if "mercer" in Path(frame.filename).parts]
    where = f" ({'/'.join(Path(places[-1].filename).parts[-3:])}, line {places[-1].lineno})" if places else ""
    text = str(error).splitlines()[0] if str(error) else ""
    return f"{type(error).__name__}: {text}{where}"


if __name__ == "__main__":
    raise SystemExit(main())

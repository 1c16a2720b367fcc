"""Build a wheel for an environment, install it in a fresh virtual environment, and run the tests there."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.matrix.environments import ROOT, Environment, name_python

# Packages of the tests besides mercer's own dependencies; tests that need torch, Dask or Polars are left out.
PACKAGES = (
    *(
        "pytest>=8",
        "pytest-xdist",
        "hypothesis",
        "mpmath",
        "cython>=3.3,<3.4",
        "array-api-strict",
        "array-api-compat",
        "pandas",
    ),
    "rich",
)
# The numeric id of the user `nobody` on Linux and macOS.
NOBODY = 65534
# Conditions that only root can make, by giving the run to another user.
NEED_ANOTHER_USER = frozenset({"user without root", "read-only checkout"})
# Failed tests that an outcome names.
MOST_NAMED = 5
# Seconds that one run of the tests may take.
LIMIT = 3600
# Programs for an interpreter: print the versions that matter, the folder of its own packages, and all such folders.
VERSIONS = (
    "import platform, numpy, scipy, sklearn; "
    "print('Python', platform.python_version(), 'NumPy', numpy.__version__, 'SciPy', scipy.__version__, "
    "'scikit-learn', sklearn.__version__)"
)
OWN_FOLDER = "import sysconfig; print(sysconfig.get_path('purelib'))"
FOLDERS = "import sys; print(*(path for path in sys.path if path.endswith('-packages')), sep='\\n')"


@dataclass(frozen=True)
class Outcome:
    """How a run ended: `passed` is None where this machine cannot make the environment; `text` is the last line.

    `versions` names those of the interpreter and the dependencies, and `tests` the files and folders that were run.
    """

    name: str
    passed: bool | None
    text: str
    versions: str = ""
    tests: tuple[str, ...] = ()


def run_environment(environment: Environment, folder: Path, store: Path, workers: int = 0) -> Outcome:
    """Run the tests of one environment inside `folder`, which belongs to it alone; `store` keeps wheels for others.

    `workers` processes run the tests, and 0 means this one alone.
    """
    if reason := _find_obstacle(environment):
        return Outcome(environment.name, None, reason)
    try:
        # A wheel serves all environments of one interpreter and one compiler.
        built_by = f"{name_python(environment.python)} {Path(environment.compiler).name}"
        install = _install_offline if environment.offline else _install
        python = install(environment, folder, store / built_by.strip())
    except subprocess.CalledProcessError as error:
        return Outcome(environment.name, False, f"could not be built: {error.stderr.strip().splitlines()[-1][:200]}")
    checkout = _copy_checkout(environment, folder)
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", "-W", "ignore"]
    command += ["-n", str(workers)] if workers else []
    ignored = [f"--ignore={test}" for test in _list_tests_with_extras(checkout)]
    with _conditions(environment, checkout) as options:
        ran = subprocess.run(
            [*command, *ignored, *environment.tests],
            cwd=checkout,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
            **options,
        )
    (folder / "output.txt").write_text(ran.stdout + ran.stderr)
    versions = _call(str(python), "-c", VERSIONS).strip()
    return Outcome(environment.name, ran.returncode == 0, _summarise(ran.stdout), versions, environment.tests)


def _summarise(said: str) -> str:
    """Return the last line of pytest, and the names of the first tests that failed."""
    lines = said.strip().splitlines() or ["no output"]
    failed = [line.split()[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return f"{lines[-1]}: {', '.join(failed[:MOST_NAMED])}" if failed else lines[-1]


def _find_obstacle(environment: Environment) -> str | None:
    """Return why this machine cannot make an environment, or None if it can."""
    if not environment.conditions & NEED_ANOTHER_USER:
        return None
    if os.geteuid() != 0:
        return "needs root, to run the tests as another user"
    real = Path(environment.python).resolve()
    closed = [str(parent) for parent in real.parents if not parent.stat().st_mode & 0o001]
    return f"the interpreter lies in {closed[0]}, which other users may not enter" if closed else None


def _install(environment: Environment, folder: Path, wheels: Path) -> Path:
    """Return the interpreter of a fresh virtual environment with a wheel that was built for it."""
    venv = folder / ("virtual environment" if "space in path" in environment.conditions else "venv")
    _call(environment.python, "-m", "venv", str(venv))
    python = venv / "bin" / "python"
    wheel = _find_wheel(environment, str(python), wheels, [])
    _call(str(python), "-m", "pip", "install", "--quiet", wheel, *environment.pins, *PACKAGES)
    return python


def _install_offline(environment: Environment, folder: Path, wheels: Path) -> Path:
    """Return the interpreter of a virtual environment that has mercer's wheel, and all that another one has installed.

    The other one needs the packages of the tests, and where no wheel is stored yet, those of the build. A mercer that
    it may have is not seen: the new environment's own packages come first.
    """
    venv = folder / "venv"
    _call(environment.python, "-m", "venv", "--without-pip", str(venv))
    python = venv / "bin" / "python"
    own = Path(_call(str(python), "-c", OWN_FOLDER).strip())
    (own / "packages_of_another.pth").write_text(_call(environment.python, "-c", FOLDERS))
    wheel = _find_wheel(environment, environment.python, wheels, ["--no-index", "--no-build-isolation"])
    pip = (environment.python, "-m", "pip", "--python", str(python))
    _call(*pip, "install", "--quiet", "--no-index", "--no-deps", "--ignore-installed", wheel)
    return python


def _find_wheel(environment: Environment, python: str, wheels: Path, options: list[str]) -> str:
    """Return the wheel that is stored for an environment, or build one with the pip of `python`.

    A wheel older than a file of the package is built anew: newer tests would be tried on it.
    """
    changed = max(
        path.stat().st_mtime for path in (ROOT / "src").rglob("*") if path.is_file() and path.suffix != ".pyc"
    )
    for stored in wheels.glob("mercer-*.whl"):
        if stored.stat().st_mtime < changed:
            stored.unlink()
    if not list(wheels.glob("mercer-*.whl")):
        options = [*options, "--no-deps", "--config-settings=setup-args=-Dlevels=host", "--wheel-dir", str(wheels)]
        compiler = {"CC": environment.compiler} if environment.compiler else {}
        _call(python, "-m", "pip", "wheel", "--quiet", *options, str(ROOT), variables=compiler)
    (wheel,) = wheels.glob("mercer-*.whl")
    return str(wheel)


def _call(*command: str, variables: dict[str, str] | None = None) -> str:
    """Run a command with further environment variables and return what it printed; raise if it fails."""
    variables = os.environ | (variables or {})
    return subprocess.run(command, check=True, capture_output=True, text=True, env=variables).stdout


def _copy_checkout(environment: Environment, folder: Path) -> Path:
    """Return a copy of the tests and what they read; the library itself is the installed one."""
    checkout = folder / ("check out" if "space in path" in environment.conditions else "checkout")
    for name in ("tests", "tools", "benchmarks", "docs", "pyproject.toml", "CHANGELOG.md", "README.md"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, checkout / name, ignore=shutil.ignore_patterns("__pycache__", "_build"))
        else:
            shutil.copy(source, checkout / name)
    return checkout


def _list_tests_with_extras(checkout: Path) -> list[str]:
    """Return the test files that import a package which only an extra installs."""
    extras = ("import dask", "from dask", "import torch", "import polars", "import pyarrow", "from distributed")
    return [str(path) for path in checkout.rglob("test_*.py") if any(line in path.read_text() for line in extras)]


@contextmanager
def _conditions(environment: Environment, checkout: Path) -> Iterator[dict]:
    """Yield the arguments of the process that make the conditions, and undo what they changed."""
    conditions, options = environment.conditions, {}
    variables = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    if "no home" in conditions:
        variables.pop("HOME", None)
    if conditions & NEED_ANOTHER_USER:
        scratch = checkout.parent / "scratch"
        scratch.mkdir(mode=0o777)
        scratch.chmod(0o777)
        variables |= {"TMPDIR": str(scratch), "HOME": str(scratch)}
        options |= {"user": NOBODY, "group": NOBODY}
    if "user without root" in conditions:
        for path in (checkout, *checkout.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
    before = signal.getsignal(signal.SIGINT)
    if "sigint ignored" in conditions:
        # A child inherits a signal that is ignored, as from a script that runs in the background.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield options | {"env": variables}
    finally:
        signal.signal(signal.SIGINT, before)

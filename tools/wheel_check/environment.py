"""A new virtual environment for a wheel, and programs that see nothing but what is installed there."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What the checks themselves need, and the README; the library is the installed one.
CARRIED = (
    "tests/__init__.py",
    "tests/laws/__init__.py",
    "tests/laws/settings.py",
    "tests/laws/subjects.py",
    "tools/__init__.py",
    "tools/code_blocks.py",
    "tools/wheel_check",
    "README.md",
)
# Variables that tell a program where the system is, as a login gives them to anybody.
PASSED = ("LANG", "LC_ALL", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "TZ")
# Runs a module of the carried folder in isolated mode, which leaves out the working folder and PYTHONPATH.
START = "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); runpy.run_module(sys.argv.pop(1), run_name='__main__')"
# Seconds after which a program hangs: it takes two minutes on an idle machine, and this one may be a busy one.
LIMIT = 3600


class CheckError(Exception):
    """Something is missing in a wheel, or does not work."""


class NewEnvironment:
    """A virtual environment with what is installed in it, a folder to work in, and a folder of carried programs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
        folder.mkdir(parents=True)
        _call([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")])

    def install(self, *requirements: str) -> None:
        """Install packages by the pip of this interpreter, which is not installed in the environment itself."""
        options = ["--quiet", "--no-compile", "--disable-pip-version-check", "--prefer-binary"]
        _call([sys.executable, "-m", "pip", "--python", str(self.python), "install", *options, *requirements])

    def run_program(self, module: str) -> str:
        """Run a carried module with the environment's interpreter, from an empty folder; return what it printed.

        There is no compiler on its path: the path holds the environment's own programs alone.
        """
        carried = self._carry()
        with tempfile.TemporaryDirectory(prefix="empty-", dir=self.folder) as empty:
            variables = {name: os.environ[name] for name in PASSED if name in os.environ}
            variables |= {"PATH": str(self.python.parent), "HOME": empty, "MPLBACKEND": "Agg"}
            return _call([str(self.python), "-I", "-c", START, str(carried), module], cwd=Path(empty), env=variables)

    def _carry(self) -> Path:
        """Return a folder with copies of the programs, for there is no source tree beside an installed wheel."""
        carried = self.folder / "carried"
        for name in CARRIED:
            target = carried / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, target)
        return carried


def _call(command: list[str], cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Run a command and return what it printed; raise with the end of it where it fails."""
    try:
        ran = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired as error:
        raise CheckError(f"{' '.join(command[:3])} ... {command[-1]} did not end within {LIMIT} s.") from error
    if ran.returncode != 0:
        said = (ran.stdout + ran.stderr)[-12000:]
        raise CheckError(f"{' '.join(command[:3])} ... {command[-1]} ended with status {ran.returncode}:\n{said}")
    return ran.stdout

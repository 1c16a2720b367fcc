"""Build the source distribution and the wheel with the build tools of this environment."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools.wheel_check.environment import CheckError

ROOT = Path(__file__).resolve().parents[2]
IGNORED = shutil.ignore_patterns(".git", ".venv*", "build", "dist", "__pycache__", ".*_cache", ".hypothesis", "_build")
# Who made the commit that a source distribution is made of.
IDENTITY = ("-c", "user.name=mercer", "-c", "user.email=mercer@localhost")


def call(*command: object, cwd: Path) -> str:
    """Run a command and return what it printed; raise with the end of it where it fails."""
    # Meson and ninja stand beside the interpreter, also where its environment is not the active one.
    variables = os.environ | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    words = [str(word) for word in command]
    ran = subprocess.run(words, cwd=cwd, env=variables, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        said = (ran.stdout + ran.stderr)[-4000:]
        raise CheckError(f"{' '.join(words[:6])} ended with status {ran.returncode}:\n{said}")
    return ran.stdout


def copy_checkout(folder: Path) -> Path:
    """Return a clean commit of the working tree: a source distribution is made of what is committed."""
    shutil.copytree(ROOT, folder, ignore=IGNORED)
    shutil.copytree(ROOT / "tests" / "build", folder / "tests" / "build", ignore=IGNORED)
    call("git", "init", "--quiet", cwd=folder)
    call("git", "add", ".", cwd=folder)
    call("git", *IDENTITY, "commit", "--quiet", "--no-verify", "--message", "all", cwd=folder)
    return folder


def build_source_distribution(checkout: Path) -> Path:
    """Return the source distribution of a checkout."""
    (checkout / "dist").mkdir()
    call(sys.executable, "-c", "import mesonpy; print(mesonpy.build_sdist('dist'))", cwd=checkout)
    (path,) = (checkout / "dist").glob("*.tar.gz")
    return path


def build_wheel(source: Path, folder: Path, levels: str, build: Path | None = None) -> Path:
    """Return the wheel of a folder or of a source distribution; `build` is a folder that may hold earlier results."""
    folder.mkdir()
    settings = [f"--config-settings=setup-args=-Dlevels={levels}"]
    if build is not None:
        settings.append(f"--config-settings=build-dir={build.resolve()}")
    command = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    call(*command, *settings, source, cwd=folder)
    (path,) = folder.glob("*.whl")
    return path

"""Source distribution -> wheel -> fresh environment: what users install holds all it should, and nothing more."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from mercer._native.level import list_levels

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
IGNORED = shutil.ignore_patterns(".git", ".venv*", "build", "dist", "__pycache__", ".*_cache", ".hypothesis", "_build")


def run(*command, cwd):
    finished = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
    return finished.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A clean commit of the working tree: a source distribution is made of what is committed."""
    folder = tmp_path_factory.mktemp("checkout") / "mercer"
    shutil.copytree(ROOT, folder, ignore=IGNORED)
    identity = ("-c", "user.name=tests", "-c", "user.email=tests@localhost")
    run("git", "init", "--quiet", cwd=folder)
    run("git", "add", ".", cwd=folder)
    run("git", *identity, "commit", "--quiet", "--no-verify", "--message", "all", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def source_distribution(checkout):
    code = "import mesonpy; print(mesonpy.build_sdist('dist'))"
    (checkout / "dist").mkdir()
    run(sys.executable, "-c", code, cwd=checkout)
    (path,) = (checkout / "dist").glob("*.tar.gz")
    return path


@pytest.fixture(scope="module")
def wheel(source_distribution, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    # As a release asks for it: a plain `pip install .` compiles fewer levels.
    levels = "--config-settings=setup-args=-Dlevels=all"
    build = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", levels, "--wheel-dir", folder)
    run(*build, source_distribution, cwd=folder)
    (path,) = folder.glob("*.whl")
    return path


def list_modules():
    return {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "mercer").rglob("*.py")}


def test_the_source_distribution_holds_the_build_recipe_and_every_module(source_distribution):
    with tarfile.open(source_distribution) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"meson.build", "meson.options", "pyproject.toml", "LICENSE", "tools/translate.py"} <= names
    assert {f"src/{name}" for name in list_modules()} <= names


def test_the_wheel_holds_every_module_and_every_level(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert list_modules() | {"mercer/py.typed"} <= names
    for level in list_levels():
        assert any(name.startswith(f"mercer/_native/{level}/elementary.") for name in names), level
    assert not [name for name in names if "__pycache__" in name or name.endswith("meson.build")]


def test_the_installed_wheel_runs_native_code_at_every_level(wheel, tmp_path):
    run(sys.executable, "-m", "pip", "install", "--no-deps", "--target", tmp_path / "site", wheel, cwd=tmp_path)
    code = (
        f"import sys; sys.meta_path = [f for f in sys.meta_path if 'Mesonpy' not in type(f).__name__]\n"
        f"sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "import importlib, numpy, mercer\n"
        "x, out = numpy.zeros(9), numpy.empty(9)\n"
        f"for level in {list_levels()!r}:\n"
        "    module = importlib.import_module(f'mercer._native.{level}.elementary')\n"
        "    module.exp(x, out)\n"
        "    assert (out == 1).all()\n"
        "print(mercer.__file__)"
    )
    assert run(sys.executable, "-c", code, cwd=tmp_path).startswith(str(tmp_path))

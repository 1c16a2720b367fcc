"""Every code block of the documentation runs, and every output it shows is the one it gives."""

import doctest
import importlib
import inspect
import re
import warnings
from pathlib import Path

import pytest

import mercer
from mercer._families import FAMILIES
from tools.code_blocks import FLAGS, list_blocks, run_page

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A temporary directory to work in, with the library's settings as they were afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    with mercer.config_context(), warnings.catch_warnings():
        yield tmp_path


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(list_blocks(page))], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_every_block_of_the_page_runs(page, elsewhere):
    run_page(page)


def test_a_block_that_shows_a_wrong_output_is_caught(tmp_path):
    page = tmp_path / "wrong.md"
    page.write_text("# Page\n\n```python\nx = 1\n```\n\n```pycon\n>>> x + 1\n3\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"line 8, in [^>]*x \+ 1\s+Expected:\s+3\s+Got:\s+2"):
        run_page(page)


def test_no_block_escapes_by_an_unusual_fence():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        opened = re.findall(
            r"^\s*(?:```|~~~)\s*\{?(?:code-block\}\s*)?(?:python|pycon|py|python3)\b", text, re.MULTILINE
        )
        assert len(opened) == len(list(list_blocks(page))), page


def modules():
    """Names and texts of all modules but the native ones, which tests/native runs compiled and uncompiled."""
    for path in sorted((ROOT / "src" / "mercer").rglob("*.py")):
        parts = path.relative_to(ROOT / "src").with_suffix("").parts
        if "_native" not in parts and "__main__" not in parts:
            yield ".".join(parts).removesuffix(".__init__"), path.read_text(encoding="utf-8")


def test_every_module_can_be_imported():
    for name, _ in modules():
        importlib.import_module(name)


@pytest.mark.parametrize("name", [name for name, text in modules() if ">>> " in text])
def test_the_examples_in_docstrings_give_what_they_show(name, elsewhere):
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for dialogue in finder.find(module, name):
        said = []
        runner.run(dialogue, out=said.append)
        assert runner.failures == 0, "".join(said)


def test_links_between_pages_lead_somewhere():
    link = re.compile(r"\]\((?!https?:|#|/)([^)#\s]+)(?:#[^)]*)?\)")
    for page in PAGES:
        for target in link.findall(page.read_text(encoding="utf-8")):
            place = (page.parent / target).resolve()
            assert place.exists() or "_build" in place.parts, f"{page}: {target}"


ROOMS = [
    "mercer",
    "mercer.watch",
    "mercer.datasets",
    "mercer.inspection",
    "mercer.metrics",
    "mercer.model_selection",
    "mercer.optim",
    "mercer.errors",
]


@pytest.mark.parametrize("name", ROOMS)
def test_every_public_name_has_a_reference_entry(name):
    missing = undocumented(name)
    assert not missing, f"{name}: list {', '.join(missing)} in docs/api"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_public_name_of_a_family_has_a_reference_entry(family):
    missing = undocumented(f"mercer.{family}")
    assert not missing, f"docs/api/{family}.md: list {', '.join(missing)}"


def undocumented(name):
    """Public names of a module that its reference page does not list; sub-packages have pages of their own."""
    module = importlib.import_module(name)
    page = (ROOT / "docs" / "api" / f"{name.rpartition('.')[2]}.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   (\w+)$", page, re.MULTILINE))
    names = [one for one in module.__all__ if not inspect.ismodule(getattr(module, one)) and one != "__version__"]
    return sorted(set(names) - listed)

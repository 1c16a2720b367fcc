"""The changelog and the metadata of the release agree with the package, and name only what exists."""

import re
import tomllib
from pathlib import Path

import pytest

import mercer

ROOT = Path(__file__).resolve().parents[2]
LONGEST_SECTION = 120


def read_sections():
    """Return the sections of the changelog by version, in the order of the file."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (\S+).*$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_changelog_begins_with_what_is_not_released_and_has_a_section_for_this_version():
    sections = read_sections()
    assert next(iter(sections)) == "Unreleased"
    assert mercer.__version__ in sections
    for version, text in sections.items():
        assert len(text.splitlines()) <= LONGEST_SECTION, version


def test_names_in_the_changelog_exist():
    text = "".join(read_sections().values())
    for name in re.findall(r"`mercer\.([a-z_.A-Z]+)`", text):
        thing = mercer
        for part in name.split("."):
            thing = getattr(thing, part)
    for name in re.findall(r"^- ((?:`[a-z_]+`(?:, )?)+):", text, re.MULTILINE):
        for family in re.findall(r"`([a-z_]+)`", name):
            assert hasattr(mercer, family), family


def test_pages_that_the_changelog_and_the_guide_for_contributors_link_to_exist():
    for page in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"):
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", (ROOT / page).read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{page}: {target}"


def test_the_citation_has_the_version_and_the_licence_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {mercer.__version__}\n" in citation
    assert f"license: {project['license']}\n" in citation


def test_each_version_of_python_that_is_named_has_passed_the_tests():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    prefix = "Programming Language :: Python :: 3."
    named = [line.removeprefix(prefix) for line in project["classifiers"] if line.startswith(prefix)]
    assert named[0] == project["requires-python"].removeprefix(">=3.")
    rows = (ROOT / "docs" / "releasing.md").read_text(encoding="utf-8")
    for minor in named:
        assert re.search(rf"^\| python3\.{minor}(?:, \w+)? \| passed \|", rows, re.MULTILINE), minor


def test_the_classifiers_are_known_and_in_order():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["classifiers"] == sorted(project["classifiers"])
    assert "urls" not in project, "add the rule that each address is written in README.md and CITATION.cff too"


def test_forms_for_issues_are_forms():
    yaml = pytest.importorskip("yaml")
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    assert len(forms) > 1
    for path in forms:
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        if path.name != "config.yml":
            assert {"name", "description", "body"} <= form.keys()
            ids = [part["id"] for part in form["body"] if part["type"] != "markdown"]
            assert len(ids) == len(set(ids))
            assert "versions" in ids or path.stem == "wish"

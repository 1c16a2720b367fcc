"""The pages form a site: each stands in one section, formulas need no script, and a reader finds what they look up."""

import csv
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

DOCUMENTS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCUMENTS / "_extensions"))
FORMULAS = import_module("formulas")
PAGES = {
    page.relative_to(DOCUMENTS).with_suffix("").as_posix(): page.read_text(encoding="utf-8")
    for page in DOCUMENTS.rglob("*.md")
    if not {"_build", "_templates"} & set(page.parts)
}
TREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
WORDS = re.compile(r"^```\{search-words\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
TERM = re.compile(r"^(\S.*)\n  \S", re.MULTILINE)
HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$])\$(?!\s)([^$]+?)\$", re.DOTALL)
TABS = {"learn", "guides/index", "gallery", "api/index", "about"}
# The weights that Sphinx's search gives a word of the index and a title that it finds whole.
WORD, TITLE, TITLE_OF_PAGE = 100, 15, 1


def list_children(name):
    """Return the pages that the trees of a page name."""
    here = (DOCUMENTS / name).parent
    lines = [line.strip() for tree in TREE.findall(PAGES[name]) for line in tree.splitlines()]
    entries = [re.sub(r".*<(.+)>", r"\1", line) for line in lines if line and not line.startswith(":")]
    return [(here / entry).resolve().relative_to(DOCUMENTS).as_posix() for entry in entries]


def score_page(name, query):
    """Return what the search of the site makes of a page: the best of its words and titles that contain the query."""
    text = PAGES[name]
    words = [word.strip() for block in WORDS.findall(text) for word in block.replace("\n", " ").split(",")]
    words += TERM.findall(text) if name == "glossary" else []
    titles = [re.sub("[`*]", "", title) for title in HEADING.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL))]
    found = [WORD * len(query) / len(word) for word in words if query in word.lower() and 2 * len(query) >= len(word)]
    found += [
        TITLE * len(query) / len(title) + TITLE_OF_PAGE * (not place)
        for place, title in enumerate(titles)
        if query in title.lower() and 2 * len(query) >= len(title)
    ]
    return round(max(found, default=0))


def read_queries():
    with open(Path(__file__).with_name("queries.csv"), encoding="utf-8", newline="") as file:
        return [(row["query"], row["page"]) for row in csv.DictReader(file)]


def test_the_front_page_has_five_tabs_and_every_other_page_stands_in_exactly_one_place():
    assert set(list_children("index")) == TABS
    placed = [child for name in PAGES for child in list_children(name)]
    assert sorted(placed) == sorted(set(PAGES) - {"index"})


@pytest.mark.parametrize(("query", "page"), read_queries(), ids=lambda value: value)
def test_what_a_student_looks_up_is_found_first_or_second(query, page):
    scores = {name: score for name in PAGES if (score := score_page(name, query))}
    ahead = [name for name, score in scores.items() if name != page and score > scores.get(page, 0)]
    assert page in scores
    assert len(ahead) < 2, ahead
    # Of equal scores the search shows the earlier title first: no more than one other page may have this one's.
    assert sum(score == scores[page] for score in scores.values()) <= 2 - len(ahead)


def test_every_formula_is_drawn_without_a_script():
    count = 0
    for text in PAGES.values():
        plain = re.sub(r"`[^`]*`", "", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
        for block, inline in FORMULA.findall(plain):
            drawn = FORMULAS.render_formula(block or inline, "block" if block else "inline")
            assert drawn.startswith("<math ")
            assert drawn.count("<mrow>") == drawn.count("</mrow>")
            count += 1
    assert count > 2_000


def test_a_bar_opens_and_closes_and_an_unknown_command_is_an_error():
    drawn = FORMULAS.render_formula(r"\lVert x \rVert^2 + \arg\max_k \Bigl\langle a \Bigr\rangle", "inline")
    assert drawn.index('form="prefix"') < drawn.index('form="postfix"')
    assert "⟨" in drawn
    with pytest.raises(FORMULAS.FormulaError, match="command that the converter does not know"):
        FORMULAS.render_formula(r"\nosuchcommand x", "inline")


def test_the_glossary_explains_two_hundred_words_each_with_its_page():
    terms = TERM.findall(PAGES["glossary"])
    assert len(terms) > 200
    assert len(terms) == len({term.lower() for term in terms})
    for page in re.findall(r"\]\((.+?)\.md\)", PAGES["glossary"]):
        assert page in PAGES

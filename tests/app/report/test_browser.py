"""The page in a real browser: it opens, fits narrow and wide windows, sorts, follows the keyboard, and prints."""

from dataclasses import replace

import pytest

from mercer.app.report.pages import write_report
from tests.app.report.browser import ask, browse, needs_browser
from tests.app.report.records import RECORDS

pytestmark = needs_browser

WIDTHS = """
return {
  width: innerWidth,
  page: document.documentElement.scrollWidth,
  outside: [...document.querySelectorAll("body *")].filter((one) =>
    one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".table, nav, svg, .skip"))
    .map((one) => one.tagName),
  // Tables wider than the page scroll inside their box, so that the last column can be reached.
  lost: [...document.querySelectorAll(".table")].filter((one) => {
    one.scrollLeft = 10000;
    return one.querySelector("th:last-child").getBoundingClientRect().right > one.getBoundingClientRect().right + 1;
  }).map((one) => one.ariaLabel),
  text: [...document.querySelectorAll("figure svg")].map((one) =>
    11.5 * one.getBoundingClientRect().width / one.viewBox.baseVal.width),
};
"""

CARDS = """
const rows = [...document.querySelectorAll(".cards tbody tr")];
return {
  rows: rows.length,
  // On a phone every value of a row of many columns can be seen without scrolling sideways.
  outside: rows.flatMap((row) => [...row.cells]).filter((cell) => {
    const inner = cell.firstElementChild.getBoundingClientRect();
    return inner.right > innerWidth || inner.left < 0;
  }).length,
  names: rows.flatMap((row) => [...row.cells]).filter((cell) =>
    getComputedStyle(cell, "::before").content === `"${cell.dataset.label}"`).length,
  cells: rows.flatMap((row) => [...row.cells]).length,
  figures: [...document.querySelectorAll("figure")].filter((one) => one.scrollWidth > one.clientWidth + 1)
    .map((one) => one.textContent.slice(-60)),
};
"""

SORTING = """
const table = [...document.querySelectorAll("table")].find((one) => one.caption.textContent === "Candidates");
const column = (k) => [...table.tBodies[0].rows].map((row) => row.cells[k].textContent.trim());
const head = table.tHead.rows[0].cells[2];
const before = column(2);
head.querySelector("button").click();
const up = column(2), sortedUp = head.getAttribute("aria-sort");
head.querySelector("button").click();
const down = column(2), sortedDown = head.getAttribute("aria-sort");
table.tHead.rows[0].cells[0].querySelector("button").click();
return { before, up, down, sortedUp, sortedDown, names: column(0) };
"""

TRYING = """
const result = (name) => document.querySelector(`#${name} .result`).textContent;
const move = (name, place, value) => {
  const input = document.querySelectorAll(`#${name} input`)[place];
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
};
const before = result("what-if"), threshold = result("threshold");
move("what-if", 0, 2);
move("threshold", 2, 20);
return { before, after: result("what-if"), threshold, dear: result("threshold") };
"""

KEYBOARD = """
const reach = [...document.querySelectorAll("a, button, [tabindex]")];
const colours = () => getComputedStyle(document.body).backgroundColor;
const light = colours();
document.getElementById("colours").click();
const dark = colours();
document.getElementById("colours").click();
return {
  unreachable: reach.filter((one) => { one.focus(); return document.activeElement !== one; }).length,
  count: reach.length, light, dark, again: colours(),
};
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, make in RECORDS.items():
        write_report(make(), folder / f"{name}.html")
    record = RECORDS["classification"]()
    # Names, counts and remarks as long as those of real candidates.
    listed = [
        replace(
            record.candidates[0],
            name="products, logistic regression",
            status="chosen" if place == 0 else "as good",
            low=0.687,
            high=0.801,
            lag=0.018,
            lag_error=0.0049,
            complexity_text="418 means and covariances",
            text="A bell curve for each class. Its probabilities are worse than those of the constant guess.",
        )
        for place in range(3)
    ]
    write_report(replace(record, candidates=listed), folder / "full_list.html")
    return folder


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("name", RECORDS)
def test_nothing_runs_over_the_edge_and_the_console_is_silent(pages, name, width):
    found, complaints = ask(WIDTHS, page=pages / f"{name}.html", folder=pages, width=width)
    assert complaints == []
    assert found["width"] == width
    assert found["page"] <= width
    assert found["outside"] == []
    # The smallest letters of a figure stay readable on a phone.
    assert min(found["text"], default=11.0) >= 11.0
    assert found["lost"] == []


@pytest.mark.parametrize("name", RECORDS)
def test_a_phone_shows_every_value_of_every_row_and_whole_figures(pages, name):
    found, complaints = ask(CARDS, page=pages / f"{name}.html", folder=pages, width=360)
    assert complaints == []
    assert found["rows"] > 0
    assert found["outside"] == 0
    assert found["names"] == found["cells"]
    assert found["figures"] == []


def test_a_desktop_shows_every_column_without_scrolling(pages):
    script = """
return [...document.querySelectorAll(".table")].filter((one) => one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.ariaLabel);
"""
    found, _ = ask(script, page=pages / "full_list.html", folder=pages, width=1440)
    assert found == []


def test_tables_sort_by_number_and_by_name(pages):
    found, _ = ask(SORTING, page=pages / "classification.html", folder=pages)
    assert found["before"] == ["0.6", "0.65", "0.7", "0.75", "0.8", "–"]
    assert found["up"] == ["0.6", "0.65", "0.7", "0.75", "0.8", "–"]
    assert found["down"] == ["0.8", "0.75", "0.7", "0.65", "0.6", "–"]
    assert (found["sortedUp"], found["sortedDown"]) == ("ascending", "descending")
    assert found["names"][0] == "a slow one"


def test_other_values_and_thresholds_can_be_tried(pages):
    found, complaints = ask(TRYING, page=pages / "classification.html", folder=pages)
    assert complaints == []
    # The middle is the mean of both curves, 0.25; pressure 2 adds 0.6 - 0.3, north 0.1 - 0.2.
    assert found["before"] == "probability of yes: 5\u00a0%"
    assert found["after"] == "probability of yes: 45\u00a0%"
    # 50 of 50 positives have 1 - k / 50 >= 0.5 for k <= 25; scores of negatives are k / 100.
    assert found["threshold"].startswith("Of 100 rows, 5.2 are rightly called yes, 40 are false alarms and 4.8")
    assert found["dear"] != found["threshold"]
    _, complaints = ask("return 1", page=pages / "regression.html", folder=pages)
    assert complaints == []


def test_the_keyboard_reaches_everything_and_colours_switch(pages):
    found, _ = ask(KEYBOARD, page=pages / "classification.html", folder=pages)
    assert found["unreachable"] == 0
    assert found["count"] > 30
    assert found["light"] != found["dark"]
    assert found["again"] == found["light"]


def test_the_page_prints_to_a_few_sheets(pages, tmp_path):
    paper = tmp_path / "report.pdf"
    browse(f"--print-to-pdf={paper}", "--no-pdf-header-footer", page=pages / "classification.html", folder=tmp_path)
    content = paper.read_bytes()
    assert content.startswith(b"%PDF-")
    assert 3 <= content.count(b"/Type /Page\n") + content.count(b"/Type /Page ") <= 12

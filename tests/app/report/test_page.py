"""The page as text: whole, safe, self-contained, and saying what the record says."""

import re
from dataclasses import fields, replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from mercer._source.table.table import Notice
from mercer.app.report.chart import Chart
from mercer.app.report.figures import draw_dependence, draw_score
from mercer.app.report.pages import list_summary_figures, render_report, write_report
from mercer.app.report.row_figures import draw_confusion, name_drawn
from mercer.app.report.section import Table
from mercer.app.report.sections import make_sections
from mercer.app.study.record import Candidate, Confusion, Dependence, OtherQuestion, Record, Sureness
from tests.app.report.records import RECORDS, classification, regression, structure

VOID = {"meta", "link", "br", "img", "path", "rect", "polyline", "polygon", "circle"}


class Reader(HTMLParser):
    """Notes what is open, what an anchor points to, and which pictures have no words."""

    def __init__(self):
        super().__init__()
        self.open, self.anchors, self.names, self.mute = [], [], set(), 0

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "a":
            self.anchors.append(found["href"])
        if "id" in found:
            assert found["id"] not in self.names, found["id"]
            self.names.add(found["id"])
        if tag == "svg" and not found.get("aria-label"):
            self.mute += 1

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture(params=RECORDS)
def record(request):
    return RECORDS[request.param]()


def test_the_page_is_well_formed_and_every_picture_has_words(record):
    reader = Reader()
    reader.feed(render_report(record))
    assert reader.open == []
    assert reader.mute == 0
    assert {anchor[1:] for anchor in reader.anchors} <= reader.names


def test_the_page_needs_nothing_beside_it(record):
    page = render_report(record)
    assert re.findall(r'(?:src|href)="(?!#)([^"]+)"', page) == []
    assert "@import" not in page
    assert "url(" not in page
    assert len(page) < 200_000


def test_no_number_is_missing(record):
    text = re.sub(r"<(style|script)>.*?</\1>", "", render_report(record), flags=re.DOTALL)
    assert not re.search(r"\b(nan|inf)\b|>None<", text)


def test_every_part_of_a_record_has_its_section():
    full = classification()
    names = {section.name for section in make_sections(full)}
    expected = {
        "score",
        "data",
        "candidates",
        "curves",
        "errors",
        "decision",
        "drivers",
        "map",
        "hardest",
        "strange",
        "fit",
        "repeat",
    }
    assert names == expected
    least = Record(full.question, full.answer, full.data, full.origin)
    assert {section.name for section in make_sections(least)} == {"data", "repeat"}
    # `reference` is for the watch over new rows, and has no place on the page.
    assert len(fields(Record)) == 28, "a new part of the record needs a place on the page"


def test_text_from_the_table_cannot_become_a_script():
    page = render_report(classification())
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    nasty = replace(regression(), answer="`</h1><img onerror=x>` is a column")
    assert "<img" not in render_report(nasty)


def test_names_between_backticks_are_marked():
    assert "<code>ticket</code> was left out" in render_report(classification())


def test_a_notice_shows_its_level_and_its_cure():
    full = classification()
    loud = replace(full, data=replace(full.data, notices=[Notice("warning", "age", "is odd.", "Look at it.")]))
    page = render_report(loud)
    assert '<li class="warning"><b>age</b>' in page
    assert "<em>Look at it.</em>" in page


def test_the_page_is_written_whole(tmp_path):
    path = tmp_path / "deep" / "report.html"
    write_report(regression(), path)
    assert path.read_text(encoding="utf-8") == render_report(regression())
    assert [one.name for one in path.parent.iterdir()] == ["report.html"]


def _drop_leaks(record):
    kept = [column for column in record.data.columns if column.role != "leak"]
    return replace(record, data=replace(record.data, columns=kept))


def test_a_page_about_groups_has_no_words_of_prediction():
    text = re.sub(r"<(style|script)>.*?</\1>", "", render_report(_drop_leaks(RECORDS["structure"]())), flags=re.DOTALL)
    words = re.sub(r"<[^>]+>", " ", text).lower()
    assert not re.search(r"predict|unseen|training rows|candidate", words)


def test_methods_that_group_rows_are_no_candidates_and_have_no_intervals():
    methods = [Candidate("k-means", "cluster", 1.0, "5 centres", "chosen", "", 0.6, 0.6, 0.6)]
    record = replace(_drop_leaks(RECORDS["structure"]()), candidates=methods)
    section = next(one for one in make_sections(record) if one.name == "candidates")
    assert (section.title, section.tables[0].columns[0]) == ("The methods", "method")
    assert "interval" not in section.tables[0].columns
    said = " ".join([*section.text, section.figures[0].caption])
    assert not re.search(r"predict|unseen|training rows|candidate", said)


def test_the_top_of_the_page_shows_the_score_and_only_columns_that_are_shown_to_matter():
    record = classification()
    one = replace(record.drivers[0], column="sure", mean=0.2, low=0.1, high=0.3)
    other = replace(one, column="doubtful", low=-0.1)
    score, drivers = list_summary_figures(replace(record, drivers=[one, other]))
    assert "this model: " in score.svg
    assert "sure" in drivers.svg
    assert "doubtful" not in drivers.svg
    assert len(list_summary_figures(replace(record, drivers=[other]))) == 1


def test_words_at_the_ends_of_the_score_are_not_cut():
    svg = list_summary_figures(classification())[0].svg
    for place, anchor, words in re.findall(r'<text class="[^"]*" x="([\d.]+)"[^>]*text-anchor="(\w+)">([^<]+)<', svg):
        width = 6.6 * len(words)
        left = float(place) - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * width
        assert left >= -8
        assert left + width <= 328


def test_bars_begin_at_zero_and_means_of_categories_are_dots():
    effect = Dependence("maker", ["a", "b"], [1200.0, 1300.0], [1100.0, 1250.0], [1250.0, 1400.0], "rent")
    svg = draw_dependence(effect)
    assert 'class="bar' not in svg
    assert 'class="dots c0"' in svg


def test_a_legend_of_many_names_fills_several_lines():
    names = [f"a long name of class {k}" for k in range(6)]
    chart = Chart("six lines", (0, 1), (0, 1), legend=names)
    for k, name in enumerate(names):
        chart.line([0, 1], [0, k / 6], f"c{k}", name)
    svg = chart.svg()
    places = re.findall(r'x="([\d.]+)" y="([\d.]+)" text-anchor="start">a long name', svg)
    assert len({level for _, level in places}) >= 3
    assert max(float(place) for place, _ in places) + 6.6 * len(names[0]) <= 320


def test_a_wide_screen_shows_narrow_tables_beside_figures():
    beside = {section.name for section in make_sections(classification()) if section.beside}
    assert beside == {"decision", "fit"}
    halved = {section.name for section in make_sections(classification()) if section.halved}
    assert {"score", "candidates", "drivers"} <= halved


def test_many_classes_keep_their_names_and_counts():
    names = [f"the same long beginning {k}" for k in range(17)]
    counts = [[30.0 if i == j else float((i + j) % 5 == 0) for j in range(17)] for i in range(17)]
    svg = draw_confusion(Confusion(names, counts))
    assert svg.count(">30<") == 17
    assert all(svg.count(f">… {k}<") == 2 for k in range(17))


def test_a_page_about_groups_says_how_many_dimensions_there_are_and_shows_the_map_once():
    mapped = replace(structure(), map=classification().map)
    page = render_report(mapped)
    assert re.search(r"How many dimensions\? The first (component holds|\d+ components hold) [\d.]+&nbsp;% of", page)
    assert page.count("coloured by group") == 1
    assert "map" not in {section.name for section in make_sections(mapped)}


def test_a_phone_shows_long_texts_beside_others_as_cards():
    assert not Table("", ["a", "b", "c"], [["1", "2", "short"]], [True, True, False]).cards
    assert Table("", ["a", "b", "c"], [["1", "2", "long " * 20]], [True, True, False]).cards
    assert not Table("", ["a", "b"], [["1", "long " * 20]], [True, False]).cards
    assert Table("", ["a", "b", "c", "d"], [], [True] * 4).cards


def test_numbers_beside_an_axis_are_whole_and_do_not_meet_its_label_or_each_other():
    drawn = Chart("salaries", (0, 250_000), (40_000, 240_000), x_label="true", y_label="predicted").svg()
    assert "…" not in drawn
    ticks = re.findall(r'<text class="tick" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)">([^<]+)<', drawn)
    beside = [(float(x), words) for x, _, anchor, words in ticks if anchor == "end"]
    assert "200\u2009000" in [words for _, words in beside]
    # A letter takes about 6.6 units, and the label ends at eighteen.
    assert all(x - 6.6 * len(words) > 18 for x, words in beside)
    below = [float(x) for x, _, anchor, _ in ticks if anchor == "middle"]
    assert min(b - a for a, b in pairwise(below)) > 6.6 * len("200\u2009000")


def test_curves_of_some_classes_say_of_how_many():
    record = RECORDS["classification"]()
    assert name_drawn(record.rates, 2) == ""
    assert name_drawn(record.rates[:1] * 6, 17) == ", for the first 6 of 17 classes"


def test_words_below_two_points_that_are_near_stand_on_two_lines():
    sure = Sureness(0.52, 0.15, 0.9, 0.95, "", 0.5, floor=0.84)
    near, far = draw_score(sure, "accuracy"), draw_score(replace(sure, low=0.5, high=0.54, floor=0.95), "accuracy")
    heights = [_find_heights(page) for page in (near, far)]
    assert heights[0]["best possible"] >= heights[0]["the constant guess"] + 12
    assert heights[1]["best possible"] == heights[1]["the constant guess"]


def _find_heights(svg):
    """Return how far down each word of a figure stands."""
    found = re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>([^<]+)</text>', svg)
    return {words: float(height) for height, words in found}


def test_a_score_that_was_no_number_leaves_a_gap_and_no_error():
    """A record has None for what was no number, and anybody can write one."""
    record = classification()
    scores = [[None, *record.conformal.scores[0]], record.conformal.scores[1]]
    assert render_report(replace(record, conformal=replace(record.conformal, scores=scores)))


def test_the_page_tells_the_score_for_other_new_rows():
    other = OtherQuestion(
        "rows with new values of `site`", "new rows with known values of `site`", 0.61, 0.5, 0.72, "--group site"
    )
    page = render_report(replace(classification(), other=other))
    assert "has a score of 0.61 on rows with new values of" in page
    assert "Give --group site for a study of these." in page

"""What a notebook shows of certificates, forecasts, tables of coefficients and networks."""

import math
from xml.etree import ElementTree

import numpy as np
import pytest

import mercer
from mercer._notebook import render_table
from mercer._solver import Certificate
from mercer.bayesnet import load_burglary, make_network
from mercer.cluster import KMeans
from mercer.linear_model import LinearRegression


def read_cells(html):
    """Return the caption of a table, and the texts of its rows."""
    table = ElementTree.fromstring(html)
    return table.find("caption").text, [[cell.text for cell in row] for row in table.findall("tr")]


def test_texts_are_escaped():
    caption, rows = read_cells(render_table("<b>", [("a & b", "<script>", 3)], heads=("one", "two")))
    assert caption == "<b>"
    assert rows == [[None, "one", "two"], ["a & b", "<script>", "3"]]


def test_a_certificate_says_whether_it_is_satisfied_and_what_it_bounds():
    model = KMeans(3, random_state=0, n_init=1).fit(np.random.default_rng(0).normal(size=(50, 2)))
    certificate = model.certificate_
    caption, rows = read_cells(certificate._repr_html_())
    assert caption == "Certificate: fixed point"
    assert dict(rows[:3])["satisfied"] == ("yes" if certificate.satisfied else "no")
    assert rows[-1][1] == certificate.statement


def test_a_certificate_of_nothing_shows_no_numbers():
    _, rows = read_cells(Certificate.none("no bound is known")._repr_html_())
    assert [row[0] for row in rows] == ["satisfied", None]


def test_a_forecast_and_its_text_say_the_same():
    X = np.random.default_rng(0).normal(size=(100, 3))
    found = mercer.forecast(KMeans(3), X)
    caption, rows = read_cells(found._repr_html_())
    lines = str(found).splitlines()
    assert lines[0] == caption
    assert [line.split(maxsplit=1) for line in lines[1:]] == rows
    assert math.isfinite(found.seconds)


def test_coefficients_are_those_of_the_text():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2))
    y = X @ [1.0, -2.0] + random.normal(size=60)
    found = LinearRegression().fit(X, y).infer(X, y)
    caption, rows = read_cells(found._repr_html_())
    lines = str(found).splitlines()
    assert lines[-1] == caption
    assert [line.split() for line in lines[1:-1]] == rows[1:]


@pytest.mark.parametrize(("network", "drawn"), [(load_burglary(), True), (make_network("win95pts_size", 0), False)])
def test_a_network_is_drawn_if_it_fits_a_page(network, drawn):
    html = network._repr_html_()
    assert ("<svg" in html) == drawn
    assert f"{len(network.variables)} variables" in html

"""Docstrings written for the terminal, made safe for the documentation."""

import importlib.util
from pathlib import Path

import pytest

PLACE = Path(__file__).resolve().parents[2] / "docs" / "_extensions" / "plain_docstrings.py"


@pytest.fixture(scope="module")
def plain():
    spec = importlib.util.spec_from_file_location("plain_docstrings", PLACE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("|X w - y|^2 over |X|", r"\|X w - y\|^2 over \|X\|"),
        ("coef_ and intercept_, of n_features_in_.", r"coef\_ and intercept\_, of n_features_in\_."),
        ("``coef_`` and :math:`|x_i|` stay", "``coef_`` and :math:`|x_i|` stay"),
        ("[1]_ stays, `a page <b>`_ stays, x_1 stays, __init__ stays", None),
    ],
)
def test_bars_and_trailing_underscores_are_escaped_outside_literals(plain, line, expected):
    assert plain.escape_line(line) == (expected or line)


def test_directives_and_examples_are_left_alone(plain):
    lines = [
        "Minimises coef_",
        "",
        ".. math::",
        "",
        "   |x_i|",
        "",
        "and intercept_",
        "",
        ">>> a | b",
        "model_",
        "",
        "rank_",
    ]
    expected = [*lines]
    expected[0], expected[6], expected[11] = "Minimises coef\\_", "and intercept\\_", "rank\\_"
    assert plain.escape_lines(lines) == expected

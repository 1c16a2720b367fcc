"""Scores of components and their sums, at every level and uncompiled, against the definition."""

import importlib

import numpy
import pytest

from mercer._source.block import DenseBlock
from mercer.decomposition._separation.scores import KINDS, Score
from mercer.decomposition._separation.statistics import ScoreSums

TILE = 16


@pytest.fixture
def run(level):
    module = importlib.import_module(f"mercer._native.{level}.score_sums")

    def sums(X, unit, weight, statistic):
        p, (q, d) = statistic.n_scored, statistic.matrix.shape
        n_blocks = -(-len(X) // unit)
        products, totals = numpy.zeros((n_blocks, p, q)), numpy.zeros((n_blocks, p, 3))
        given = numpy.empty(0) if weight is None else weight
        layout = (statistic.matrix, statistic.mean, statistic.offset)
        scratch = (numpy.empty((TILE, d)), numpy.empty((q, TILE)), numpy.empty((p, TILE)), numpy.empty((2, TILE)))
        score = statistic.score
        module.score_run(X, unit, given, layout, KINDS[score.kind], score.alpha, *scratch, products, totals)
        return products, totals

    return sums


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("score", [Score("tanh"), Score("tanh", 0.5), Score("exp"), Score("cube")], ids=repr)
def test_sums_of_each_block_are_those_of_the_definition(run, score, weighted, dtype):
    random = numpy.random.default_rng(0)
    X = random.normal(size=(75, 4)).astype(dtype)
    # Values where exp underflows and where only |u| is left of log cosh.
    X[3], X[4] = 300.0 if score.kind != "cube" else 30.0, 0.0
    weight = random.uniform(size=75) if weighted else None
    statistic = ScoreSums(random.normal(size=(5, 4)), random.normal(size=4), random.normal(size=5), score, 3)
    products, totals = run(X, 32, weight, statistic)
    for number, block in enumerate(DenseBlock(X, 0, None, weight).parts(32)):
        expected = statistic.of(block)
        numpy.testing.assert_allclose(products[number], expected.products, rtol=1e-11, atol=1e-11)
        columns = numpy.column_stack([expected.value, expected.slope, expected.first])
        numpy.testing.assert_allclose(totals[number], columns, rtol=1e-11, atol=1e-12)


def test_log_cosh_of_many_rows_neither_overflows_nor_loses_digits(run):
    # 3000 rows at zero multiply factors of 2: 2**3000 would overflow if they were multiplied at once.
    X = numpy.zeros((3000, 1))
    statistic = ScoreSums(numpy.ones((1, 1)), numpy.zeros(1), numpy.zeros(1), Score("tanh"), 1)
    _, totals = run(X, 4096, None, statistic)
    assert abs(totals[0, 0, 0]) < 1e-10
    assert totals[0, 0, 1] == pytest.approx(3000.0)

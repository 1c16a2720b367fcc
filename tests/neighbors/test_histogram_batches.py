"""Histograms that learn batch by batch: the cells of one fit to all rows."""

import re

import numpy as np
import pytest

from mercer.errors import DataError, ParameterError
from mercer.neighbors import HistogramDensity

ROWS = np.random.default_rng(0).normal(size=(400, 2)) * [1.0, 50.0]
EDGES = [[-3.0, -1.0, 0.0, 0.2, 3.0], [-100.0, 0.0, 60.0]]


@pytest.mark.catalogue("WF-06")
@pytest.mark.parametrize("smoothing", [0.0, 0.7])
@pytest.mark.parametrize("weighted", [False, True])
def test_batches_give_the_cells_of_one_fit(smoothing, weighted):
    random = np.random.default_rng(1)
    weight = random.uniform(0.5, 2.0, size=400) if weighted else None
    whole = HistogramDensity(EDGES, smoothing=smoothing).fit(ROWS, sample_weight=weight)
    model = HistogramDensity(EDGES, smoothing=smoothing)
    # A batch may have no row within the edges, but the first.
    within = ((ROWS >= [-3.0, -100.0]) & (ROWS <= [3.0, 60.0])).all(axis=1)
    order = np.argsort(~within, kind="stable")
    for part in (order[:1], order[399:], order[1:300], order[300:399]):
        model.partial_fit(ROWS[part], sample_weight=None if weight is None else weight[part])
    np.testing.assert_array_equal(model.bins_, whole.bins_)
    np.testing.assert_allclose(model.weights_, whole.weights_, rtol=1e-12)
    points = random.normal(size=(100, 2)) * [2.0, 80.0]
    np.testing.assert_allclose(model.score_samples(points), whole.score_samples(points), rtol=1e-12)
    assert model.weights_.sum() == pytest.approx(within.sum() if weight is None else weight[within].sum())


@pytest.mark.catalogue("WF-06")
def test_one_pass_over_shuffled_rows_approaches_the_density():
    random = np.random.default_rng(1)
    model = HistogramDensity([np.linspace(0, 1, 11)])
    edges = np.linspace(0, 1, 11)
    shares = np.diff(3 * edges**2 - 2 * edges**3)  # the integrals of 6 x (1 - x)
    for batch in range(1, 41):
        model.partial_fit(random.beta(2, 2, size=(500, 1)))
        if batch in (1, 40):
            # Six deviations of a share of 500 rows for each batch.
            deviations = 6 * np.sqrt(shares * (1 - shares) / (500 * batch))
            assert (np.abs(model.weights_ / model.weights_.sum() - shares) < deviations).all()
    assert len(model.weights_) == 10


@pytest.mark.parametrize("smoothing", [0.0, 0.7])
def test_rows_that_are_all_outside_of_the_edges_give_no_density(smoothing):
    far = np.full((3, 2), 1e3)
    for learn in (HistogramDensity.fit, HistogramDensity.partial_fit):
        with pytest.raises(DataError, match="at least one row of weight above 0 must lie within the edges"):
            learn(HistogramDensity(EDGES, smoothing=smoothing), far)
    model = HistogramDensity(EDGES, smoothing=smoothing).fit(ROWS)
    before = model.weights_
    np.testing.assert_array_equal(model.partial_fit(far).weights_, before)


def test_edges_must_be_given_and_stay():
    assert not hasattr(HistogramDensity(), "partial_fit")
    assert not hasattr(HistogramDensity(5), "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit"):
        HistogramDensity([5, 5]).partial_fit(ROWS)
    model = HistogramDensity(EDGES).fit(ROWS)
    model.partial_fit(ROWS)
    assert model.weights_.sum() == 2 * HistogramDensity(EDGES).fit(ROWS).weights_.sum()
    with pytest.raises(ParameterError, match=re.escape("partial_fit cannot change the edges of cells that have rows")):
        model.set_params(bins=[[-3.0, 3.0], [-100.0, 60.0]]).partial_fit(ROWS)

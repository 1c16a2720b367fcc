"""The histogram as a density: truth, optimality, invariance, edges, errors."""

import numpy as np
import pytest

from mercer import config_context
from mercer.errors import DataError, MemoryForecastError, ParameterError
from mercer.neighbors import HistogramDensity


def rows(n=500, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.catalogue("DE-01")
def test_densities_are_counts_over_the_rows_and_the_volume_of_the_cell():
    X = np.array([[0.0, 0.0], [0.5, 1.0], [0.5, 9.0], [2.0, 10.0]])
    model = HistogramDensity(bins=[2, 5]).fit(X)
    assert [edges.tolist() for edges in model.edges_] == [[0, 1, 2], [0, 2, 4, 6, 8, 10]]
    assert (model.n_cells_, model.weights_.sum()) == (10, 4)
    # Cells of 1 x 2: two rows, one, one (on the closed end), none, and outside of the box.
    found = np.exp(model.score_samples([[0.2, 0.1], [0.9, 8.5], [1.5, 9.9], [1.5, 5.0], [5.0, 5.0]]))
    np.testing.assert_allclose(found, [2 / 8, 1 / 8, 1 / 8, 0.0, 0.0])


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e100])
@pytest.mark.parametrize("bins", [3, 10, 49])
def test_counts_are_numpys_for_values_on_the_edges_too(scale, bins):
    X = np.random.default_rng(0).integers(0, 50, size=(3000, 2)) / 49 * scale
    model = HistogramDensity(bins=bins).fit(X)
    counts, edges = np.histogramdd(X, bins=bins)
    np.testing.assert_array_equal(model.edges_, edges)
    table = np.zeros((bins, bins))
    table[tuple(model.bins_.T)] = model.weights_
    np.testing.assert_array_equal(table, counts)


@pytest.mark.catalogue("DE-01")
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("smoothing", [0.0, 2.5])
def test_the_density_integrates_to_one(strategy, smoothing):
    model = HistogramDensity(bins=[4, 7], strategy=strategy, smoothing=smoothing).fit(rows())
    centres = [(edges[1:] + edges[:-1]) / 2 for edges in model.edges_]
    points = np.column_stack([side.ravel() for side in np.meshgrid(*centres, indexing="ij")])
    volumes = np.outer(*(np.diff(edges) for edges in model.edges_)).ravel()
    assert np.exp(model.score_samples(points)) @ volumes == pytest.approx(1.0, rel=1e-13)


@pytest.mark.catalogue("DE-01")
def test_cells_grow_like_a_power_and_memory_like_the_rows():
    cells = [HistogramDensity(bins=10).fit(rows(200, d)) for d in range(1, 7)]
    assert [model.n_cells_ for model in cells] == [10**d for d in range(1, 7)]
    assert all(len(model.weights_) <= 200 for model in cells)
    many = HistogramDensity(bins=1000).fit(rows(50, 40))
    assert many.n_cells_ == 1000**40
    assert np.isfinite(many.score_samples(rows(50, 40))).all()
    assert (many.score_samples(rows(50, 40, seed=1)) == -np.inf).all()
    with config_context(max_memory=2000), pytest.raises(MemoryForecastError, match="the histogram of 1000000 cells"):
        HistogramDensity(bins=100).fit(rows(200, 3))


def test_the_shares_of_the_cells_are_the_most_likely_ones():
    X = rows(300, 1)
    model = HistogramDensity(bins=6).fit(X)
    best = model.score(X)
    assert model.history_["objective"][0] == pytest.approx(best / 300, rel=1e-12)
    random = np.random.default_rng(0)
    for _ in range(20):
        shares = model.weights_ / 300 * np.exp(0.1 * random.normal(size=6))
        width = np.diff(model.edges_[0])[0]
        assert model.weights_ @ np.log(shares / shares.sum() / width) <= best + 1e-9


def test_quantile_bins_have_equal_weights_and_weights_are_repetitions():
    X = rows(600, 1)
    model = HistogramDensity(bins=6, strategy="quantile").fit(X)
    assert np.abs(model.weights_ - 100).max() <= 1
    weight = np.random.default_rng(0).integers(0, 4, 600)
    for strategy in ("uniform", "quantile"):
        weighted = HistogramDensity(bins=6, strategy=strategy).fit(X, sample_weight=weight)
        repeated = HistogramDensity(bins=6, strategy=strategy).fit(X.repeat(weight, axis=0))
        np.testing.assert_array_equal(weighted.edges_[0], repeated.edges_[0])
        np.testing.assert_array_equal(weighted.weights_, repeated.weights_)


def test_automatic_bins_have_scotts_width():
    X = rows(1000, 1)
    model = HistogramDensity().fit(X)
    width = np.diff(model.edges_[0])[0]
    wanted = 3.49 * X.std() * 1000 ** (-1 / 3)
    assert width <= wanted < width * (model.n_cells_ + 1) / model.n_cells_ * 1.1


def test_smoothing_fills_empty_cells_and_samples_fall_there_too():
    model = HistogramDensity(bins=[[0.0, 1.0, 2.0, 4.0]], smoothing=1.0).fit([[0.5], [0.6], [3.0]])
    # Weights 2, 0, 1 plus one each, of 3 + 3.
    np.testing.assert_allclose(np.exp(model.score_samples([[0.1], [1.5], [2.5]])), [3 / 6, 1 / 6, 2 / 6 / 2])
    drawn = model.sample(6000, random_state=0)[:, 0]
    np.testing.assert_allclose(np.histogram(drawn, model.edges_[0])[0] / 6000, [3 / 6, 1 / 6, 2 / 6], atol=0.02)
    assert drawn.min() >= 0
    assert drawn.max() <= 4
    np.testing.assert_array_equal(model.logpdf([[0.1]]), model.score_samples([[0.1]]))


def test_columns_of_one_value_have_a_bin_around_it():
    model = HistogramDensity().fit([[5.0, 1e100], [5.0, 1e100]])
    assert np.isfinite(model.score_samples([[5.0, 1e100]])).all()
    assert model.score_samples([[6.0, 1e100]])[0] == -np.inf


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"bins": [3]}, "one or the edges for each of 2 columns"),
        ({"bins": [3, 0]}, r"bins of a column must be an integer in \[1, 65535\]; got 0"),
        ({"bins": [[0.0, 1.0], [1.0, 1.0]]}, "edges of a column must be two or more finite numbers that rise"),
    ],
)
def test_bins_that_make_no_sense_are_refused(parameters, words):
    with pytest.raises(ParameterError, match=words):
        HistogramDensity(**parameters).fit(rows(20))


def test_quantiles_of_rows_elsewhere_are_refused(tmp_path):
    np.save(tmp_path / "rows.npy", rows())
    with pytest.raises(DataError, match=r"strategy='quantile' needs all rows in memory.*Use strategy='uniform'"):
        HistogramDensity(strategy="quantile").fit(tmp_path / "rows.npy")

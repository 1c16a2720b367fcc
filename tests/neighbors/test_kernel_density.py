"""Kernel density estimation: truth, error bounds, gradients, samples, places of the algorithm, edges, errors."""

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.neighbors import KernelDensity as TheirDensity

import mercer
from mercer.errors import DataError, MemoryForecastError, ParameterError
from mercer.neighbors import KernelDensity
from mercer.neighbors._profile import PROFILES

KERNELS = list(PROFILES)


def rows(n=300, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def lattice(model, low, high, steps):
    """Points in the middle of the cells of a box, and the volume of a cell."""
    sides = [np.linspace(a, b, steps, endpoint=False) + (b - a) / steps / 2 for a, b in zip(low, high, strict=True)]
    points = np.column_stack([side.ravel() for side in np.meshgrid(*sides, indexing="ij")])
    return points, np.prod([(b - a) / steps for a, b in zip(low, high, strict=True)])


@pytest.mark.catalogue("DE-02")
def test_a_box_window_slides_with_the_point_and_is_no_histogram():
    # Rows 0, 1 and 3 with half-width 1: at 0.5 the window holds two rows, at 2 none but the open ends of two.
    model = KernelDensity(kernel="tophat", bandwidth=1.0).fit([[0.0], [1.0], [3.0]])
    found = np.exp(model.score_samples([[0.5], [1.5], [2.0], [2.5], [9.0]]))
    np.testing.assert_allclose(found, [2 / 6, 1 / 6, 0.0, 1 / 6, 0.0], rtol=1e-14)


@pytest.mark.catalogue("DE-02")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_the_density_integrates_to_one(kernel, d, metric):
    model = KernelDensity(kernel=kernel, bandwidth=0.7, metric=metric).fit(rows(5, d), sample_weight=[1, 2, 0, 0.5, 1])
    reach = 16.0 if kernel == "exponential" else 7.0
    points, cell = lattice(model, [-reach] * d, [reach] * d, 20_000 if d == 1 else 250)
    total = np.exp(model.score_samples(points)).sum() * cell
    # Edges of compact profiles cut through cells: the midpoint rule errs in proportion to their size.
    assert total == pytest.approx(1.0, abs=1e-3 if d == 1 else 2e-2)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("algorithm", ["auto", "kd_tree", "ball_tree", "brute"])
def test_exact_densities_are_those_of_scikit_learn(kernel, algorithm):
    X, points = rows(500, 3), 2 * rows(200, 3, seed=1)
    weight = np.random.default_rng(0).uniform(size=500)
    theirs = TheirDensity(kernel=kernel, bandwidth=0.8).fit(X, sample_weight=weight).score_samples(points)
    found = KernelDensity(kernel=kernel, bandwidth=0.8, algorithm=algorithm).fit(X, sample_weight=weight)
    # Where compact profiles give zero, theirs is what rounding left of a sum and a difference, some 1e-17.
    np.testing.assert_allclose(np.exp(found.score_samples(points)), np.exp(theirs), rtol=1e-10, atol=1e-15)
    np.testing.assert_array_equal(found.logpdf(points), found.score_samples(points))


def test_a_bandwidth_for_each_column_scales_the_columns():
    X, points, h = rows(200, 3), rows(50, 3, seed=1), np.array([0.3, 1.0, 4.0])
    model = KernelDensity(bandwidth=h).fit(X)
    scaled = KernelDensity(bandwidth=1.0).fit(X / h).score_samples(points / h) - np.log(h).sum()
    np.testing.assert_allclose(model.score_samples(points), scaled, rtol=1e-12)
    np.testing.assert_array_equal(model.bandwidth_, h)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rtol", [1e-2, 1e-5])
def test_no_density_errs_by_more_than_rtol(kernel, rtol):
    X, points = rows(3000), 2 * rows(500, seed=1)
    exact = KernelDensity(kernel=kernel, bandwidth=0.3, algorithm="brute").fit(X)
    found = KernelDensity(kernel=kernel, bandwidth=0.3, rtol=rtol, algorithm="kd_tree").fit(X)
    expected = exact.score_samples(points)
    felt = np.isfinite(expected)
    error = np.abs(np.expm1(found.score_samples(points)[felt] - expected[felt]))
    assert error.max() <= rtol * (1 + 1e-9)


def test_an_allowance_is_used():
    X, points = rows(3000), rows(500, seed=1)
    exact, rough = (KernelDensity(bandwidth=0.05, rtol=rtol, algorithm="kd_tree").fit(X) for rtol in (0, 1e-3))
    assert 1e-9 < np.abs(rough.score_samples(points) - exact.score_samples(points)).max() <= 1.001e-3


@pytest.mark.parametrize("atol", [1e-2, 1e-4])
@pytest.mark.parametrize("algorithm", ["kd_tree", "grid"])
def test_no_density_errs_by_more_than_atol(atol, algorithm):
    X, points = rows(3000), 2 * rows(500, seed=1)
    exact = np.exp(KernelDensity(bandwidth=0.3).fit(X).score_samples(points))
    found = np.exp(KernelDensity(bandwidth=0.3, atol=atol, algorithm=algorithm).fit(X).score_samples(points))
    assert np.abs(found - exact).max() <= atol


@pytest.mark.parametrize(("d", "h"), [(1, 0.05), (2, 0.2), (3, 0.9)])
@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9])
def test_the_grid_keeps_its_bound_near_the_rows_and_far_from_them(d, h, rtol):
    X = rows(2000, d)
    points = np.vstack([rows(300, d, seed=1), 4 * rows(100, d, seed=2), [[1e6] * d]])
    model = KernelDensity(bandwidth=h, rtol=rtol, algorithm="grid").fit(X)
    assert model.algorithm_used_ == "grid"
    expected = KernelDensity(bandwidth=h).fit(X).score_samples(points)
    found = model.score_samples(points)
    # The last log-density is some -1e13, where a rounding is more than rtol of the density.
    assert np.abs(np.expm1(found - expected))[:-1].max() <= rtol
    assert found[-1] == pytest.approx(expected[-1], rel=1e-12)


def test_the_grid_keeps_its_bound_far_from_the_origin_and_over_many_cells():
    X = 1e6 + np.random.default_rng(0).uniform(0, 2e4, size=(5000, 1))
    points = X[:300] + 0.3
    exact, found = KernelDensity().fit(X), KernelDensity(rtol=1e-8, algorithm="grid").fit(X)
    error = np.abs(np.expm1(found.score_samples(points) - exact.score_samples(points)))
    assert error.max() <= 1e-8


def test_auto_takes_the_grid_for_many_rows_in_few_columns_and_the_tree_otherwise():
    X = rows(30_000)
    assert KernelDensity(bandwidth=0.2, rtol=1e-6).fit(X).algorithm_used_ == "grid"
    assert KernelDensity(bandwidth=0.2).fit(X).algorithm_used_ == "tree"
    assert KernelDensity(bandwidth=1e-4, rtol=1e-6).fit(X).algorithm_used_ == "tree"
    assert KernelDensity(rtol=1e-6).fit(rows(1000, 8)).algorithm_used_ == "tree"
    assert KernelDensity(metric="manhattan").fit(X[:100]).algorithm_used_ == "brute"


def test_the_grid_does_not_depend_on_threads_and_is_saved(tmp_path):
    X, points = rows(20_000), rows(40_000, seed=1)
    models = [KernelDensity(bandwidth=0.2, rtol=1e-6, algorithm="grid", n_jobs=jobs).fit(X) for jobs in (1, 2, 5)]
    first, *others = [model.score_samples(points).tobytes() for model in models]
    assert set(others) == {first}
    mercer.save(models[0], tmp_path / "density.mercer")
    assert mercer.load(tmp_path / "density.mercer").score_samples(points).tobytes() == first


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_gradient_is_the_slope_of_the_log_density(kernel):
    model = KernelDensity(kernel=kernel, bandwidth=[1.5, 0.9]).fit(rows(400), sample_weight=np.arange(400) % 3)
    points, step = rows(40, seed=1), 1e-6
    slopes = [
        (model.score_samples(points + move) - model.score_samples(points - move)) / (2 * step)
        for move in step * np.eye(2)
    ]
    found = model.gradient(points)
    if kernel == "tophat":
        assert not found.any()
    else:
        np.testing.assert_allclose(found, np.column_stack(slopes), rtol=1e-4, atol=1e-6)


def test_far_from_all_rows_the_log_density_is_that_of_the_nearest():
    model = KernelDensity(bandwidth=0.5).fit([[0.0], [1.0]])
    found = model.score_samples([[1001.0]])[0]
    assert found == pytest.approx(-0.5 * 2000.0**2 - np.log(2 * 0.5 * np.sqrt(2 * np.pi)), rel=1e-14)
    assert model.gradient([[1001.0]])[0, 0] == pytest.approx(-1000 / 0.25, rel=1e-12)
    slow = KernelDensity(bandwidth=0.5, kernel="exponential").fit([[0.0]])
    assert slow.score_samples([[1000.0]])[0] == pytest.approx(-2000 - np.log(2 * 0.5), rel=1e-14)
    assert np.isnan(KernelDensity(kernel="tophat").fit([[0.0]]).gradient([[5.0]])).all()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_samples_follow_the_density(kernel, metric):
    model = KernelDensity(kernel=kernel, bandwidth=2.0, metric=metric).fit([[1.0, 1.0]])
    drawn = model.sample(4000, random_state=0)
    norm = {"euclidean": 2, "manhattan": 1, "chebyshev": np.inf}[metric]
    lengths = np.linalg.norm(drawn - 1.0, ord=norm, axis=1) / 2
    # In two dimensions a distance has density proportional to r k(r).
    r = np.linspace(0, 30, 300_001)
    share = np.cumsum(r * np.exp(model.score_samples(np.column_stack([1 + 2 * r, np.ones(len(r))]))))
    assert kstest(lengths, lambda x: np.interp(x, r, share / share[-1])).pvalue > 1e-3
    assert np.abs(drawn.mean(axis=0) - 1.0).max() < 0.25
    weighted = KernelDensity(bandwidth=1e-9).fit([[0.0], [1.0]], sample_weight=[1, 3]).sample(4000, random_state=0)
    assert np.mean(weighted > 0.5) == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"bandwidth": 0.0}, ParameterError, "bandwidth must be a number in .0, inf.* got 0.0"),
        ({"bandwidth": [1.0]}, ParameterError, "one for each of 2 columns; got .1.0."),
        ({"bandwidth": [1.0, 0.0]}, ParameterError, "must be a positive number, or one for each of 2 columns"),
        (
            {"bandwidth": [1.0, 1.0], "metric": "manhattan"},
            ParameterError,
            "needs the Euclidean metric.*Give one number",
        ),
        ({"metric": "cosine"}, ParameterError, "invalid metric for algorithm='auto': .*got 'cosine'"),
        ({"algorithm": "grid"}, ParameterError, "algorithm='grid' needs kernel='gaussian'.*Use algorithm='auto'"),
        ({"algorithm": "grid", "rtol": 1e-6, "bandwidth": 1e-9}, MemoryForecastError, "use algorithm='kd_tree'"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_cure(parameters, error, words):
    with pytest.raises(error, match=words):
        KernelDensity(**parameters).fit(rows(20))


def test_metrics_that_are_no_norm_have_neither_samples_nor_gradients():
    model = KernelDensity(metric="haversine").fit(rows(10))
    with pytest.raises(DataError, match="sample needs a metric that is a norm; got metric='haversine'"):
        model.sample()
    with pytest.raises(DataError, match="gradient needs the Euclidean metric"):
        model.gradient(rows(2))

"""The choice of a kernel and its width, and the pictures of processes."""

import numpy as np
import pytest
import sklearn.svm
from scipy.stats import multivariate_normal
from sklearn.datasets import make_circles
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, StratifiedKFold

from mercer.errors import DataError, ParameterError
from mercer.gaussian_process import GaussianProcessRegressor, select_kernel
from mercer.kernel_ridge import KernelRidge
from mercer.kernels import RBF, Linear, Matern, Polynomial, White
from mercer.svm import SVC


def rows():
    random = np.random.default_rng(0)
    X = random.uniform(0, 6, size=(60, 1))
    return X, np.sin(X[:, 0]) + 0.1 * random.normal(size=60)


@pytest.mark.catalogue("KM-25")
@pytest.mark.parametrize("cv", ["evidence", 4])
def test_the_chosen_setting_has_the_best_score_of_the_table(cv):
    X, y = rows()
    found = select_kernel(GaussianProcessRegressor(alpha=0.01), X, y, cv=cv)
    row, column = found.kernels.index(found.best_kernel), list(found.widths).index(found.best_width)
    assert found.scores[row, column] == found.scores.max()
    assert 0.3 < found.best_width < 10
    assert found.best_estimator.score(X, y) > 0.95


@pytest.mark.catalogue("KM-25")
def test_a_tiny_width_learns_by_heart_and_a_huge_one_nothing():
    X, y = rows()
    folds = KFold(4, shuffle=True, random_state=0)
    found = select_kernel(
        GaussianProcessRegressor(alpha=1e-6), X, y, kernels={"Gaussian": RBF()}, widths=[1e-3, 1.0, 1e4], cv=folds
    )
    assert found.training_scores[0, 0] > 0.999
    assert found.scores[0, 0] < 0.3
    assert found.training_scores[0, 2] < 0.8
    assert found.best_width == 1.0


@pytest.mark.catalogue("KM-25")
def test_every_trial_of_kernel_width_degree_and_cost_is_scored_by_the_folds():
    """The table against loops over LIBSVM's machines, whose kernels have gamma = 1 / (2 width^2)."""
    X, y = make_circles(120, factor=0.5, noise=0.12, random_state=0)
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    widths, degrees, costs = [0.02, 0.5, 30.0], [1, 2, 3], [0.01, 1.0, 100.0]
    kernels = {"Gaussian": RBF(), "polynomial": Polynomial(coef0=1.0), "linear": Linear()}
    found = select_kernel(
        SVC(tol=1e-6), X, y, kernels=kernels, widths=widths, degrees=degrees, settings={"C": costs}, cv=folds
    )
    assert len(found.trials) == 3 * 3 + 3 * 3 + 3
    for trial in found.trials:
        shape = {"kernel": "linear"}
        if trial["kernel"] == "Gaussian":
            shape = {"kernel": "rbf", "gamma": 0.5 / trial["width"] ** 2}
        elif trial["kernel"] == "polynomial":
            shape = {"kernel": "poly", "gamma": 1.0, "degree": int(trial["degree"]), "coef0": 1.0}
        theirs = sklearn.svm.SVC(C=trial["C"], tol=1e-6, **shape)
        hits = [theirs.fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds.split(X, y)]
        assert trial["score"] == pytest.approx(np.mean(hits), abs=0.02)
    top = max(found.trials, key=lambda trial: trial["score"])
    assert (found.best_kernel, found.best_settings["C"]) == (top["kernel"], top["C"])
    assert found.best_settings["C"] == found.best_estimator.C
    assert found.best_kernel != "linear"
    assert found.scores.shape == (3, 3)
    assert found.scores[2].tolist() == [max(t["score"] for t in found.trials if t["kernel"] == "linear")] * 3
    # A tiny width learns by heart; a huge one, and a line, cannot bend.
    tiny = [trial for trial in found.trials if trial["width"] == 0.02 and trial["C"] == 100.0]
    assert tiny[0]["training_score"] == 1.0
    assert tiny[0]["score"] < found.scores.max() - 0.1
    assert found.scores[0, 2] < found.scores[0, 1]


@pytest.mark.catalogue("KM-25")
def test_the_degree_of_a_cubic_and_a_small_penalty_are_found():
    kernels, settings, chosen = {"polynomial": Polynomial(coef0=1.0)}, {"alpha": [1e-4, 1.0, 1e3]}, []
    # In one table of thirty the folds prefer degree 9 by chance.
    for table in range(7):
        x = np.random.default_rng([3, table]).uniform(-2, 2, size=(40, 1))
        y = x[:, 0] ** 3 - 2 * x[:, 0] + 0.05 * np.random.default_rng([4, table]).normal(size=40)
        found = select_kernel(KernelRidge(), x, y, kernels=kernels, degrees=[1, 2, 3, 9], settings=settings, cv=5)
        chosen.append(found.best_degree)
        assert found.best_degree == found.best_estimator.kernel.degree
    assert np.median(chosen) == 3
    assert found.best_settings == {"alpha": 1e-4}
    assert np.isnan(found.best_width)
    by_degree = {trial["degree"]: trial["score"] for trial in found.trials if trial["alpha"] == 1e-4}
    assert max(by_degree[1], by_degree[2]) < 0.9 < by_degree[3]


@pytest.mark.catalogue("KM-25")
def test_the_evidence_of_a_noise_is_the_gaussian_density_of_the_targets():
    X, y = rows()
    found = select_kernel(
        GaussianProcessRegressor(), X, y, kernels={"G": RBF()}, widths=[0.3, 1.5], settings={"alpha": [1e-3, 0.01, 1.0]}
    )
    for trial in found.trials:
        covariance = rbf_kernel(X, gamma=0.5 / trial["width"] ** 2) + trial["alpha"] * np.eye(len(X))
        expected = multivariate_normal(np.zeros(len(X)), covariance).logpdf(y)
        assert trial["score"] == pytest.approx(expected, rel=1e-6)
    assert found.best_settings == {"alpha": 0.01}


def test_widths_are_set_inside_sums_and_products():
    X, y = rows()
    kernels = {"noisy": 1.0 * Matern(nu=1.5) + White(0.01)}
    found = select_kernel(GaussianProcessRegressor(), X, y, kernels=kernels, widths=[0.5, 2.0])
    assert found.best_estimator.kernel_.k1.k2.length_scale == found.best_width
    assert kernels["noisy"].k1.k2.length_scale == 1.0


def test_what_cannot_be_is_refused_by_name():
    X, y = rows()
    with pytest.raises(ParameterError, match="cv='evidence' needs a Gaussian process; got Ridge"):
        select_kernel(Ridge(), X, y)
    with pytest.raises(ParameterError, match="widths must be one or more numbers"):
        select_kernel(GaussianProcessRegressor(), X, y, widths=[0.0])
    with pytest.raises(ParameterError, match="must have a length_scale or a degree to set"):
        select_kernel(GaussianProcessRegressor(), X, y, kernels={"noise": White()})
    with pytest.raises(ParameterError, match="degrees must be one or more numbers"):
        select_kernel(GaussianProcessRegressor(), X, y, degrees=[])
    with pytest.raises(ParameterError, match=r"parameters of GaussianProcessRegressor; got 'C' with \[1.0\]"):
        select_kernel(GaussianProcessRegressor(), X, y, settings={"C": [1.0]})


@pytest.mark.catalogue("PL-34")
def test_the_band_shrinks_at_the_data_and_samples_go_through_it():
    matplotlib = pytest.importorskip("matplotlib", reason="the display draws with matplotlib")
    matplotlib.use("Agg")
    from mercer.inspection import KernelSelectionDisplay, ProcessDisplay

    grid = np.linspace(-1, 8, 50)
    prior = ProcessDisplay.from_estimator(GaussianProcessRegressor(RBF()), grid)
    np.testing.assert_allclose(prior.std, 1.0)
    assert prior.points_ is None
    X, y = rows()
    model = GaussianProcessRegressor(RBF(), alpha=1e-3, optimizer=None, normalize_y=True).fit(X, y)
    display = ProcessDisplay.from_estimator(model, grid, n_samples=2)
    inside = (grid > X.min()) & (grid < X.max())
    assert display.std[inside].max() < 0.3 * display.std[[0, -1]].min()
    np.testing.assert_allclose(display.targets, y)
    assert len(display.ax_.lines) == 3
    found = select_kernel(GaussianProcessRegressor(alpha=0.01), X, y, widths=[0.1, 1.0], cv=3)
    assert len(KernelSelectionDisplay(found).plot().lines_) == 3
    assert KernelSelectionDisplay(found).plot(kind="table").image_.get_array().shape == (3, 2)
    matplotlib.pyplot.close("all")


def test_a_process_of_two_columns_has_no_band_to_draw():
    from mercer.inspection import ProcessDisplay

    model = GaussianProcessRegressor(RBF(), optimizer=None).fit(np.eye(2), [0.0, 1.0])
    with pytest.raises(DataError, match="must have one column and one target; got 2 columns"):
        ProcessDisplay.compute(model, [0.0])

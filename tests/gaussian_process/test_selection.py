"""The choice of a kernel and its width, and the pictures of processes."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from mercer.errors import DataError, ParameterError
from mercer.gaussian_process import GaussianProcessRegressor, select_kernel
from mercer.kernels import RBF, Matern, White


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
    with pytest.raises(ParameterError, match="must have a length_scale to set"):
        select_kernel(GaussianProcessRegressor(), X, y, kernels={"noise": White()})


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
        ProcessDisplay.of(model, [0.0])

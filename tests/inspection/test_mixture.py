"""Pictures of mixtures: ellipses with the right axes, colours that mix, a curve that rises."""

import numpy as np
import pytest

from mercer.errors import DataError
from mercer.inspection import EMPanelsDisplay, MixtureDisplay
from mercer.mixture import GaussianMixture

matplotlib = pytest.importorskip("matplotlib", reason="the display draws with matplotlib")
matplotlib.use("Agg")
pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    return np.concatenate([generator.normal(size=(100, 2)), generator.normal(size=(100, 2)) * [3.0, 0.5] + [4.0, 4.0]])


@pytest.mark.catalogue("PL-03")
@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_half_axes_are_roots_of_eigenvalues_and_the_longer_points_along_its_vector(rows, kind):
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(rows)
    display = MixtureDisplay.from_estimator(model, rows, deviations=1.0)
    for ellipse, covariance in zip(display.ellipses_, model._components().each_covariance()):
        values, vectors = np.linalg.eigh(covariance)
        np.testing.assert_allclose([ellipse.width / 2, ellipse.height / 2], np.sqrt(values))
        angle = np.radians(ellipse.angle)
        assert abs(vectors[:, 0] @ [np.cos(angle), np.sin(angle)]) == pytest.approx(1.0)
    assert len(display.points_.get_offsets()) == 200
    matplotlib.pyplot.close(display.figure_)


@pytest.mark.catalogue("PL-05")
def test_panels_show_the_steps_of_one_run_and_the_curve_never_falls(rows):
    model = GaussianMixture(2, random_state=0, init_params="random_from_data")
    display = EMPanelsDisplay.from_estimator(model, rows, iterations=(0, 1, 8))
    assert len(display.axes_) == 4
    assert (np.diff(display.line_.get_ydata()) >= -1e-9).all()
    assert len(display.line_.get_ydata()) == 8
    last = model.set_params(max_iter=8, tol=0.0)
    with pytest.warns(UserWarning, match="stopped by max_iter"):
        last.fit(rows)
    np.testing.assert_allclose(display.panels[-1].means, last.means_)
    matplotlib.pyplot.close(display.figure_)


def test_more_than_two_columns_are_refused_with_the_cure():
    with pytest.raises(DataError, match=r"got means of shape \(1, 3\). Take model.marginal of two columns"):
        MixtureDisplay(np.zeros((1, 3)), np.eye(3)[None])


def test_a_mixture_of_one_column_is_its_density_over_a_histogram(rows):
    X = rows[:, :1]
    model = GaussianMixture(2, random_state=0).fit(X)
    display = MixtureDisplay.from_estimator(model, X)
    x, density = display.line_.get_data()
    np.testing.assert_allclose(density, np.exp(model.score_samples(x[:, None])), rtol=1e-9)
    np.testing.assert_allclose(sum(curve.get_ydata() for curve in display.ellipses_), density)
    # The histogram is a density too: its bars have the area one.
    assert sum(bar.get_width() * bar.get_height() for bar in display.points_) == pytest.approx(1.0)
    panels = EMPanelsDisplay.from_estimator(GaussianMixture(2, random_state=0), X, iterations=(0, 3))
    assert len(panels.panels) == 2

"""Decision boundaries drawn where scores say, and k-means drawn from its own record."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from mercer.cluster import KMeans
from mercer.discriminant_analysis import QuadraticDiscriminantAnalysis
from mercer.errors import DataError
from mercer.inspection import DecisionBoundaryDisplay, KMeansPanelsDisplay
from mercer.linear_model import GeneralizedLinearEstimator, LogisticRegression
from mercer.svm import SVC

matplotlib = pytest.importorskip("matplotlib", reason="the display draws with matplotlib")
matplotlib.use("Agg")
pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(120, centers=[[-2.0, 0.0], [2.0, 1.0]], random_state=0)
    return X, np.array(["ash", "birch"])[y]


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    matplotlib.pyplot.close("all")


@pytest.mark.catalogue("PL-02")
def test_lines_are_where_the_decision_function_has_their_level(blobs):
    X, y = blobs
    model = GeneralizedLinearEstimator("hinge", alpha=0.01).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, levels=(-1.0, 0.0, 1.0))
    for level, paths in zip((-1.0, 0.0, 1.0), display.lines_.get_paths(), strict=True):
        assert len(paths.vertices) > 10
        np.testing.assert_allclose(model.decision_function(paths.vertices), level, atol=1e-9)
    assert len(display.points_.get_offsets()) == len(X)


@pytest.mark.catalogue("PL-02")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_boundary_around_a_narrow_class_in_a_wide_one_is_drawn_as_the_circle_that_it_is(unit):
    """N(0, I) and N(0, 4 I) with equal shares: the radius is the root of 8/3 log 4."""
    covariances = unit**2 * np.array([np.eye(2), 4 * np.eye(2)])
    model = QuadraticDiscriminantAnalysis.from_parameters(np.zeros((2, 2)), covariances, [0.5, 0.5])
    corners = unit * np.array([[-3.0, -3.0], [3.0, 3.0]])
    display = DecisionBoundaryDisplay.from_estimator(model, corners, [0, 1], levels=(0.0,), resolution=200)
    path = display.lines_.get_paths()[0].vertices
    radius = unit * np.sqrt(8 / 3 * np.log(4))
    np.testing.assert_allclose(np.linalg.norm(path, axis=1), radius, rtol=1e-3)
    # The whole circle: every sixteenth of a turn has a vertex.
    turns = np.floor((np.arctan2(*path.T) + np.pi) / (2 * np.pi) * 16).astype(int) % 16
    assert set(turns) == set(range(16))
    inside = np.hypot(*np.meshgrid(display.x, display.y)) < radius
    np.testing.assert_array_equal(display.classes == 0, inside)


@pytest.mark.catalogue("PL-02")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_margins_of_two_points_are_drawn_through_them_and_the_line_halfway(unit):
    """A hard margin between (0, 0) and (4, 2): the line 2 x + y = 5, with margins through the points themselves."""
    X, y = unit * np.array([[0.0, 0.0], [4.0, 2.0], [-1.0, -2.0], [6.0, 3.0]]), np.array([0, 1, 0, 1])
    model = SVC(kernel="linear", C=np.inf, tol=1e-9).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, y)
    assert display.levels == (-1.0, 0.0, 1.0)
    for level, path in zip((0.0, 5.0, 10.0), display.lines_.get_paths(), strict=True):
        np.testing.assert_allclose(path.vertices @ [2.0, 1.0] / unit, level, atol=1e-5)
    np.testing.assert_allclose(np.asarray(display.rings_.get_offsets()), X[:2], atol=1e-12 * unit)
    np.testing.assert_allclose(np.asarray(display.points_.get_offsets()), X, atol=1e-12 * unit)


@pytest.mark.catalogue("PL-02")
def test_rings_are_drawn_around_support_vectors(blobs):
    X, y = blobs
    model = SVC(C=2.0).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, levels=(-1.0, 0.0, 1.0), support=True)
    np.testing.assert_allclose(np.asarray(display.rings_.get_offsets()), model.support_vectors_)
    assert len(display.lines_.get_paths()) == 3


@pytest.mark.catalogue("PL-02")
def test_regions_are_the_predictions_of_any_number_of_classes():
    X, y = make_blobs(150, centers=3, random_state=1)
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=30)
    points = np.stack(np.meshgrid(display.x, display.y), axis=-1).reshape(-1, 2)
    np.testing.assert_array_equal(display.classes.ravel(), model.predict(points))
    np.testing.assert_array_equal(np.asarray(display.regions_.get_array()).ravel(), display.classes.ravel())
    assert set(np.unique(display.classes)) == {0, 1, 2}


def test_a_boundary_needs_two_columns(blobs):
    X, y = blobs
    model = LogisticRegression().fit(X, y)
    with pytest.raises(DataError, match="X must have two columns"):
        DecisionBoundaryDisplay.compute(model, np.zeros((3, 3)))
    with pytest.raises(DataError, match=r"classes must have shape \(2, 3\)"):
        DecisionBoundaryDisplay([0, 1, 2], [0, 1], np.zeros((3, 2)))


@pytest.mark.catalogue("PL-06")
def test_panels_of_k_means_show_the_steps_of_one_run_and_its_record():
    X, _ = make_blobs(200, centers=4, cluster_std=2.0, random_state=0)
    model = KMeans(4, init="random", random_state=3)
    display = KMeansPanelsDisplay.from_estimator(model, X, iterations=(1, 2, 12))
    assert len(display.axes_) == 4
    full = model.set_params(max_iter=12, n_init=1).fit(X)
    np.testing.assert_array_equal(display.line_.get_ydata(), full.history_["objective"])
    np.testing.assert_array_equal(display.panels[-1][0], full.cluster_centers_)
    assert (np.diff(display.line_.get_ydata()) <= 1e-9).all()
    with pytest.raises(DataError, match="rows must have two columns"):
        KMeansPanelsDisplay(np.zeros((2, 3)), [], [], [])


def test_a_frame_is_drawn_without_a_warning_of_its_names():
    pandas = pytest.importorskip("pandas", reason="the rows are a frame of pandas")
    X, y = make_blobs(40, 2, centers=2, random_state=0)
    frame = pandas.DataFrame(X, columns=["width", "height"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display = DecisionBoundaryDisplay.from_estimator(LogisticRegression().fit(frame, y), frame)
    plain = DecisionBoundaryDisplay.compute(LogisticRegression().fit(X, y), X)
    np.testing.assert_array_equal(display.classes, plain.classes)


def test_margins_and_support_vectors_of_a_machine_are_drawn_unless_they_are_not_wanted(blobs):
    X, y = blobs
    model = SVC(kernel="linear").fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, y)
    assert display.levels == (-1.0, 0.0, 1.0)
    np.testing.assert_array_equal(display.support, model.support_vectors_)
    plain = DecisionBoundaryDisplay.from_estimator(model, X, y, levels=(0.0,), support=False)
    assert plain.levels == (0.0,)
    assert plain.rings_ is None
    with pytest.raises(DataError, match="support=True needs a model with dense support_vectors_; got Logistic"):
        DecisionBoundaryDisplay.compute(LogisticRegression().fit(X, y), X, support=True)


def test_regions_of_k_means_are_those_of_the_nearest_centres(blobs):
    X, _ = blobs
    model = KMeans(3, random_state=0).fit(X)
    display = DecisionBoundaryDisplay.from_estimator(model, X, model.labels_, resolution=20)
    points = np.stack(np.meshgrid(display.x, display.y), axis=-1)
    nearest = ((points[..., None, :] - model.cluster_centers_) ** 2).sum(axis=-1).argmin(axis=-1)
    np.testing.assert_array_equal(display.classes, nearest)

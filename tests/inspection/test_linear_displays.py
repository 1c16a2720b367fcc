"""Displays of linear models: what is drawn equals closed forms, and the numbers of the model."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso as PeerLasso

from mercer import objectives
from mercer.datasets import make_ising_chain, make_ising_lattice, pair_products
from mercer.discriminant_analysis import LinearDiscriminantAnalysis
from mercer.errors import DataError, ParameterError
from mercer.inspection import (
    CoefficientPathDisplay,
    CouplingDisplay,
    DecisionBoundaryDisplay,
    LossDisplay,
    PenaltyGeometryDisplay,
    PlaneDistanceDisplay,
    ScoreCurveDisplay,
    ShrinkageDisplay,
    SpinDisplay,
)
from mercer.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from mercer.model_selection import complexity_curve
from mercer.svm import SVC
from mercer.tree import DecisionTreeClassifier

matplotlib = pytest.importorskip("matplotlib", reason="the displays draw with matplotlib")
matplotlib.use("Agg")
pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return 3.0 * X + 5.0, y


@pytest.mark.catalogue("PL-18")
def test_the_path_of_the_lasso_is_that_of_a_peer_and_reaches_exact_zeros(diabetes):
    X, y = diabetes
    strengths = np.array([3e4, 1e6, 300.0])  # in no order
    display = CoefficientPathDisplay.from_rows(X, y, strengths=strengths)
    for place, strength in enumerate(strengths):
        peer = PeerLasso(strength / (2 * len(y)), tol=1e-10, max_iter=100_000).fit(X, y).coef_
        drawn = np.array([line.get_ydata()[place] for line in display.lines_])
        np.testing.assert_allclose(drawn, peer, atol=1e-3)
        np.testing.assert_array_equal(drawn == 0, np.abs(peer) < 1e-9)
    assert display.n_nonzero_[1] == 0
    assert [line.get_label() for line in display.lines_] == list(X.columns)
    whole = CoefficientPathDisplay.compute(X, y)
    assert whole.n_nonzero_[0] == 0 < whole.n_nonzero_[-1]


@pytest.mark.catalogue("PL-18")
def test_the_path_of_ridge_has_its_closed_form_and_no_zeros(diabetes):
    X, y = diabetes
    display = CoefficientPathDisplay.from_rows(X, y, penalty="l2", strengths=[0.1, 7.0])
    centred = X.to_numpy() - X.to_numpy().mean(axis=0)
    for place, strength in enumerate((0.1, 7.0)):
        exact = np.linalg.solve(centred.T @ centred + strength * np.eye(10), centred.T @ (y - y.mean()))
        np.testing.assert_allclose([line.get_ydata()[place] for line in display.lines_], exact, rtol=1e-8)
    assert (CoefficientPathDisplay.compute(X, y, penalty="l2").n_nonzero_ == 10).all()
    assert display.ax_.get_xscale() == "log"


@pytest.mark.catalogue("PL-18")
def test_curves_of_shrinkage_are_the_minima_that_a_search_finds():
    penalties = {
        "lasso": objectives.L1(0.7),
        "ridge": objectives.L2(0.7),
        "net": objectives.ElasticNetPenalty(0.4, 2.0),
        "root": objectives.PowerPenalty(0.5, 0.3),
    }
    display = ShrinkageDisplay.from_penalties(penalties, np.array([-2.5, -0.6, 0.0, 0.69, 0.71, 3.0]))
    candidates = np.linspace(-4, 4, 20_001)
    prices = {
        name: np.array([penalty.value(np.array([[u]])) for u in candidates]) for name, penalty in penalties.items()
    }
    for line in display.lines_[1:]:
        for w, u in line.get_xydata():
            cost = (candidates - w) ** 2 / 2 + prices[line.get_label()]
            assert abs(candidates[cost.argmin()] - u) < 1e-3
    assert display.curves_["lasso"][3] == 0 < display.curves_["lasso"][4]
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), display.w)


@pytest.mark.catalogue("PL-18")
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("radius", [0.3, 2.0])
def test_the_ellipse_touches_the_ball_at_the_penalised_coefficients(order, radius):
    random = np.random.default_rng(order)
    X = random.normal(size=(60, 2)) @ np.array([[1.0, 0.0], [0.8, 0.5]]) + 4.0
    y = X @ [3.0, -1.5] + random.normal(size=60)
    display = PenaltyGeometryDisplay.from_rows(X, y, order=order, radius=radius)
    angle = np.linspace(0, 2 * np.pi, 200_001)
    ring = np.stack([np.cos(angle), np.sin(angle)])
    ring *= radius / np.linalg.norm(ring, order, axis=0)
    brute = ring[:, display.measure_error(ring).argmin()]
    np.testing.assert_allclose(display.touch_, brute, atol=1e-3 * radius)
    np.testing.assert_allclose(display.touch_point_.get_xydata()[0], display.touch_)
    np.testing.assert_allclose(np.linalg.norm(display.touch_, order), radius)
    np.testing.assert_allclose(display.centre, LinearRegression().fit(X, y).coef_)
    # The error of the drawn ellipse is that of the rows, about the least one.
    residual = lambda w: (np.square((y - y.mean()) - (X - X.mean(axis=0)) @ w)).sum()  # noqa: E731
    assert display.measure_error(display.touch_) == pytest.approx(residual(display.touch_) - residual(display.centre))
    assert display.contours_.levels[-1] == pytest.approx(display.measure_error(display.touch_))


def test_a_centre_within_the_ball_is_where_it_was():
    display = PenaltyGeometryDisplay([0.1, -0.2], np.eye(2), order=1, radius=1.0).plot()
    assert display.touch_.tolist() == [0.1, -0.2]


@pytest.mark.catalogue("PL-19")
def test_couplings_are_drawn_as_the_model_found_them():
    spins, energy = make_ising_chain(300, 8, random_state=3)
    model = Lasso(0.01, fit_intercept=False, tol=1e-8, max_iter=10_000).fit(pair_products(spins), energy)
    display = CouplingDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.image_.get_array(), model.coef_.reshape(8, 8))
    low, high = display.image_.get_clim()
    assert -low == high == np.abs(model.coef_).max()
    strong = np.argwhere(np.abs(model.coef_.reshape(8, 8)) > 0.3)
    assert len(strong)
    assert {int(abs(a - b)) for a, b in strong} <= {1, 7}  # neighbours of the ring alone


@pytest.mark.catalogue("PL-19")
def test_scores_are_drawn_along_the_logarithm_of_the_penalty():
    spins, energy = make_ising_chain(40, 6, random_state=1)
    curve = complexity_curve(
        Ridge(fit_intercept=False), pair_products(spins), energy, name="alpha", values=[1e4, 1.0, 1e-2], random_state=0
    )
    display = ScoreCurveDisplay.from_result(curve, log=True)
    assert display.ax_.get_xscale() == "log"
    train, unseen = display.lines_
    np.testing.assert_array_equal(unseen.get_xdata(), [1e4, 1.0, 1e-2])
    np.testing.assert_allclose(train.get_ydata(), curve.train.mean(axis=1))
    np.testing.assert_allclose(unseen.get_ydata(), curve.test.mean(axis=1))
    assert ScoreCurveDisplay(curve).plot().ax_.get_xscale() == "linear"


@pytest.mark.catalogue("PL-19")
def test_spins_are_drawn_state_by_state():
    cold = make_ising_lattice(1, 12, temperature=0.5, n_sweeps=300, random_state=0)[0]
    hot = make_ising_lattice(1, 12, temperature=50.0, n_sweeps=50, random_state=0)[0]
    display = SpinDisplay(np.concatenate([cold, hot]), titles=["cold", "hot"]).plot()
    for image, state in zip(display.images_, (cold, hot), strict=True):
        np.testing.assert_array_equal(image.get_array(), state.reshape(12, 12))
    assert [ax.get_title() for ax in display.axes_] == ["cold", "hot"]
    np.testing.assert_allclose(display.magnetisation_, [cold.mean(), hot.mean()])
    assert SpinDisplay(np.ones((1, 3, 3))).plot().axes_[0].get_title() == "m = 1.00"


@pytest.mark.catalogue("PL-39")
def test_every_loss_of_one_score_is_drawn_at_its_values():
    made = [getattr(objectives, name) for name in objectives.__all__]
    losses = [
        one()
        for one in made
        if isinstance(one, type)
        and issubclass(one, objectives.Loss)
        and one not in (objectives.Loss, objectives.Softmax)
        and not one.predicts_exponentials
    ]
    x = np.array([-2.0, -0.25, 0.0, 0.25, 1.5])
    kinds = {}
    for loss in losses:
        kinds.setdefault(loss.target, []).append(loss)
    assert {kind: len(group) for kind, group in kinds.items()} == {"labels": 7, "numbers": 8}
    for kind, group in kinds.items():
        display = LossDisplay.from_losses(group, x)
        assert display.ax_.get_xlabel() == {"labels": "margin", "numbers": "residual"}[kind]
        assert len(display.lines_) == len(group)
    labels = LossDisplay(kinds["labels"], x).values_
    closed = {
        "ZeroOne": x <= 0,
        "PerceptronLoss": np.maximum(-x, 0),
        "Hinge": np.maximum(1 - x, 0),
        "SquaredHinge": np.maximum(1 - x, 0) ** 2,
        "ModifiedHuber": np.where(x >= -1, np.maximum(1 - x, 0) ** 2, -4 * x),
        "Logistic": np.log1p(np.exp(-x)),
        "Exponential": np.exp(-x),
    }
    for name, values in closed.items():
        at = x != 0 if name == "ZeroOne" else np.full(5, True)
        ratio = labels[name][at] / np.where(values[at] == 0, 1, values[at])
        assert np.ptp(ratio[values[at] != 0]) < 1e-12, name  # up to a constant factor: half squares
        assert (labels[name][at][values[at] == 0] == 0).all()
    bits = LossDisplay([objectives.ZeroOne(), objectives.Logistic()], x, bits=True)
    assert bits.values_["Logistic"][2] == pytest.approx(1.0)
    assert (bits.values_["Logistic"] >= bits.values_["ZeroOne"] - 1e-15).all()
    two = LossDisplay([objectives.Huber(0.5), objectives.Huber(1.0)], x)
    assert len(two.values_) == 2


@pytest.mark.catalogue("PL-02")
@pytest.mark.parametrize(
    "model", [LogisticRegression(), LinearDiscriminantAnalysis(), LogisticRegression(fit_intercept=False)]
)
def test_perpendiculars_have_the_length_of_the_scores_over_the_norm(model):
    random = np.random.default_rng(4)
    X = random.normal(size=(30, 2)) * [1.0, 5.0] + [2.0, -7.0]
    y = np.where(0.5 + random.normal(size=30) < X @ [1.0, 0.2], 1, -1)
    model.fit(X, y)
    display = PlaneDistanceDisplay.from_estimator(model, X, y)
    lengths = [np.linalg.norm(end - start) for start, end in display.segments_.get_segments()]
    np.testing.assert_allclose(lengths, np.abs(model.decision_function(X)) / np.linalg.norm(model.coef_))
    np.testing.assert_array_equal(display.distances_ > 0, model.predict(X) == 1)
    np.testing.assert_allclose(model.decision_function(display.feet_), 0.0, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(display.line_.get_xydata()), 0.0, atol=1e-9)


@pytest.mark.catalogue("PL-02")
def test_curved_boundaries_and_margins_follow_the_scores_and_the_plane_can_show_them():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 2))
    y = np.where(np.linalg.norm(X, axis=1) > 1.1, 1, -1)
    model = SVC(C=10.0, gamma=0.7).fit(X, y)
    options = {"levels": (-1.0, 0.0, 1.0), "resolution": 150}
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, fill="scores", support=True, **options)
    slope = np.abs(np.diff(display.scores, axis=0)).max()
    for level, path in zip((-1.0, 0.0, 1.0), display.lines_.get_paths(), strict=True):
        # Contours are straight within a cell of the grid: scores there vary by less than a cell's step.
        np.testing.assert_allclose(model.decision_function(path.vertices), level, atol=0.5 * slope)
    points = np.stack(np.meshgrid(display.x, display.y), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(np.ravel(display.regions_.get_array()), model.decision_function(points))
    assert display.regions_.get_clim() == (-np.abs(display.scores).max(), np.abs(display.scores).max())
    np.testing.assert_array_equal(display.points_.get_array(), (y + 1) // 2)
    tree = DecisionTreeClassifier(max_depth=2).fit(X, y)
    with pytest.raises(DataError, match=r"fill must be 'classes' or, .* 'scores'; got 'scores' without scores"):
        DecisionBoundaryDisplay.compute(tree, X, fill="scores")
    with pytest.raises(DataError, match=r"y must hold labels of the classifier, .*; got \[7\]"):
        DecisionBoundaryDisplay.from_estimator(model, X[:2], [7, 1], resolution=5)


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (lambda: CoefficientPathDisplay([0.0, 1.0], np.ones((2, 3))), DataError, "strengths must be positive numbers"),
        (
            lambda: CoefficientPathDisplay([1.0], np.ones((2, 3))),
            DataError,
            "one row per strength, 1; got shape (2, 3)",
        ),
        (
            lambda: CoefficientPathDisplay([1.0], np.ones((1, 3)), names="ab"),
            DataError,
            "names must have 3 entries; got 2",
        ),
        (
            lambda: CoefficientPathDisplay.compute([[1.0]], [1.0], penalty="l3"),
            ParameterError,
            "'l1' or 'l2'; got 'l3'",
        ),
        (lambda: ShrinkageDisplay({"one": 1.0}), DataError, "penalties must have a proximal map; got float for 'one'"),
        (lambda: ShrinkageDisplay({}, [[1.0]]), DataError, "w must have one axis; got shape (1, 1)"),
        (lambda: PenaltyGeometryDisplay([1, 1], np.eye(2), order=3), ParameterError, "order must be 1 or 2"),
        (lambda: PenaltyGeometryDisplay([1, 1], -np.eye(2)), DataError, "a positive definite 2 x 2 matrix"),
        (
            lambda: PenaltyGeometryDisplay.from_rows(np.eye(3), [1, 2, 3]),
            DataError,
            "X must have two columns; got shape",
        ),
        (lambda: CouplingDisplay(np.ones((2, 3))), DataError, "a square matrix; got shape (2, 3)"),
        (lambda: CouplingDisplay.compute(Ridge()), DataError, "must be fitted and have coef_; got Ridge"),
        (lambda: CouplingDisplay.compute(Ridge().fit(np.eye(3), [1, 2, 3])), DataError, "must have n^2 coefficients"),
        (lambda: SpinDisplay([1, 1, -1, 1]), DataError, "states must have rows of side^2 spins; got shape (4,)"),
        (lambda: SpinDisplay([[1, 1, -1, 1]], titles=["a", "b"]), DataError, "titles must have 1 entries"),
        (lambda: LossDisplay([objectives.Hinge(), objectives.Squared()]), DataError, "of one kind, all of labels or"),
        (lambda: LossDisplay([objectives.Softmax(3)]), DataError, "with one score a row; got Softmax"),
        (lambda: PlaneDistanceDisplay([0.0, 0.0], 1.0, [[1.0, 2.0]]), DataError, "not both zero"),
        (lambda: PlaneDistanceDisplay.from_estimator(SVC(), [[1.0, 2.0]]), DataError, "must be linear, of two columns"),
    ],
)
def test_wrong_input_is_answered_with_a_cure(act, error, words):
    with pytest.raises(error, match=re.escape(words)):
        act()

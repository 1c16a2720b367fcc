"""Hyperplanes and slacks: invariance, canonical form, and the primal program that the slacks belong to."""

import tracemalloc
import warnings

import numpy as np
import pytest
import sklearn.svm
from scipy.optimize import LinearConstraint, minimize
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer.errors import DataError, DataTypeError, ParameterError
from mercer.linear_model import LogisticRegression
from mercer.svm import SVC, SVR, Hyperplane, LinearSVC, fit_path, margin_width, signed_distances, slacks


@pytest.mark.catalogue("KM-06")
@pytest.mark.parametrize("d", [1, 2, 5])
def test_distances_are_those_to_the_nearest_point_of_the_plane(d):
    random = np.random.default_rng(0)
    w, b = random.normal(size=d), -1.7
    X = random.normal(size=(20, d))
    plane = Hyperplane(w, b)
    # The foot x - t w with w . foot + b = 0 is nearest: the step is along the normal.
    feet = X - np.outer((X @ w + b) / (w @ w), w)
    np.testing.assert_allclose(feet @ w + b, 0.0, atol=1e-12)
    expected = np.sign(X @ w + b) * np.linalg.norm(X - feet, axis=1)
    np.testing.assert_allclose(plane.distances(X), expected, rtol=1e-9)
    for k in (1e-3, 7.0, 1e5):
        np.testing.assert_allclose(plane.rescale(k).distances(X), expected, rtol=1e-9)
        np.testing.assert_allclose(plane.rescale(k).decision_function(X), k * plane.decision_function(X), rtol=1e-9)
    assert plane.origin_distance == pytest.approx(b / np.linalg.norm(w))
    assert plane.origin_distance == pytest.approx(plane.distances(np.zeros((1, d)))[0])
    assert Hyperplane(-w, -b).origin_distance == -plane.origin_distance


@pytest.mark.catalogue("KM-06")
def test_the_canonical_form_gives_the_nearest_row_one_and_the_margin_its_distance():
    X = np.random.default_rng(0).normal(size=(30, 3)) + 4.0
    plane = Hyperplane([0.3, -2.0, 0.7], 0.9)
    canonical = plane.canonicalize(X)
    assert np.abs(canonical.decision_function(X)).min() == pytest.approx(1.0)
    assert canonical.margin == pytest.approx(np.abs(plane.distances(X)).min())
    again = canonical.rescale(40.0).canonicalize(X)
    np.testing.assert_allclose(again.coef, canonical.coef, rtol=1e-12)
    with pytest.raises(DataError, match="Hyperplane: no canonical form; got a row on the hyperplane"):
        Hyperplane([1.0, 0.0]).canonicalize([[0.0, 3.0]])


@pytest.mark.catalogue("KM-06")
def test_a_hard_margin_machine_is_in_canonical_form_and_other_linear_models_are_not():
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(size=(20, 2)), random.normal(size=(20, 2)) + np.array([6.0, 5.0])])
    y = np.repeat(["left", "right"], 20)
    machine = SVC(C=np.inf, kernel="linear", tol=1e-9).fit(X, y)
    plane = Hyperplane.from_model(machine)
    np.testing.assert_allclose(plane.canonicalize(X).coef, plane.coef, rtol=1e-5)
    assert plane.margin == pytest.approx(margin_width(machine))
    np.testing.assert_allclose(plane.distances(X), signed_distances(machine, X), rtol=1e-6)
    logistic = LogisticRegression(C=10.0).fit(X, y)
    np.testing.assert_allclose(
        Hyperplane.from_model(logistic).distances(X), logistic.decision_function(X) / np.linalg.norm(logistic.coef_)
    )
    # No hyperplane leaves more room on both sides than the machine's.
    assert plane.margin > np.abs(Hyperplane.from_model(logistic).distances(X)).min()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.0, 0.0], 1.0), "coef must be a vector that is not zero"),
        (([[1.0, 2.0]], 1.0), r"got shapes \(1, 2\) and \(\)"),
        (([np.inf, 1.0], 1.0), r"coef must be in \(-inf, inf\); got inf"),
        (([1.0], [1.0, 2.0]), r"intercept one number; got shapes \(1,\) and \(2,\)"),
    ],
)
def test_what_is_no_hyperplane_is_refused(arguments, words):
    with pytest.raises(ParameterError, match=words):
        Hyperplane(*arguments)
    with pytest.raises(DataError, match="X must have 2 columns, as coef has; got 3"):
        Hyperplane([1.0, 2.0]).distances(np.ones((1, 3)))
    with pytest.raises(ParameterError, match=r"factor must be in \(0, inf\); got -1"):
        Hyperplane([1.0, 2.0]).rescale(-1.0)


def solve_primal(X, y, costs, epsilon=None):
    """Minimise 1/2 |w|^2 + costs . xi over w, b and the slacks themselves, by a general solver."""
    n, d = X.shape
    wide = np.column_stack([X, np.ones(n)])
    if epsilon is None:
        constraints = [LinearConstraint(np.hstack([y[:, None] * wide, np.eye(n)]), 1.0, np.inf)]
    else:
        above, below = np.hstack([wide, np.eye(n)]), np.hstack([-wide, np.eye(n)])
        constraints = [LinearConstraint(above, y - epsilon, np.inf), LinearConstraint(below, -y - epsilon, np.inf)]
    found = minimize(
        lambda v: 0.5 * v[:d] @ v[:d] + costs @ v[d + 1 :],
        np.zeros(d + 1 + n),
        jac=lambda v: np.concatenate([v[:d], [0.0], costs]),
        bounds=[(None, None)] * (d + 1) + [(0, None)] * n,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-11, "maxiter": 500},
    )
    assert found.success
    return found.x[d + 1 :], found.fun


@pytest.mark.catalogue("KM-08")
@pytest.mark.parametrize("C", [0.05, 2.0])
def test_slacks_are_those_of_the_primal_program(C):
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(size=(14, 2)), 3.0 * random.normal(size=(6, 2)) + [2.0, 1.0]])
    side = np.repeat([-1.0, 1.0], [14, 6])
    factors = {"no": 1.0, "yes": 2.5}
    labels = np.where(side > 0, "yes", "no")
    costs = C * np.where(side > 0, 2.5, 1.0)
    xi, value = solve_primal(X, side, costs)
    model = SVC(C=C, kernel="linear", class_weight=factors, tol=1e-9).fit(X, labels)
    alpha = np.zeros(20)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    # Coefficients between their bounds fix the threshold; without one, slacks of one sum are many.
    if ((alpha > 1e-6 * costs) & (alpha < (1 - 1e-6) * costs)).any():
        np.testing.assert_allclose(slacks(model, X, labels), xi, atol=1e-5)
    assert 0.5 / margin_width(model) ** 2 + costs @ slacks(model, X, labels) == pytest.approx(value, rel=1e-7)
    assert -model.history_["objective"][-1] == pytest.approx(value, rel=1e-6)
    # A row has a positive slack only if its coefficient is at the bound.
    assert (slacks(model, X, labels)[alpha < costs - 1e-9] <= 1e-7).all()


@pytest.mark.catalogue("KM-08")
def test_slacks_of_a_tube_are_those_of_its_primal_program():
    random = np.random.default_rng(0)
    X = random.normal(size=(20, 2))
    y = X @ [1.0, -2.0] + random.normal(size=20)
    xi, value = solve_primal(X, y, np.full(20, 0.7), epsilon=0.4)
    model = SVR(C=0.7, epsilon=0.4, kernel="linear", tol=1e-9).fit(X, y)
    # Where as many rows lie above the tube as below, the offset is free within bounds, and only the sum is unique.
    assert slacks(model, X, y).sum() == pytest.approx(xi.sum(), rel=1e-5)
    assert 0.5 * (model.coef_[0] @ model.coef_[0]) + 0.7 * slacks(model, X, y).sum() == pytest.approx(value, rel=1e-7)


@pytest.mark.catalogue("KM-08")
def test_a_smaller_cost_widens_the_margin_and_adds_violations():
    X, y = make_classification(300, 5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=3)
    models = fit_path(SVC(kernel="linear"), X, y, [1e-3, 0.1, 10.0])
    widths = [margin_width(model) for model in models]
    violations = [int((slacks(model, X, y) > 1e-3).sum()) for model in models]
    totals = [slacks(model, X, y).sum() for model in models]
    assert widths == sorted(widths, reverse=True)
    assert violations[0] > violations[1] >= violations[2]
    assert totals == sorted(totals, reverse=True)
    errors = (models[2].predict(X) != y).sum()
    assert (slacks(models[2], X, y) > 1).sum() == errors
    line = LinearSVC(C=0.1, loss="hinge", tol=1e-8, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(
        slacks(line, X, y), np.maximum(0, 1 - np.where(y > 0, 1, -1) * line.decision_function(X))
    )


def test_slacks_that_cannot_be_are_refused():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 3
    with pytest.raises(DataError, match="slacks: the model must have two classes; got 3"):
        slacks(SVC().fit(X, y), X, y)
    with pytest.raises(DataError, match="slacks: y must have labels of the model; got 2"):
        slacks(SVC().fit(X[y < 2], y[y < 2]), X, y)


@pytest.mark.catalogue("KM-11")
@pytest.mark.parametrize("solver", ["block", "smo", "qp"])
def test_without_free_coefficients_the_offset_is_the_middle_of_its_interval(solver):
    """Rows -1 and 3 with alpha = C = 0.1: w = 0.4, and y f <= 1 at both leaves b in [-0.6, -0.2]."""
    X, y = np.array([[-1.0], [3.0]]), np.array([-1, 1])
    model = SVC(C=0.1, kernel="linear", solver=solver, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(np.abs(model.dual_coef_), 0.1)
    assert model.intercept_[0] == pytest.approx(-0.4, abs=1e-9)
    # Bounds of both kinds: rows far outside have zeros, rows inside the margin the whole of their C.
    X = np.array([[-9.0], [-1.0], [0.5], [8.0], [1.0], [0.0]])
    y, weight = np.array([-1, -1, -1, 1, 1, 1]), np.array([1.0, 2.0, 1.0, 1.0, 2.0, 1.0])
    model = SVC(C=0.05, kernel="linear", solver=solver, tol=1e-9).fit(X, y, weight)
    alpha = np.zeros(6)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    assert set(np.round(alpha / (0.05 * weight), 9)) <= {0.0, 1.0}
    score = X[:, 0] * float(model.coef_[0, 0])
    low = max(y[i] - score[i] for i in range(6) if (y[i] > 0) == (alpha[i] == 0))
    high = min(y[i] - score[i] for i in range(6) if (y[i] < 0) == (alpha[i] == 0))
    assert low < high
    assert model.intercept_[0] == pytest.approx((low + high) / 2, abs=1e-9)
    theirs = sklearn.svm.SVC(C=0.05, kernel="linear", tol=1e-9).fit(X, y, weight)
    assert model.intercept_[0] == pytest.approx(theirs.intercept_[0], abs=1e-6)


@pytest.mark.catalogue("KM-11")
def test_the_offset_is_the_mean_over_all_free_rows_of_a_loose_fit():
    X, y = make_classification(200, 4, n_informative=4, n_redundant=0, flip_y=0.1, random_state=0)
    side, weight = np.where(y > 0, 1.0, -1.0), np.random.default_rng(1).uniform(0.5, 2.0, size=200)
    model = SVC(C=0.8, kernel="poly", degree=2, gamma=0.3, coef0=1.0, tol=0.3).fit(X, y, weight)
    K = polynomial_kernel(X, X[model.support_], degree=2, gamma=0.3, coef0=1.0)
    bare = K @ model.dual_coef_[0]
    alpha = np.zeros(200)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    free = (alpha > 0) & (alpha < 0.8 * weight * (1 - 1e-12))
    offsets = side[free] - bare[free]
    assert np.ptp(offsets) > 0.01
    assert model.intercept_[0] == pytest.approx(offsets.mean(), abs=1e-6)
    # Support vectors alone give the scores of rows never seen.
    new = np.random.default_rng(0).normal(size=(30, 4))
    by_hand = polynomial_kernel(new, model.support_vectors_, degree=2, gamma=0.3, coef0=1.0) @ model.dual_coef_[0]
    np.testing.assert_allclose(model.decision_function(new), by_hand + model.intercept_[0], rtol=1e-9)


@pytest.mark.catalogue("KM-11")
def test_the_primal_coefficients_of_a_linear_kernel_decide_alike():
    X, y = make_classification(150, 3, n_informative=3, n_redundant=0, flip_y=0.1, random_state=2)
    labels = np.where(y > 0, "p", "n")
    model = SVC(C=0.5, kernel="linear", class_weight={"p": 3.0, "n": 1.0}).fit(X + 5.0, labels)
    new = 5.0 + np.random.default_rng(0).normal(size=(200, 3))
    scores = new @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(new), scores, atol=1e-9)
    np.testing.assert_array_equal(model.predict(new), np.where(scores > 0, "p", "n"))


@pytest.mark.catalogue("KM-10")
@pytest.mark.parametrize(("solver", "n"), [("block", 2600), ("qp", 1000)])
def test_working_sets_reach_the_optimum_of_all_rows_in_less_memory_than_their_kernel_matrix(solver, n):
    X, y = make_classification(n, 5, n_informative=5, n_redundant=0, class_sep=1.6, flip_y=0.01, random_state=1)
    side, C, gamma = np.where(y > 0, 1.0, -1.0), 3.0, 0.2
    # The first fit imports modules, which would count.
    SVC(C=C, gamma=gamma, solver=solver).fit(X[:100], side[:100])
    tracemalloc.start()
    model = SVC(C=C, gamma=gamma, solver=solver, cache_size=1, n_jobs=1).fit(X, side)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A quarter of the matrix in single precision; the largest part of the peak is the square of a working set.
    assert peak < 4 * n**2 / 4
    assert len(model.history_["step"]) > 3
    # The conditions of optimality over all rows, from kernel values that the solver did not make.
    theirs = sklearn.svm.SVC(C=C, gamma=gamma, tol=1e-6).fit(X, side)
    values = []
    for machine in (model, theirs):
        b = np.zeros(n)
        b[machine.support_] = machine.dual_coef_[0]
        slope = rbf_kernel(X, X[machine.support_], gamma=gamma) @ machine.dual_coef_[0]
        assert abs(b.sum()) < 1e-8
        assert ((side * b >= 0) & (side * b <= C + 1e-12)).all()
        margins = side * (slope + machine.intercept_[0])
        assert margins[b == 0].min() >= 1 - 2e-3
        assert margins[side * b >= C].max(initial=-np.inf) <= 1 + 2e-3
        values.append(side @ b - 0.5 * b @ slope)
    assert values[0] == pytest.approx(values[1], rel=1e-5)


@pytest.mark.catalogue("KM-10")
def test_a_working_set_keeps_the_other_coefficients_and_their_sum():
    """Each round of the quadratic programs changes at most 64 of 200 coefficients, lowers the value and keeps 1'b."""
    X, y = make_classification(200, 4, n_informative=4, n_redundant=0, flip_y=0.2, random_state=0)
    before, values = np.zeros(200), []
    for rounds in range(1, 9):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = SVC(C=5.0, gamma=0.3, solver="qp", max_iter=rounds).fit(X, y)
        b = np.zeros(200)
        b[model.support_] = model.dual_coef_[0]
        assert 0 < np.count_nonzero(b != before) <= 64
        assert abs(b.sum()) < 1e-9
        values.append(model.history_["objective"][-1])
        before = b
    assert (np.diff(values) < 0).all()


def test_geometry_takes_pipelines_and_machines_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    ours = make_pipeline(StandardScaler(), SVC(kernel="linear", tol=1e-6)).fit(X, y)
    scaled = ours[0].transform(X)
    assert margin_width(ours) == pytest.approx(margin_width(ours[-1]))
    np.testing.assert_allclose(signed_distances(ours, X), signed_distances(ours[-1], scaled))
    theirs = sklearn.svm.SVC(kernel="linear", tol=1e-6).fit(scaled, y)
    assert margin_width(theirs) == pytest.approx(margin_width(ours), rel=1e-3)
    with pytest.raises(DataTypeError, match="needs coef_, or a kernel of mercer"):
        margin_width(sklearn.svm.SVC().fit(X, y))

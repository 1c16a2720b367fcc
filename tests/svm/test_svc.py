"""C- and nu-classification: truth, optimality, invariance, edges, errors."""

import numpy as np
import pytest
import sklearn.svm
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from mercer.errors import DataError, UnsupportedError
from mercer.svm import SVC, NuSVC, margin_width, signed_distances


def gaussian(X, Y, gamma):
    return rbf_kernel(X, Y, gamma=gamma)


def coefficients(model, n):
    b = np.zeros(n)
    b[model.support_] = model.dual_coef_[0]
    return b


@pytest.fixture(scope="module")
def two_classes():
    X, y = make_classification(300, 5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=3)
    return X, np.where(y > 0, 1.0, -1.0)


@pytest.mark.catalogue("KM-07")
@pytest.mark.catalogue("KM-06")
def test_a_hard_margin_on_the_line_is_found_by_hand():
    X, y = np.array([[0.0], [1.0], [5.0], [9.0]]), np.array([-1, -1, 1, 1])
    model = SVC(C=np.inf, kernel="linear", tol=1e-9).fit(X, y)
    assert model.support_.tolist() == [1, 2]
    np.testing.assert_allclose(model.dual_coef_, [[-0.125, 0.125]])
    np.testing.assert_allclose(model.decision_function(X), [-1.5, -1.0, 1.0, 3.0], atol=1e-12)
    # The squared length of w is the sum of alpha, and the margin its inverse length.
    assert margin_width(model) == pytest.approx(2.0)
    assert float(np.abs(model.dual_coef_).sum()) == pytest.approx(1 / margin_width(model) ** 2)
    np.testing.assert_allclose(signed_distances(model, X), [-3.0, -2.0, 2.0, 6.0], atol=1e-9)
    without = SVC(C=np.inf, kernel="linear", tol=1e-9).fit(X[1:3], y[1:3])
    np.testing.assert_allclose(without.decision_function(X), model.decision_function(X), atol=1e-9)


@pytest.mark.catalogue("KM-08")
@pytest.mark.catalogue("KM-11")
def test_the_optimality_conditions_hold_row_by_row(two_classes):
    X, y = two_classes
    C, gamma, tol = 2.0, 0.3, 1e-6
    model = SVC(C=C, gamma=gamma, tol=tol).fit(X, y)
    b = coefficients(model, len(X))
    margins = y * (gaussian(X, X, gamma) @ b + model.intercept_[0])
    np.testing.assert_allclose(model.decision_function(X), y * margins, atol=1e-10)
    alpha = y * b
    assert abs(b.sum()) < 1e-9
    assert alpha.min() >= 0
    assert alpha.max() <= C
    assert (margins[alpha == 0] >= 1 - tol).all()
    assert (margins[alpha == C] <= 1 + tol).all()
    free = (alpha > 0) & (alpha < C)
    assert free.any()
    np.testing.assert_allclose(margins[free], 1.0, atol=tol)
    slacks = np.maximum(1 - margins, 0).sum()
    squared = b @ gaussian(X, X, gamma) @ b
    primal, dual = 0.5 * squared + C * slacks, alpha.sum() - 0.5 * squared
    assert primal - dual == pytest.approx(model.certificate_.value, abs=1e-9)
    assert model.history_["objective"][-1] == pytest.approx(-dual)


@pytest.mark.catalogue("KM-09")
@pytest.mark.catalogue("KM-10")
@pytest.mark.parametrize("solver", ["block", "smo", "qp"])
def test_every_solver_agrees_with_a_general_one(solver):
    X = load_iris().data[50:100:3]
    rng = np.random.default_rng(0)
    y = np.where(X[:, 0] + rng.normal(0, 0.4, len(X)) > X[:, 0].mean(), 1.0, -1.0)
    K = gaussian(X, X, 0.5)
    box = [(0.0, 1.0) if one > 0 else (-1.0, 0.0) for one in y]
    best = minimize(
        lambda b: 0.5 * b @ K @ b - y @ b,
        np.zeros(len(y)),
        jac=lambda b: K @ b - y,
        bounds=box,
        constraints={"type": "eq", "fun": np.sum, "jac": lambda b: np.ones(len(b))},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    model = SVC(gamma=0.5, solver=solver, tol=1e-6).fit(X, y)
    assert model.solver_used_ == solver
    assert model.history_["objective"][-1] == pytest.approx(best.fun, abs=1e-6)
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()
    np.testing.assert_allclose(coefficients(model, len(X)), best.x, atol=2e-3)


@pytest.mark.catalogue("KM-09")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_trace_of_smo_is_that_of_the_textbook_step_by_step(unit):
    """The steps are taken again from their names alone: errors, curvature, clipped length, objective, equality, end."""
    rng = np.random.default_rng(4)
    X, weight, tol = rng.normal(size=(24, 2)), rng.uniform(0.5, 2.0, 24), 1e-4
    y = np.where(X[:, 0] + 0.8 * rng.normal(size=24) > 0, 1.0, -1.0)
    model = SVC(C=1.5, solver="smo", tol=tol).fit(unit * X, y, sample_weight=weight)
    assert model.converged_
    # Rows in the order of their classes, as the trace counts them; gamma is 1 / (d var) in any unit.
    order = np.argsort(y, kind="stable")
    rows, side, box = X[order], y[order], 1.5 * weight[order]
    mean = np.average(rows.mean(axis=1), weights=weight[order])
    spread = np.average(((rows - mean) ** 2).mean(axis=1), weights=weight[order])
    K, alpha, values = gaussian(rows, rows, 0.5 / spread), np.zeros(24), [0.0]
    trace = (model.history_[name] for name in ("raised", "lowered", "size", "objective"))
    for raised, lowered, size, objective in zip(*trace, strict=True):
        if size == 0:
            break  # no pair can move any more
        i, j = int(raised), int(lowered)
        errors = K @ (side * alpha) - side
        eta = K[i, i] + K[j, j] - 2 * K[i, j]
        # y_i alpha_i rises and y_j alpha_j falls: the room is what their boxes leave.
        room = min(box[i] - alpha[i] if side[i] > 0 else alpha[i], alpha[j] if side[j] > 0 else box[j] - alpha[j])
        assert size == pytest.approx(min((errors[j] - errors[i]) / eta, room), rel=1e-9)
        # The partner of one of the two differs most from it in error, of all that allow a step at all.
        lifts = [box - alpha if one > 0 else alpha for one in (1, -1)]
        up = np.where(side > 0, lifts[0], lifts[1]) > 1e-12
        down = np.where(side > 0, lifts[1], lifts[0]) > 1e-12
        farthest = []
        for k in (i, j):
            can = ((errors < errors[k]) & up & down[k]) | ((errors > errors[k]) & down & up[k])
            farthest.append(abs(errors[i] - errors[j]) >= np.abs(errors - errors[k])[can].max() - 1e-9)
        assert any(farthest)
        before = alpha[i] * side[i] + alpha[j] * side[j]
        alpha[i] += side[i] * size
        alpha[j] -= side[j] * size
        assert alpha[i] * side[i] + alpha[j] * side[j] == pytest.approx(before, abs=1e-12)
        assert abs(side @ alpha) < 1e-10
        assert ((alpha >= -1e-12) & (alpha <= box + 1e-12)).all()
        values.append(0.5 * (side * alpha) @ K @ (side * alpha) - alpha.sum())
        assert objective == pytest.approx(values[-1], abs=1e-9)
        gain = size * (errors[j] - errors[i]) - 0.5 * eta * size**2
        assert values[-2] - values[-1] == pytest.approx(gain, abs=1e-9)
        assert gain > 0
    stored = np.zeros(24)
    stored[model.support_] = np.abs(model.dual_coef_[0])
    np.testing.assert_allclose(alpha, stored[order], atol=1e-9)
    margins = side * (K @ (side * alpha) + model.intercept_[0])
    inside, outside = alpha < box - 1e-9, alpha > 1e-9
    assert margins[inside].min() >= 1 - tol
    assert margins[outside].max() <= 1 + tol


@pytest.mark.parametrize(
    ("load", "settings"),
    [(load_iris, {}), (load_breast_cancer, {"C": 10.0}), (load_digits, {"C": 10.0, "gamma": 0.001})],
)
def test_decisions_are_those_of_libsvm_on_real_data(load, settings):
    X, y = load(return_X_y=True)
    X = X if load is load_digits else StandardScaler().fit_transform(X)
    for shape in ("ovo", "ovr"):
        ours = SVC(tol=1e-6, decision_function_shape=shape, **settings).fit(X, y)
        theirs = sklearn.svm.SVC(tol=1e-6, decision_function_shape=shape, **settings).fit(X, y)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    if load is load_breast_cancer:
        # Rows that come twice, as some irises do, share their coefficients in many ways.
        assert ours.n_support_.tolist() == theirs.n_support_.tolist()
        np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-3)


@pytest.mark.parametrize("shrinking", [True, False])
def test_large_machines_in_blocks_reach_the_optimum_of_libsvm(shrinking):
    X, y = make_classification(2400, 10, n_informative=8, flip_y=0.05, class_sep=0.7, random_state=1)
    ours = SVC(shrinking=shrinking, cache_size=30).fit(X, y)
    theirs = sklearn.svm.SVC().fit(X, y)
    assert len(ours.history_["step"]) > 3
    K = rbf_kernel(X, gamma=1.0 / (X.shape[1] * X.var()))

    def dual(model):
        b = coefficients(model, len(X))
        return 0.5 * b @ K @ b - np.where(y > 0, 1.0, -1.0) @ b

    assert dual(ours) <= dual(theirs) + 1e-3
    assert ours.certificate_.satisfied
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=5e-3)


def test_a_machine_without_room_for_rows_reaches_the_same_optimum():
    X, y = make_classification(2500, 6, n_informative=5, n_redundant=0, flip_y=0.05, random_state=1)
    with_table, without = SVC().fit(X, y), SVC(cache_size=0.1).fit(X, y)
    assert with_table.history_["objective"][-1] == pytest.approx(without.history_["objective"][-1], rel=1e-5)


def test_large_boxes_are_solved_with_wide_values():
    X, y = make_classification(2300, 4, n_informative=4, n_redundant=0, flip_y=0.02, random_state=0)
    ours, theirs = SVC(C=1000.0).fit(X, y), sklearn.svm.SVC(C=1000.0).fit(X, y)
    assert ours.certificate_.satisfied
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.999


@pytest.mark.catalogue("KM-08")
def test_squared_slacks_are_a_hard_margin_with_a_wider_diagonal(two_classes):
    X, y = two_classes
    C, gamma = 0.7, 0.4
    model = SVC(C=C, gamma=gamma, loss="squared_hinge", tol=1e-8).fit(X, y)
    K = gaussian(X, X, gamma) + np.eye(len(X)) / (2 * C)
    widened = SVC(C=np.inf, kernel="precomputed", tol=1e-8).fit(K, y)
    np.testing.assert_allclose(coefficients(model, len(X)), coefficients(widened, len(X)), atol=1e-6)
    slacks = np.maximum(1 - y * model.decision_function(X), 0)
    np.testing.assert_allclose(y * coefficients(model, len(X)), 2 * C * slacks, atol=1e-6)


@pytest.mark.catalogue("KM-08")
def test_the_mean_form_has_boxes_of_c_over_n(two_classes):
    X, y = two_classes
    mean, total = SVC(C=60.0, C_scaling="mean", tol=1e-8), SVC(C=60.0 / len(X), tol=1e-8)
    np.testing.assert_allclose(mean.fit(X, y).dual_coef_, total.fit(X, y).dual_coef_, atol=1e-9)


def test_wide_sparse_rows_stay_sparse():
    rng = np.random.default_rng(0)
    X = csr_array((rng.random((150, 9000)) < 0.01).astype(float))
    y = (X[:, [0]].toarray().ravel() + X[:, :400].sum(axis=1) > 4).astype(int)
    model, dense = SVC(tol=1e-7).fit(X, y), SVC(tol=1e-7).fit(X.toarray(), y)
    np.testing.assert_allclose(model.decision_function(X), dense.decision_function(X.toarray()), atol=1e-6)
    assert model.support_vectors_.shape[1] == 9000
    assert not isinstance(model.support_vectors_, np.ndarray)


def test_hard_margins_that_cannot_be_name_the_rows():
    X, y = np.array([[0.0], [1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    with pytest.raises(DataError, match=r"the classes cannot be separated .* combinations of rows 2 and of rows 1"):
        SVC(C=np.inf).fit(X, y)
    with pytest.raises(DataError, match="Use a finite C"):
        SVC(C=np.inf, kernel="linear").fit([[0.0], [2.0], [1.0], [3.0]], y)
    with pytest.raises(UnsupportedError, match="C=inf is a hard margin"):
        SVC(C=np.inf, loss="squared_hinge").fit(X, y)


def test_what_cannot_be_fitted_is_said_with_its_cure(two_classes):
    X, y = two_classes
    with pytest.raises(DataError, match="SVC: The number of classes has to be greater than one; got 1 class"):
        SVC().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match=r"SVC: C must be a number in \(0, inf\); got 0"):
        SVC(C=0).fit(X, y)
    with pytest.raises(ValueError, match=r"SVC: gamma must be one of 'scale', 'auto' or a number in \(0, inf\); got 0"):
        SVC(gamma=0).fit(X, y)
    with pytest.raises(
        DataError, match=r"must return k\(x, y\) of all pairs, of shape \(300, 300\); got shape \(1, 1\)"
    ):
        SVC(kernel=lambda A, B: np.ones((1, 1))).fit(X, y)
    with pytest.raises(DataError, match="NuSVC: specified nu is infeasible: nu must be at most"):
        NuSVC(nu=0.9).fit(X[:60], np.r_[np.zeros(50), np.ones(10)])
    model = SVC(warm_start=True).fit(X, y)
    with pytest.raises(DataError, match="warm_start needs the rows of the last fit"):
        model.fit(X[:100], y[:100])


def test_kernels_that_say_nothing_are_warned_of(two_classes):
    X, y = two_classes
    with pytest.warns(UserWarning, match="the kernel is too narrow for these rows .*median distance is .* gamma="):
        SVC(gamma=1e6).fit(X, y)
    with pytest.warns(UserWarning, match="the kernel is too wide for these rows"):
        SVC(gamma=1e-9).fit(X, y)
    K = gaussian(X, X, 0.3) - 0.5 * np.eye(len(X))
    with pytest.warns(UserWarning, match=r"not positive semi-definite: their smallest eigenvalue is -0\.[34]"):
        SVC(kernel="precomputed").fit(K, y)


@pytest.mark.catalogue("KM-11")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("solver", ["block", "smo", "qp"])
def test_the_offset_is_least_in_loss_among_all_offsets(solver, unit):
    """The loss over b alone is piecewise linear: its minimum is at, or between, the rows' own offsets y_i - g(x_i)."""
    flat = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n = 24
        X, level = rng.normal(size=(n, 2)), rng.normal(size=n)
        # Classes of one size, and a small C: every coefficient lies at its bound.
        tight = seed % 2 == 1
        C, weight = (0.01, np.ones(n)) if tight else (1.0, rng.integers(1, 3, n))
        level += X[:, 0]
        y = np.where(level > (np.median(level) if tight else 0.0), 1.0, -1.0)
        model = SVC(C=C, gamma=0.3 / unit**2, solver=solver, tol=1e-8).fit(unit * X, y, sample_weight=weight)
        assert model.converged_
        b = coefficients(model, n)
        bare, box = gaussian(X, X, 0.3) @ b, C * weight

        def lose(offset, bare=bare, box=box, y=y):
            return float(box @ np.maximum(1 - y * (bare + offset), 0))

        corners = np.sort(y - bare)
        losses = np.array([lose(one) for one in corners])
        least = corners[losses <= losses.min() + 1e-9]
        assert lose(model.intercept_[0]) <= losses.min() + 1e-6
        free = (np.abs(b) > 0) & (np.abs(b) < box * (1 - 1e-9))
        if not free.any():
            flat += 1
            assert model.intercept_[0] == pytest.approx((least[0] + least[-1]) / 2, abs=1e-6)
        else:
            assert model.intercept_[0] == pytest.approx(np.mean(y[free] - bare[free]), abs=1e-6)
        # Rows with no coefficient play no part in a score.
        new = rng.normal(size=(10, 2))
        kept = np.flatnonzero(b)
        scores = gaussian(new, X[kept], 0.3) @ b[kept] + model.intercept_[0]
        np.testing.assert_allclose(model.decision_function(unit * new), scores, atol=1e-7)
    assert flat >= 4


@pytest.mark.parametrize("seed", range(12))
def test_every_solver_reaches_the_same_offset_where_coefficients_lie_at_their_bound(seed):
    """A coefficient one rounding below C must not count as free: the offset would be read off its slope."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 2))
    y = X[:, 0] + rng.normal(size=25) > 0
    exact = SVC(kernel="linear", tol=1e-10).fit(X, y)
    textbook = SVC(kernel="linear", solver="smo").fit(X, y)
    assert textbook.converged_
    assert textbook.certificate_.satisfied
    assert textbook.intercept_ == pytest.approx(exact.intercept_, abs=1e-2)

"""Any loss with any penalty: parity with the estimators that know one pair, certificates, and prior knowledge."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, PoissonRegressor
from sklearn.svm import SVC

import mercer
from mercer.linear_model import GeneralizedLinearEstimator, LogisticRegression, Ridge
from mercer.objectives import (
    L1,
    L2,
    Absolute,
    Box,
    EpsilonInsensitive,
    GroupL1,
    Huber,
    Monotonicity,
    NonNegative,
    PerceptronLoss,
    PowerPenalty,
    Smoothness,
    Squared,
    Symmetry,
    Tukey,
)


def numbers(n=300, d=5, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) + 1.0
    return X, X @ random.normal(size=d) * 3 + 2.0 + random.standard_t(2, size=n)


def labels(n=300, d=5, classes=2):
    random = np.random.default_rng(1)
    X = random.normal(size=(n, d))
    return X, np.argmax(X @ random.normal(size=(d, classes)) + random.gumbel(size=(n, classes)), axis=1)


def make(*args, **given):
    return GeneralizedLinearEstimator(*args, **({"tol": 1e-10, "max_iter": 20_000} | given))


@pytest.mark.parametrize("solver", ["irls", "fista"])
def test_squared_losses_with_l2_and_elastic_nets_are_ridge_and_elastic_net(solver):
    X, y = numbers()
    model = make(alpha=0.1, solver=solver).fit(X, y)
    # A gap of 1e-10 bounds the distance to the optimum by sqrt(2e-10 / alpha) times the root of the objective.
    assert model.coef_ == pytest.approx(Ridge(alpha=0.1 * len(y)).fit(X, y).coef_, abs=1e-4)
    net = make(penalty="elasticnet", alpha=0.2, solver=solver).fit(X, y)
    theirs = ElasticNet(alpha=0.2, l1_ratio=0.5, tol=1e-10).fit(X, y)
    assert net.coef_ == pytest.approx(theirs.coef_, abs=1e-4)


@pytest.mark.parametrize("solver", ["irls", "fista"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_logistic_loss_is_logistic_regression(solver, classes):
    X, y = labels(classes=classes)
    model = make("logistic", alpha=0.05, solver=solver).fit(X, y)
    theirs = LogisticRegression(C=1 / (0.05 * len(y)), tol=1e-10).fit(X, y)
    assert model.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-5)
    assert (model.predict(X) == theirs.predict(X)).all()


@pytest.mark.parametrize("solver", ["irls", "fista"])
def test_the_hinge_loss_is_the_support_vector_machine(solver):
    X, y = labels()
    model = make("hinge", alpha=0.05, solver=solver, tol=1e-6).fit(X, y)
    theirs = SVC(kernel="linear", C=1 / (0.05 * len(y)), tol=1e-8).fit(X, y)
    # sqrt(2e-6 / 0.05) = 6e-3, times the root of an objective below one.
    assert model.coef_ == pytest.approx(theirs.coef_, abs=6e-3)
    assert model.certificate_.kind == "duality gap"


def test_the_poisson_loss_is_poisson_regression_and_refuses_negative_counts():
    X, z = numbers()
    y = np.random.default_rng(0).poisson(np.exp(0.1 * z)).astype(float)
    model = make("poisson", alpha=0.1).fit(X, y)
    theirs = PoissonRegressor(alpha=0.1, tol=1e-10).fit(X, y)
    assert model.predict(X) == pytest.approx(theirs.predict(X), rel=1e-4)
    with pytest.raises(ValueError, match="the Poisson loss needs y >= 0"):
        model.fit(X, -y)


LOSSES = {
    "numbers": ["squared", "absolute", "huber", "epsilon_insensitive", "squared_epsilon_insensitive", "pinball"],
    "labels": ["logistic", "hinge", "squared_hinge", "exponential"],
}


@pytest.mark.parametrize(("kind", "loss"), [(kind, loss) for kind, names in LOSSES.items() for loss in names])
@pytest.mark.parametrize("penalty", ["l2", "l1", GroupL1([0, 0, 1, 1, 1]), Box(-0.2, 0.2)], ids=repr)
def test_no_other_point_is_below_what_the_gap_allows_for(kind, loss, penalty):
    X, y = numbers(120) if kind == "numbers" else labels(120)
    model = GeneralizedLinearEstimator(loss, penalty, alpha=0.05, max_iter=5000).fit(X, y)
    assert model.certificate_.kind == "duality gap"
    assert model.converged_
    tight = GeneralizedLinearEstimator(loss, penalty, alpha=0.05, tol=1e-5, max_iter=5000)
    with np.errstate(all="ignore"):
        best = tight.fit(X, y).history_["objective"][-1]
    assert model.history_["objective"][-1] - best <= model.certificate_.value + 1e-12


@pytest.mark.parametrize("loss", ["absolute", "hinge"])
def test_both_solvers_agree_within_their_gaps(loss):
    X, y = numbers(200) if loss == "absolute" else labels(200)
    first, second = (make(loss, "l1", alpha=0.02, solver=solver, tol=1e-5).fit(X, y) for solver in ("irls", "fista"))
    allowed = first.certificate_.value + second.certificate_.value
    assert abs(first.history_["objective"][-1] - second.history_["objective"][-1]) <= allowed
    # No coefficient pays for a penalty above the mean size of its column, as these losses have slopes up to one.
    for solver in ("irls", "fista"):
        alpha = 1.01 * np.abs(X).mean(axis=0).max()
        assert not make(loss, "l1", alpha=alpha, solver=solver, tol=1e-5).fit(X, y).coef_.any()


@pytest.mark.catalogue("LM-19")
def test_one_gross_outlier_moves_robust_losses_little():
    X, y = numbers(200)
    spoiled = y.copy()
    spoiled[0] += 1e4
    for loss, moves in (("squared", True), ("absolute", False), ("huber", False), (EpsilonInsensitive(0.5), False)):
        clean, dirty = (make(loss, alpha=1e-4, tol=1e-8).fit(X, target).coef_ for target in (y, spoiled))
        assert (np.abs(dirty - clean).max() > 1.0) == moves, loss


@pytest.mark.catalogue("LM-19")
def test_huber_goes_from_absolute_to_squared_as_delta_grows():
    X, y = numbers(200)
    squared, absolute = (make(loss, None, tol=1e-8).fit(X, y).coef_ for loss in (Squared(), Absolute()))
    assert make(Huber(1e6), None).fit(X, y).coef_ == pytest.approx(squared, abs=1e-8)
    assert make(Huber(1e-4), None, tol=1e-6).fit(X, y).coef_ == pytest.approx(absolute, abs=0.05)


@pytest.mark.catalogue("LM-21")
def test_a_strong_symmetry_penalty_makes_the_output_symmetric_and_none_changes_nothing():
    random = np.random.default_rng(0)
    x = random.uniform(-1, 1, size=200)

    def features(x):
        return np.column_stack([x, x**2, x**3])

    X, y = features(x), np.exp(x) + 0.01 * random.normal(size=200)
    penalty = Symmetry(features(x) - features(-x))
    free, tied = (make("squared", penalty, alpha=alpha).fit(X, y) for alpha in (0.0, 1e8))
    assert free.coef_ == pytest.approx(make("squared", None).fit(X, y).coef_)
    assert tied.predict(features(x)) == pytest.approx(tied.predict(features(-x)), abs=1e-5)
    assert abs(free.predict(features(np.ones(1)))[0] - free.predict(features(-np.ones(1)))[0]) > 1.0


@pytest.mark.catalogue("LM-21")
def test_a_strong_monotonicity_penalty_makes_the_output_rise():
    random = np.random.default_rng(0)
    x = np.sort(random.uniform(0, 1, size=40))
    X, y = np.column_stack([x, x**2, x**3]), x + 0.3 * np.sin(12 * x)
    grid = np.linspace(0, 1, 50)
    penalty = Monotonicity(np.column_stack([np.ones(50), 2 * grid, 3 * grid**2]))
    rising = make("squared", penalty, alpha=1e6).fit(X, y)
    assert np.diff(rising.predict(np.column_stack([grid, grid**2, grid**3]))).min() > -1e-4
    assert np.diff(make("squared", None).fit(X, y).predict(X)).min() < -1e-3


@pytest.mark.catalogue("LM-21")
def test_smooth_coefficients_and_constraints_and_powers():
    X, y = numbers()
    flat = make("squared", Smoothness(), alpha=1e6).fit(X, y)
    assert np.ptp(flat.coef_) < 1e-4
    # A first coefficient below zero meets the bound.
    y_low = y - (flat.coef_[0] + np.ptp(y)) * X[:, 0]
    bounded = make("squared", NonNegative()).fit(X, y_low)
    assert bounded.coef_.min() == bounded.coef_[0] == 0.0
    assert bounded.coef_ == pytest.approx(Ridge(alpha=0.0, positive=True).fit(X, y_low).coef_, abs=1e-5)
    # A column of noise: its derivative at zero is some 2 / sqrt(300), the penalty's is infinite.
    noise = np.random.default_rng(1).normal(size=(len(X), 1))
    sparse = make("squared", PowerPenalty(0.5), alpha=0.5, tol=1e-6).fit(np.hstack([X, noise]), y)
    assert sparse.coef_[-1] == 0
    assert "local" in GeneralizedLinearEstimator.__doc__
    mixed = make("huber", L1() + 2.0 * Smoothness(), alpha=0.1, tol=1e-8).fit(X, y)
    assert mixed.certificate_.kind == "KKT residual"
    assert mixed.certificate_.satisfied

    def cost(p):
        r = np.abs(y - X @ p[:-1] - p[-1])
        loss = np.mean(np.where(r <= 1.35, r**2 / 2, 1.35 * r - 1.35**2 / 2))
        return loss + 0.1 * (np.abs(p[:-1]).sum() + np.sum(np.diff(p[:-1]) ** 2))

    found = np.append(mixed.coef_, mixed.intercept_)
    assert cost(found) <= minimize(cost, found, method="Nelder-Mead", options={"maxiter": 2000}).fun + 1e-7


def test_the_loss_decides_between_regressor_and_classifier():
    assert is_regressor(make("huber"))
    assert is_classifier(make("hinge"))
    assert not hasattr(make("huber"), "decision_function")
    assert not hasattr(make("hinge"), "predict_proba")
    assert hasattr(make("logistic"), "predict_proba")


def test_objects_as_parameters_survive_saving(tmp_path):
    X, y = numbers(60)
    model = make(Huber(2.0), 0.5 * L2() + Smoothness(3.0), alpha=0.1).fit(X, y)
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    assert loaded.loss == Huber(2.0)
    assert loaded.penalty.value(np.array([[1.0, 2.0]])) == model.penalty.value(np.array([[1.0, 2.0]]))
    assert (loaded.predict(X) == model.predict(X)).all()


def test_class_weights_are_weights_of_rows():
    X, y = labels()
    balanced = make("hinge", alpha=0.1, class_weight="balanced", tol=1e-8).fit(X, y)
    counts = np.bincount(y)
    weight = len(y) / (2 * counts[y])
    assert balanced.coef_ == pytest.approx(make("hinge", alpha=0.1, tol=1e-8).fit(X, y, weight).coef_, abs=1e-4)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"loss": Tukey()}, "Tukey is not convex"),
        ({"loss": PerceptronLoss()}, "PerceptronLoss is least where all coefficients are zero"),
        ({"penalty": GroupL1([0, 1]), "alpha": 1.0}, "GroupL1: groups must have one number for each of 5 columns"),
        ({"penalty": NonNegative(), "solver": "irls"}, "solver='irls' takes l1, l2, elastic net and smooth penalties"),
        ({"class_weight": "balanced"}, "class_weight is for losses of labels"),
    ],
)
def test_what_cannot_be_fitted_is_refused_with_a_cure(given, words):
    X, y = numbers(30)
    with pytest.raises(ValueError, match=words):
        GeneralizedLinearEstimator(**given).fit(X, y)


def test_a_fit_cut_short_says_how_far_it_is():
    X, y = numbers()
    with pytest.warns(ConvergenceWarning, match="stopped by max_iter after 2 steps, not converged; duality gap"):
        GeneralizedLinearEstimator("absolute", max_iter=2).fit(X, y)


@pytest.mark.parametrize("loss", ["huber", "log_cosh"])
@pytest.mark.parametrize("factor", [1.0, 30.0, 1e3])
@pytest.mark.parametrize("seed", range(2))
def test_an_l1_penalty_beside_a_loss_that_is_linear_at_all_rows_ends_at_the_minimum(loss, factor, seed):
    """Far from its middle the loss has slope but no curvature: Newton's method stood still at zero coefficients.

    J is convex: no point that a general method finds from the answer, or halfway to zero, may be lower.
    """
    random = np.random.default_rng(seed)
    X = random.normal(size=(90, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 100.0, 0.0, 3.0]
    y = factor * (X @ [1.0, 0.2, 30.0, 4.0] + random.normal(size=90))
    model = GeneralizedLinearEstimator(loss, "l1", alpha=0.1, solver="irls", max_iter=300).fit(X, y)
    assert model.converged_
    assert model.coef_[1] > 0.1 * factor

    def evaluate(w, b):
        residual = np.abs(X @ w + b - y)
        if loss == "huber":
            values = np.where(residual <= 1.35, residual**2 / 2, 1.35 * residual - 1.35**2 / 2)
        else:
            values = residual + np.log1p(np.exp(-2 * residual)) - np.log(2)
        return values.mean() + 0.1 * np.abs(w).sum()

    # The certificate: J is at most this far above its minimum.
    own = evaluate(model.coef_, model.intercept_)
    lowest = min(
        minimize(
            lambda v: evaluate(v[:4] * factor, v[4] * factor),
            np.append(share * model.coef_, share * model.intercept_) / factor,
            method="Powell",
            options={"xtol": 1e-9, "ftol": 1e-12, "maxiter": 20_000},
        ).fun
        for share in (1.0, 0.5)
    )
    assert own <= lowest + model.certificate_.tolerance + 1e-9 * own

"""Every convex pair of loss and penalty: its objective, and its gap or the reason why there is none."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.linear_model import GeneralizedLinearEstimator
from mercer.objectives import PowerPenalty
from tests.laws.certificates import generalized_objective

NUMBERS = ["squared", "absolute", "huber", "epsilon_insensitive", "squared_epsilon_insensitive", "pinball", "poisson"]
LABELS = ["logistic", "hinge", "squared_hinge", "exponential"]
WITH_GAP = {"l2", "l1", "elasticnet"}


def fitted(loss, penalty):
    random = np.random.default_rng(3)
    X = random.normal(size=(80, 3)) + 0.5
    z = X @ np.array([1.0, -0.5, 0.2])
    y = {"poisson": random.poisson(np.exp(0.3 * z))}.get(loss, z + random.standard_t(3, size=80))
    y = (y > 0.3).astype(int) if loss in LABELS else y.astype(float)
    model = GeneralizedLinearEstimator(loss, penalty, alpha=0.05, tol=1e-5, max_iter=20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(X, y), X, y


@pytest.mark.catalogue("LM-18")
@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet", "smoothness", "nonnegative", None])
@pytest.mark.parametrize("loss", NUMBERS + LABELS)
def test_every_pair_reaches_its_optimum_and_says_how_near_it_is(loss, penalty):
    model, X, y = fitted(loss, penalty)
    W, b = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    here = generalized_objective(model, X, y, W, b)
    # Coefficients that a barrier kept from zero are set to it last, within the tolerance.
    slack = model.certificate_.tolerance if penalty in ("l1", "elasticnet") else 1e-9 * abs(here)
    assert here == pytest.approx(model.history_["objective"][-1], abs=slack)
    start = np.append(W, b)
    best = minimize(
        lambda p: generalized_objective(model, X, y, p[None, :-1], p[-1:]),
        start,
        method="Nelder-Mead",
        options={"maxiter": 2000, "xatol": 1e-10, "fatol": 1e-12},
    ).fun
    assert model.certificate_.satisfied
    if penalty in WITH_GAP:
        assert model.certificate_.kind == "duality gap"
        assert here - best <= model.certificate_.value + 1e-12
    else:
        assert model.certificate_.kind == "KKT residual"
        assert "No duality gap: " in model.certificate_.statement
        assert here - best <= 1e-4 * abs(here)


def test_the_reason_why_there_is_no_gap_is_said():
    reasons = {None: "nothing is penalised", "nonnegative": "conjugate of the penalty is infinite"}
    for penalty, reason in (reasons | {PowerPenalty(0.5): "the penalty is not convex"}).items():
        assert reason in fitted("squared", penalty)[0].certificate_.statement

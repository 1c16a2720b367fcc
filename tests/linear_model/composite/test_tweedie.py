"""Regressors of counts and amounts: optima by hand, scikit-learn's answers, gaps, weights, sparse rows, errors."""

import warnings

import numpy as np
import pytest
import scipy.sparse
import sklearn.linear_model
from sklearn.exceptions import ConvergenceWarning

import mercer.linear_model
from mercer.errors import DataError, ParameterError
from mercer.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor

SETTINGS = [
    ("PoissonRegressor", {}),
    ("GammaRegressor", {}),
    *(("TweedieRegressor", {"power": power}) for power in (0, 1, 1.5, 2, 2.5, 3)),
    ("TweedieRegressor", {"power": 0, "link": "log"}),
]


def draw(n=200):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    return X, random.gamma(2.0, np.exp(X @ [0.3, -0.2, 0.1]) / 2), random.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("regressor", [PoissonRegressor, GammaRegressor])
def test_without_columns_that_say_anything_the_mean_is_predicted(regressor):
    y = np.array([1.0, 2.0, 6.0])
    model = regressor().fit(np.zeros((3, 1)), y, [1.0, 1.0, 2.0])
    assert model.predict([[0.0]])[0] == pytest.approx(15 / 4, rel=1e-6)
    assert model.score(np.zeros((3, 1)), y, [1.0, 1.0, 2.0]) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize(("name", "options"), SETTINGS)
def test_answers_are_those_of_scikit_learn(name, options, alpha, weighted):
    X, y, weight = draw()
    weight = weight if weighted else None
    ours, theirs = (
        getattr(library.linear_model, name)(alpha=alpha, tol=1e-9, max_iter=3000, **options).fit(X, y, weight)
        for library in (mercer, sklearn)
    )
    assert ours.converged_
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-6)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5)
    # The loss of the rows has the slope -alpha w at the minimum, and the score is one less it over that of the mean.
    scale = np.abs(ours.coef_).sum() / min(1.0, np.var(y))
    assert ours.score(X, y, weight) == pytest.approx(theirs.score(X, y, weight), abs=1e-8 + 2 * alpha * scale * 1e-6)


@pytest.mark.parametrize(("name", "options"), SETTINGS)
def test_no_small_move_lowers_the_objective(name, options):
    X, y, _ = draw()
    model = getattr(mercer.linear_model, name)(alpha=0.5, tol=1e-8, max_iter=1000, **options).fit(X, y)
    loss = model._find_loss()

    def objective(w, b):
        return loss.value(X @ w + b, y).mean() + 0.25 * w @ w

    least, random = objective(model.coef_, model.intercept_), np.random.default_rng(1)
    for _ in range(20):
        step = 1e-3 * random.normal(size=4)
        assert objective(model.coef_ + step[:3], model.intercept_ + step[3]) >= least - 1e-9


@pytest.mark.parametrize("regressor", [PoissonRegressor, GammaRegressor])
def test_the_gap_bounds_the_distance_to_the_optimum(regressor):
    X, y, _ = draw()
    rough, exact = (regressor(alpha=0.1, tol=tol).fit(X, y) for tol in (1e-2, 1e-12))
    assert rough.certificate_.kind == "duality gap"
    loss = rough._find_loss()
    found, least = (
        loss.value(X @ model.coef_ + model.intercept_, y).mean() + 0.05 * model.coef_ @ model.coef_
        for model in (rough, exact)
    )
    assert -1e-12 <= found - least <= rough.certificate_.value + 1e-12


@pytest.mark.parametrize(("name", "options"), SETTINGS)
def test_weights_are_repetitions_and_sparse_rows_give_the_same(name, options):
    X, y, weight = draw()
    make = getattr(mercer.linear_model, name)
    weighted = make(tol=1e-9, max_iter=1000, **options).fit(X, y, weight)
    counts = weight.astype(int)
    repeated = make(tol=1e-9, max_iter=1000, **options).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    sparse = make(tol=1e-9, max_iter=1000, **options).fit(scipy.sparse.csr_array(X), y, weight)
    for other in (repeated, sparse):
        np.testing.assert_allclose(other.coef_, weighted.coef_, atol=1e-7)


@pytest.mark.parametrize("unit", [1e-300, 1e-150, 1e-6, np.exp(-1.0), 1e6, 1e150])
@pytest.mark.parametrize(("name", "options"), [one for one in SETTINGS if one[1].get("power", 1) in (1, 1.5, 2)])
def test_targets_in_any_unit_move_the_intercept_alone(name, options, unit):
    """Their unit is a factor of the objective of a power p, m^(2 - p), so that alpha takes it along."""
    X, y, _ = draw()
    power = options.get("power", 1 if name == "PoissonRegressor" else 2)
    make = getattr(mercer.linear_model, name)
    # Squares of the rounding of huge residuals are in the bound of a dual point: Poisson's gap cannot be known there.
    for alpha in (0.0, 0.3) if unit < 1e100 or power == 2 else (0.0,):
        plain = make(alpha=alpha, tol=1e-7, **options).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            scaled = make(alpha=alpha * unit ** (2 - power), tol=1e-7, **options).fit(X, unit * y)
        assert scaled.converged_
        np.testing.assert_allclose(scaled.coef_, plain.coef_, rtol=1e-5)
        assert scaled.intercept_ - np.log(unit) == pytest.approx(plain.intercept_, abs=1e-5)
        assert scaled.score(X, unit * y) == pytest.approx(plain.score(X, y), abs=1e-6)


def test_targets_whose_powers_overflow_are_no_fit_that_has_converged():
    X, y, _ = draw()
    with pytest.warns(ConvergenceWarning, match="not converged"), np.errstate(over="ignore"):
        model = TweedieRegressor(power=3).fit(X, 1e-300 * (y + 1))
    assert not model.converged_


def test_targets_out_of_range_and_powers_without_a_law_are_refused():
    X, y, _ = draw(5)
    with pytest.raises(DataError, match=r"PoissonRegressor: the Poisson loss needs y >= 0; got negative targets"):
        PoissonRegressor().fit(X, -y)
    with pytest.raises(DataError, match=r"GammaRegressor: the Gamma loss needs y > 0; got targets that are not"):
        GammaRegressor().fit(X, 0 * y)
    with pytest.raises(ParameterError, match=r"power must be 0, below 0 or at least 1; got 0.5: no law has it"):
        TweedieRegressor(power=0.5).fit(X, y)
    with pytest.raises(ParameterError, match=r"identity link goes with power=0.*Set link='log'"):
        TweedieRegressor(power=1, link="identity").fit(X, y)


@pytest.mark.parametrize("make", [PoissonRegressor, GammaRegressor, TweedieRegressor])
def test_means_that_overflow_are_refused(make):
    X, y, _ = draw()
    model = make(**({"power": 1.5} if make is TweedieRegressor else {})).fit(X, y + 1)
    far = 1e9 * np.sign(model.coef_)
    for rows in (far[None, :], np.tile(far, (20_000, 1))):
        with pytest.raises(DataError, match=rf"{make.__name__}: the answer overflows: the mean of a row is exp\("):
            model.predict(rows)
    assert np.isfinite(model.predict(-far[None, :])).all()

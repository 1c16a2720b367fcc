"""Bad input to every linear estimator: an answer, a warning or an error that says what to do; never silent garbage."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_outlier_detector
from sklearn.exceptions import ConvergenceWarning

import mercer.linear_model
from mercer._base import Estimator
from mercer.errors import DataError
from mercer.linear_model import GeneralizedLinearEstimator, LogisticRegression, QuantileRegressor

# Estimators whose defaults are of no use on small data, or that have several ways to fit.
SETTINGS = {
    "PassiveAggressiveClassifier": [{"random_state": 0}],
    "PassiveAggressiveRegressor": [{"random_state": 0}],
    "Perceptron": [{"random_state": 0}],
    "SGDClassifier": [{"random_state": 0}],
    "SGDRegressor": [{"random_state": 0}],
    "Lasso": [{"alpha": 0.01}],
    "ElasticNet": [{"alpha": 0.01}],
    "QuantileRegressor": [{"alpha": 0.01}],
    "MultiTaskLasso": [{"alpha": 0.01}],
    "MultiTaskElasticNet": [{"alpha": 0.01}],
    "LassoLars": [{"alpha": 0.01}],
    "OrthogonalMatchingPursuit": [{"n_nonzero_coefs": 4}],
    "GammaRegressor": [{"alpha": 1e-3}],
    "PoissonRegressor": [{"alpha": 1e-3}],
    "TweedieRegressor": [{"alpha": 1e-3}],
    "LogisticRegression": [{"solver": solver} for solver in ("lbfgs", "newton-cholesky")]
    + [{"solver": "liblinear", "dual": True}, {"solver": "saga", "max_iter": 1000}],
    "GeneralizedLinearEstimator": [
        *({"loss": loss, "solver": solver} for loss in ("squared", "absolute") for solver in ("irls", "fista")),
        *({"loss": loss, "solver": solver} for loss in ("logistic", "hinge") for solver in ("irls", "fista", "dual")),
        {"loss": "huber"},
        {"loss": "squared_hinge"},
        {"loss": "absolute", "solver": "dual"},
    ],
}


def list_models():
    for name in mercer.linear_model.__all__:
        kind = getattr(mercer.linear_model, name)
        if (
            inspect.isclass(kind)
            and issubclass(kind, Estimator)
            and "sample_weight" in inspect.signature(kind.fit).parameters
            and not is_outlier_detector(kind())
        ):
            yield from (kind(**given) for given in SETTINGS.get(name, [{}]))


MODELS = list(list_models())
# Steps along single rows: on so few they end near the optimum at best, and without a line between the classes a
# perceptron never settles.
STOCHASTIC = (
    *("PassiveAggressiveClassifier", "PassiveAggressiveRegressor", "Perceptron", "SGDClassifier"),
    "SGDRegressor",
)
# An l1 penalty has a scale of its own, and so have errors that are no loss: targets far below it are not worth a
# coefficient.
SCALED = ("Lasso", "ElasticNet", "LassoLars", "MultiTaskLasso", "MultiTaskElasticNet", "PassiveAggressiveRegressor")
# Models of counts and amounts: their targets are positive, and powers of e.
POSITIVE = ("GammaRegressor", "PoissonRegressor")
# Targets of theirs are a table.
SEVERAL = ("MultiTaskLasso", "MultiTaskElasticNet", "MultiTaskLassoCV", "MultiTaskElasticNetCV")
REGRESSORS = [model for model in MODELS if not is_classifier(model)]
CLASSIFIERS = [model for model in MODELS if is_classifier(model)]


def data(model, n=60, d=4):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d))
    noise = random.normal(size=n)
    y = X @ np.arange(1.0, d + 1) + noise
    if type(model).__name__ in POSITIVE:
        return X, np.exp(0.3 * y)
    if type(model).__name__ in SEVERAL:
        return X, np.column_stack([y, noise[::-1] - X @ np.ones(d) * 3.0])
    return X, (X[:, 0] + 0.5 * noise > 0).astype(int) if is_classifier(model) else y


def fit(model, X, y, *args):
    """Return the fitted model, and its warnings."""
    model = clone(model)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(X, y, *args)
    line = getattr(model, "estimator_", model)
    assert np.isfinite(line.coef_).all()
    assert np.isfinite(line.intercept_).all()
    return model, " ".join(str(one.message) for one in said)


def fit_or_refusal(model, X, y):
    """Return the fitted model and its warnings, or None and the words of the error."""
    try:
        return fit(model, X, y)
    except DataError as refusal:
        return None, str(refusal)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_constant_and_collinear_columns_do_not_change_predictions(model):
    X, y = data(model)
    plain, _ = fit(model, X, y)
    constant, _ = fit(model, np.column_stack([X, np.full(len(y), 7.0)]), y)
    twin, _ = fit(model, np.column_stack([X, X[:, 0]]), y)
    score = plain.score(X, y)
    if type(model).__name__ in STOCHASTIC and is_classifier(model):
        # One order of the rows ends between 0.57 and 0.92, with a constant column or without; their mean is 0.8.
        rows = np.column_stack([X, np.full(len(y), 7.0)])
        orders = [fit(clone(model).set_params(random_state=seed), rows, y)[0] for seed in range(5)]
        assert np.mean([each.score(rows, y) for each in orders]) > 0.7
        return
    assert constant.score(np.column_stack([X, np.full(len(y), 7.0)]), y) == pytest.approx(score, abs=0.04)
    assert twin.score(np.column_stack([X, X[:, 0]]), y) == pytest.approx(score, abs=0.04)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_more_columns_than_rows_are_fitted(model):
    random = np.random.default_rng(1)
    X = random.normal(size=(20, 50))
    y = (X[:, 0] > 0).astype(int) if is_classifier(model) else 5 * X[:, 0] + 0.1 * random.normal(size=20)
    if type(model).__name__ in POSITIVE:
        y = np.exp(0.5 * y)
    if type(model).__name__ in SEVERAL:
        y = np.column_stack([y, -y])
    if type(model).__name__ == "LassoLarsIC":
        with pytest.raises(DataError, match="the residuals of least squares then say nothing of the noise"):
            fit(model, X, y)
        model = clone(model).set_params(noise_variance=0.01)
    if type(model).__name__ == "RANSACRegressor":
        # A trial of as many rows as determine least squares is one of more rows than there are.
        with pytest.raises(DataError, match=r"n_samples = 20; got 51. Lower it, or give more rows"):
            fit(model, X, y)
        model = clone(model).set_params(min_samples=20)
    assert fit(model, X, y)[0].score(X, y) > 0.8


@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
def test_one_target_value_is_predicted_exactly_and_certified(model):
    X, _ = data(model)
    y = np.full((len(X), 2) if type(model).__name__ in SEVERAL else len(X), 3.0)
    fitted, said = fit(model, X, y)
    if type(model).__name__ == "ARDRegression":
        # Nothing is left to tell the precisions, and it says so.
        assert "not converged" in said
    # Descent ends where a pass gains less than 1e-3: a mean loss of 0.01 and single residuals of 0.4.
    exact = 0.5 if type(model).__name__ in STOCHASTIC else 1e-6
    assert fitted.predict(X) == pytest.approx(y, abs=exact)
    assert fitted.converged_ or said == "" or type(model).__name__ == "ARDRegression"


@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_one_class_is_refused(model):
    X, _ = data(model)
    with pytest.raises(ValueError, match=r"the data contains only one class.*Add rows of another"):
        clone(model).fit(X, np.ones(len(X), dtype=int))


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_extreme_scales_of_columns_give_a_sound_model_or_a_warning(model, scale):
    """Scale columns: a penalty ignores small ones, large ones are free of it, and rounding may hide the gap."""
    X, y = data(model)
    fitted, said = fit_or_refusal(model, scale * X, y)
    if fitted is None:
        assert type(model).__name__ in STOCHASTIC
        assert "scale the columns" in said
        return
    score, plain = fitted.score(scale * X, y), fit(model, X, y)[0].score(X, y)
    if type(model).__name__ in STOCHASTIC and is_classifier(model):
        assert score > (0.6 if scale > 1 else 0.4)
    elif scale > 1:
        assert score >= plain - 0.05 or "not converged" in said
    else:
        constant = max(np.mean(y), 1 - np.mean(y)) if is_classifier(model) else 0.0
        assert score >= constant - 0.05
    assert fitted.converged_ or "not converged" in said


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
def test_extreme_scales_of_targets_give_a_sound_model_or_a_warning(model, scale):
    X, y = data(model)
    fitted, said = fit_or_refusal(model, X, scale * y)
    if fitted is None:
        assert type(model).__name__ in STOCHASTIC
        assert "Scale the targets" in said
        return
    assert fitted.converged_ or "not converged" in said
    if type(model).__name__ in (*POSITIVE, "ARDRegression"):
        # Their penalties and priors are in the units of the targets, or of their logarithms.
        assert fitted.score(X, scale * y) > 0.9 or "Scale y" in said
        return
    # A quadratic penalty beside a loss that grows linearly is all there is to large targets.
    robust = type(model).__name__ == "HuberRegressor" or getattr(model, "loss", "") in ("absolute", "huber")
    name = type(model).__name__
    if scale < 1 and name in SCALED:
        np.testing.assert_array_equal(fitted.coef_, 0.0)
    elif scale > 1 and name in ("ElasticNetCV", "MultiTaskElasticNetCV"):
        # Penalties in proportion to the targets: their quadratic part then outweighs any rows.
        assert fitted.score(X, scale * y) >= -1e-12
    elif scale < 1 or not robust:
        # Five passes in random order end near the optimum.
        assert fitted.score(X, scale * y) > (0.7 if name in STOCHASTIC else 0.9)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_nan_and_infinity_are_refused(model, bad):
    X, y = data(model)
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        clone(model).fit(X, y)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_weights_that_are_all_zero_are_refused(model):
    X, y = data(model)
    with pytest.raises(ValueError, match=r"sample_weight must have a positive entry; got zeros only. Raise the weight"):
        clone(model).fit(X, y, sample_weight=np.zeros(len(y)))


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(C=np.inf),
        LogisticRegression(C=np.inf, solver="newton-cholesky"),
        *(GeneralizedLinearEstimator(loss, None) for loss in ("logistic", "exponential")),
        GeneralizedLinearEstimator("logistic", None, solver="fista"),
    ],
    ids=repr,
)
def test_separable_classes_without_a_penalty_have_no_finite_optimum_and_it_is_said(model):
    X, _ = data(model)
    with pytest.warns(ConvergenceWarning, match="nothing is penalised, so no finite optimum exists"):
        model.fit(X, (X[:, 0] > 0).astype(int))
    assert model.score(X, (X[:, 0] > 0).astype(int)) == 1.0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", ["irls", "fista"])
def test_separable_classes_cost_margins_nothing(loss, solver):
    X, _ = data(LogisticRegression())
    y = X[:, 0] > 0
    model, said = fit(GeneralizedLinearEstimator(loss, None, solver=solver, max_iter=20_000), X, y.astype(int))
    assert said == ""
    assert model.certificate_.value <= 1e-4
    assert np.maximum(1.0 - np.where(y, 1.0, -1.0) * model.decision_function(X), 0.0).mean() < 0.02


def test_quantiles_of_one_value_are_that_value():
    X, _ = data(QuantileRegressor())
    model = QuantileRegressor(quantile=0.9, alpha=0.0).fit(X, np.full(len(X), -2.5))
    assert model.intercept_ == pytest.approx(-2.5)
    assert model.converged_

"""Inference for logistic and softmax regression: the curvature of the likelihood at the fit.

With F the Fisher information of the rows and P the second derivative of the penalty, estimates have, for many rows,
the covariance (F + P)^-1 F (F + P)^-1; without a penalty F^-1. Softmax scores may shift by a constant in all classes,
a direction in which neither the data nor the estimates vary: the inverse leaves it out.
"""

import math
from typing import Any

import numpy as np
from scipy import special

from mercer._base.linear.classifier import label_classes
from mercer._objective import Logistic, Softmax
from mercer._source import Source
from mercer._statistic.labels import Labels
from mercer._statistic.loss import LossCurvature, LossGradient
from mercer.errors import DataError, ParameterError
from mercer.linear_model._inference.inference import Inference, describe_estimates, refuse_rank, term_names
from mercer.linear_model._logistic.penalty import strengths


def infer_logistic(model: Any, X: Any, y: Any, sample_weight: Any, confidence: float) -> Inference:
    """Compute the inference of a fitted LogisticRegression or LogisticRegressionCV."""
    C, ratio = _find_strength(model)
    if ratio > 0:
        raise ParameterError(
            f"{type(model).__name__}: standard errors do not hold for coefficients that an l1 penalty has set to zero; "
            f"fit with l1_ratio=0; got {ratio:g}."
        )
    opened = model._open(X, y, sample_weight, targets="labels", accept_sparse="csr", reset=False)
    classes, source = label_classes(model, opened)
    loss = Logistic() if len(classes) == 2 else Softmax(len(classes))
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    # Native code reads a score for each class of y from the coefficients.
    if not np.array_equal(classes, model.classes_) or len(coef) != (1 if len(classes) == 2 else len(classes)):
        raise DataError(
            f"{type(model).__name__}: infer needs the rows of the fit, with labels of all its {len(model.classes_)} "
            f"classes; got {len(classes)} classes and coefficients of {len(coef)} scores. Give the X and y of the fit."
        )
    parameters = np.column_stack([coef, np.broadcast_to(model.intercept_, len(coef))]).astype(np.float64)
    total = source.total_weight()
    # The summed loss is minus the log-likelihood.
    likelihood = -source.reduce(LossGradient(loss, parameters)).value
    # The objective is a mean over rows; the information is a sum.
    penalty = total * np.tile(strengths(model, C, 0.0, source.n_features, total).l2, len(coef))
    information = source.reduce(LossCurvature(loss, parameters))
    kept = np.tile(np.arange(parameters.shape[1]) < parameters.shape[1] - (not model.fit_intercept), len(coef))
    information = information[np.ix_(kept, kept)]
    inverse = _inverse(model, information + np.diag(penalty[kept]), len(coef))
    order = _intercept_first(len(coef), parameters.shape[1], model.fit_intercept)
    # The sandwich of penalised likelihood: the penalty is in the curvature, but adds no noise.
    covariance = (inverse @ information @ inverse)[np.ix_(order, order)]
    estimates = parameters.reshape(-1)[kept][order].reshape(len(coef), -1)
    # trace(H^-1 I): the effective number of coefficients, all of them without a penalty.
    freedom = float(np.sum(inverse * information))
    return Inference(
        names=term_names(model),
        **describe_estimates(estimates[0] if len(coef) == 1 else estimates, covariance, math.inf, confidence),
        **_quality(source, likelihood, total, freedom, model.fit_intercept, len(classes)),
        noise_variance=math.nan,
    )


def _find_strength(model: Any) -> tuple[float, float]:
    """Return C and the l1 ratio, given or chosen by cross-validation."""
    C = float(np.ravel(getattr(model, "C_", getattr(model, "C", 1.0)))[0])
    ratio = np.ravel(getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 0.0)))[0]
    return C, float(ratio or 0.0)


def _inverse(model: Any, curvature: np.ndarray, n_scores: int) -> np.ndarray:
    """Return the inverse of the curvature on its range, with columns brought to one scale first."""
    diagonal = np.diagonal(curvature)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(curvature / scale / scale[:, None])
    kept = values > len(values) * np.finfo(np.float64).eps * 100.0 * values[-1]
    # Softmax without a penalty has a null direction per column; with a penalty, only one for the intercepts.
    allowed = 0 if n_scores == 1 else len(values) // n_scores
    if np.sum(~kept) > allowed:
        refuse_rank(type(model).__name__)
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T / scale / scale[:, None]
    if n_scores == 1 or not (~kept).any():
        return inverse
    # Scaling has rotated the null directions, so project the common shift of all classes out again.
    width = len(values) // n_scores
    projection = np.kron(np.eye(n_scores) - 1.0 / n_scores, np.eye(width))
    return projection @ inverse @ projection


def _intercept_first(n_scores: int, width: int, has_intercept: bool) -> np.ndarray:
    columns = np.roll(np.arange(width), 1) if has_intercept else np.arange(width - 1)
    per_score = width if has_intercept else width - 1
    return np.concatenate([score * per_score + columns for score in range(n_scores)])


def _quality(
    source: Source, likelihood: float, n: float, freedom: float, has_intercept: bool, n_classes: int
) -> dict[str, Any]:
    weights = np.asarray(source.reduce(Labels()).weights, dtype=np.float64)
    # The log-likelihood of the class shares alone, or of equal probabilities.
    alone = float(np.sum(special.xlogy(weights, weights / n))) if has_intercept else -n * math.log(n_classes)
    # The intercepts of k - 1 classes are in the null model too.
    explaining = freedom - (n_classes - 1) * has_intercept
    # Twice the gain in log-likelihood is chi-squared under the null model, for many rows.
    ratio = 2.0 * (likelihood - alone)
    return {
        "n_samples": n,
        "residual_freedom": n - freedom,
        "effective_freedom": freedom,
        "log_likelihood": likelihood,
        "aic": 2.0 * freedom - 2.0 * likelihood,
        "bic": freedom * math.log(n) - 2.0 * likelihood,
        # McFadden's R^2.
        "r_squared": 1.0 - likelihood / alone if alone else math.nan,
        "adjusted_r_squared": 1.0 - (likelihood - explaining) / alone if alone else math.nan,
        "test": ratio,
        "test_p_value": float(special.chdtrc(explaining, ratio)) if explaining > 0 else math.nan,
    }

"""What can be said of the coefficients of a fitted linear model: errors, intervals, tests, and influential rows."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator
from mercer._notebook import render_table
from mercer._plain import plain
from mercer._solver import Outcome
from mercer._stored import Stored, part
from mercer.errors import DataError, ParameterError


@plain
@dataclass(frozen=True)
class Inference:
    """Standard errors, tests and intervals of coefficients, the quality of the fit, and the influence of rows.

    Arrays over coefficients have the intercept first, where there is one, as ``names`` has; softmax regression has a
    row for each class.

    Attributes
    ----------
    names : list of str
        The coefficients.
    estimates, standard_errors, statistics, p_values : ndarray
        The coefficients, the roots of the diagonal of their covariance, their ratios, and the two-sided probability of
        a ratio that large were the coefficient zero.
    intervals : ndarray
        Their confidence intervals, lower and upper end along the last axis.
    confidence : float
        The probability with which such an interval covers the truth.
    covariance : ndarray
        Of all coefficients, in C order of ``estimates``.
    statistic : str
        ``"t"``, of Student's distribution with ``residual_freedom``, or ``"z"``, of the normal one.
    n_samples, residual_freedom, effective_freedom : float
        Total weight; what is left of it beside the coefficients; how many coefficients the data determine: all of
        them, or fewer under a penalty.
    log_likelihood, aic, bic : float
        At the fit; 2 f - 2 log L and f log n - 2 log L with f the effective freedom, the variance of noise not counted.
    r_squared, adjusted_r_squared : float
        Share of the variance explained; for classes, of the log-likelihood (McFadden).
    test, test_p_value : float
        Of the fit against the intercept alone: the F statistic, or the likelihood-ratio chi^2.
    noise_variance : float
        RSS / residual_freedom; NaN for classes.
    leverages, leave_one_out_residuals, cooks_distances : ndarray of shape (n_samples,) or None
        For least squares on rows in memory.
    """

    names: list
    estimates: Any
    standard_errors: Any
    statistics: Any
    p_values: Any
    intervals: Any
    confidence: float
    covariance: Any
    statistic: str
    n_samples: float
    residual_freedom: float
    effective_freedom: float
    log_likelihood: float
    aic: float
    bic: float
    r_squared: float
    adjusted_r_squared: float
    test: float
    test_p_value: float
    noise_variance: float
    leverages: Any = None
    leave_one_out_residuals: Any = None
    cooks_distances: Any = None

    def __str__(self) -> str:
        heads, rows = self._list_coefficients()
        width = max(len(name) for name in self.names)
        lines = [" " * width + "".join(f"{head:>12s}" for head in heads)]
        lines += [f"{name:<{width}s}" + "".join(f"{value:>12s}" for value in values) for name, *values in rows]
        return "\n".join([*lines, self._summarise()])

    def _repr_html_(self) -> str:
        heads, rows = self._list_coefficients()
        return render_table(self._summarise(), rows, heads)

    def _list_coefficients(self) -> tuple[list[str], list[list[str]]]:
        """Return the heads of the table of coefficients, and its rows."""
        sides = 50.0 * (1.0 - self.confidence)
        heads = ["estimate", "std error", self.statistic, f"P(>|{self.statistic}|)", f"{sides:g} %"]
        columns = (self.estimates, self.standard_errors, self.statistics, self.p_values)
        flat = [np.reshape(column, -1) for column in (*columns, self.intervals[..., 0], self.intervals[..., 1])]
        # Several scores: the names repeat for each of them.
        names = (self.names[number % len(self.names)] for number in range(len(flat[0])))
        rows = [[name, *(f"{value:.4g}" for value in values)] for name, *values in zip(names, *flat)]
        return [*heads, f"{100.0 - sides:g} %"], rows

    def _summarise(self) -> str:
        return f"R^2 {self.r_squared:.4g}, log-likelihood {self.log_likelihood:.6g}, AIC {self.aic:.6g}"


def inference(model: Any, X: Any, y: Any, sample_weight: Any = None, *, confidence: float = 0.95) -> Inference:
    """Compute standard errors, intervals, tests, information criteria and influence for a fitted linear model.

    For least squares the noise is taken to be independent, normal and of one variance; the tests are then exact. For
    logistic regression they hold for many rows. Under a quadratic penalty (Ridge, finite C) the covariance is that of
    the estimates about their own mean, which the penalty has drawn towards zero: intervals cover that mean.

    Parameters
    ----------
    model : LinearRegression, Ridge or LogisticRegression
        Fitted, without an l1 penalty and without ``positive``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows that it was fitted to.
    y : array-like of shape (n_samples,)
        Their targets or labels; one target.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Their weights: a weight of two is the row twice, and counts as two.
    confidence : float, default=0.95
        Of the intervals, in (0, 1).

    Returns
    -------
    Inference

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import LinearRegression, inference
    >>> X = np.arange(10.0)[:, None]
    >>> y = np.array([1.1, 2.9, 5.2, 7.1, 8.8, 11.2, 12.9, 15.1, 17.0, 18.9])
    >>> found = inference(LinearRegression().fit(X, y), X, y)
    >>> print(found)
                 estimate   std error           t     P(>|t|)       2.5 %      97.5 %
    intercept       1.069     0.08471       12.62   1.459e-06      0.8737       1.264
    x0              1.989     0.01587       125.4   1.834e-14       1.952       2.026
    R^2 0.9995, log-likelihood 6.2969, AIC -8.59381
    """
    from mercer.linear_model._inference.linear import infer_linear
    from mercer.linear_model._inference.logistic import infer_logistic

    if not (isinstance(confidence, float) and 0.0 < confidence < 1.0):
        raise ParameterError(f"inference: confidence must be a number in (0, 1); got {confidence!r}.")
    check_is_fitted(model)
    if hasattr(model, "classes_"):
        return infer_logistic(model, X, y, sample_weight, confidence)
    return infer_linear(model, X, y, sample_weight, confidence)


class Inferring(Estimator):
    """A linear model that can tell the errors of its coefficients."""

    _stored: ClassVar[dict[str, Stored]] = {
        "inference_": part("Inference"),
    }

    def infer(self, X: Any, y: Any, sample_weight: Any = None, *, confidence: float = 0.95) -> Inference:
        """Compute standard errors, intervals, tests and influence; keep them in ``inference_``; see :func:`inference`.

        Parameters
        ----------
        X, y, sample_weight
            What the model was fitted to.
        confidence : float, default=0.95
            The probability that an interval holds the true coefficient.

        Returns
        -------
        Inference
        """
        self.inference_ = inference(self, X, y, sample_weight, confidence=confidence)
        return self.inference_

    def _drive(self, *arguments: Any, **options: Any) -> Outcome:
        """Fit as any estimator does, and forget what was inferred from an earlier fit."""
        outcome = super()._drive(*arguments, **options)
        self.__dict__.pop("inference_", None)
        return outcome


def describe_estimates(
    estimates: np.ndarray, covariance: np.ndarray, freedom: float, confidence: float
) -> dict[str, Any]:
    """Return the part of an Inference that follows from estimates and covariance; normal if `freedom` is infinite."""
    errors = np.sqrt(np.maximum(np.diagonal(covariance), 0.0)).reshape(estimates.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = estimates / errors
    normal = math.isinf(freedom)
    # Both tails of the normal, or of Student's t with the residual degrees of freedom.
    tail = special.ndtr(-np.abs(ratios)) if normal else special.stdtr(freedom, -np.abs(ratios))
    # Half of what the interval leaves out lies above it.
    share = 0.5 + confidence / 2.0
    quantile = special.ndtri(share) if normal else special.stdtrit(freedom, share)
    return {
        "estimates": estimates,
        "standard_errors": errors,
        "statistics": ratios,
        "p_values": 2.0 * tail,
        "intervals": np.stack([estimates - quantile * errors, estimates + quantile * errors], axis=-1),
        "confidence": confidence,
        "covariance": covariance,
        "statistic": "z" if normal else "t",
    }


def term_names(model: Any) -> list[str]:
    """Return the names of the intercept, if there is one, and of the columns."""
    names = [f"x{number}" for number in range(model.n_features_in_)]
    names = [str(name) for name in getattr(model, "feature_names_in_", names)]
    return ["intercept", *names] if model.fit_intercept else names


def refuse_rank(subject: str) -> None:
    """Say that coefficients which others determine have no errors."""
    raise DataError(f"{subject}: standard errors need columns of full rank; drop columns that others determine.")

"""Bayesian linear regression with a precision for each coefficient: columns that say nothing are dropped."""

from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.parameter import Real, parameter
from mercer._source.memory import require_memory
from mercer._stored import Stored, floats
from mercer.linear_model._least_squares.posterior import PosteriorRegressor
from mercer.linear_model._single_target import open_single_target
from mercer.linear_model._solvers.closed_form.relevance import RelevancePriors, RelevanceState, maximise_relevance


class ARDRegression(PosteriorRegressor):
    """Bayesian linear regression that determines which columns are relevant.

    The model is y_i ~ N(b + x_i . w, 1 / alpha) and w_j ~ N(0, 1 / lambda_j), with a flat prior on the intercept b.
    Given the data, w is N(m, S) with

        S = (alpha X^T W X + diag(lambda))^-1,    m = alpha S X^T W y    (X and y centred)

    where W holds the ``sample_weight``. The precisions maximise the evidence, the density of the targets with w
    integrated out, times Gamma priors. Those of columns that say nothing grow without bound; such columns are dropped.
    :class:`BayesianRidge` has one lambda for all columns.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The posterior mean m; zero for columns that were dropped.
    intercept_ : float
        The posterior mean of b.
    alpha_ : float
        The precision of the noise.
    lambda_ : ndarray of shape (n_features,)
        The precision of each coefficient; at least ``threshold_lambda`` for columns that were dropped.
    sigma_ : ndarray of shape (n_kept, n_kept)
        The posterior covariance S of the coefficients that are kept.
    scores_ : ndarray of shape (n_iter_,)
        The log evidence after each step, with ``compute_score``.
    X_offset_, X_scale_ : ndarray of shape (n_features,)
        The mean that was taken off the rows, and ones.
    n_iter_ : int
        Steps taken.
    history_, converged_, certificate_
        How the fit went; the objective is minus the log evidence. The certificate is the largest derivative of the log
        evidence by the logarithm of a precision.

    Notes
    -----
    One pass forms the d x d scatter, n d^2 multiplications, wherever rows can be summed; a step then factors the part
    of it that belongs to the columns that are kept, d^3 multiplications at most. The precisions depend on the scale of
    the columns: bring columns to one scale, or set ``threshold_lambda`` accordingly.

    References
    ----------
    D. J. C. MacKay, Bayesian nonlinear modelling for the prediction competition, 1994. M. E. Tipping, Sparse Bayesian
    learning and the relevance vector machine, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import ARDRegression
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(200, 10))
    >>> model = ARDRegression().fit(X, X[:, 0] - 2.0 * X[:, 1] + 0.1 * random.normal(size=200))
    >>> (model.coef_.round(1) + 0.0).tolist()
    [1.0, -2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """

    threshold_lambda: float = parameter(
        Real(0), default=1e4, after="compute_score", doc="Columns whose precision is at least this are dropped."
    )

    _documents = {
        "tol": (
            "The fit ends when the coefficients change by less than this in sum and no derivative of the log evidence "
            "by the logarithm of a precision is larger."
        ),
        "lambda_1": "Shape of the Gamma prior on each lambda.",
        "lambda_2": "Rate of the prior on each lambda.",
    }

    # A column that is dropped takes its share of the evidence with it, and MacKay's steps may go down.
    _objective_moves: ClassVar[str | None] = None
    _stored: ClassVar[dict[str, Stored]] = {
        "lambda_": floats("columns"),
        "sigma_": floats("kept, kept"),
        "_weight": floats(),
    }
    _depends_on_units = ("columns", "scale", "target")

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "ARDRegression":
        """Fit the model."""
        source = open_single_target(self, X, y, sample_weight)
        n_bytes = 40 * source.n_features**2
        require_memory("ARDRegression", n_bytes, "the posterior covariance", "use Lasso, or select columns")
        priors = RelevancePriors(
            (float(self.alpha_1), float(self.alpha_2)),
            (float(self.lambda_1), float(self.lambda_2)),
            float(self.threshold_lambda),
        )
        vars(self).pop("scores_", None)
        outcome = self._drive(
            lambda start: maximise_relevance(self.fit_intercept, priors, self.tol, self.max_iter, start),
            source,
            fitted=partial(self._read_state, dtype=source.host_dtype),
            max_steps=self.max_iter,
        )
        if self.compute_score:
            self.scores_ = outcome.state.scores
        self._conclude(outcome)
        return self

    def _read_state(self, state: RelevanceState, dtype: np.dtype) -> dict[str, Any]:
        """Return the fitted attributes, in the precision of the rows."""
        return self._linear_attributes(state, dtype, flat_coef=True, flat_intercept=True) | {
            "alpha_": state.alpha,
            "lambda_": state.precisions.astype(dtype),
            "sigma_": state.covariance.astype(dtype),
            "X_offset_": state.mean.astype(dtype),
            "X_scale_": np.ones(len(state.mean), dtype),
            "_weight": state.weight,
        }

    def _describe_posterior(self) -> tuple[np.ndarray, float]:
        kept = np.flatnonzero(self.lambda_ < self.threshold_lambda)
        covariance = np.zeros((len(self.lambda_),) * 2, self.sigma_.dtype)
        covariance[np.ix_(kept, kept)] = self.sigma_
        return covariance, self._weight

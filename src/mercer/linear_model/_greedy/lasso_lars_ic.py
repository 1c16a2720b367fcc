"""The lasso by least angles, with the penalty chosen by an information criterion."""

import math
from collections.abc import Generator
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, parameter
from mercer._documentation import compose_docstring
from mercer._solver.relay import relay
from mercer._source import Source
from mercer._statistic.products import Residual
from mercer._stored import Stored, floats
from mercer.errors import DataError
from mercer.linear_model._greedy.documentation import SHARED
from mercer.linear_model._greedy.lars import LeastAngleModel
from mercer.linear_model._least_squares.least_squares import LinearRegression
from mercer.linear_model._single_target import open_single_target
from mercer.linear_model._solvers.greedy.column_products import plan_products
from mercer.linear_model._solvers.greedy.least_angle import PathRules
from mercer.linear_model._solvers.greedy.path_choice import ChosenPlace, choose_by_criterion


class LassoLarsIC(LeastAngleModel):
    """The lasso by least angles, at the knot that an information criterion finds best.

    Follows the path of :class:`LassoLars` to its end and takes the knot with the least

        S log(2 pi v) + |y - b - X w|^2 / v + c (number of coefficients that are not zero)

    with S the sum of the weights, v the variance of the noise, and c = 2 (Akaike) or log S (Bayes). The number of
    coefficients is an unbiased estimate of the lasso's degrees of freedom.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Intercept.
    alpha_ : float
        The penalty at the chosen knot.
    alphas_ : ndarray of shape (n_knots,)
        The penalties at all knots.
    criterion_ : ndarray of shape (n_knots,)
        The criterion there.
    noise_variance_ : float
        v.
    n_iter_ : int
        Steps from knot to knot.
    solver_used_ : str
        ``"gram"`` or ``"columns"``; see :class:`Lars`.
    history_, converged_, certificate_
        How the fit went; the objective is the least criterion so far. ``converged_`` is False where ``max_iter`` steps
        did not come to the end of the path; the certificate is the duality gap at ``alpha_``.
    %(features)s

    Notes
    -----
    %(notes)s

    References
    ----------
    H. Zou, T. Hastie and R. Tibshirani, On the degrees of freedom of the lasso, 2007.

    Examples
    --------
    >>> from mercer.linear_model import LassoLarsIC
    >>> X = [[-2, 2], [-1, 1], [0, 0], [1, 1], [2, 2]]
    >>> model = LassoLarsIC(criterion="bic").fit(X, [-2.2222, -1.1111, 0, -1.1111, -2.2222])
    >>> model.coef_.round(2)
    array([ 0.  , -1.11])
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    criterion: str = parameter(
        Choice("aic", "bic"), default="aic", kw_only=False, doc="The price c of a coefficient: 2, or log S."
    )
    max_iter: int = parameter(Integer(1), default=500, after="precompute", doc="The most steps, for each path.")
    positive: bool = parameter(
        Boolean(), default=False, after="copy_X", doc="Whether the coefficients must not be negative."
    )
    noise_variance: float | None = parameter(
        Real(0) | Nothing(),
        default=None,
        after="positive",
        doc="v; None estimates it by the residuals of least squares, which takes more rows than columns.",
    )

    _check_exceptions: ClassVar[dict[str, str]] = LeastAngleModel._check_exceptions | dict.fromkeys(
        ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
        "27 rows of 30 columns say nothing of the noise, which is then asked for",
    )
    _stored: ClassVar[dict[str, Stored]] = {
        "alpha_": floats(),
        "criterion_": floats("*"),
        "noise_variance_": floats(),
    }
    _depends_on_units = ("columns",)

    @fitting
    def fit(self, X: Any, y: Any = None, copy_X: bool | None = None, sample_weight: Any = None) -> "LassoLarsIC":
        """Fit the model.

        Parameters
        ----------
        copy_X : bool or None, default=None
            Has no effect, as the parameter of the class.
        """
        source = open_single_target(self, X, y, sample_weight)
        plan, name = plan_products(self, source), type(self).__name__
        rules = PathRules(name, True, self.positive, self.eps, self.max_iter, 0.0)
        n_rows = source.known_rows or source.n_features
        estimate, price = partial(self._estimate_noise, source), self._price
        outcome = self._drive(
            lambda start: choose_by_criterion(plan, rules, n_rows, self._pace(), estimate, price, start),
            source,
            fitted=partial(self._read_state, dtype=source.dtype_name),
        )
        self.n_iter_ = len(self.alphas_) - 1
        self._warn_of_refused(outcome.state.records)
        self._conclude(outcome, "raise max_iter")
        return self

    def _price(self, total: float) -> float:
        return 2.0 if self.criterion == "aic" else math.log(total)

    def _estimate_noise(self, source: Source) -> Generator[Any, Any, float]:
        """Estimate the variance of the noise by the residuals of least squares, unless it is given."""
        if self.noise_variance is not None:
            return float(self.noise_variance)
        freedom = source.total_weight() - source.n_features - int(self.fit_intercept)
        if freedom <= 0:
            raise DataError(
                "LassoLarsIC: You are using LassoLarsIC in the case where the number of samples is smaller than the "
                "number of features: the residuals of least squares then say nothing of the noise; got "
                f"n_samples={source.total_weight():g} and {source.n_features} columns. Give noise_variance."
            )
        model = LinearRegression(fit_intercept=self.fit_intercept, positive=self.positive)
        solution = yield from relay(model._solver(source, None), lambda step: None)
        sums = yield Residual(solution.state.coef, 0.0 * solution.state.coef[:, 0], solution.state.intercept)
        variance = float(sums.squares[0]) / freedom
        # Where least squares leaves nothing, the noise is rounding.
        level = yield Residual(0.0 * solution.state.coef, 0.0 * solution.state.coef[:, 0], np.zeros(1))
        squares = float(level.squares[0])
        # In the units of the targets, whose squares may be the smallest numbers there are.
        least = max(np.finfo(np.float64).eps ** 2 * squares / freedom, np.finfo(np.float64).tiny) if squares else 1.0
        return max(variance, least)

    def _read_state(self, state: ChosenPlace, dtype: str) -> dict[str, Any]:
        """Return the fitted attributes: the model at the chosen knot, and the criterion along the path."""
        return self._linear_attributes(state, dtype, flat_coef=True, flat_intercept=True) | {
            "alpha_": state.alpha,
            "alphas_": state.alphas.astype(dtype),
            "criterion_": state.values,
            "noise_variance_": state.noise,
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

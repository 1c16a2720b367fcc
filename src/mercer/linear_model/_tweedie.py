"""Generalized linear regression of counts and amounts: Poisson, gamma and Tweedie deviances with an l2 penalty."""

from functools import partial
from typing import Any

import numpy as np

from mercer._base import LimitedEstimator, few_rows, fitting, open_new_rows
from mercer._base.linear.prediction import LinearRegressor, SingleTarget
from mercer._base.loss_rules import check_range
from mercer._base.parameter import Boolean, Choice, Integer, Real, parameter
from mercer._documentation import compose_docstring
from mercer._objective import L2, Gamma, Loss, Poisson, Squared, Tweedie
from mercer._solver.composite.choice import choose_solver
from mercer._solver.composite.composite_problem import CompositeProblem
from mercer._source.namespace import to_numpy
from mercer.errors import ParameterError
from mercer.linear_model._generalized import Predicted

# What the three classes say alike.
SHARED = {
    "fitted": """Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        w.
    intercept_ : float
        b.
    solver_used_ : str
        "irls" for Newton steps, "fista" for gradients.
    n_iter_ : int
        Steps taken.

    Notes
    -----
    Some five Newton steps, each two passes and n d^2 / 2 multiplications; memory is d^2 numbers. Rows in any place;
    sparse ones stay sparse. ``score`` is D^2, the share of the deviance that the model explains.

    References
    ----------
    P. McCullagh and J. A. Nelder, Generalized Linear Models, 1989. B. Jorgensen, Exponential dispersion models,
    1987."""
}


class DevianceRegressor(SingleTarget, LinearRegressor, LimitedEstimator):
    """Base of regressors that minimise a mean half deviance plus an l2 penalty."""

    alpha: float = parameter(Real(0, squared=False), default=1.0, doc="Strength of the penalty alpha |w|^2 / 2.")
    fit_intercept: bool = parameter(
        Boolean(), default=True, doc="Whether to fit b, which is never penalised; otherwise it is zero."
    )
    solver: str = parameter(
        Choice("lbfgs", "newton-cholesky"),
        default="lbfgs",
        doc='scikit-learn\'s names of methods. Either takes Newton steps up to 500 columns; beyond, "lbfgs" takes '
        "accelerated gradients, which need no Hessian. ``solver_used_`` says which.",
    )
    max_iter: int = parameter(Integer(1), default=100, doc="The most steps.")
    tol: float = parameter(
        Real(0, np.inf, "neither"),
        default=1e-4,
        doc="The fit ends when the optimality conditions hold to this share of what they were at zero coefficients; "
        "where there is a duality gap, when that is at most the square of this share of the mean target to the power "
        "2 - p: p is 1 for Poisson's law and 2 for gamma.",
    )
    warm_start: bool = parameter(Boolean(), default=False, doc="Whether to start from the last fit's solution.")
    verbose: int = parameter(Integer(0) | Boolean(), default=0)
    _takes_sparse = True

    @property
    def _takes_positive(self) -> bool:
        return True

    @property
    def _depends_on_units(self) -> tuple[str, ...]:  # type: ignore[override]
        """The penalty is in the units of columns, and of targets where the loss is in a power of them."""
        loss = self._find_loss()
        place = ("place", "target place") if loss.predicts_exponentials else ("place",)
        if self.alpha == 0:
            return place
        # The gamma loss is of ratios of targets, and squares of targets have a ridge in the unit of the columns alone.
        return ("columns", "scale", *(() if isinstance(loss, Gamma | Squared) else ("target",)), *place)

    def _find_loss(self) -> Loss:
        raise NotImplementedError  # each regressor has its own

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "DevianceRegressor":
        """Fit the model."""
        loss = self._find_loss()
        source = self._open_single(X, y, sample_weight)
        check_range(self, loss, source)
        penalty = L2(float(self.alpha)) if self.alpha > 0 else None
        # Coefficients as near to the optimum as a gradient of `tol` says have a gap of its square.
        tol = float(self.tol) ** 2 if penalty is not None and loss.has_conjugate else float(self.tol)
        problem = CompositeProblem(loss, penalty, source.total_weight(), source.n_features, self.fit_intercept, tol)
        wish = "irls" if self.solver == "newton-cholesky" else "auto"
        used, solve = choose_solver(self, problem, source, wish)
        outcome = self._drive(
            solve,
            source,
            fitted=partial(self._read_state, dtype=source.host_dtype),
            max_steps=self.max_iter,
            attributes={"solver_used_": used},
        )
        self._conclude(outcome)
        return self

    def _read_state(self, state: Any, dtype: np.dtype) -> dict[str, Any]:
        """Return the coefficients and the intercept, in the precision of the rows."""
        parameters = state.parameters[0].astype(dtype)
        return {"coef_": parameters[:-1].copy(), "intercept_": parameters[-1] if self.fit_intercept else 0.0}

    def predict(self, X: Any) -> np.ndarray:
        """Predict the mean of the target of each row.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted targets.
        """
        predicted = Predicted(self.coef_, self.intercept_, self._find_loss(), type(self).__name__)
        if (rows := few_rows(self, X)) is not None:
            return predicted.give(rows @ self.coef_ + self.intercept_)
        return open_new_rows(self, X, accept_sparse="csr").map(predicted)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return D^2, the share of the deviance of a constant that the model explains.

        Returns
        -------
        score : float
            At most 1; 0 for the mean of `y`.
        """
        loss = self._find_loss()
        source = self._open_single(X, y, sample_weight, reset=False)
        check_range(self, loss, source)
        scores = to_numpy(source.map(Predicted(self.coef_, self.intercept_, Squared(), type(self).__name__))).astype(
            np.float64
        )
        y = to_numpy(source.y).astype(np.float64)
        weight = None if source.weight is None else to_numpy(source.weight)
        mean = np.full(len(y), loss.link(np.average(y, weights=weight), np))
        # The loss at the target itself, to which deviances are relative; that of y = 0 is zero in the limit.
        safe = y if not loss.predicts_exponentials else np.where(y > 0, y, 1.0)
        best = np.where(safe == y, loss.value(loss.link(safe, np)[:, None], y, np, checked=True), 0.0)
        left, null, least = (
            float(np.average(values, weights=weight))
            for values in (*(loss.value(z[:, None], y, np, checked=True) for z in (scores, mean)), best)
        )
        return 1.0 - (left - least) / (null - least)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self._takes_positive
        return tags


class PoissonRegressor(DevianceRegressor):
    r"""Regression of counts: a generalized linear model with Poisson's deviance and a logarithmic link.

    Minimises, over w (``coef_``) and b (``intercept_``),

    .. math:: \frac{1}{S} \sum_i s_i \big(e^{z_i} - y_i z_i\big) + \frac{\alpha}{2} \lVert w \rVert_2^2 ,
              \qquad z_i = w^\top x_i + b ,

    with s the weights of the rows and S their sum, and predicts exp(z). The certificate is a duality gap where alpha is
    positive.

    %(fitted)s

    Examples
    --------
    >>> from mercer.linear_model import PoissonRegressor
    >>> model = PoissonRegressor().fit([[1, 2], [2, 3], [3, 4], [4, 3]], [12, 17, 22, 21])
    >>> model.coef_.round(2).tolist(), round(float(model.intercept_), 2)
    ([0.12, 0.16], 2.09)
    """

    __doc__ = compose_docstring(__doc__, SHARED)

    def _find_loss(self) -> Loss:
        return Poisson()


class GammaRegressor(DevianceRegressor):
    r"""Regression of positive amounts: a generalized linear model with the gamma deviance and a logarithmic link.

    Minimises, over w (``coef_``) and b (``intercept_``),

    .. math:: \frac{1}{S} \sum_i s_i \big(z_i + y_i e^{-z_i}\big) + \frac{\alpha}{2} \lVert w \rVert_2^2 ,
              \qquad z_i = w^\top x_i + b ,

    with s the weights of the rows and S their sum, and predicts exp(z). The certificate is a duality gap where alpha is
    positive.

    %(fitted)s

    Examples
    --------
    >>> from mercer.linear_model import GammaRegressor
    >>> model = GammaRegressor().fit([[1, 2], [2, 3], [3, 4], [4, 3]], [19, 26, 33, 30])
    >>> model.coef_.round(2).tolist(), round(float(model.intercept_), 2)
    ([0.07, 0.07], 2.9)
    """

    __doc__ = compose_docstring(__doc__, SHARED)

    def _find_loss(self) -> Loss:
        return Gamma()


class TweedieRegressor(DevianceRegressor):
    r"""Regression with a Tweedie deviance: the variance of a target is in proportion to a power of its mean.

    Minimises, over w (``coef_``) and b (``intercept_``), the mean half deviance of the predicted means

    .. math:: \frac{1}{S} \sum_i \frac{s_i}{2} d_p(y_i, \mu_i) + \frac{\alpha}{2} \lVert w \rVert_2^2 ,
              \qquad \mu_i = g^{-1}(w^\top x_i + b) .

    The certificate is a duality gap for powers 0, 1 and 2 where alpha is positive; else it says how far the optimality
    conditions are from holding, for powers outside of [1, 2] those of a local minimum.

    %(fitted)s

    Examples
    --------
    >>> from mercer.linear_model import TweedieRegressor
    >>> model = TweedieRegressor(power=1.5).fit([[1, 2], [2, 3], [3, 4], [4, 3]], [2, 3.5, 5, 5.5])
    >>> model.predict([[1, 1], [3, 4]]).round(2).tolist()
    [2.25, 4.71]
    """

    __doc__ = compose_docstring(__doc__, SHARED)

    power: float = parameter(
        Real(),
        default=0.0,
        doc="p: 0 is the normal law, 1 Poisson's, 2 gamma, 3 the inverse Gaussian; between 1 and 2 are sums of any "
        "number of amounts, or of none. No law has a power between 0 and 1.",
    )
    link: str = parameter(
        Choice("auto", "identity", "log"),
        default="auto",
        after="fit_intercept",
        doc='g: "auto" is "identity" for powers up to 0 and "log" above. "identity" goes with power 0 only.',
    )

    @property
    def _takes_positive(self) -> bool:
        return self.power >= 1

    def _find_loss(self) -> Loss:
        power, name = float(self.power), type(self).__name__
        if 0 < power < 1:
            raise ParameterError(f"{name}: power must be 0, below 0 or at least 1; got {power:g}: no law has it.")
        identity = self.link == "identity" or (self.link == "auto" and power <= 0)
        if identity and power != 0:
            raise ParameterError(
                f"{name}: the identity link goes with power=0, where means may have any sign; got power={power:g}. Set "
                f"link='log'."
            )
        return Squared() if identity else {1.0: Poisson(), 2.0: Gamma()}.get(power, Tweedie(power))

"""The lasso and the elastic net with the penalty, and the mixing of norms, chosen by cross-validation."""

import numbers
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.folds import FOLDS
from mercer._base.linear.prediction import LinearRegressor
from mercer._base.parameter import Array, Boolean, Choice, Integer, Nothing, Real, Seed, describe_value, parameter
from mercer._documentation import compose_docstring
from mercer._stored import Stored, floats
from mercer.errors import ParameterError
from mercer.linear_model._lasso.descent_regressor import SHARED, descent_seed, suits_gram
from mercer.linear_model._lasso.elastic_net_path import alpha_grid, first_alpha
from mercer.linear_model._lasso.one_target_folds import OneTargetFolds
from mercer.linear_model._solvers.lasso.coordinate_descent import DescentPlan
from mercer.linear_model._solvers.lasso.cross_validation import FoldsState, cross_validate


class DescentCV(OneTargetFolds, LinearRegressor):
    """Coordinate descent at the penalty with the least error of cross-validation."""

    eps: float = parameter(Real(0, closed="neither"), default=1e-3, doc="The last penalty as a share of the first.")
    alphas: Any = parameter(
        Integer(1) | Array("entries"),  # _check_alphas names the entry at fault
        default=100,
        doc="Penalties to try, or how many: then at equal ratios from the one at which the first coefficient leaves "
        "zero.",
    )
    fit_intercept: bool = parameter(Boolean(), default=True, doc="Whether to fit b; otherwise it is zero.")
    precompute: Any = parameter(
        Choice("auto") | Boolean(),
        default="auto",
        doc="True descends on the Gram matrix of the columns; False and 'auto' leave the choice to the cost.",
    )
    max_iter: int = parameter(Integer(1), default=1000, doc="The most sweeps over the coordinates for a penalty.")
    tol: float = parameter(
        Real(0),
        default=1e-4,
        doc="Descent ends when the duality gap is ``tol`` |y|^2 / n (y centred) and no coefficient moved by more "
        "than ``tol`` times the largest.",
    )
    cv: Any = parameter(FOLDS, default=None, doc="The folds; None means five, of consecutive rows.")
    positive: bool = parameter(
        Boolean(), default=False, after="n_jobs", doc="Whether the coefficients must not be negative."
    )
    random_state: Any = parameter(Seed(), default=None, doc="The seed, with ``selection='random'``.")
    selection: str = parameter(
        Choice("cyclic", "random"),
        default="cyclic",
        doc="Whether a sweep visits the coordinates in turn, or as many drawn at random.",
    )
    max_time: float | None = parameter(Real(0) | Nothing(), default=None)

    _places: ClassVar[tuple[str, ...]] = ("memory",)
    # Whether the penalty bounds the coefficients of a column for all targets together.
    _joint: ClassVar[bool] = False
    # What history_ records is the error of each penalty, which falls and rises.
    _objective_moves = None

    _stored: ClassVar[dict[str, Stored]] = {
        "alpha_": floats(),
        "dual_gap_": floats(" | *"),
    }

    @property
    def _mixings(self) -> np.ndarray:
        """The shares of the l1 part to try."""
        raise NotImplementedError  # each class below defines its own

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Any:
        """Fit the model at the penalty with the least mean squared error over the folds.

        Parameters
        ----------
        sample_weight : float or array-like of shape (n_samples,) or None, default=None
            Weights, to fit and to test with; a weight of two is the row twice. The error of a penalty is the plain mean
            over the folds of their weighted mean squared errors.
        **params
            For the splitter, where scikit-learn's metadata routing is on.
        """
        alphas = self._check_alphas()
        source = self._open(X, y, sample_weight, targets="numbers", accept_sparse="csr")
        folds = self._splits(source, sample_weight, params)
        source = self._one_target(source)
        name, ratios = type(self).__name__, self._mixings
        plan = DescentPlan(
            name, self.fit_intercept, self.positive, self.tol, self.max_iter, suits_gram(source, self.precompute, name),
            seed=descent_seed(self.selection, self.random_state), joint=self._joint,
        )  # fmt: skip

        def grids(moments: Any) -> np.ndarray:
            if alphas is not None:
                return np.tile(alphas, (len(ratios), 1))
            # A grid for each mixing, from the penalty at which the first coefficient leaves zero.
            tops = [first_alpha(moments, ratio, self.positive, name, self._joint) for ratio in ratios]
            return np.stack([alpha_grid(top, self.eps, int(self.alphas)) for top in tops])

        fitted = partial(self._read_state, dtype=source.dtype_name)
        outcome = self._drive(lambda start: cross_validate(plan, folds, ratios, grids, start), source, fitted=fitted)
        self.n_iter_ = outcome.state.sweeps
        self._conclude(outcome)
        return self

    def _check_alphas(self) -> np.ndarray | None:
        """Check the penalties that were given; return them in falling order, or None if only their number was given."""
        if isinstance(self.alphas, numbers.Integral):
            return None
        for index, alpha in enumerate(self.alphas):
            if not isinstance(alpha, numbers.Real):
                raise ParameterError(
                    f"{type(self).__name__}: alphas[{index}] must be an instance of float, not {type(alpha).__name__}."
                )
            if not Real(0, squared=False).accepts(alpha):
                shown = describe_value(alpha)
                raise ParameterError(f"{type(self).__name__}: alphas[{index}] == {shown}, must be >= 0.0. Drop it.")
        if not len(self.alphas):
            raise ParameterError(f"{type(self).__name__}: alphas must have an entry; got none. Give one or more.")
        # Falling, so that each solution starts the next.
        return np.sort(np.asarray(self.alphas, dtype=np.float64))[::-1]

    def _read_state(self, state: FoldsState, dtype: str) -> dict[str, Any]:
        """Return the fitted attributes: the model of all rows, the chosen penalty, and the errors of the folds."""
        model = self._linear_attributes(state, dtype, flat_coef=not self._joint, flat_intercept=not self._joint)
        # The chosen place in the table of mixings and penalties.
        ratio, alpha = np.unravel_index(state.chosen, state.errors.shape[:2])
        one_grid = len(self._mixings) == 1 or not isinstance(self.alphas, numbers.Integral)
        return model | {
            "alpha_": float(state.alphas[ratio, alpha]),
            "alphas_": state.alphas[0] if one_grid else state.alphas,
            "mse_path_": np.squeeze(state.errors),
            "dual_gap_": state.gap,
        }


class LassoCV(DescentCV):
    """The lasso at the penalty that cross-validation finds best.

    Minimises the objective of :class:`Lasso`,

        sum_i s_i (y_i - b - x_i . w)^2 / (2 S) + alpha |w|_1,   S = sum_i s_i

    over the coefficients w (``coef_``) and the intercept b (``intercept_``), at that ``alpha_`` of a falling sequence
    whose models, fitted without a fold, have the least mean squared error on it, on average over the folds.

    Attributes
    ----------
    alpha_ : float
        The penalty with the least mean error over the folds.
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Intercept.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared error of each penalty on each fold; NaN for what a fit that was cut short did not reach.
    alphas_ : ndarray of shape (n_alphas,)
        The penalties, falling.
    %(dual_gap_to_notes)s

    References
    ----------
    R. Tibshirani, Regression shrinkage and selection via the lasso, 1996. See :class:`Lasso` for the method.

    Examples
    --------
    >>> from mercer.linear_model import LassoCV
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(noise=4, random_state=0)
    >>> model = LassoCV(cv=5).fit(X, y)
    >>> round(model.score(X, y), 4), int((model.coef_ != 0).sum())
    (0.9994, 28)
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    copy_X: bool = parameter(
        Boolean(),
        default=True,
        after="tol",
        doc="Has no effect: rows are neither copied nor overwritten. Kept so that scikit-learn's calls run.",
    )
    verbose: Any = parameter(
        Boolean() | Integer(0), default=False, after="cv", doc="Whether to print a line for each penalty."
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "alphas_": floats("* | *, *"),
        "mse_path_": floats("..."),
    }
    _depends_on_units = ("columns",)

    @property
    def _mixings(self) -> np.ndarray:
        return np.ones(1)


class ElasticNetCV(DescentCV):
    """The elastic net at the penalty, and the mixture, that cross-validation finds best.

    Minimises the objective of :class:`ElasticNet`,

        sum_i s_i (y_i - b - x_i . w)^2 / (2 S) + alpha (l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2),   S = sum_i s_i

    over the coefficients w (``coef_``) and the intercept b (``intercept_``), at that ``alpha_`` of a falling sequence,
    and that ``l1_ratio_`` of those given, whose models, fitted without a fold, have the least mean squared error on it,
    on average over the folds.

    Attributes
    ----------
    alpha_ : float
        The penalty with the least mean error over the folds.
    l1_ratio_ : float
        The share of the l1 part with the least mean error.
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Intercept.
    mse_path_ : ndarray of shape ([n_l1_ratio,] n_alphas, n_folds)
        Mean squared error of each penalty on each fold; NaN for what a fit that was cut short did not reach.
    alphas_ : ndarray of shape (n_alphas,) or (n_l1_ratio, n_alphas)
        The penalties, falling.
    %(dual_gap_to_notes)s

    References
    ----------
    H. Zou and T. Hastie, Regularization and variable selection via the elastic net, 2005. See :class:`Lasso` for the
    method.

    Examples
    --------
    >>> from mercer.linear_model import ElasticNetCV
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(n_features=2, random_state=0)
    >>> model = ElasticNetCV(cv=5, random_state=0).fit(X, y)
    >>> round(model.alpha_, 4), round(float(model.intercept_), 3)
    (0.1995, 0.399)
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    l1_ratio: Any = parameter(
        Real(0, 1) | Array(flat=True),
        default=0.5,
        doc="The share of the l1 part, or several to try. With 0, which has no largest useful penalty, give "
        "``alphas``.",
    )
    copy_X: bool = parameter(
        Boolean(),
        default=True,
        after="cv",
        doc="Has no effect: rows are neither copied nor overwritten. Kept so that scikit-learn's calls run.",
    )
    verbose: Any = parameter(Boolean() | Integer(0), default=0, doc="Whether to print a line for each penalty.")

    _stored: ClassVar[dict[str, Stored]] = {
        "alphas_": floats("* | *, *"),
        "mse_path_": floats("..."),
        "l1_ratio_": floats(),
    }
    _depends_on_units: ClassVar[tuple[str, ...]] = ("columns", "scale", "target")

    @property
    def _mixings(self) -> np.ndarray:
        return np.atleast_1d(np.asarray(self.l1_ratio, dtype=np.float64))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not ((self._mixings >= 0) & (self._mixings <= 1)).all():
            raise ParameterError(f"ElasticNetCV: every l1_ratio must be a number in [0, 1]; got {self.l1_ratio!r}.")

    def _read_state(self, state: Any, dtype: str) -> dict[str, Any]:
        ratio = state.chosen // state.errors.shape[1]
        return super()._read_state(state, dtype) | {"l1_ratio_": float(self._mixings[ratio])}

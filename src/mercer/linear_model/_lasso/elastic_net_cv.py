"""The lasso and the elastic net with the penalty, and the mixing of norms, chosen by cross-validation."""

from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Array, Boolean, Integer, Real, parameter
from mercer._documentation import compose_docstring
from mercer._stored import Stored, floats
from mercer.errors import ParameterError
from mercer.linear_model._lasso.descent_cv import DescentCV
from mercer.linear_model._lasso.descent_regressor import SHARED


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

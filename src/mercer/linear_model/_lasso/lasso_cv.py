"""The lasso with its penalty chosen by cross-validation."""

from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Boolean, Integer, parameter
from mercer._documentation import compose_docstring
from mercer._stored import Stored, floats
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

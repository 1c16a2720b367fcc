"""The lasso and the elastic net of several targets, with their penalty chosen by cross-validation."""

from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Boolean, Integer, attribute, parameter
from mercer._documentation import compose_docstring
from mercer._source import Source
from mercer.linear_model._lasso.descent_regressor import SHARED
from mercer.linear_model._lasso.elastic_net_cv import ElasticNetCV
from mercer.linear_model._lasso.multi_task import check_several


class MultiTaskElasticNetCV(ElasticNetCV):
    """The elastic net of several targets at the penalty, and the mixture, that cross-validation finds best.

    Minimises the objective of :class:`MultiTaskElasticNet`,

        sum_i s_i |y_i - b - W x_i|^2 / (2 S) + alpha (l1_ratio sum_j |w_j| + (1 - l1_ratio) |W|^2 / 2),  S = sum_i s_i

    over the coefficients W (``coef_``) and the intercepts b (``intercept_``), at that ``alpha_`` of a falling sequence,
    and that ``l1_ratio_`` of those given, whose models, fitted without a fold, have the least mean squared error on it,
    on average over the targets and the folds.

    Attributes
    ----------
    alpha_ : float
        The penalty with the least mean error over the folds.
    l1_ratio_ : float
        The share of the l1 part with the least mean error.
    coef_ : ndarray of shape (n_targets, n_features)
        Coefficients; a column that is not used has zeros for all targets.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts.
    mse_path_ : ndarray of shape ([n_l1_ratio,] n_alphas, n_folds)
        Mean squared error of each penalty on each fold; NaN for what a fit that was cut short did not reach.
    alphas_ : ndarray of shape (n_alphas,) or (n_l1_ratio, n_alphas)
        The penalties, falling.
    %(dual_gap_to_notes)s

    References
    ----------
    G. Obozinski, B. Taskar and M. Jordan, Joint covariate selection and joint subspace selection for multiple
    classification problems, 2010. See :class:`MultiTaskLasso` for the method.

    Examples
    --------
    >>> from mercer.linear_model import MultiTaskElasticNetCV
    >>> from sklearn.datasets import make_regression
    >>> X, Y = make_regression(n_targets=2, n_informative=4, n_features=9, noise=4, random_state=0)
    >>> model = MultiTaskElasticNetCV(cv=5, l1_ratio=[0.5, 1.0]).fit(X, Y)
    >>> model.l1_ratio_, int(model.coef_.any(axis=0).sum())
    (1.0, 7)
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    precompute: Any = attribute("auto")
    positive: bool = attribute(False)
    _joint: ClassVar[bool] = True
    _single: ClassVar[str] = "ElasticNetCV"

    def _one_target(self, source: Source) -> Source:
        check_several(self, source, self._single)
        return source

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output, tags.target_tags.single_output = True, False
        return tags


class MultiTaskLassoCV(MultiTaskElasticNetCV):
    """The lasso of several targets at the penalty that cross-validation finds best.

    Minimises the objective of :class:`MultiTaskLasso`,

        sum_i s_i |y_i - b - W x_i|^2 / (2 S) + alpha sum_j |w_j|,   S = sum_i s_i

    over the coefficients W (``coef_``) and the intercepts b (``intercept_``), at that ``alpha_`` of a falling sequence
    whose models, fitted without a fold, have the least mean squared error on it, on average over the targets and the
    folds.

    Attributes
    ----------
    alpha_ : float
        The penalty with the least mean error over the folds.
    coef_ : ndarray of shape (n_targets, n_features)
        Coefficients; a column that is not used has zeros for all targets.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared error of each penalty on each fold; NaN for what a fit that was cut short did not reach.
    alphas_ : ndarray of shape (n_alphas,)
        The penalties, falling.
    %(dual_gap_to_notes)s

    References
    ----------
    M. Yuan and Y. Lin, Model selection and estimation in regression with grouped variables, 2006. See
    :class:`MultiTaskLasso` for the method.

    Examples
    --------
    >>> from mercer.linear_model import MultiTaskLassoCV
    >>> from sklearn.datasets import make_regression
    >>> X, Y = make_regression(n_targets=2, n_informative=4, n_features=9, noise=4, random_state=0)
    >>> model = MultiTaskLassoCV(cv=5).fit(X, Y)
    >>> round(model.score(X, Y), 3), int(model.coef_.any(axis=0).sum())
    (0.999, 7)
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    l1_ratio: Any = attribute(1.0)
    _depends_on_units = ("columns",)
    copy_X: bool = parameter(
        Boolean(),
        default=True,
        after="tol",
        doc="Has no effect: rows are neither copied nor overwritten. Kept so that scikit-learn's calls run.",
    )
    verbose: Any = parameter(
        Boolean() | Integer(0), default=False, after="cv", doc="Whether to print a line for each penalty."
    )
    _single: ClassVar[str] = "LassoCV"

    def _read_state(self, state: Any, dtype: str) -> dict[str, Any]:
        return {name: value for name, value in super()._read_state(state, dtype).items() if name != "l1_ratio_"}

    @property
    def _mixings(self) -> np.ndarray:
        return np.ones(1)

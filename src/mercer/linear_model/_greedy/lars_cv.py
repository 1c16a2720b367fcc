"""Least angle regression, and the lasso by it, with the penalty chosen by cross-validation."""

import warnings
from functools import partial
from typing import Any, ClassVar

from mercer._base import fitting
from mercer._base.folds import FOLDS
from mercer._base.parameter import Boolean, Integer, parameter
from mercer._documentation import compose_docstring
from mercer._stored import Stored, floats
from mercer.linear_model._greedy.documentation import SHARED
from mercer.linear_model._greedy.lars import LeastAngleModel
from mercer.linear_model._lasso.one_target_folds import OneTargetFolds
from mercer.linear_model._solvers.greedy.column_products import plan_products
from mercer.linear_model._solvers.greedy.least_angle import PathRules
from mercer.linear_model._solvers.greedy.path_choice import ChosenPlace, cross_validate_paths, list_active

_ATTRIBUTES = r"""alpha_ : float
        The penalty with the least mean error over the folds.
    cv_alphas_ : ndarray of shape (n_cv_alphas,)
        The penalties compared, rising: the knots of all folds.
    mse_path_ : ndarray of shape (n_cv_alphas, n_folds)
        The mean squared error of each penalty on each fold.
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Intercept.
    alphas_ : ndarray of shape (n_knots,)
        The penalties at the knots of all rows' path, down to ``alpha_``.
    coef_path_ : ndarray of shape (n_features, n_knots)
        The coefficients there.
    active_ : list of int
        The columns in use, in the order in which they joined.
    n_iter_ : int
        Steps from knot to knot, to the model at ``alpha_``.
    solver_used_ : str
        ``"gram"`` or ``"columns"``; see :class:`Lars`."""

_NOTES = r"""Between two knots of a fold the coefficients are on a line, and so its error is a parabola of the penalty:
    the errors at the knots and half-way between them give all others exactly. Up to 512 columns, or with more
    rows than columns, each row is summed up once, in the scatter of the fold that tests it. Rows: NumPy, frames, memory
    maps, SciPy sparse (never made dense)."""

_SHARED = SHARED | {"chosen": _ATTRIBUTES, "method": _NOTES}


class LeastAngleCV(OneTargetFolds, LeastAngleModel):
    """The path of least angles, ended where the error over the folds is least."""

    max_iter: int = parameter(Integer(0), default=500, after="verbose", doc="The most steps, for each path.")
    cv: Any = parameter(FOLDS, default=None, after="precompute", doc="The folds; None means five, of consecutive rows.")
    max_n_alphas: int = parameter(
        Integer(1),
        default=1000,
        after="cv",
        doc="Of about how many penalties the errors are compared; of more knots, every second, third and so on.",
    )

    _places: ClassVar[tuple[str, ...]] = ("memory",)
    _depends_on_units = ("columns",)
    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": "the penalties compared are the knots of the folds' paths, and the folds are consecutive rows",
    }
    # What history_ records is the error over the folds, which falls and rises along their paths.
    _objective_moves = None
    _is_lasso: ClassVar[bool]
    _stored: ClassVar[dict[str, Stored]] = {
        "alpha_": floats(),
        "cv_alphas_": floats("*"),
        "mse_path_": floats("*, *"),
    }

    @property
    def _is_positive(self) -> bool:
        return False

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Any:
        """Fit the model at the penalty with the least mean squared error over the folds.

        Parameters
        ----------
        sample_weight : float or array-like of shape (n_samples,) or None, default=None
            Weights, to fit and to test with; a weight of two is the row twice.
        **params
            For the splitter, where scikit-learn's metadata routing is on.
        """
        name = type(self).__name__
        if not isinstance(self.precompute, bool | str | None):
            warnings.warn(
                f'{name}: Parameter "precompute" cannot be an array, since folds have products of their own. '
                f'Automatically switch to "auto" instead.',
                UserWarning,
                stacklevel=4,
            )
        source = self._open(X, y, sample_weight, targets="numbers", accept_sparse="csr")
        source = self._one_target(source)
        folds = self._splits(source, sample_weight, params)
        plan = plan_products(self, source, takes_gram=False)
        rules = PathRules(name, self._is_lasso, self._is_positive, self.eps, self.max_iter, 0.0)
        fitted = partial(self._read_state, dtype=source.dtype_name)
        outcome = self._drive(
            lambda start: cross_validate_paths(plan, rules, folds, self.max_n_alphas, start),
            source,
            fitted=fitted,
        )
        self.n_iter_ = len(self.alphas_) - 1
        self._warn_of_refused(outcome.state.records)
        self._conclude(outcome, "raise max_iter")
        return self

    def _read_state(self, state: ChosenPlace, dtype: str) -> dict[str, Any]:
        """Return the fitted attributes: the model of all rows, the path to it, and the errors of the folds."""
        return self._linear_attributes(state, dtype, flat_coef=True, flat_intercept=True) | {
            "alpha_": state.alpha,
            "alphas_": state.path_alphas.astype(dtype),
            "coef_path_": state.path_coefs.T.astype(dtype),
            "active_": list_active(state.path_coefs),
            "cv_alphas_": state.alphas,
            "mse_path_": state.values,
        }


class LarsCV(LeastAngleCV):
    """Least angle regression, ended where the error of cross-validation is least.

    The paths of :class:`Lars` of all folds are followed to their ends. Of the penalties at their knots that is chosen
    at which the models, fitted without a fold, have the least mean squared error on it, on average over the folds.

    Attributes
    ----------
    %(chosen)s
    history_, converged_, certificate_
        How the fit went; the objective is the least mean error over the folds so far. ``converged_`` is False where a
        path was cut short above ``alpha_``; the certificate is that of :class:`Lars`.
    %(features)s

    Notes
    -----
    %(method)s

    References
    ----------
    %(efron)s

    Examples
    --------
    >>> from mercer.linear_model import LarsCV
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(n_samples=200, noise=4.0, random_state=0)
    >>> model = LarsCV(cv=5).fit(X, y)
    >>> round(model.score(X, y), 4), round(model.alpha_, 4)
    (0.9997, 0.2962)
    """

    __doc__ = compose_docstring(__doc__, _SHARED)
    _is_lasso = False


class LassoLarsCV(LeastAngleCV):
    """The lasso by least angles, at the penalty that cross-validation finds best among all knots.

    Minimises the objective of :class:`LassoLars` at that ``alpha_`` among the knots of the paths of all folds whose
    models, fitted without a fold, have the least mean squared error on it, on average over the folds. The penalties to
    compare need not be chosen, as those of :class:`LassoCV` are.

    Attributes
    ----------
    %(chosen)s
    history_, converged_, certificate_
        How the fit went; the objective is the least mean error over the folds so far. ``converged_`` is False where a
        path was cut short above ``alpha_``; the certificate is the duality gap at ``alpha_``.
    %(features)s

    Notes
    -----
    %(method)s

    References
    ----------
    %(efron)s

    Examples
    --------
    >>> from mercer.linear_model import LassoLarsCV
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(noise=4.0, random_state=0)
    >>> model = LassoLarsCV(cv=5).fit(X, y)
    >>> round(model.score(X, y), 4), round(model.alpha_, 4)
    (0.9994, 0.3972)
    """

    __doc__ = compose_docstring(__doc__, _SHARED)
    positive: bool = parameter(
        Boolean(), default=False, after="copy_X", doc="Whether the coefficients must not be negative."
    )
    _is_lasso = True

    @property
    def _is_positive(self) -> bool:
        return self.positive

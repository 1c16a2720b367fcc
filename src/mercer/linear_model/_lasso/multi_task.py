"""The lasso and the elastic net of several targets that use the same columns."""

from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.parameter import Boolean, Real, attribute, parameter
from mercer._documentation import compose_docstring
from mercer._source import Source
from mercer._stored import Stored, floats
from mercer.errors import DataError
from mercer.linear_model._lasso.descent_regressor import DescentRegressor
from mercer.linear_model._solvers.lasso.coordinate_descent import DescentState

_ATTRIBUTES = r"""coef_ : ndarray of shape (n_targets, n_features)
        Coefficients; a column that is not used has zeros for all targets.
    sparse_coef_ : sparse array of shape (n_targets, n_features)
        The same, with zeros left out.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts.
    dual_gap_ : float
        The duality gap: the objective exceeds its minimum by this at most.
    eps_ : float
        The duality gap asked for, times the number of rows: ``tol`` |Y|^2, Y centred.
    n_iter_ : int
        Sweeps over the columns.
    solver_used_ : str
        ``"gram"`` or ``"working sets"``; ``"cholesky"`` and the like for closed forms."""
_NOTES = r"""A move takes the coefficients of a column for all targets to their minimum, whose direction is that of the
    column's slopes. Up to 512 columns, or where the rows are not in memory, one pass forms the d x d scatter and
    descent runs on it, k m^2 operations a sweep for k targets and m columns; beyond, it runs on a growing set of the
    columns that matter, and passes over the rows check the others against the duality gap. Every five sweeps are
    extrapolated. Rows: NumPy, frames, memory maps, SciPy sparse (never made dense), and with the scatter Dask and
    devices."""
SHARED = {"attributes": _ATTRIBUTES, "notes": _NOTES}


def check_several(model: Any, source: Source, single: str) -> None:
    """Raise unless the targets are a table."""
    if source.target_shape == ():
        raise DataError(
            f"{type(model).__name__}: For mono-task outputs, use {single}; got y with one number a row. Give a table "
            f"of targets."
        )


class MultiTaskElasticNet(DescentRegressor):
    """The elastic net of several targets, with a penalty on the columns that are used at all.

    Minimises

        sum_i s_i |y_i - b - W x_i|^2 / (2 S) + alpha (l1_ratio sum_j |w_j| + (1 - l1_ratio) |W|^2 / 2),  S = sum_i s_i

    over the coefficients W (``coef_``), with columns w_j, and the intercepts b (``intercept_``, not penalised), with s
    the ``sample_weight``. Each column of the rows is used for all targets or for none.

    Attributes
    ----------
    %(attributes)s
    history_, converged_, certificate_
        How the fit went; the certificate is the duality gap.

    Notes
    -----
    %(notes)s

    References
    ----------
    G. Obozinski, B. Taskar and M. Jordan, Joint covariate selection and joint subspace selection for multiple
    classification problems, 2010. M. Yuan and Y. Lin, Model selection and estimation in regression with grouped
    variables, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import MultiTaskElasticNet
    >>> model = MultiTaskElasticNet(alpha=0.1).fit([[0, 0], [1, 1], [2, 2]], [[0, 0], [1, 1], [2, 2]])
    >>> model.coef_.round(4).tolist(), model.intercept_.round(4).tolist()
    ([[0.4564, 0.4564], [0.4564, 0.4564]], [0.0873, 0.0873])
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    l1_ratio: float = parameter(
        Real(0, 1), default=0.5, doc="The share of the l1 part: 0 is ridge, whose closed form is used."
    )
    copy_X: bool = parameter(
        Boolean(),
        default=True,
        after="fit_intercept",
        doc="Has no effect: rows are neither copied nor overwritten. Kept so that scikit-learn's calls run.",
    )
    precompute: Any = attribute(False)
    positive: bool = attribute(False)

    _documents = {
        "alpha": (
            "The penalty. At max_j |Y^T x_j|_2 / (n l1_ratio) (X and Y centred) and above, all coefficients are zero; "
            "with 0 the closed form of least squares is used, with a warning."
        ),
        "tol": "Descent ends when the duality gap is ``tol`` |Y|^2 / n (Y centred) and no column's coefficients moved "
        "by more than ``tol`` times the largest.",
        "max_iter": "The most sweeps over the columns.",
    }
    _joint: ClassVar[bool] = True
    _single: ClassVar[str] = "ElasticNet"
    _stored: ClassVar[dict[str, Stored]] = {"eps_": floats()}

    # Without check_input: scikit-learn's models of several targets have none either.
    @fitting
    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> "MultiTaskElasticNet":
        """Fit the model.

        Parameters
        ----------
        y : array-like of shape (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,) or None, default=None
            Weights; a weight of two is the row twice.
        """
        source = self._open(X, y, sample_weight, targets="numbers", accept_sparse="csr")
        check_several(self, source, self._single)
        outcome = self._descend(source, flat=(False, False))
        self.eps_ = outcome.certificate.tolerance * source.n_rows
        if isinstance(outcome.state, DescentState):
            self.n_iter_ = int(outcome.state.sweeps[0])
        self._conclude(outcome, "raise max_iter or tol")
        return self

    @property
    def _mixing(self) -> float:
        return self.l1_ratio

    def _read_state(self, state: Any, dtype: str, flat: tuple[bool, bool]) -> dict[str, Any]:
        gap = float(np.sum(state.gaps)) / state.total if isinstance(state, DescentState) else np.nan
        return self._linear_attributes(state, dtype, *flat) | {"dual_gap_": gap}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        return tags


class MultiTaskLasso(MultiTaskElasticNet):
    """The lasso of several targets: a column is used for all of them or for none.

    Minimises

        sum_i s_i |y_i - b - W x_i|^2 / (2 S) + alpha sum_j |w_j|,   S = sum_i s_i

    over the coefficients W (``coef_``), with columns w_j, and the intercepts b (``intercept_``, not penalised), with s
    the ``sample_weight``.

    Attributes
    ----------
    %(attributes)s
    history_, converged_, certificate_
        How the fit went; the certificate is the duality gap.

    Notes
    -----
    %(notes)s

    References
    ----------
    M. Yuan and Y. Lin, Model selection and estimation in regression with grouped variables, 2006. G. Obozinski, B.
    Taskar and M. Jordan, Joint covariate selection and joint subspace selection for multiple classification problems,
    2010.

    Examples
    --------
    >>> from mercer.linear_model import MultiTaskLasso
    >>> model = MultiTaskLasso(alpha=0.1).fit([[0, 1], [1, 2], [2, 4]], [[0, 0], [1, 1], [2, 3]])
    >>> model.coef_.round(4).tolist(), model.intercept_.round(4).tolist()
    ([[0.0, 0.6081], [0.0, 0.9459]], [-0.4189, -0.8738])
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    l1_ratio: float = attribute(1.0)

    _documents = {
        "alpha": (
            "The penalty. At max_j |Y^T x_j|_2 / n (X and Y centred) and above, all coefficients are zero; with 0 the "
            "closed form of least squares is used, with a warning."
        ),
    }
    _single: ClassVar[str] = "Lasso"

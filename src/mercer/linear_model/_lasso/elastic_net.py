"""The lasso and the elastic net: least squares with an l1 penalty, and with an l2 penalty beside it."""

from sklearn.utils.metadata_routing import UNUSED

from mercer._base.parameter import Boolean, Real, parameter
from mercer._documentation import compose_docstring
from mercer.linear_model._lasso.descent_regressor import SHARED, DescentRegressor


class Lasso(DescentRegressor):
    """The lasso: least squares with an l1 penalty, which makes coefficients exactly zero.

    Minimises, for each target,

        sum_i s_i (y_i - b - x_i . w)^2 / (2 S) + alpha |w|_1,   S = sum_i s_i

    over the coefficients w (``coef_``) and the intercept b (``intercept_``, not penalised), with s the
    ``sample_weight``. Mind the scale: for |y - X w|^2 + lambda |w|_1 set ``alpha`` to lambda / (2 n); for the form
    |w|_1 <= t see :func:`alpha_for_l1_norm`.

    Attributes
    ----------
    %(coef_to_solver_used)s
    history_, converged_, certificate_
        How the fit went; see the tour. The certificate is the duality gap, summed over targets.

    Notes
    -----
    Up to 512 columns, or where the rows are not in memory, one pass forms the d x d scatter (n d^2 multiplications,
    O(d^2) memory) and coordinate descent runs on it. Beyond, descent runs on a growing set of the columns that matter,
    on their own Gram matrix, and the others are checked against the duality gap: a few passes over the rows and
    O((n + m) m) memory for m columns. Every five sweeps are extrapolated. Both are exact up to ``tol``. Rows: NumPy,
    frames, memory maps, SciPy sparse (never made dense), and with the scatter files, streams, Dask and devices.

    References
    ----------
    R. Tibshirani, Regression shrinkage and selection via the lasso, 1996. M. Massias, A. Gramfort and J. Salmon, Celer:
    a fast solver for the lasso with dual extrapolation, 2018. Q. Bertrand and M. Massias, Anderson acceleration of
    coordinate descent, 2021. E. Ndiaye and others, Gap safe screening rules for sparsity enforcing penalties, 2017.

    Examples
    --------
    >>> from mercer.linear_model import Lasso
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Lasso(alpha=1.0).fit(X, y)
    >>> int((model.coef_ != 0).sum()), round(model.score(X, y), 4)
    (3, 0.3574)
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    __metadata_request__fit = {"check_input": UNUSED}

    copy_X: bool = parameter(
        Boolean(),
        default=True,
        after="precompute",
        doc="Has no effect: rows are neither copied nor overwritten. Kept so that scikit-learn's calls run.",
    )

    _documents = {
        "alpha": (
            "The penalty. At max_j |x_j . y| / n (X and y centred) and above, all coefficients are zero; with 0 the "
            "closed form of least squares is used, with a warning."
        ),
    }

    _mixing = 1.0


class ElasticNet(DescentRegressor):
    """The elastic net: least squares with an l1 and an l2 penalty.

    Minimises, for each target,

        sum_i s_i (y_i - b - x_i . w)^2 / (2 S) + alpha (l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2),   S = sum_i s_i

    over the coefficients w (``coef_``) and the intercept b (``intercept_``, not penalised), with s the
    ``sample_weight``. Where columns are alike the lasso takes one of them; the l2 part shares the weight among them.

    Attributes
    ----------
    %(coef_to_solver_used)s
    history_, converged_, certificate_
        How the fit went; see the tour. The certificate is the duality gap, summed over targets; without a penalty, the
        norm of the gradient over |X| |y|.

    Notes
    -----
    The method and its cost are those of :class:`Lasso`. Two feasible points of the dual are tried, and the better one
    gives the gap: the residual shrunk until every |x_j . r - l2 w_j| is within its bound, as if X had rows of the l2
    penalty, and the residual itself, which the l2 part makes feasible.

    References
    ----------
    H. Zou and T. Hastie, Regularization and variable selection via the elastic net, 2005. J. Friedman, T. Hastie and R.
    Tibshirani, Regularization paths for generalized linear models via coordinate descent, 2010.

    Examples
    --------
    >>> from mercer.linear_model import ElasticNet
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(ElasticNet(alpha=0.01, l1_ratio=0.5).fit(X, y).score(X, y), 4)
    0.3791
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    __metadata_request__fit = {"check_input": UNUSED}

    l1_ratio: float = parameter(
        Real(0, 1), default=0.5, doc="The share of the l1 part: 1 is the lasso, 0 is ridge, whose closed form is used."
    )
    copy_X: bool = parameter(
        Boolean(),
        default=True,
        after="max_iter",
        doc="Has no effect: rows are neither copied nor overwritten. Kept so that scikit-learn's calls run.",
    )

    _documents = {
        "alpha": (
            "The penalty. At max_j |x_j . y| / (n l1_ratio) (X and y centred) and above, all coefficients are zero; "
            "with 0 the closed form of least squares is used, with a warning."
        ),
    }

    @property
    def _mixing(self) -> float:
        return self.l1_ratio

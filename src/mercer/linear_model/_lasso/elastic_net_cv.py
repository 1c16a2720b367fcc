"""The elastic net with its penalty and mixture chosen by cross-validation."""

from typing import Any, ClassVar

import numpy as np

from mercer._base.folds import FOLDS
from mercer._base.parameter import Array, Boolean, Choice, Integer, Nothing, Real, Rule, Seed
from mercer.errors import ParameterError
from mercer.linear_model._lasso.descent_cv import DescentCV

__all__ = ["ElasticNetCV"]


class ElasticNetCV(DescentCV):
    """The elastic net at the penalty, and the mixture, that cross-validation finds best.

    Minimises the objective of :class:`ElasticNet`,

        sum_i s_i (y_i - b - x_i . w)^2 / (2 S) + alpha (l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2),   S = sum_i s_i

    over the coefficients w (``coef_``) and the intercept b (``intercept_``), at that ``alpha_`` of a falling sequence,
    and that ``l1_ratio_`` of those given, whose models, fitted without a fold, have the least mean squared error on it,
    on average over the folds.

    Parameters
    ----------
    l1_ratio : a number in [0, 1] or an array-like, default=0.5
        The share of the l1 part, or several to try. With 0, which has no largest useful penalty, give ``alphas``.
    eps : a number in (0, inf), default=0.001
        The last penalty as a share of the first.
    alphas : an integer in [1, inf) or an array-like, default=100
        Penalties to try, or how many: then at equal ratios from the one at which the first coefficient leaves zero.
    fit_intercept : a boolean, default=True
        Whether to fit b; otherwise it is zero.
    precompute : one of 'auto' or a boolean, default='auto'
        True descends on the Gram matrix of the columns; False and 'auto' leave the choice to the cost.
    max_iter : an integer in [1, inf), default=1000
        The most sweeps over the coordinates for a penalty.
    tol : a number in [0, inf), default=0.0001
        Descent ends when the duality gap is ``tol`` |y|^2 / n (y centred) and no coefficient moved by more than
        ``tol`` times the largest.
    cv : an integer in [2, inf) or a cross-validation splitter or an iterable of splits or None, default=None
        The folds; None means five, of consecutive rows.
    copy_X : a boolean, default=True
        Has no effect: rows are neither copied nor overwritten. Kept so that scikit-learn's calls run.
    verbose : a boolean or an integer in [0, inf), default=0
        Whether to print a line for each penalty.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all that are free. Never changes a result.
    positive : a boolean, default=False
        Whether the coefficients must not be negative.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        The seed, with ``selection='random'``.
    selection : one of 'cyclic', 'random', default='cyclic'
        Whether a sweep visits the coordinates in turn, or as many drawn at random.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which the fit ends with what it has.

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
    dual_gap_ : float
        The duality gap of the model at ``alpha_``.
    n_iter_ : int
        Sweeps to the model at ``alpha_``, from that at an earlier penalty.
    solver_used_ : str
        ``"gram"`` or ``"working sets"``.
    history_, converged_, certificate_
        How the fit went; see the tour. A step is a penalty, its objective the mean error over the folds; the
        certificate is the duality gap of the model at ``alpha_``, and ``converged_`` covers the folds as well.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they have names.

    Notes
    -----
    The folds walk down the path side by side, one penalty at a time, each from its last coefficients, on all threads.
    Up to 512 columns each row is summed up once, in the scatter of the fold that tests it, and the scatters of all
    other folds add up to the one that a fold trains on: with k folds the price of one scatter, not of k. Beyond, the
    folds share the rows, which are never copied. Rows: NumPy, frames, memory maps, SciPy sparse (never made dense).

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

    _parameters: ClassVar[dict[str, Rule]] = {
        "l1_ratio": Real(0, 1) | Array(),
        "eps": Real(0, closed="neither"),
        "alphas": Integer(1) | Array(),
        "fit_intercept": Boolean(),
        "precompute": Choice("auto") | Boolean(),
        "max_iter": Integer(1),
        "tol": Real(0),
        "cv": FOLDS,
        "copy_X": Boolean(),
        "verbose": Boolean() | Integer(0),
        "n_jobs": Integer() | Nothing(),
        "positive": Boolean(),
        "random_state": Seed(),
        "selection": Choice("cyclic", "random"),
        "max_time": Real(0) | Nothing(),
    }

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        cv: Any = None,
        copy_X: bool = True,
        verbose: Any = 0,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        max_time: float | None = None,
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.max_time = max_time

    @property
    def _mixings(self) -> np.ndarray:
        return np.atleast_1d(np.asarray(self.l1_ratio, dtype=np.float64))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not ((self._mixings >= 0) & (self._mixings <= 1)).all():
            message = f"ElasticNetCV: every l1_ratio must be a number in [0, 1]; got {self.l1_ratio!r}."
            raise ParameterError(message)

    def _read_state(self, state: Any, dtype: str) -> dict[str, Any]:
        ratio = state.chosen // state.errors.shape[1]
        return super()._read_state(state, dtype) | {"l1_ratio_": float(self._mixings[ratio])}

"""The parts of the documentation that the lasso, the elastic net and their cross-validated forms share."""

_TOL_TO_N_JOBS = r"""tol : a number in [0, inf), default=0.0001
        Descent ends when the duality gap is ``tol`` |y|^2 / n (y centred) and no coefficient moved by more than
        ``tol`` times the largest.
    warm_start : a boolean, default=False
        Whether to begin with the coefficients of the last fit.
    positive : a boolean, default=False
        Whether the coefficients must not be negative.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        The seed, with ``selection='random'``.
    selection : one of 'cyclic', 'random', default='cyclic'
        Whether a sweep visits the coordinates in turn, or as many drawn at random.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which the fit ends with what it has.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all that are free. Never changes a result."""

_COEF_TO_SOLVER_USED = r"""coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients.
    sparse_coef_ : sparse array of shape (1, n_features) or (n_targets, n_features)
        The same, with zeros left out.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept.
    dual_gap_ : float or ndarray of shape (n_targets,)
        The duality gap: the objective exceeds its minimum by this at most.
    n_iter_ : int or list of int
        Sweeps, for each target.
    solver_used_ : str
        ``"gram"`` or ``"working sets"``; ``"cholesky"`` and the like for closed forms."""

_EPS_TO_TOL = r"""eps : a number in (0, inf), default=0.001
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
        ``tol`` times the largest."""

_N_JOBS_TO_MAX_TIME = r"""n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all that are free. Never changes a result.
    positive : a boolean, default=False
        Whether the coefficients must not be negative.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        The seed, with ``selection='random'``.
    selection : one of 'cyclic', 'random', default='cyclic'
        Whether a sweep visits the coordinates in turn, or as many drawn at random.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which the fit ends with what it has."""

_DUAL_GAP_TO_NOTES = r"""dual_gap_ : float
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
    other folds add up to the one that a fold trains on: with k folds the cost of one scatter, not of k. Beyond, the
    folds share the rows, which are never copied. Rows: NumPy, frames, memory maps, SciPy sparse (never made dense)."""

# The texts by the names that the docstrings of the classes use: a range of parameters or attributes.
SHARED = {
    "tol_to_n_jobs": _TOL_TO_N_JOBS,
    "coef_to_solver_used": _COEF_TO_SOLVER_USED,
    "eps_to_tol": _EPS_TO_TOL,
    "n_jobs_to_max_time": _N_JOBS_TO_MAX_TIME,
    "dual_gap_to_notes": _DUAL_GAP_TO_NOTES,
}

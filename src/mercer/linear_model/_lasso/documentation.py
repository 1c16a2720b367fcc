"""The parts of the documentation that the lasso, the elastic net and their cross-validated forms share."""

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

_DUAL_GAP_TO_NOTES = r"""dual_gap_ : float
        The duality gap of the model at ``alpha_``.
    n_iter_ : int
        Sweeps to the model at ``alpha_``, from that at an earlier penalty.
    solver_used_ : str
        ``"gram"`` or ``"working sets"``.
    history_, converged_, certificate_
        How the fit went; see the tour. A step is a penalty, its objective the mean error over the folds; the
        certificate is the duality gap of the model at ``alpha_``, and ``converged_`` covers the folds as well.

    Notes
    -----
    The folds walk down the path side by side, one penalty at a time, each from its last coefficients, on all threads.
    Up to 512 columns each row is summed up once, in the scatter of the fold that tests it, and the scatters of all
    other folds add up to the one that a fold trains on: with k folds the cost of one scatter, not of k. Beyond, the
    folds share the rows, which are never copied. Rows: NumPy, frames, memory maps, SciPy sparse (never made dense)."""

# The texts by the names that the docstrings of the classes use: a range of parameters or attributes.
SHARED = {
    "coef_to_solver_used": _COEF_TO_SOLVER_USED,
    "dual_gap_to_notes": _DUAL_GAP_TO_NOTES,
}

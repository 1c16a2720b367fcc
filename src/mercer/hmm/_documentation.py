"""The parts of the docstrings that several classes share."""

SHARED = {
    "chain_and_training": """startprob_prior : a number in [1, inf) or an array-like, default=1.0
        Dirichlet parameters of the first state; its excess over 1 counts as observed sequences.
    transmat_prior : a number in [1, inf) or an array-like, default=1.0
        Dirichlet parameters of the transitions; the excess over 1 counts as observed transitions.
    topology : one of 'ergodic', 'left-right', 'banded' or an array-like, default='ergodic'
        The allowed transitions: all; to the same or the next state, beginning with the first; to the same or a
        neighbouring state; or those where an array of shape (n_components, n_components) is not zero. Other transitions
        stay zero.
    training : one of 'baum-welch', 'viterbi', default='baum-welch'
        Expected counts, or the counts of the best path (hard EM).
    algorithm : one of 'viterbi', 'map', default='viterbi'
        What ``predict`` and ``decode`` return: the best path, or the most probable state of each step.
    n_iter : an integer in [0, inf), default=100
        Most iterations of one run.
    tol : a number in [0, inf), default=0.01
        A run ends when the log-likelihood changes by less.
    n_init : an integer in [1, inf), default=1
        Runs from different first parameters; the likeliest is kept.""",
    "fitted": """log_likelihood_ : float
        Log-likelihood plus log prior of the fitted model.
    dead_states_ : ndarray of int
        States that explain no step.
    n_features_in_, feature_names_in_, n_iter_, converged_ :
        As in scikit-learn.
    history_ : dict of ndarray
        Of the run that was kept, per iteration: ``objective``, ``change``, ``seconds``, ``restart``.
    certificate_ : Certificate
        ``"likelihood ascent"``: what one more iteration is certain to add.""",
    "running": """random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        Seed of first parameters and of ``sample``.
    verbose : an integer in [0, inf) or a boolean, default=False
        Whether to print the log-likelihood.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which the fit ends with what it has.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all cores. Changes no result.""",
}

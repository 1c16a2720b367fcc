"""The parts of the documentation that the estimators by stochastic gradients share."""

_PENALTY_TO_L1_RATIO = r"""penalty : one of 'l2', 'l1', 'elasticnet' or None, default='l2'
        The penalty on w: alpha |w|_2^2 / 2, alpha |w|_1, or their mixture by `l1_ratio`.
    alpha : a number in [0, inf), default=0.0001
        Strength of the penalty, and scale of the rates of ``learning_rate="optimal"``.
    l1_ratio : a number in [0, 1] or None, default=0.15
        Share of the l1 penalty in 'elasticnet'."""

_FIT_INTERCEPT_TO_VERBOSE = r"""fit_intercept : a boolean, default=True
        Whether to learn b, which is never penalised; otherwise it is zero.
    max_iter : an integer in [1, inf), default=1000
        The most epochs: passes over the rows.
    tol : a number in [0, inf) or None, default=0.001
        An epoch counts as no progress if its objective is not below the best one by `tol`; None switches this rule off.
    shuffle : a boolean, default=True
        Whether each epoch draws a new order of the rows.
    verbose : an integer in [0, inf) or a boolean, default=0
        Whether to print a line per epoch."""

_EPSILON_TO_RANDOM_STATE = r"""epsilon : a number in [0, inf), default=0.1
        Where the losses "huber", "epsilon_insensitive" and "squared_epsilon_insensitive" bend.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        Seed of the orders and of the held-out rows."""

_LEARNING_RATE_TO_ETA0 = r"""    The rate of step t: "constant" is `eta0`; "optimal" is
        1 / (alpha (t + t0)), t0 by Bottou's rule; "invscaling" is eta0 / t^power_t; "adaptive" is `eta0`, divided by 5
        whenever the stopping rule is met, down to 1e-6; "pa1" and "pa2" are passive-aggressive steps, which just mend
        the loss of the row, bounded or damped by `eta0`.
    eta0 : a number in (0, inf), default=0.01
        The first learning rate, where it does not follow from `alpha`."""

_EARLY_STOPPING_TO_N_ITER_NO_CHANGE = r"""early_stopping : a boolean, default=False
        Whether to hold rows out, and to watch the score on them instead of the objective. Rows in memory only.
    validation_fraction : a number in (0, 1), default=0.1
        Share of the rows that is held out.
    n_iter_no_change : an integer in [1, inf), default=5
        The number of epochs without progress after which the fit ends."""

_WARM_START_TO_MAX_TIME = r"""warm_start : a boolean, default=False
        Whether ``fit`` starts from the last solution.
    average : an integer in [1, inf) or a boolean, default=False
        Predict with the average of the parameters over all steps from that one on; True means from the first.
    batch_size : an integer in [1, inf), default=1
        Rows per step, which then follows their mean gradient.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which the fit ends."""

_CLASSES_TO_T = r"""classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, d) or (n_classes, d)
        w; one row for two classes, whose score speaks for the second.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        b.
    n_iter_ : int
        Epochs; with several classes, those of the slowest.
    t_ : float
        Number of the next step: one more than the rows visited."""

_CONVERGED_TO_FEATURE_NAMES = r"""converged_ : bool
        Whether the stopping rule was met; also True after `max_iter` epochs without a rule.
    certificate_ : Certificate
        The statement that there is none: :class:`GeneralizedLinearEstimator` minimises the same objective with a
        duality gap.
    n_features_in_, feature_names_in_
        Number and names of the columns seen by ``fit``."""

# The texts by the names that the docstrings of the classes use: a range of parameters or attributes.
SHARED = {
    "penalty_to_l1_ratio": _PENALTY_TO_L1_RATIO,
    "fit_intercept_to_verbose": _FIT_INTERCEPT_TO_VERBOSE,
    "epsilon_to_random_state": _EPSILON_TO_RANDOM_STATE,
    "learning_rate_to_eta0": _LEARNING_RATE_TO_ETA0,
    "early_stopping_to_n_iter_no_change": _EARLY_STOPPING_TO_N_ITER_NO_CHANGE,
    "warm_start_to_max_time": _WARM_START_TO_MAX_TIME,
    "classes_to_t": _CLASSES_TO_T,
    "converged_to_feature_names": _CONVERGED_TO_FEATURE_NAMES,
}

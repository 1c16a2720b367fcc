"""The parts of the docstrings that several classes share."""

SHARED = {
    "metric_params_and_n_jobs": """metric_params : an instance of dict or None, default=None
        More arguments of the metric.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all cores. Changes no result.""",
    "algorithm_and_leaf_size": """algorithm : one of 'auto', 'ball_tree', 'kd_tree', 'brute', default='auto'
        As in :class:`NearestNeighbors`.
    leaf_size : an integer in [1, inf), default=30
        Taken for compatibility.""",
    "fitted": """n_features_in_, feature_names_in_ :
        As in scikit-learn.
    history_, converged_, n_iter_, certificate_ :
        One step of objective 0: nothing is optimised, and the neighbours are exact.""",
}

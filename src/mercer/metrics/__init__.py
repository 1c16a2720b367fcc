"""Measures of predictions (errors, correlations), of clusterings (silhouettes, agreement, number), and distances."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_agreement": (
            "adjusted_rand_score",
            "conditional_entropy",
            "mutual_info_score",
            "normalized_mutual_info_score",
            "pair_f_score",
            "purity_score",
            "rand_score",
        ),
        "_centre_measures": ("calinski_harabasz_score", "davies_bouldin_score", "dunn_index", "within_scatter"),
        "_choice": ("ClusterNumberChoice", "choose_n_clusters", "cluster_stability", "gap_statistic"),
        "_cost_error": ("cost_weighted_error",),
        "_distances": ("MetricCheck", "check_metric", "lp_norm", "pairwise_distances"),
        "_predictions": ("correlation", "empirical_error", "member_correlation", "population_error"),
        "_probabilities": (
            "CalibrationError",
            "ScoreParts",
            "calibration_error",
            "decompose_score",
            "read_events",
            "recalibrate",
        ),
        "_silhouette": ("SilhouetteEstimate", "silhouette_interval", "silhouette_samples", "silhouette_score"),
    },
    scikit="sklearn.metrics",
)

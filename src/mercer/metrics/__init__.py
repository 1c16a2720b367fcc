"""Measures of predictions (errors, correlations), of clusterings (silhouettes, agreement, number), and distances."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
    from mercer.metrics._agreement import (
        adjusted_rand_score,
        conditional_entropy,
        mutual_info_score,
        normalized_mutual_info_score,
        pair_f_score,
        purity_score,
        rand_score,
    )
    from mercer.metrics._centre_measures import (
        calinski_harabasz_score,
        davies_bouldin_score,
        dunn_index,
        within_scatter,
    )
    from mercer.metrics._choice import ClusterNumberChoice, choose_n_clusters, cluster_stability, gap_statistic
    from mercer.metrics._cost_error import cost_weighted_error
    from mercer.metrics._distances import MetricCheck, check_metric, lp_norm, pairwise_distances
    from mercer.metrics._predictions import correlation, empirical_error, member_correlation, population_error
    from mercer.metrics._silhouette import SilhouetteEstimate, silhouette_interval, silhouette_samples, silhouette_score

__all__ = [
    "ClusterNumberChoice",
    "MetricCheck",
    "SilhouetteEstimate",
    "adjusted_rand_score",
    "calinski_harabasz_score",
    "check_metric",
    "choose_n_clusters",
    "cluster_stability",
    "conditional_entropy",
    "correlation",
    "cost_weighted_error",
    "davies_bouldin_score",
    "dunn_index",
    "empirical_error",
    "gap_statistic",
    "lp_norm",
    "member_correlation",
    "mutual_info_score",
    "normalized_mutual_info_score",
    "pair_f_score",
    "pairwise_distances",
    "population_error",
    "purity_score",
    "rand_score",
    "silhouette_interval",
    "silhouette_samples",
    "silhouette_score",
    "within_scatter",
]

__getattr__, __dir__ = load_on_use(
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
        "_silhouette": ("SilhouetteEstimate", "silhouette_interval", "silhouette_samples", "silhouette_score"),
    },
)

"""Measures of clusterings: silhouettes, separation, agreement with classes, and the number of clusters."""

from mercer.metrics._agreement import conditional_entropy, pair_f_score, purity_score
from mercer.metrics._centre_measures import (
    calinski_harabasz_score,
    davies_bouldin_score,
    dunn_index,
    within_scatter,
)
from mercer.metrics._choice import ClusterNumberChoice, choose_n_clusters, cluster_stability, gap_statistic
from mercer.metrics._cost_error import cost_weighted_error
from mercer.metrics._silhouette import SilhouetteEstimate, silhouette_interval, silhouette_samples, silhouette_score

__all__ = [
    "ClusterNumberChoice",
    "SilhouetteEstimate",
    "calinski_harabasz_score",
    "choose_n_clusters",
    "cluster_stability",
    "conditional_entropy",
    "cost_weighted_error",
    "davies_bouldin_score",
    "dunn_index",
    "gap_statistic",
    "pair_f_score",
    "purity_score",
    "silhouette_interval",
    "silhouette_samples",
    "silhouette_score",
    "within_scatter",
]

"""Where mercer differs from scikit-learn on purpose, test by test: pattern -> reason.

The documentation's list of differences is made from this table.
"""

REPLACED: dict[str, tuple[str, ...]] = {
    "cluster": ("KMeans", "MiniBatchKMeans", "k_means", "kmeans_plusplus"),
}

DIFFERENCES: dict[str, str] = {
    "test_k_means::test_kmeans_init_auto_with_initial_centroids*": "reads the private attribute _n_init",
    "test_k_means::test_n_init_auto*": "reads the private attribute _n_init",
    "test_k_means::test_minibatch_kmeans_init_size": "reads the private attribute _init_size",
    "test_k_means::test_sample_weight_init*": "calls the private method _init_centroids",
    "test_k_means::test_sample_weight_zero*": "calls the private method _init_centroids",
    "test_k_means::test_warning_elkan_1_cluster": "elkan works with one cluster, so there is no fallback to warn of",
}

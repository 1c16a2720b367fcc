"""Where mercer differs from scikit-learn on purpose, test by test: pattern -> reason.

The documentation's list of differences is made from this table.
"""

REPLACED: dict[str, tuple[str, ...]] = {
    "cluster": ("KMeans", "MiniBatchKMeans", "k_means", "kmeans_plusplus"),
    "decomposition": ("IncrementalPCA", "PCA"),
    "linear_model": ("LinearRegression", "Ridge"),
}

DIFFERENCES: dict[str, str] = {
    "test_k_means::test_kmeans_init_auto_with_initial_centroids*": "reads the private attribute _n_init",
    "test_k_means::test_n_init_auto*": "reads the private attribute _n_init",
    "test_k_means::test_minibatch_kmeans_init_size": "reads the private attribute _init_size",
    "test_k_means::test_sample_weight_init*": "calls the private method _init_centroids",
    "test_k_means::test_sample_weight_zero*": "calls the private method _init_centroids",
    "test_k_means::test_warning_elkan_1_cluster": "elkan works with one cluster, so there is no fallback to warn of",
    "test_pca::test_sparse_pca_solver_error*": (
        "sparse rows also run with svd_solver='randomized' and 'power', so the error names other solvers"
    ),
    "test_pca::test_pca_score[[]*": (
        "the covariance of the model does not depend on whiten; scikit-learn multiplies it by the variances once more"
    ),
    "test_pca::test_pca_svd_solver_auto*": "reads the private _fit_svd_solver; the public attribute is solver_used_",
    "test_base::test_raises_value_error_if_positive_and_sparse*": "LinearRegression(positive=True) fits sparse rows.",
    "test_base::test_inplace_data_preprocessing*": "Rows are never overwritten, so copy_X=False changes nothing.",
    "test_base::test_linear_regression_sample_weight_consistency*csr*": (
        "Zero weights do equal absent rows on sparse data; scikit-learn expects its own failure."
    ),
    "test_ridge::test_n_iter": "n_iter_ counts the steps of every solver; a closed form takes one, and is not None.",
    "test_ridge::test_ridge_fit_intercept_sparse_error*": (
        "Ridge fits an intercept on sparse rows with cholesky and saga; svd refuses sparse rows with a TypeError."
    ),
    "test_ridge::test_ridge_fit_intercept_sparse_sag*": (
        "Sparse rows are centred by algebra, so the intercept does not slow sag and needs no warning."
    ),
    "test_ridge::test_lbfgs_solver_error": "The active-set method behind positive=True solves this case in one step.",
}

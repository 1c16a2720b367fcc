"""Where mercer differs from scikit-learn on purpose, test by test: pattern -> reason.

The documentation's list of differences is made from this table.
"""

REPLACED: dict[str, tuple[str, ...]] = {
    "cluster": ("KMeans", "MiniBatchKMeans", "k_means", "kmeans_plusplus"),
    "covariance": (
        "OAS",
        "EmpiricalCovariance",
        "LedoitWolf",
        "ShrunkCovariance",
        "empirical_covariance",
        "ledoit_wolf",
        "ledoit_wolf_shrinkage",
        "log_likelihood",
        "oas",
        "shrunk_covariance",
    ),
    "decomposition": ("IncrementalPCA", "PCA"),
    "discriminant_analysis": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "naive_bayes": ("BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"),
    "neighbors": ("NearestCentroid",),
    "linear_model": ("HuberRegressor", "LinearRegression", "LogisticRegression", "QuantileRegressor", "Ridge"),
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
    "test_logistic::test_logistic_cv[[]*": "compares with scikit-learn's LogisticRegressionCV to 6 digits at tol=1e-4",
    "test_logistic::test_logistic_cv_multinomial_score*": "hands our parameters to a private function of scikit-learn",
    "test_logistic::test_logreg_predict_proba_multinomial*": "calls the private _predict_proba_lr",
    "test_logistic::test_max_iter*": "the warning says how far from the optimum the fit stopped, in words of our own",
    "test_logistic::test_dtype_match*liblinear]": "float32 rows give float32 coefficients with every solver",
    "test_logistic::test_large_sparse_matrix*liblinear]": "64-bit indices are supported by every solver",
    "test_logistic::test_large_sparse_matrix*sag*]": "64-bit indices are supported by every solver",
    "test_logistic::test_liblinear_with_large_values": "values above 1e30 do not freeze the fit, so they are no error",
    "test_logistic::test_newton_cholesky_fallback_to_lbfgs": "no solver is ever replaced by another silently",
    "test_logistic::test_logisticregression_warns_with_n_jobs": "n_jobs has an effect and is not deprecated",
    "test_logistic::test_logistic_regression_callback_support*": "callbacks see each step of every solver exactly once",
    "test_discriminant_analysis::test_lda_transform": (
        "solver='lsqr' finds the axes too, as combinations of its coefficients"
    ),
    "test_discriminant_analysis::test_qda_regularization*svd]": (
        "reg_param regularises all directions, also of a class with fewer rows than columns"
    ),
    "test_naive_bayes::test_gnb_check_update_with_no_data": "calls the private method _update_mean_variance",
    "test_naive_bayes::test_alpha_vector": "calls the private method _check_alpha",
    "test_naive_bayes::test_check_alpha": "calls the private method _check_alpha",
    "test_naive_bayes::test_discretenb_provide_prior[[]*": (
        "expects the classes of a fit that failed to stay; here a failed fit leaves the model as it was"
    ),
    "test_naive_bayes::test_discretenb_provide_prior_with_partial_fit*CategoricalNB*": (
        "fractions are no categories: they are an error and not cut off"
    ),
}

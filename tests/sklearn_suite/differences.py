"""Where mercer differs from scikit-learn on purpose, test by test: pattern -> reason.

The documentation's list of differences is made from this table.
"""

REPLACED: dict[str, tuple[str, ...]] = {
    "decomposition": ("PCA", "IncrementalPCA"),
}

DIFFERENCES: dict[str, str] = {
    "test_pca::test_sparse_pca_solver_error*": (
        "sparse rows also run with svd_solver='randomized' and 'power', so the error names other solvers"
    ),
    "test_pca::test_pca_score[[]*": (
        "the covariance of the model does not depend on whiten; scikit-learn multiplies it by the variances once more"
    ),
    "test_pca::test_pca_svd_solver_auto*": "reads the private _fit_svd_solver; the public attribute is solver_used_",
}

"""Latent Dirichlet allocation: the inference of rows, the bound, and the estimator."""

"""Gaussian models with latent factors: factor analysis, probabilistic PCA, and rotations of loadings."""

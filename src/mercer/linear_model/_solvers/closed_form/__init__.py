"""Least squares and ridge: normal equations, their dual, LSQR, conjugate gradients, spectra, leave-one-out errors."""

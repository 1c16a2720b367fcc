"""What a fitted KernelPCA stores."""

from mercer._stored import Stored, floats

KERNEL_PCA: dict[str, Stored] = {
    "gamma_": floats(" | none"),
    "X_fit_": floats("rows, columns", sparse=True, finite=True),
    "eigenvalues_": floats("components"),
    "eigenvectors_": floats("rows, components"),
    "kernel_means_": floats("rows"),
    "X_transformed_fit_": floats("rows, components"),
    "dual_coef_": floats("rows, columns"),
}

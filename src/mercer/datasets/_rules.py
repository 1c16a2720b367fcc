"""Check the arguments of data generators."""

from typing import Any

import numpy as np

from mercer.errors import ParameterError


def check(subject: str, name: str, value: Any, holds: bool, rule: str, cure: str) -> None:
    """Raise ParameterError with subject, rule, value and cure if the rule does not hold."""
    if not holds:
        raise ParameterError(f"{subject}: {name} must be {rule}; got {value!r}. {cure}")


def check_samples(subject: str, n_samples: Any, least: int = 1) -> None:
    """Raise unless the number of rows is an integer that is large enough."""
    whole = isinstance(n_samples, int | np.integer) and not isinstance(n_samples, bool)
    holds = bool(whole and n_samples >= least)
    check(subject, "n_samples", n_samples, holds, f"an integer in [{least}, inf)", "Ask for more rows.")


def read_shares(subject: str, name: str, given: Any, count: int) -> np.ndarray:
    """Return the probabilities of `count` classes; None means equal ones."""
    shares = np.full(count, 1.0 / count) if given is None else np.asarray(given, dtype=np.float64)
    holds = shares.shape == (count,) and bool((shares >= 0).all()) and abs(shares.sum() - 1.0) < 1e-9
    cure = "Divide them by their sum."
    check(subject, name, given, holds, f"{count} numbers in [0, 1] that sum to one, one for each mean", cure)
    return shares / shares.sum()


def read_covariances(subject: str, given: Any, count: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the covariances of `count` classes, and matrices L with L L^T equal to them; one covariance serves all.

    The roots are made of eigenvectors, so that covariances may be singular.
    """
    matrices = np.eye(width) if given is None else np.asarray(given, dtype=np.float64)
    shapes = [(width, width), (count, width, width)]
    rule = f"a matrix of shape {shapes[0]}, or one for each mean, of shape {shapes[1]}"
    check(subject, "covariances", matrices.shape, matrices.shape in shapes, rule, "Reshape them.")
    matrices = np.broadcast_to(matrices, (count, width, width)).copy()
    values, vectors = np.linalg.eigh(matrices)
    symmetric = np.allclose(matrices, np.swapaxes(matrices, 1, 2), rtol=1e-9, atol=0.0)
    # Eigenvalues of a singular matrix may come out slightly negative; 1e-9 of the largest is rounding.
    holds = symmetric and bool((values >= -1e-9 * np.abs(values).max(axis=1, keepdims=True)).all())
    cure = "Form them as A A^T."
    check(subject, "covariances", matrices.tolist(), holds, "symmetric without negative eigenvalues", cure)
    # L = V diag(sqrt(lambda)), so L L^T = V diag(lambda) V^T. Columns of V are the eigenvectors.
    return matrices, vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]


def check_noise(subject: str, noise: float) -> None:
    """Raise unless the noise is a standard deviation."""
    check(subject, "noise", noise, bool(noise >= 0), "a number in [0, inf)", "It is a standard deviation.")


def share_out(n_samples: int, count: int) -> np.ndarray:
    """Return the group index of each row; the sizes of the groups differ by at most one."""
    return np.sort(np.arange(n_samples) % count)


def read_sizes(subject: str, n_samples: Any, count: int) -> np.ndarray:
    """Return the number of rows of each group, from their total or from one number per group."""
    if isinstance(n_samples, int | np.integer):
        check_samples(subject, n_samples)
        return np.bincount(share_out(int(n_samples), count), minlength=count)
    sizes = np.asarray(n_samples)
    # A group may be empty, but not all of them.
    holds = sizes.shape == (count,) and sizes.dtype.kind in "iu" and bool((sizes >= 0).all()) and bool(sizes.any())
    rule = f"an integer in [1, inf), or {count} of them, one for each group"
    check(subject, "n_samples", n_samples, holds, rule, "Give as many numbers as there are groups.")
    return sizes

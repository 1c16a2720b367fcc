"""How many axes: the share of the variance, the elbow, evidence, parallel analysis, and held-out likelihood."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array

from mercer._base.parameter import Choice, Integer, Real, Seed, check_parameters
from mercer._base.randomness import seed_sequence
from mercer._plain import plain
from mercer.decomposition._dimension import find_elbow, reach_share, weigh_evidence
from mercer.errors import DataError

# Quantile of the eigenvalues of permuted columns that an eigenvalue must exceed (Horn's rule as revised by Glorfeld).
_QUANTILE = 0.95


@plain
@dataclass(frozen=True, eq=False)
class AxesChoice:
    """What :func:`choose_n_axes` found.

    Attributes
    ----------
    n_axes : int
        The number that the method chose.
    method : str
    eigenvalues : ndarray of shape (d,)
        Variances along the principal axes, falling.
    cumulative : ndarray of shape (d,)
        Share of the variance that the first k axes hold.
    reconstruction_error : ndarray of shape (d,)
        Mean squared error of restoring rows from the first k axes.
    permuted : ndarray of shape (d,) or None
        For ``"parallel"``: the eigenvalue that permuted columns reach.
    score : ndarray of shape (d - 1,) or None
        For ``"cv"``: mean log-likelihood of held-out rows under k axes, k = 1 to d - 1.
    """

    n_axes: int
    method: str
    eigenvalues: np.ndarray
    cumulative: np.ndarray
    reconstruction_error: np.ndarray
    permuted: np.ndarray | None = None
    score: np.ndarray | None = None


def choose_n_axes(
    X: Any,
    *,
    method: str = "parallel",
    threshold: float = 0.95,
    n_permutations: int = 50,
    n_folds: int = 5,
    random_state: Any = None,
) -> AxesChoice:
    """Choose the number of principal axes by one of five rules, with the curves that they look at.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, at least two.
    method : {"threshold", "elbow", "minka", "parallel", "cv"}, default="parallel"
        ``"threshold"``: the fewest axes whose share of the variance exceeds `threshold`; ``"elbow"``: the bend of the
        scree plot by profile likelihood; ``"minka"``: Minka's evidence of probabilistic PCA; ``"parallel"``: axes of
        the correlations, as Horn has it, whose variance exceeds that of rows whose columns were permuted one by one,
        so that units do not matter and eigenvalues are those of the correlations; ``"cv"``: the most likely held-out
        rows under probabilistic PCA.
    threshold : float, default=0.95
        Of ``"threshold"``.
    n_permutations : int, default=50
        Of ``"parallel"``.
    n_folds : int, default=5
        Of ``"cv"``.
    random_state : None, int, RandomState or Generator, default=None
        Of the permutations and folds.

    Returns
    -------
    AxesChoice
        The number and all curves. ``"parallel"`` may choose 0: no axis stands out.

    References
    ----------
    Horn (1965), A rationale and test for the number of factors in factor analysis. Zhu and Ghodsi (2006), Automatic
    dimensionality selection from the scree plot. Minka (2000), Automatic choice of dimensionality for PCA.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import choose_n_axes
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(300, 3)) @ random.normal(size=(3, 10)) + 0.3 * random.normal(size=(300, 10))
    >>> [choose_n_axes(X, method=name, random_state=0).n_axes for name in ("parallel", "minka", "cv")]
    [3, 3, 3]
    """
    rules = {
        "method": Choice("threshold", "elbow", "minka", "parallel", "cv"),
        "threshold": Real(0, 1, "neither"),
        "n_permutations": Integer(1),
        "n_folds": Integer(2),
        "random_state": Seed(),
    }
    given = {
        "method": method,
        "threshold": threshold,
        "n_permutations": n_permutations,
        "n_folds": n_folds,
        "random_state": random_state,
    }
    check_parameters("choose_n_axes", rules, given)
    rows = check_array(X, dtype=np.float64, ensure_min_samples=2)
    if method == "parallel":
        deviations = rows.std(axis=0, ddof=1)
        rows = (rows - rows.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
    values = _find_spectrum(rows)
    total = float(values.sum())
    if total <= 0:
        raise DataError("choose_n_axes: the rows must differ; all columns are constant (rank 0). Give rows that vary.")
    random = np.random.default_rng(seed_sequence(random_state).spawn(1)[0])
    curves: dict[str, np.ndarray] = {}
    if method == "parallel":
        curves["permuted"] = _permute(rows, n_permutations, random)
    if method == "cv":
        curves["score"] = _hold_out(rows, n_folds, random)
    chosen: dict[str, Callable[[], int]] = {
        "threshold": lambda: reach_share(values, threshold),
        "elbow": lambda: find_elbow(values),
        "minka": lambda: weigh_evidence(values, float(len(rows))),
        # The first axis that does not stand out ends the count: later ones are compared with less variance.
        "parallel": lambda: int(np.argmin(np.append(values > curves["permuted"], False))),
        "cv": lambda: int(np.argmax(curves["score"])) + 1,
    }
    error = np.maximum(total - np.cumsum(values), 0.0)
    return AxesChoice(chosen[method](), method, values, np.cumsum(values) / total, error, **curves)


def _find_spectrum(rows: np.ndarray) -> np.ndarray:
    """Return the eigenvalues of the covariance, falling; as many as columns."""
    centred = rows - rows.mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False) ** 2 / (len(rows) - 1)
    return np.append(values, np.zeros(rows.shape[1] - len(values))) if len(values) < rows.shape[1] else values


def _permute(rows: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    """Return the 95 % quantile of each eigenvalue over tables whose columns were permuted one by one."""
    spectra = [_find_spectrum(random.permuted(rows, axis=0)) for _ in range(count)]
    return np.quantile(spectra, _QUANTILE, axis=0)


def _hold_out(rows: np.ndarray, n_folds: int, random: np.random.Generator) -> np.ndarray:
    """Return the mean log-likelihood of held-out rows under probabilistic PCA with 1 to d - 1 axes."""
    n, d = rows.shape
    if n <= n_folds or d < 2:
        raise DataError(
            f"choose_n_axes: method='cv' needs two columns and more rows than n_folds={n_folds}; got {n} x {d}. Lower "
            f"n_folds, or choose another method."
        )
    fold = random.permutation(n) % n_folds
    scores = np.zeros(d - 1)
    for number in range(n_folds):
        train, test = rows[fold != number], rows[fold == number]
        mean = train.mean(axis=0)
        values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(train.T, ddof=0)))
        # A floor under the variances, so that no logarithm is infinite.
        values = np.maximum(values[::-1], 1e-12 * float(values[-1]))
        squares = ((test - mean) @ vectors[:, ::-1]) ** 2
        for k in range(1, d):
            # The noise of probabilistic PCA is the mean of the variances left over.
            noise = float(values[k:].mean())
            # Mahalanobis distance: along the axes by their variance, outside by the noise.
            along = (squares[:, :k] / values[:k]).sum(axis=1) + squares[:, k:].sum(axis=1) / noise
            constant = float(np.log(values[:k]).sum()) + (d - k) * np.log(noise) + d * np.log(2 * np.pi)
            scores[k - 1] += -0.5 * float((along + constant).sum())
    return scores / n

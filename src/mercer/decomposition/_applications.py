"""Uses of principal components as one call: rows without noise, and rows without some components."""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from mercer.decomposition._pca import PCA
from mercer.errors import DataError


def denoise(X: Any, n_components: Any) -> np.ndarray:
    r"""Keep of each row what the first principal components hold: :math:`m + \sum_{i \le k} (w_i \cdot (x - m)) w_i`.

    Noise of equal size in all d directions keeps only a share k / d of its variance.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    n_components : int, float or str
        How many components, as :class:`PCA` takes it: a number, a share of the variance, ``"mle"`` or ``"elbow"``.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        Rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import denoise
    >>> random = np.random.default_rng(0)
    >>> clean = random.normal(size=(200, 1)) * np.ones((1, 20))
    >>> noisy = clean + random.normal(size=(200, 20))
    >>> bool(((denoise(noisy, 1) - clean) ** 2).mean() < 0.1 * ((noisy - clean) ** 2).mean())
    True
    """
    model = PCA(n_components).fit(X)
    return np.asarray(model.inverse_transform(model.transform(X)))


def remove_components(X: Any, components: Any, *, return_removed: bool = False) -> Any:
    """Remove some principal components from rows, such as the first one that an artefact fills.

    An eye blink in an electroencephalogram is large and the same in shape each time: it is the first component, and
    the rows without it are the signal.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    components : int or array-like of int
        Which components, counted from 0; an integer stands for one.
    return_removed : bool, default=False
        Whether to return what was removed too.

    Returns
    -------
    kept : ndarray of shape (n_samples, n_features)
        Rows without the components; the mean stays.
    removed : ndarray of shape (n_samples, n_features)
        What was removed, if asked for; both parts sum to `X`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import remove_components
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> kept, removed = remove_components(X, 0, return_removed=True)
    >>> bool(np.allclose(kept + removed, X)), int(np.linalg.matrix_rank(removed))
    (True, 1)
    """
    rows = check_array(X, dtype=[np.float64, np.float32])
    model = PCA().fit(rows)
    chosen = np.atleast_1d(np.asarray(components))
    if chosen.dtype.kind not in "iu" or chosen.min(initial=0) < 0 or chosen.max(initial=0) >= model.n_components_:
        raise DataError(
            f"remove_components: components must be integers from 0 to {model.n_components_ - 1}; got {components!r}. "
            f"Count from 0."
        )
    axes = model.components_[chosen]
    # The projection on the chosen axes, row by row.
    removed = (rows - model.mean_) @ axes.T @ axes
    return (rows - removed, removed) if return_removed else rows - removed

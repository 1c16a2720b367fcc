"""Nonnegative factorisation as a function that returns both factors."""

import warnings
from typing import Any

import numpy as np

from mercer._base.validation import check_rows
from mercer._types import Array
from mercer.decomposition._nonnegative.nmf import NMF
from mercer.decomposition._nonnegative.start import check_given, resolve_count


def non_negative_factorization(
    X: Any,
    W: Any = None,
    H: Any = None,
    n_components: Any = "auto",
    *,
    init: str | None = None,
    update_H: bool = True,
    solver: str = "cd",
    beta_loss: Any = "frobenius",
    tol: float = 1e-4,
    max_iter: int = 200,
    alpha_W: float = 0.0,
    alpha_H: Any = "same",
    l1_ratio: float = 0.0,
    random_state: Any = None,
    verbose: int = 0,
    shuffle: bool = False,
) -> tuple[Array, Array, int]:
    """Factorise rows into W H with factors that are not negative; what :class:`NMF` finds, with both factors.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows without negative entries.
    W : array-like of shape (n_samples, n_components), default=None
        The start with ``init="custom"``.
    H : array-like of shape (n_components, n_features), default=None
        The start with ``init="custom"``; kept as it is with ``update_H=False``.
    n_components : int, 'auto' or None, default='auto'
        How many parts; ``"auto"`` is that of a given H, else the number of columns.
    init, solver, beta_loss, tol, max_iter, alpha_W, alpha_H, l1_ratio, random_state, verbose, shuffle
        As in :class:`NMF`.
    update_H : bool, default=True
        Whether to find H too; if not, only W is found, for the given H.

    Returns
    -------
    W : ndarray of shape (n_samples, n_components)
        Weights.
    H : ndarray of shape (n_components, n_features)
        Parts.
    n_iter : int
        Iterations; 0 where only W was found.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import non_negative_factorization
    >>> X = np.array([[1.0, 1.0], [2.0, 1.0], [3.0, 1.2], [4.0, 1.0], [5.0, 0.8], [6.0, 1.0]])
    >>> W, H, _ = non_negative_factorization(X, n_components=2, random_state=0, tol=1e-6, max_iter=1000)
    >>> bool(np.allclose(W @ H, X, atol=1e-2))
    True
    """
    model = NMF(
        n_components,
        init=init,
        solver=solver,
        beta_loss=beta_loss,
        tol=tol,
        max_iter=max_iter,
        random_state=random_state,
        alpha_W=alpha_W,
        alpha_H=alpha_H,
        l1_ratio=l1_ratio,
        verbose=verbose,
        shuffle=shuffle,
    )
    model._check_parameters()
    if update_H:
        weights = model.fit_transform(X, W=W, H=H)
        return weights, model.components_, model.n_iter_
    if W is not None:
        warnings.warn("When update_H=False, the provided initial W is not used.", RuntimeWarning, stacklevel=2)
    rows = check_rows(model, X, threads=1, accept_sparse="csr")
    count = resolve_count(n_components, None if H is None else np.asarray(H), rows.shape[1])
    model.components_ = check_given(H, (count, rows.shape[1]), "H", rows.dtype).astype(rows.dtype)
    return model.transform(X), model.components_, 0

"""Choosing a kernel and its width: by the evidence of a Gaussian process, or by cross-validation of any estimator."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import cross_validate

from mercer.errors import ParameterError
from mercer.kernels import RBF, Matern, median_length_scale

__all__ = ["KernelSelection", "select_kernel"]


@dataclass(frozen=True)
class KernelSelection:
    """The result of :func:`select_kernel`.

    Attributes
    ----------
    kernels : tuple of str
        Their names.
    widths : ndarray of shape (n_widths,)
    scores, training_scores : ndarray of shape (n_kernels, n_widths)
        The evidence, or the mean score of the folds; and the score on the rows of the fit.
    criterion : str
        ``"evidence"`` or ``"cross-validation"``.
    best_kernel, best_width : str, float
        Those of the highest score, the first of equals.
    best_estimator : estimator
        Fitted to all rows with them.
    """

    kernels: tuple[str, ...]
    widths: np.ndarray
    scores: np.ndarray
    training_scores: np.ndarray
    criterion: str
    best_kernel: str
    best_width: float
    best_estimator: Any


def select_kernel(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    kernels: Any = None,
    widths: Any = None,
    cv: Any = "evidence",
    scoring: Any = None,
) -> KernelSelection:
    """Score kernels of several kinds and widths, and fit with the best.

    Parameters
    ----------
    estimator : estimator
        With a parameter ``kernel`` that takes kernel objects; for ``cv="evidence"`` a Gaussian process, whose
        hyper-parameters are kept as given (``optimizer=None``).
    X, y : as for ``fit``
    kernels : dict of str to kernel or None, default=None
        Kernels with a ``length_scale``, also inside sums and products. None means the Gaussian kernel and Matern's of
        orders 1/2 and 3/2.
    widths : array-like of shape (n_widths,) or None, default=None
        Length scales to try. None means the median distance of rows times powers of two from 1/16 to 16.
    cv : "evidence", int or splitter, default="evidence"
        How settings are scored: by the log marginal likelihood, or by folds.
    scoring : str, callable or None, default=None
        The score of folds; None means the estimator's own.

    Returns
    -------
    KernelSelection

    Notes
    -----
    A tiny width explains every row by itself: the training score is perfect and others are not. A huge one makes all
    rows alike. Both criteria fall on either side; :class:`mercer.inspection.KernelSelectionDisplay` draws them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gaussian_process import GaussianProcessRegressor, select_kernel
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> found = select_kernel(GaussianProcessRegressor(alpha=1e-4), X, np.sin(X[:, 0]), widths=[0.01, 1.5, 1000.0])
    >>> found.best_kernel, found.best_width
    ('Gaussian', 1.5)
    """
    named = _read_kernels(kernels)
    widths = np.asarray(_choose_widths(X) if widths is None else widths, dtype=np.float64)
    if widths.ndim != 1 or widths.size == 0 or not (widths > 0).all():
        message = f"select_kernel: widths must be one or more numbers in (0, inf); got {widths.tolist()}."
        raise ParameterError(message)
    by_evidence = isinstance(cv, str) and cv == "evidence"
    if by_evidence and not hasattr(estimator, "log_marginal_likelihood"):
        message = (
            f"select_kernel: cv='evidence' needs a Gaussian process; got {type(estimator).__name__}. Give a number of "
            f"folds as cv."
        )
        raise ParameterError(message)
    table = np.array(
        [
            [_score_setting(estimator, X, y, _set_width(kernel, width), cv, scoring, by_evidence) for width in widths]
            for kernel in named.values()
        ]
    )
    scores, training = table[..., 0], table[..., 1]
    row, column = np.unravel_index(int(np.argmax(scores)), scores.shape)
    names = tuple(named)
    best = _make_model(estimator, _set_width(named[names[row]], widths[column]), by_evidence).fit(X, y)
    criterion = "evidence" if by_evidence else "cross-validation"
    return KernelSelection(names, widths, scores, training, criterion, names[row], float(widths[column]), best)


def _read_kernels(kernels: Any) -> dict[str, Any]:
    if kernels is None:
        return {"Gaussian": RBF(), "Matern 1/2": Matern(nu=0.5), "Matern 3/2": Matern(nu=1.5)}
    if not isinstance(kernels, dict) or not kernels:
        message = f"select_kernel: kernels must be a dictionary of names and kernels; got {kernels!r}."
        raise ParameterError(message)
    return kernels


def _choose_widths(X: Any) -> np.ndarray:
    # Powers of two from 1/16 to 16 times the median distance: from nearly independent rows to nearly linear functions.
    return median_length_scale(np.asarray(X, dtype=np.float64)) * 2.0 ** np.arange(-4, 5)


def _set_width(kernel: Any, width: float) -> Any:
    """Return a copy of `kernel` with every length scale in it set to `width`."""
    other = copy.deepcopy(kernel)
    names = [name for name in other.get_params() if name.rpartition("__")[2] == "length_scale"]
    if not names:
        message = f"select_kernel: a kernel must have a length_scale to set; got {kernel!r}."
        raise ParameterError(message)
    return other.set_params(**{name: float(width) for name in names})


def _make_model(estimator: Any, kernel: Any, by_evidence: bool) -> Any:
    # The width of a setting must stay as given: no fit may learn it.
    fixed = {"optimizer": None} if by_evidence or hasattr(estimator, "optimizer") else {}
    return clone(estimator).set_params(kernel=kernel, **fixed)


def _score_setting(
    estimator: Any, X: Any, y: Any, kernel: Any, cv: Any, scoring: Any, by_evidence: bool
) -> tuple[float, float]:
    """Return the score of a setting, and the score on the training rows."""
    model = _make_model(estimator, kernel, by_evidence)
    if by_evidence:
        model.fit(X, y)
        return float(model.log_marginal_likelihood_value_), float(model.score(X, y))
    scores = cross_validate(model, X, y, cv=cv, scoring=scoring, return_train_score=True)
    return float(scores["test_score"].mean()), float(scores["train_score"].mean())

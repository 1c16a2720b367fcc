"""Choosing a kernel, its width or degree, and the estimator's own parameters: by evidence, or by cross-validation."""

import copy
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import cross_validate

from mercer.errors import ParameterError
from mercer.kernels import RBF, Matern, median_length_scale

# Degrees of polynomial kernels that are tried by default: beyond four, values of rows away from the origin explode.
_DEGREES = (1, 2, 3, 4)


@dataclass(frozen=True)
class KernelSelection:
    """The result of :func:`select_kernel`.

    Attributes
    ----------
    kernels : tuple of str
        Their names.
    widths : ndarray of shape (n_widths,)
    scores, training_scores : ndarray of shape (n_kernels, n_widths)
        The evidence, or the mean score of the folds; and the score on the rows of the fit. Where several degrees or
        settings were tried, those of the best. A kernel without a width has one score in all columns.
    criterion : str
        ``"evidence"`` or ``"cross-validation"``.
    best_kernel, best_width : str, float
        Those of the highest score, the first of equals. The width is NaN for a kernel that has none.
    best_estimator : estimator
        Fitted to all rows with them.
    best_degree : float or None
        The degree of the best kernel; None for a kernel that has none.
    best_settings : dict
        The best values of the estimator's own parameters.
    trials : tuple of dict
        Everything that was tried, in order: ``kernel``, ``width``, ``degree``, the settings, ``score`` and
        ``training_score``.
    """

    kernels: tuple[str, ...]
    widths: np.ndarray
    scores: np.ndarray
    training_scores: np.ndarray
    criterion: str
    best_kernel: str
    best_width: float
    best_estimator: Any
    best_degree: float | None
    best_settings: dict[str, Any]
    trials: tuple[dict[str, Any], ...]


def select_kernel(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    kernels: Any = None,
    widths: Any = None,
    degrees: Any = None,
    settings: dict[str, Any] | None = None,
    cv: Any = "evidence",
    scoring: Any = None,
) -> KernelSelection:
    """Score kernels of several kinds, widths and degrees with several settings of the estimator; fit with the best.

    Parameters
    ----------
    estimator : estimator
        With a parameter ``kernel`` that takes kernel objects; for ``cv="evidence"`` a Gaussian process, whose
        hyper-parameters are kept as given (``optimizer=None``).
    X, y : as for ``fit``
    kernels : dict of str to kernel or None, default=None
        Kernels with a ``length_scale`` or a ``degree``, also inside sums and products, and with `settings` any kernel.
        None means the Gaussian kernel and Matern's of orders 1/2 and 3/2.
    widths : array-like of shape (n_widths,) or None, default=None
        Length scales to try. None means the median distance of rows times powers of two from 1/16 to 16.
    degrees : array-like of shape (n_degrees,) or None, default=None
        Degrees of polynomial kernels to try. None means 1 to 4.
    settings : dict of str to list or None, default=None
        Values of the estimator's parameters; all combinations are tried: ``{"C": [0.1, 1, 10]}`` of a support
        vector machine, ``{"alpha": [0.01, 1]}`` of kernel ridge regression.
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
    >>> from mercer.kernel_ridge import KernelRidge
    >>> from mercer.kernels import Polynomial
    >>> x = X[::-1] - 3.0
    >>> kernels, settings = {"polynomial": Polynomial(coef0=1.0)}, {"alpha": [1e-6, 1.0]}
    >>> cubic = select_kernel(KernelRidge(), x, x[:, 0] ** 3 - x[:, 0], kernels=kernels, settings=settings, cv=5)
    >>> int(cubic.best_degree), cubic.best_settings
    (3, {'alpha': 1e-06})
    """
    named = _read_kernels(kernels)
    widths = _read_values("widths", _choose_widths(X) if widths is None else widths)
    degrees = _read_values("degrees", _DEGREES if degrees is None else degrees)
    combined = _combine_settings(estimator, settings)
    by_evidence = isinstance(cv, str) and cv == "evidence"
    if by_evidence and not hasattr(estimator, "log_marginal_likelihood"):
        raise ParameterError(
            f"select_kernel: cv='evidence' needs a Gaussian process; got {type(estimator).__name__}. Give a number of "
            f"folds as cv."
        )
    trials, best = [], None
    for name, kernel in named.items():
        for (width, degree), chosen in product(_list_shapes(kernel, widths, degrees, settings), combined):
            made = _make_model(estimator, _shape_kernel(kernel, width, degree), chosen, by_evidence)
            score, training = _score_setting(made, X, y, cv, scoring, by_evidence)
            trial = {"kernel": name, "width": width, "degree": degree, **chosen}
            trials.append(trial | {"score": score, "training_score": training})
            # A score of NaN, of folds that failed, is never the best.
            if best is None or score > best[0] or np.isnan(best[0]):
                best = score, trial, chosen, made
    assert best is not None
    _, trial, chosen, made = best
    scores, training_scores = _tabulate(tuple(named), widths, trials)
    criterion = "evidence" if by_evidence else "cross-validation"
    return KernelSelection(
        kernels=tuple(named),
        widths=widths,
        scores=scores,
        training_scores=training_scores,
        criterion=criterion,
        best_kernel=trial["kernel"],
        best_width=trial["width"],
        best_estimator=clone(made).fit(X, y),
        best_degree=trial["degree"],
        best_settings=chosen,
        trials=tuple(trials),
    )


def _read_kernels(kernels: Any) -> dict[str, Any]:
    if kernels is None:
        return {"Gaussian": RBF(), "Matern 1/2": Matern(nu=0.5), "Matern 3/2": Matern(nu=1.5)}
    if not isinstance(kernels, dict) or not kernels:
        raise ParameterError(f"select_kernel: kernels must be a dictionary of names and kernels; got {kernels!r}.")
    return kernels


def _choose_widths(X: Any) -> np.ndarray:
    # Powers of two from 1/16 to 16 times the median distance: from nearly independent rows to nearly linear functions.
    return median_length_scale(np.asarray(X, dtype=np.float64)) * 2.0 ** np.arange(-4, 5)


def _read_values(name: str, values: Any) -> np.ndarray:
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or numbers.size == 0 or not (numbers > 0).all():
        raise ParameterError(f"select_kernel: {name} must be one or more numbers in (0, inf); got {numbers.tolist()}.")
    return numbers


def _combine_settings(estimator: Any, settings: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return every combination of the estimator's parameters; one that is empty where none are given."""
    known = estimator.get_params()
    for name, values in (settings or {}).items():
        if name not in known or not isinstance(values, list | tuple | np.ndarray) or not len(values):
            raise ParameterError(
                f"select_kernel: settings must have lists of values of parameters of {type(estimator).__name__}; got "
                f"{name!r} with {values!r}."
            )
    names = tuple(settings or ())
    return [dict(zip(names, values, strict=True)) for values in product(*(settings or {}).values())]


def _list_parts(kernel: Any, name: str) -> list[str]:
    return [part for part in kernel.get_params() if part.rpartition("__")[2] == name]


def _list_shapes(
    kernel: Any, widths: np.ndarray, degrees: np.ndarray, settings: Any
) -> list[tuple[float, float | None]]:
    """Return the widths and degrees to try of one kernel; NaN and None for what it does not have."""
    has_width, has_degree = _list_parts(kernel, "length_scale"), _list_parts(kernel, "degree")
    if not has_width and not has_degree and not settings:
        raise ParameterError(
            f"select_kernel: a kernel must have a length_scale or a degree to set, or settings must be given; got "
            f"{kernel!r}."
        )
    return list(product(widths.tolist() if has_width else [np.nan], degrees.tolist() if has_degree else [None]))


def _shape_kernel(kernel: Any, width: float, degree: float | None) -> Any:
    """Return a copy of `kernel` with every length scale and every degree in it set."""
    values = {} if np.isnan(width) else dict.fromkeys(_list_parts(kernel, "length_scale"), width)
    if degree is not None:
        values |= dict.fromkeys(_list_parts(kernel, "degree"), degree)
    return copy.deepcopy(kernel).set_params(**values)


def _make_model(estimator: Any, kernel: Any, settings: dict[str, Any], by_evidence: bool) -> Any:
    # The width of a setting must stay as given: no fit may learn it.
    fixed = {"optimizer": None} if by_evidence or hasattr(estimator, "optimizer") else {}
    return clone(estimator).set_params(kernel=kernel, **settings, **fixed)


def _score_setting(model: Any, X: Any, y: Any, cv: Any, scoring: Any, by_evidence: bool) -> tuple[float, float]:
    """Return the score of a setting, and the score on the training rows."""
    if by_evidence:
        fitted = clone(model).fit(X, y)
        return float(fitted.log_marginal_likelihood_value_), float(fitted.score(X, y))
    scores = cross_validate(model, X, y, cv=cv, scoring=scoring, return_train_score=True)
    return float(scores["test_score"].mean()), float(scores["train_score"].mean())


def _tabulate(
    names: tuple[str, ...], widths: np.ndarray, trials: list[dict[str, Any]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best score of each kernel at each width, over degrees and settings, and its training score."""
    table = np.full((2, len(names), len(widths)), np.nan)
    for trial in trials:
        row = names.index(trial["kernel"])
        for column, width in enumerate(widths):
            here = trial["width"] == width or np.isnan(trial["width"])
            if here and not table[0, row, column] >= trial["score"]:
                table[:, row, column] = trial["score"], trial["training_score"]
    return table[0], table[1]

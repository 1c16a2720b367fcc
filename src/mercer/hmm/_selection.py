"""Choice of the number of states by an information criterion or by cross-validation over sequences."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer._base.parameter import Choice, Integer, check_parameters
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.hmm._hidden_markov_model import HiddenMarkovModel


@dataclass(frozen=True)
class StateSelection:
    """What :func:`select_n_components` found.

    Attributes
    ----------
    best : estimator
        The chosen model, fitted to all sequences.
    criterion : str
        Which it was.
    table : dict of list
        One entry per model tried: ``n_components``, ``log_likelihood``, ``n_parameters``, ``bic``, ``aic``; with
        ``criterion="cv"`` ``n_components`` and ``cv``, the mean log-likelihood per step of sequences that were left
        out.
    """

    best: Any
    criterion: str
    table: dict[str, list[Any]]


def select_n_components(
    estimator: HiddenMarkovModel,
    X: Any,
    lengths: Any = None,
    n_components: Iterable[int] = range(1, 7),
    *,
    criterion: str = "bic",
    cv: int = 5,
    groups: Any = None,
) -> StateSelection:
    """Fit models with several numbers of states and choose one.

    Parameters
    ----------
    estimator : hidden Markov model
        Its other parameters are used; it is not changed.
    X : array-like of shape (n_steps, n_features), or a list of such arrays
    lengths : array-like of int, default=None
    n_components : iterable of int, default=range(1, 7)
    criterion : one of 'bic', 'aic', 'cv', default='bic'
        The lowest information criterion, or the highest likelihood of sequences that were left out of the fit.
    cv : int, default=5
        The number of folds. Whole sequences are left out; a single sequence is first cut into this number of parts.
    groups : array-like or str, default=None

    Returns
    -------
    StateSelection

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.hmm import GaussianHMM, select_n_components
    >>> X = np.repeat([0.0, 6.0, 0.0, 6.0], 50)[:, None] + np.random.default_rng(0).normal(size=(200, 1))
    >>> select_n_components(GaussianHMM(random_state=0, n_init=3), X, n_components=range(1, 4)).best.n_components
    2
    """
    rules = {"criterion": Choice("bic", "aic", "cv"), "cv": Integer(2)}
    check_parameters("select_n_components", rules, {"criterion": criterion, "cv": cv})
    counts = list(n_components)
    if not counts:
        raise ParameterError("select_n_components: n_components must name at least one number of states; got none.")
    candidates = [clone(estimator).set_params(n_components=count) for count in counts]
    if criterion == "cv":
        rows, folds = _cut_folds(clone(estimator), X, lengths, groups, cv)
        means = [_cross_validate(candidate, rows, folds) for candidate in candidates]
        best = candidates[int(np.argmax(means))].fit(X, lengths=lengths, groups=groups)
        return StateSelection(best, criterion, {"n_components": counts, "cv": means})
    table: dict[str, list[Any]] = {name: [] for name in ("log_likelihood", "n_parameters", "bic", "aic")}
    for model in candidates:
        model.fit(X, lengths=lengths, groups=groups)
        total, free = model.score(X, lengths=lengths, groups=groups), model.count_parameters()
        bic = model.bic(X, lengths, groups=groups)
        for name, value in zip(table, (total, free, bic, 2.0 * free - 2.0 * total), strict=True):
            table[name].append(value)
    best = candidates[int(np.argmin(table[criterion]))]
    return StateSelection(best, criterion, {"n_components": counts} | table)


def _cut_folds(model: Any, X: Any, lengths: Any, groups: Any, cv: int) -> tuple[list[Array], Array]:
    """Return the sequences as arrays, and the fold of each."""
    source, plan = model._open_sequences(X, None, lengths, groups, None, reset=True)
    model._needs_memory(source, "cross-validation", "use criterion='bic'")
    rows, ends = source.whole(), np.cumsum(plan.lengths)
    if "categories_" in vars(model):
        rows = model.categories_[rows.astype(np.intp)]
    if len(ends) == 1:
        # One long sequence is cut into as many parts as folds.
        ends = np.array([len(part) for part in np.array_split(np.arange(len(rows)), cv)]).cumsum()
    if len(ends) < cv or ends[0] < 1:
        raise DataError(
            f"select_n_components: {cv} folds need at least {cv} sequences; got {len(ends)}. Lower cv, or use "
            f"criterion='bic'."
        )
    return np.split(rows, ends[:-1]), np.arange(len(ends)) % cv


def _cross_validate(model: Any, sequences: list[Array], folds: Array) -> float:
    """Return the mean log-likelihood per step of sequences that were left out."""
    total, steps = 0.0, 0
    for fold in np.unique(folds):
        inside = [sequence for sequence, place in zip(sequences, folds, strict=True) if place != fold]
        outside = [sequence for sequence, place in zip(sequences, folds, strict=True) if place == fold]
        with warnings.catch_warnings():
            # The fit to all sequences warns; one warning for each fold would say the same.
            warnings.simplefilter("ignore", ConvergenceWarning)
            total += clone(model).fit(inside).score(outside)
        steps += sum(map(len, outside))
    return total / steps

"""Check whether data are representative: train on one source of rows, test on another."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state

from mercer.errors import DataError
from mercer.model_selection._splits import Splitting, split_rows
from mercer.model_selection._trial import take_rows


@dataclass(frozen=True)
class SourceReport:
    """Scores of models trained on one source of rows and tested on another.

    Attributes
    ----------
    sources : list
        Their names.
    scores : ndarray of shape (n_sources, n_sources)
        Row: trained on; column: tested on. The diagonal is cross-validated.
    at_home, away : ndarray of shape (n_columns,)
        How much the score falls when a column is shuffled, on unseen rows of the training source and of the others.
    columns : list
        Names or indices of the columns.
    """

    sources: list[Any]
    scores: np.ndarray
    at_home: np.ndarray
    away: np.ndarray
    columns: list[Any]

    @property
    def loss_abroad(self) -> float:
        """Mean score on the training source minus mean score on the others."""
        n_sources = len(self.sources)
        home = float(np.trace(self.scores)) / n_sources
        return home - (float(self.scores.sum()) - home * n_sources) / (n_sources * (n_sources - 1))

    @property
    def shortcut(self) -> Any:
        """The column whose importance falls most on other sources: the suspect, if the score falls there too."""
        return self.columns[int((self.at_home - self.away).argmax())]


def compare_sources(
    estimator: Any,
    X: Any,
    y: Any,
    source: Any,
    *,
    scoring: Any = None,
    folds: int = 5,
    random_state: Any = None,
) -> SourceReport:
    """Train on the rows of each source and test on those of every other.

    A model that depends on an artefact of one collection of data scores well on unseen rows of that collection and
    badly on another. Columns are shuffled one at a time to find those on which it depends.

    Parameters
    ----------
    estimator : estimator
        The estimator to fit.
    X : array-like or frame of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        The target.
    source : array-like of shape (n_samples,)
        The source of each row.
    scoring : str, callable or None, default=None
        As in scikit-learn; None takes the estimator's own score.
    folds : int, default=5
        Folds of cross-validation inside a source.
    random_state : int, RandomState instance or None, default=None
        Draws folds and shuffles.

    Returns
    -------
    SourceReport
        Scores by source, and the importance of each column on the training source and on the others.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import LogisticRegression
    >>> from mercer.model_selection import compare_sources
    >>> random = np.random.default_rng(0)
    >>> y, source = random.integers(0, 2, 400), np.repeat(["camera", "web"], 200)
    >>> mark = np.where(source == "camera", y, random.integers(0, 2, 400))
    >>> X = np.column_stack([random.normal(size=400) + y, mark])
    >>> report = compare_sources(LogisticRegression(), X, y, source, random_state=0)
    >>> report.shortcut, bool(report.scores[0, 0] > report.scores[0, 1] + 0.1)
    (1, True)
    """
    y, source = np.asarray(y), np.asarray(source)
    names = np.unique(source)
    if len(names) < 2:
        raise DataError(f"compare_sources: rows must come from at least two sources; got {len(names)}.")
    scorer = check_scoring(estimator, scoring=scoring)
    seed = int(check_random_state(random_state).randint(2**31 - 2**20))
    random = np.random.default_rng(seed)
    columns = list(X.columns) if hasattr(X, "columns") else list(range(X.shape[1]))
    scores = np.zeros((len(names), len(names)))
    falls: list[list[np.ndarray]] = [[], []]
    for place, name in enumerate(names):
        rows = np.flatnonzero(source == name)
        known = Splitting(y[rows] if is_classifier(estimator) else None)
        inside = []
        # The score on its own source is cross-validated: scores on training rows would hide the loss on other sources.
        for train, test in split_rows(len(rows), known, folds, 1, seed):
            model = clone(estimator).fit(take_rows(X, rows[train]), y[rows[train]])
            whole, lost = _score_shuffled(model, take_rows(X, rows[test]), y[rows[test]], scorer, random, columns)
            inside.append(whole)
            falls[0].append(lost)
        scores[place, place] = np.mean(inside)
        # Other sources are all unseen, so that the model may use every row of its own.
        model = clone(estimator).fit(take_rows(X, rows), y[rows])
        for other in np.flatnonzero(names != name):
            there = np.flatnonzero(source == names[other])
            scores[place, other], lost = _score_shuffled(model, take_rows(X, there), y[there], scorer, random, columns)
            falls[1].append(lost)
    at_home, away = (np.mean(losses, axis=0) for losses in falls)
    return SourceReport(names.tolist(), scores, at_home, away, columns)


def _score_shuffled(
    model: Any, X: Any, y: np.ndarray, scorer: Any, random: np.random.Generator, columns: list[Any]
) -> tuple[float, np.ndarray]:
    """Return the score, and how much it falls when each column is shuffled."""
    whole = float(scorer(model, X, y))
    lost = []
    for column, name in enumerate(columns):
        # Shuffling keeps the distribution of the column and breaks only its relation to the target.
        order = random.permutation(len(y))
        other = X.copy()
        if hasattr(X, "columns"):
            other[name] = X[name].to_numpy()[order]
        else:
            other[:, column] = X[order, column]
        lost.append(whole - float(scorer(model, other, y)))
    return whole, np.array(lost)

"""Compare two models on the same rows: fold by fold, with a region of practical equivalence, and error by error."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom
from scipy.stats import t as student
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import check_consistent_length

from mercer._base.reading import read_numbers
from mercer._base.wrapping import take_rows
from mercer._notebook import render_table
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.model_selection._interval import ScoreInterval, score_interval


@dataclass(frozen=True)
class McNemar:
    """Rows on which two classifiers differ in being right.

    Attributes
    ----------
    only_first, only_second : int
        Rows that only the first, and only the second, gets right.
    p_value : float
        The probability of a split at least as uneven if both are equally often right: the exact binomial test.
    """

    only_first: int
    only_second: int
    p_value: float

    def __str__(self) -> str:
        return f"{self.only_first} against {self.only_second} rows, p = {self.p_value:.3g}"


@dataclass(frozen=True)
class PairedComparison:
    """Two models compared on the same folds.

    Attributes
    ----------
    names : tuple of str
        Both models.
    scores : ndarray of shape (2, n_splits)
        Their scores on the test rows of each split.
    interval : ScoreInterval
        The mean lead of the first model, and its interval by the corrected resampled t statistic.
    p_value : float
        Two-sided, of the same statistic.
    rope : float
        Leads of at most this size do not matter.
    probabilities : tuple of float
        That the first is better by more than `rope`, that both are equivalent, that the second is better by more.
    mcnemar : McNemar or None
        Of the out-of-fold predictions of classifiers.
    """

    names: tuple[str, str]
    scores: Array
    interval: ScoreInterval
    p_value: float
    rope: float
    probabilities: tuple[float, float, float]
    mcnemar: McNemar | None

    @property
    def sentence(self) -> str:
        """What follows."""
        first, second = self.names
        level, (ahead, equal, behind) = self.interval.level, self.probabilities
        if ahead >= level:
            return f"{first} is better than {second} by more than {self.rope:g} with probability {ahead:.1%}."
        if behind >= level:
            return f"{second} is better than {first} by more than {self.rope:g} with probability {behind:.1%}."
        if equal >= level:
            return (
                f"{first} and {second} differ by at most {self.rope:g} with probability {equal:.1%}; take the simpler."
            )
        return (
            f"These rows do not decide between {first} and {second}: the lead of {first} is {self.interval.mean:.3g}, "
            f"between {self.interval.low:.3g} and {self.interval.high:.3g}."
        )

    def _rows(self) -> list[tuple[str, str]]:
        first, second = self.names
        lead = self.interval
        rows = [
            (f"score of {first}", f"{self.scores[0].mean():.4g}"),
            (f"score of {second}", f"{self.scores[1].mean():.4g}"),
            ("lead", f"{lead.mean:.3g} [{lead.low:.3g}, {lead.high:.3g}], p = {self.p_value:.3g}"),
            (f"{first} better", f"{self.probabilities[0]:.1%}"),
            (f"equivalent within {self.rope:g}", f"{self.probabilities[1]:.1%}"),
            (f"{second} better", f"{self.probabilities[2]:.1%}"),
        ]
        if self.mcnemar is not None:
            counts = (
                f"{self.mcnemar.only_first} against {self.mcnemar.only_second} rows, p = {self.mcnemar.p_value:.3g}"
            )
            rows.append(("only one is right (McNemar)", counts))
        return rows

    def __str__(self) -> str:
        return "\n".join([self.sentence, *(f"  {name}: {value}" for name, value in self._rows())])

    def _repr_html_(self) -> str:
        return render_table(self.sentence, self._rows())


def mcnemar_test(y: Any, first: Any, second: Any) -> McNemar:
    """Compare two classifiers by the rows that only one of them gets right (McNemar's exact test).

    Parameters
    ----------
    y : array-like of shape (n,)
        True labels.
    first, second : array-like of shape (n,)
        Predicted labels.

    Returns
    -------
    McNemar

    Examples
    --------
    >>> from mercer.model_selection import mcnemar_test
    >>> mcnemar_test([0] * 10, [0] * 9 + [1], [1] * 8 + [0, 0])
    McNemar(only_first=8, only_second=1, p_value=0.0390625)
    """
    y, first, second = (np.asarray(values) for values in (y, first, second))
    check_consistent_length(y, first, second)
    right, other = first == y, second == y
    ahead, behind = int((right & ~other).sum()), int((other & ~right).sum())
    p_value = min(1.0, 2 * float(binom.cdf(min(ahead, behind), ahead + behind, 0.5)))
    return McNemar(ahead, behind, p_value)


def compare_scores(
    first: Any,
    second: Any,
    *,
    test_share: float,
    rope: float = 0.01,
    level: float = 0.95,
    names: tuple[str, str] = ("first", "second"),
) -> PairedComparison:
    r"""Compare the scores of two models on the same splits.

    The mean lead has a Student distribution around the measured one with J - 1 degrees of freedom and the scale
    :math:`\sqrt{(1/J + n_{test}/n_{train}) s^2}`: of the corrected resampled t statistic (:func:`score_interval`), and
    of the posterior under a flat prior for scores whose folds share training rows.

    Parameters
    ----------
    first, second : array-like of shape (n_splits,)
        Scores, larger is better, split by split.
    test_share : float
        Rows of a test fold divided by rows of a training part: 1/4 for five folds.
    rope : float, default=0.01
        Leads of at most this size do not matter: half the width of the region of practical equivalence.
    level : float, default=0.95
        Level of the interval, and the probability from which a sentence decides.
    names : pair of str, default=("first", "second")
        What the models are called.

    Returns
    -------
    PairedComparison

    References
    ----------
    C. Nadeau and Y. Bengio, Inference for the generalization error, 2003. A. Benavoli, G. Corani, J. Demsar and
    M. Zaffalon, Time for a change: a tutorial for comparing multiple classifiers through Bayesian analysis, 2017.

    Examples
    --------
    >>> from mercer.model_selection import compare_scores
    >>> found = compare_scores([0.90, 0.92, 0.91, 0.93, 0.91], [0.80, 0.83, 0.80, 0.82, 0.81], test_share=0.25)
    >>> found.sentence
    'first is better than second by more than 0.01 with probability 100.0%.'
    """
    scores = np.stack([read_numbers("compare_scores", "scores", given) for given in (first, second)])
    if scores.ndim != 2 or scores.shape[1] < 2:
        raise DataError(f"compare_scores: two lists of at least 2 scores are needed; got shape {scores.shape}.")
    if not rope >= 0:
        raise ParameterError(f"compare_scores: rope must be a number in [0, inf); got {rope!r}.")
    lead = score_interval(scores[0] - scores[1], test_share=test_share, level=level)
    tail = _lie_below(lead, 0.0, scores.shape[1])
    p_value = 1.0 if lead.mean == 0 else min(1.0, 2 * min(tail, 1 - tail))
    return PairedComparison(names, scores, lead, p_value, rope, _weigh_lead(lead, rope, scores.shape[1]), None)


def _weigh_lead(lead: ScoreInterval, rope: float, n_splits: int) -> tuple[float, float, float]:
    """Return the probabilities of a lead above the region of equivalence, within it, and below it."""
    if lead.standard_error == 0:
        return float(lead.mean > rope), float(abs(lead.mean) <= rope), float(lead.mean < -rope)
    below, reached = _lie_below(lead, -rope, n_splits), _lie_below(lead, rope, n_splits)
    return 1 - reached, reached - below, below


def _lie_below(lead: ScoreInterval, edge: float, n_splits: int) -> float:
    """Return the probability that the lead lies below an edge."""
    if lead.standard_error == 0:
        return float(lead.mean < edge)
    return float(student.cdf((edge - lead.mean) / lead.standard_error, n_splits - 1))


def compare_estimators(
    first: Any,
    second: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 10,
    scoring: Any = None,
    rope: float = 0.01,
    level: float = 0.95,
) -> PairedComparison:
    """Fit two models on the same folds, and say which is better, whether it matters, or that the rows do not decide.

    Parameters
    ----------
    first, second : estimators
        Of mercer, scikit-learn or another library; copies are fitted.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Targets.
    cv : int, splitter or iterable, default=10
        The folds. Repeated ones, such as ``RepeatedKFold``, narrow the interval a little.
    scoring : str or callable, default=None
        The score, larger is better; the models' own by default.
    rope : float, default=0.01
        Leads of at most this size do not matter.
    level : float, default=0.95
        Level of the interval, and the probability from which the sentence decides.

    Returns
    -------
    PairedComparison

    Examples
    --------
    >>> from mercer.datasets import load_iris
    >>> from mercer.discriminant_analysis import LinearDiscriminantAnalysis
    >>> from mercer.dummy import DummyClassifier
    >>> from mercer.model_selection import compare_estimators
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare_estimators(LinearDiscriminantAnalysis(), DummyClassifier(), X, y)
    >>> found.sentence
    'LinearDiscriminantAnalysis is better than DummyClassifier by more than 0.01 with probability 100.0%.'
    """
    y = np.asarray(y)
    classify = is_classifier(first) and is_classifier(second)
    splits = list(check_cv(cv, y, classifier=classify).split(X, y))
    scorers = [check_scoring(model, scoring=scoring) for model in (first, second)]
    scores = np.empty((2, len(splits)))
    # The first prediction of each row, so that repeated folds count it once.
    predicted, seen = [np.empty(len(y), dtype=y.dtype) for _ in range(2)], np.zeros(len(y), dtype=bool)
    for place, (train, test) in enumerate(splits):
        new = test[~seen[test]]
        for which, model in enumerate((first, second)):
            fitted = clone(model).fit(take_rows(X, train), y[train])
            scores[which, place] = scorers[which](fitted, take_rows(X, test), y[test])
            if classify and len(new):
                predicted[which][new] = fitted.predict(take_rows(X, new))
        seen[test] = True
    share = float(np.mean([len(test) / len(train) for train, test in splits]))
    found = compare_scores(*scores, test_share=share, rope=rope, level=level, names=_name(first, second))
    mcnemar = mcnemar_test(y[seen], predicted[0][seen], predicted[1][seen]) if classify else None
    return PairedComparison(found.names, scores, found.interval, found.p_value, rope, found.probabilities, mcnemar)


def _name(first: Any, second: Any) -> tuple[str, str]:
    """Return what the models are called: their classes, numbered where they are the same."""
    names = type(first).__name__, type(second).__name__
    return names if names[0] != names[1] else (f"{names[0]} (first)", f"{names[1]} (second)")

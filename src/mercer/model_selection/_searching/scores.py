"""What scores a fitted model in a search: one score or several, and what stands for a score that failed."""

import warnings
from collections.abc import Iterable
from contextlib import suppress
from numbers import Number
from traceback import format_exc
from typing import Any, TypeAlias

from sklearn.metrics import check_scoring, get_scorer

from mercer._base.scikit_learn import takes_weight
from mercer._base.scoring import compute_accuracy, compute_determination

# One number, or one for each name.
Scores: TypeAlias = float | dict[str, float]
# Scores whose value is computed here as scikit-learn's function does, without its inspection of plain arrays.
_QUICK = {"accuracy": compute_accuracy, "r2": compute_determination}


class Scoring:
    """The parameter ``scoring`` of a search: a scorer, its names, and how it is asked.

    Parameters
    ----------
    estimator : estimator
        Its method ``score`` is asked where `scoring` is None.
    scoring : str, callable, list, tuple, set, dict or None
        As scikit-learn's searches take it.
    error_score : float or "raise"
        What stands for a score that fails.
    """

    def __init__(self, estimator: Any, scoring: Any, error_score: Any) -> None:
        self.error_score = error_score
        self.given = scoring
        self.several = not (scoring is None or isinstance(scoring, str) or callable(scoring))
        if callable(scoring):
            self.scorer = scoring
        elif self.several:
            self.scorer = check_scoring(estimator, scoring=scoring, raise_exc=error_score == "raise")
        else:
            self.scorer = check_scoring(estimator, scoring=scoring)
        self.quick = _QUICK.get(scoring) if isinstance(scoring, str) else None
        # What is scored by name looks at predictions alone; a function of the user's may look at the rows.
        names: Iterable[Any] = scoring.values() if isinstance(scoring, dict) else scoring if self.several else ()
        self.by_name = scoring is None or isinstance(scoring, str) or (self.several and all(map(_is_text, names)))

    def name_scorers(self) -> Any:
        """Return the scorer, or the scorers by their names."""
        if not self.several:
            return self.scorer
        pairs = self.given.items() if isinstance(self.given, dict) else ((name, name) for name in self.given)
        return {name: get_scorer(one) for name, one in pairs}

    def takes_weight(self, subject: Any) -> bool:
        """Return whether a score takes weights; warn of those that do not, in a fit of `subject` with weights."""
        scorers = self.name_scorers() if self.several else {"": self.scorer}
        taken = []
        for name, scorer in scorers.items():
            taken.append(takes_weight(scorer))
            if not taken[-1]:
                shown = f"{name}={scorer}" if name else f"{scorer}"
                warnings.warn(
                    f"The scoring {shown} does not support sample_weight, which may lead to statistically incorrect "
                    f"results when fitting {subject} with sample_weight. Choose a scorer that takes weights.",
                    UserWarning,
                    stacklevel=6,
                )
        return any(taken)

    def __call__(self, model: Any, X: Any, y: Any, params: dict[str, Any]) -> Scores:
        """Return the score of a fitted model; the error score where that fails, with a warning."""
        try:
            if self.quick is not None and not params:
                return self.quick(y, model.predict(X))
            found = self.scorer(model, X, **params) if y is None else self.scorer(model, X, y, **params)
        except Exception:
            if self.several or self.error_score == "raise":
                raise
            return self._replace(format_exc())
        if not isinstance(found, dict):
            return _read_number(found, self.scorer)
        return {
            name: self._replace(one) if self.several and isinstance(one, str) else _read_number(one, name)
            for name, one in found.items()
        }

    def _replace(self, details: str) -> float:
        warnings.warn(
            f"Scoring failed. The score on this train-test partition for these parameters will be set to "
            f"{self.error_score}. Details: \n{details}",
            UserWarning,
            stacklevel=2,
        )
        return float(self.error_score)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _read_number(score: Any, name: Any) -> float:
    """Return a score as a number; raise ValueError if it is none."""
    if type(score) is float:
        return score
    if hasattr(score, "item"):
        # Numbers in arrays, such as those of a memory map.
        with suppress(ValueError):
            score = score.item()
    if not isinstance(score, Number):
        raise ValueError(f"scoring must return a number, got {score} ({type(score)}) instead. (scorer={name})")
    return score  # type: ignore[return-value]

"""The fit that the detectors of this family share: learn, score the rows of the fit, set the threshold."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from sklearn.utils.validation import has_fit_parameter

from mercer._base import Estimator, fitting
from mercer._base.outliers import Detector, find_offset, label_scores
from mercer._base.parameter import Real, Rule, attribute, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._source.namespace import to_numpy
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError

# The rule of `contamination` where no threshold is natural.
SHARE: Rule = Real(0, 0.5, closed="right")
# Rows from which a fit runs on a thread of its own, open to Ctrl-C.
_MANY_ROWS = 2000
NO_BOUND = Certificate.none("Scores are a closed form of what was fitted; the parts have certificates of their own.")


@plain
@dataclass(frozen=True, eq=False)
class LearntDetector:
    """The fitted attributes of a detector, and the scores of the rows of the fit."""

    attributes: Any
    scores: Array


class OutlierDetector(Detector, Estimator):
    """A detector that is fitted in one step.

    A subclass defines ``_learn``, which returns fitted attributes and the scores of the rows, and ``score_samples``.
    """

    _needs_rows: ClassVar[str] = "it fits a model of the rows, which may need all of them"

    contamination: float = parameter(
        SHARE, default=0.1, doc="The share of outliers among the rows of the fit, which sets the threshold ``offset_``."
    )

    _objective_moves: ClassVar[str | None] = None
    training_scores_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "training_scores_": floats("rows"),
    }

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what is usual, and set the threshold."""
        self._fit(X, None)
        return self

    def _fit(self, X: Any, sample_weight: Any) -> None:
        source = self._open(X, None, sample_weight)
        rows, weight = source.whole(), source.weight
        self._check_rows(rows)
        outcome = self._drive(
            lambda start: _solve(lambda: self._learn(rows, weight), heavy=len(rows) > _MANY_ROWS),
            source,
            fitted=lambda state: self._list_attributes(state, weight),
            max_steps=1,
        )
        self._conclude(outcome)

    def _check_rows(self, X: Array) -> None:
        """Raise if the rows cannot be used."""

    def _learn(self, X: Array, weight: Array) -> tuple[dict[str, Any], Array]:
        """Return the fitted attributes, and the scores of the rows of the fit."""
        raise NotImplementedError  # each detector defines its own

    def _set_offset(self, scores: Array, weight: Array) -> float:
        """Return the threshold."""
        return find_offset(scores, self.contamination, weight)

    def _list_attributes(self, state: LearntDetector, weight: Array) -> dict[str, Any]:
        offset = self._set_offset(to_numpy(state.scores), weight)
        return state.attributes | {"training_scores_": state.scores, "offset_": offset}

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> Any:
        """Fit the detector, and return 1 for usual rows and -1 for outliers among the rows of the fit.

        Parameters
        ----------
        **kwargs : dict
            What ``fit`` takes beside.
        """
        self.fit(X, **kwargs)
        return label_scores(self.training_scores_ - self.offset_)


def _solve(learn: Callable[[], tuple[dict[str, Any], Array]], heavy: bool) -> Solver:
    attributes, scores = yield Dense(learn, heavy=heavy)
    state = LearntDetector(attributes, scores)
    yield Step(float(scores.mean(dtype="float64")), state, NO_BOUND)
    return Solution(state, True, NO_BOUND)


def fit_part(subject: str, part: Any, X: Array, weight: Array) -> Any:
    """Fit a part of a detector to rows, with weights if there are any; return what its ``fit`` returns."""
    if weight is None:
        return part.fit(X)
    if not has_fit_parameter(part, "sample_weight"):
        raise DataError(f"{subject}: {type(part).__name__} takes no sample_weight; leave the weights out.")
    return part.fit(X, sample_weight=weight)

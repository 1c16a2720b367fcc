"""Classifiers that are functions of sums over the rows of each class: one pass, and additive over time."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from mercer._base.estimator import Estimator
from mercer._base.parameter import Integer, Nothing, attribute, parameter
from mercer._base.validation import check_finite, check_labels, sum_is_finite
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import ArraySource, Source, place_of
from mercer._source.namespace import to_numpy
from mercer._statistic import Statistic
from mercer._stored import Stored, part
from mercer.errors import DataError

CLOSED_FORM = Certificate.none(
    "The parameters are a closed form of sums over the rows of each class, exact to rounding."
)


@plain
@dataclass(frozen=True, eq=False)
class SeenClasses:
    """What is kept of all rows so far: their sums by class, and the type they would have joined."""

    sums: Any
    dtype: str


class ClassModel(Estimator):
    """The fit of a classifier from sums by class: ``fit`` and ``partial_fit`` are the same pass.

    Subclasses say what to sum (:meth:`_sum_rows`), which state a model is made of (:meth:`_state`, which may ask for
    more sums) and its attributes (:meth:`_attributes_of`). The sums must have ``classes`` and ``weights``, and the
    verbs ``over``, ``present`` and ``plainly``.
    """

    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _objective_moves: ClassVar[str | None] = "up"
    # Whether the sums have ``totals`` of all values: NaN shows there, so that rows need no check before the pass.
    _totals_show_nan: ClassVar[bool] = False
    classes_: Any = attribute()
    _seen: SeenClasses | None = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "_seen": part("SeenClasses"),
    }

    def _sum_rows(self, source: Source, additive: bool) -> Statistic:
        """Return the statistic that one pass sums; later rows may be added to an `additive` one."""
        raise NotImplementedError  # each model sums its own

    def _state(self, sums: Any, source: Source) -> Generator[Any, Any, tuple[Any, float]]:
        """Return the model's state and the mean log-likelihood of rows and labels."""
        raise NotImplementedError  # each model makes its own

    def _attributes_of(self, state: Any, dtype: str) -> dict[str, Any]:
        """Return the fitted attributes of a state, as arrays of `dtype`."""
        raise NotImplementedError  # each model has its own

    def _learn(
        self, X: Any, y: Any, weight: Any, *, partial: bool = False, classes: Any = None, **options: Any
    ) -> None:
        """Sum the rows, add what was seen before if the fit is `partial`, and make the model of it."""
        seen = vars(self).get("_seen") if partial else None
        declared = self._check_declared(classes, seen) if partial else None
        if self._totals_show_nan and place_of(X, y) == "memory":
            options["ensure_all_finite"] = False
        source = self._open(X, y, weight, targets="labels", reset=seen is None, **options)
        if source.place == "memory":
            check_labels(source.y)
        dtype = source.host_dtype if seen is None else np.promote_types(source.host_dtype, seen.dtype)
        outcome = self._drive(
            lambda start: self._solve(source, seen, declared),
            source,
            fitted=lambda state: self._attributes_of(state, dtype.name),
            max_steps=1,
        )
        if outcome.interrupt is None:
            # A closed form is complete after its one step, even if a watch asked to stop there.
            self.converged_ = outcome.converged = True
        self._conclude(outcome)

    def _solve(self, source: Source, seen: SeenClasses | None, declared: Any) -> Solver:
        sums = (yield self._sum_rows(source, additive=declared is not None)).plainly()
        if self._totals_show_nan and source.place == "memory" and not sum_is_finite(sums.totals):
            check_finite(cast(ArraySource, source).X, source.threads, self)
        if declared is None:
            # Without declared classes, a label whose rows all have weight zero is no class.
            sums = sums.present()
        else:
            self._check_labels(sums.classes, declared)
            sums = sums.over(declared) if seen is None else seen.sums + sums.over(declared)
        state, objective = yield from self._state(sums, source)
        yield Step(objective, state, CLOSED_FORM)
        return Solution(state, True, CLOSED_FORM)

    def _check_declared(self, classes: Any, seen: SeenClasses | None) -> np.ndarray:
        """Return the classes that ``partial_fit`` may meet: those of its first call, which may not change later."""
        name = type(self).__name__
        if seen is None and classes is None:
            raise DataError(
                f"{name}: classes must be passed on the first call to partial_fit; give all labels there will be."
            )
        given = None if classes is None else np.unique(to_numpy(classes))
        if seen is None:
            return np.unique(to_numpy(classes))
        known = seen.sums.classes
        # The sums have one row for each declared class, so a later call may repeat the classes but not change them.
        if given is not None and not np.array_equal(given, known):
            raise DataError(
                f"{name}: `classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}; give "
                f"the same, or begin with a new {name}."
            )
        return known

    def _check_labels(self, found: Any, declared: np.ndarray) -> None:
        unknown = np.setdiff1d(found, declared)
        if len(unknown):
            raise DataError(
                f"{type(self).__name__}: The target label(s) {unknown} in y do not exist in the initial classes "
                f"{declared}; name all labels in the first call of partial_fit."
            )

    def _list_class_attributes(self, sums: Any, dtype: str) -> dict[str, Any]:
        """Return the attributes that every such model has."""
        return {"classes_": sums.classes, "_seen": SeenClasses(sums, dtype)}

"""The estimator skeleton: what every mercer estimator shares.

An estimator declares each parameter in one line (:func:`mercer._base.parameter.parameter`), and its ``fit``, marked
:func:`fitting`, has five sentences: check, open the source, choose the solver, drive, store. :class:`Estimator` gives
it the first, second, fourth and fifth.
"""

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from mercer._base.gathering import answer_elsewhere, gather_arguments
from mercer._base.guard import FitGuard, clean_arguments, is_inside_fit
from mercer._base.guard.soundness import assign, check_restored, list_assigned, view_arrays
from mercer._base.interface import CallbackSupportMixin
from mercer._base.model_placement import follow_rows, place_attributes
from mercer._base.opening import open_rows
from mercer._base.parameter import Integer, Nothing, Real, check_parameters, parameter
from mercer._base.parameter.declaration import DeclaredEstimator
from mercer._base.rehearsal import find_rehearsal
from mercer._base.resumption import CheckpointWriter, check_resumed, read_resumed, resume_solver, resume_state
from mercer._base.scikit_learn import (
    CALLBACK_MARKS,
    OUTPUT_CONFIG,
    TEARDOWN,
    add_places,
    callbacks_of,
    open_callback_context,
)
from mercer._config import get_config
from mercer._solver import Outcome, Solver, Step, drive
from mercer._solver.driver import Recorder, Watch
from mercer._source import Source
from mercer._source.threads import count_holds, drop_holds, n_threads, one_blas_thread
from mercer._stored import (
    Stored,
    choice,
    collect_stored,
    flags,
    integers,
    labels,
    mapping,
    members,
    numbers,
    part,
    size,
    texts,
)
from mercer._types import State
from mercer._version import __version__
from mercer.errors import DataError, InterruptWarning
from mercer.watch import Checkpoint, EarlyStopping, TimeLimit
from mercer.watch.bridge import CallbackBridge, StepPrinter

# Where a pickled state names the version of mercer that wrote it.
_VERSION = "_mercer_version"

Fit = TypeVar("Fit", bound=Callable[..., Any])


def fitting(fit: Fit) -> Fit:
    """Mark a method that fits: check the parameters first, and restore the estimator's attributes if it fails."""

    names = list(inspect.signature(fit).parameters)[1:]

    @with_callbacks
    @wraps(fit)
    def check_and_fit(self: "Estimator", *args: Any, **kwargs: Any) -> Any:
        before, holds = dict(self.__dict__), count_holds()
        guard = FitGuard(self, fit, args, kwargs)
        try:
            self._check_parameters()
            with guard:
                clean, options = gather_arguments(self, names, args, kwargs)
                clean, options = clean_arguments(type(self).__name__, clean, options)
                result = fit(self, *clean, **options)
            follow_rows(self, args[0] if args else kwargs.get("X"))
            return result
        except BaseException as error:
            # Ctrl-C at the first instruction of an exit leaves the guard open, or the BLAS held to one thread.
            if not isinstance(error, Exception):
                guard.close()
                drop_holds(holds)
            # An interrupted fit may keep what it has reached; its error then names this very estimator.
            if getattr(error, "mercer_state_kept", None) is self:
                follow_rows(self, args[0] if args else kwargs.get("X"))
            else:
                state = {name: value for name, value in self.__dict__.items() if name in TEARDOWN}
                self.__dict__.clear()
                self.__dict__.update(before | state)
            raise

    check_and_fit.is_fitting = True  # type: ignore[attr-defined]
    return cast(Fit, check_and_fit)


@dataclass
class _Watching(Generic[State]):
    """How a fit is observed and where it starts: the watches, the state to resume from, and the history so far."""

    watches: list[Watch] = field(default_factory=list)
    bridge: CallbackBridge | None = None
    start: State | None = None
    resumed: Checkpoint | None = None
    recorder: Recorder = field(default_factory=Recorder)


class Estimator(CallbackSupportMixin, DeclaredEstimator):
    """Base of all mercer estimators.

    Attributes
    ----------
    history_ : dict of ndarray
        One array per column (``step``, ``objective``, ``seconds``, and what the solver adds), one entry per step.
    converged_ : bool
        Whether the solver met its own stopping rule.
    n_iter_ : int
        Steps taken.
    certificate_ : Certificate
        How far from the optimum the answer can be.
    """

    _stores_record: ClassVar[bool] = True
    # Laws this class is exempt from, each with its reason; the law suite fails an exemption that is not needed.
    _law_exceptions: ClassVar[dict[str, str]] = {}
    # The scikit-learn estimator checks this class is exempt from, each with its reason.
    _check_exceptions: ClassVar[dict[str, str]] = {
        "check_array_api_mixed_inputs": (
            "targets and weights on another device than the rows are refused with the cure: nothing moves between "
            "devices unasked"
        )
    }
    # Where the rows may be that this class is fitted to; see mercer._source.opening.PLACES.
    _places: ClassVar[tuple[str, ...]] = ("memory",)
    # Parameters along which a fit with `warm_start` goes on from the one before: 1 upwards, such as the number of
    # trees, and -1 downwards, such as the strength of a penalty. Searches try their values in that order.
    _grows_with: ClassVar[dict[str, int]] = {}
    # Whether sparse rows are taken, and missing values; scikit-learn's tags and the docstrings of methods say so.
    _takes_sparse: ClassVar[bool] = False
    _takes_gaps: ClassVar[bool] = False
    # Whether a fit takes rows of a place that is not among `_places` all at once, in memory.
    _gathers: ClassVar[bool] = True
    # Why: what follows "because" on the page of places.
    _needs_rows: ClassVar[str] = ""
    # Whether a list of arrays is one of sequences, and not one of blocks of rows.
    _lists_are_sequences: ClassVar[bool] = False
    # Whether targets are labels although this is no classifier.
    _learns_labels: ClassVar[bool] = False
    # Which units of the data decide what a fit finds, so that it warns where they are far from any that it can be meant
    # for: "columns" for their spreads relative to each other (distances, directions of most variance), "scale" for
    # their common one (a length or a penalty in their units), "place" for their means far from zero, "target" and
    # "target place" for the same of y. The law of units (tests/laws/test_units.py) holds every class to these words.
    _depends_on_units: ClassVar[tuple[str, ...]] = ()
    # What a fitted model, and so a model file, may hold; classes add their own. See mercer._stored.
    _stored: ClassVar[dict[str, Stored]] = {
        "n_features_in_": size("columns"),
        "feature_names_in_": texts("columns"),
        "classes_": labels("classes") | members(labels("*")),
        "history_": mapping(numbers("*")),
        "converged_": flags(),
        "n_iter_": integers("...", low=0) | members(integers(low=0)),
        "certificate_": part("Certificate"),
        "solver_used_": texts(),
        "_dtype": choice("float64", "float32"),
        "_precision": choice("float64", "float32"),
        "_n_features_out": integers(low=0),
        OUTPUT_CONFIG: mapping(texts()),
        # What partial_fit has summed over, in the classes that have it; see mercer._base.batches.
        "_seen": part("Seen"),
        "n_samples_seen_": numbers(" | columns"),
    }
    # Declared attributes that only some fits store: what a fitted model without them says.
    _absences: ClassVar[dict[str, str]] = {}
    # Which way the objective in history_ moves: "down" for costs, "up" for likelihoods, None where neither is promised.
    _objective_moves: ClassVar[str | None] = "down"
    # What helps where a fit has ended by its own rule, but its certificate does not hold.
    _stalled_cure: ClassVar[str] = "scale the columns, or raise tol"
    # Whether the state of a checkpoint is a model by itself, whose attributes are checked before a fit goes on from it.
    # Elsewhere the attributes also need what the fit computes anew, and no native code reads the state.
    _checks_resumed: ClassVar[bool] = True
    # Whether the class itself checks attributes that a user assigns, whenever it uses them.
    _checks_assigned: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Places that depend on parameters are known by each instance alone.
        if cls._gathers and not (isinstance(cls._places, tuple) and {"file", "stream", "dask"} <= set(cls._places)):
            answer_elsewhere(cls)

    def _check_parameters(self) -> None:
        check_parameters(type(self).__name__, self._parameters, self.__dict__)

    def _check_structure(self) -> None:
        """Raise ModelFileError where loaded parts do not fit together; for classes whose native code walks indices."""

    if not TYPE_CHECKING:  # type checkers would take any misspelt attribute for one that this finds

        def __getattr__(self, name: str) -> Any:
            """Say of a declared attribute that is not there that the model is not fitted, or its file not whole."""
            if name in CALLBACK_MARKS:
                # Every fit asks for these and most have none: a walk through the classes would take 5 us each.
                raise AttributeError(name)
            for base in type(self).__mro__:
                if name in vars(base):
                    # A property or method that raised AttributeError: its own words say more than ours.
                    return vars(base)[name].__get__(self, type(self))
            if hasattr(type(self), name):
                # A property, or a method that is there for some parameters only, has failed: its own error says why.
                return object.__getattribute__(self, name)
            if name in collect_stored(type(self)):
                if name in self._absences and "history_" in vars(self):
                    raise NotFittedError(f"{type(self).__name__}: {self._absences[name]}")
                raise NotFittedError(
                    f"{type(self).__name__!r} object has no attribute {name!r}: this model was not fitted so that it "
                    f"has it, or its file lacks it. Fit it, or save it again."
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        """Assign an attribute; a declared one that a user assigns must fit the others.

        Arrays are stored as views, which NumPy refuses to resize: native code relies on shapes that were checked.
        """
        cls: Any = type(self)
        if name in list_assigned(cls):
            if type(value) is np.ndarray and value.base is None:
                value = value.view()
            if not is_inside_fit():
                assign(self, name, value)
                return
        object.__setattr__(self, name, value)

    def __getstate__(self) -> Any:
        """Return the attributes for a pickle or a copy, with the version of mercer that wrote them."""
        state: Any = super().__getstate__()
        return {**state, _VERSION: __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes that a pickle or a copy holds; they must fit together."""
        if _VERSION in state:
            written = state[_VERSION]
            state = {name: value for name, value in state.items() if name != _VERSION}
            if written != __version__:
                warnings.warn(
                    f"{type(self).__name__}: this pickle was written by mercer {written} and is read by {__version__}; "
                    f"it may fail or answer otherwise. mercer.save keeps models for later versions.",
                    UserWarning,
                    stacklevel=2,
                )
        super().__setstate__(view_arrays(state))
        if not is_inside_fit():
            check_restored(self)

    def _threads(self) -> int:
        return n_threads(vars(self).get("n_jobs"))

    def _open(self, X: Any, y: Any = None, sample_weight: Any = None, **options: Any) -> Source:
        """Check rows, targets and weights as the user gave them, wherever they are, and open them as a source.

        `options` are ``targets`` (None, ``"numbers"`` or ``"labels"``) and the others of
        :func:`mercer._base.opening.open_rows`. In a rehearsal the source reports what is read of it.
        """
        source = open_rows(self, X, y, sample_weight, **options)
        if (rehearsal := find_rehearsal(self)) is not None:
            source.readings = rehearsal.readings
        return source

    def _needs_memory(self, source: Source, what: str, cure: str) -> None:
        """Raise if rows are not in memory where `what` must reach them one by one."""
        if source.place != "memory":
            raise DataError(
                f"{type(self).__name__}: {what} needs all rows in memory; got {source.description}. "
                f"{cure[:1].upper()}{cure[1:]}, or load the rows first."
            )

    def __sklearn_tags__(self) -> Any:
        tags = add_places(super().__sklearn_tags__(), self._places, self._needs_rows if self._gathers else "")
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.allow_nan = self._takes_gaps
        return tags

    def _labels(self, source: Source, given: dict[str, Any]) -> Any:
        """Return the targets as the user gave them, for callbacks; `given` holds the attributes known before."""
        return source.y

    def _fitted(self, state: Any) -> dict[str, Any]:
        """Return the fitted attributes that a solver's state stands for; enough of them to predict."""
        raise NotImplementedError  # each estimator that drives a solver defines its own

    def _drive(
        self,
        solve: Callable[[State | None], Solver[State]],
        source: Source,
        *,
        fitted: Callable[[State], dict[str, Any]] | None = None,
        fitted_after_interrupt: Callable[[State], dict[str, Any]] | None = None,
        max_steps: int | None = None,
        attributes: dict[str, Any] | None = None,
        seconds_spent: float = 0.0,
    ) -> Outcome[State]:
        """Run ``solve(start)`` over `source`, store the fitted attributes, and return how the fit ended.

        Parameters
        ----------
        solve : callable
            From a state to resume from, or None, to a solver.
        source : Source
            The rows.
        fitted : callable or None
            From a solver's state to the fitted attributes that it stands for, enough of them to predict; by default
            the method ``_fitted``. What else the attributes depend on is bound to it, not kept on the estimator.
        fitted_after_interrupt : callable or None
            The same for the state that Ctrl-C keeps, where `fitted` takes longer than Ctrl-C may wait.
        max_steps : int or None
            The most steps the solver can yield; progress bars show it.
        attributes : dict or None
            Fitted attributes that do not depend on the solver's state, such as ``classes_``.
        seconds_spent : float
            Seconds that count against ``max_time`` but have passed before the solver starts.
        """
        given = attributes or {}
        fitted = self._fitted if fitted is None else fitted
        following: _Watching[State] = self._watch(source, max_steps, given, fitted, seconds_spent)
        # One BLAS thread for the products between the solver's requests too, so that they sum in one order; set once
        # here, it need not be set in every pass.
        try:
            with one_blas_thread():
                if following.resumed is None or following.start is None:
                    solver = solve(following.start)
                else:
                    if self._checks_resumed:
                        check_resumed(self, following.start, fitted, given, following.resumed.path)
                    solver = resume_solver(solve, following.start, following.resumed)
                    fitted = read_resumed(fitted, following.resumed)
                outcome = drive(solver, source, following.watches, following.recorder)
        finally:
            source.release()
        if outcome.interrupt is not None and fitted_after_interrupt is not None:
            fitted = fitted_after_interrupt
        # What is found from the last state has products too, and callbacks have read it under one BLAS thread.
        with one_blas_thread():
            found = given | fitted(outcome.state)
        for name, value in found.items():
            setattr(self, name, value)
        self.history_ = outcome.history
        self.converged_ = outcome.converged
        self.certificate_ = outcome.certificate
        if "n_iter_" not in given:
            self.n_iter_ = outcome.n_steps
        if following.bridge is not None:
            following.bridge.end(outcome.state)
        for watch in following.watches:
            if isinstance(watch, CheckpointWriter) and outcome.interrupt is None:
                watch.remove()
        return outcome

    def _watch(
        self,
        source: Source,
        max_steps: int | None,
        given: dict[str, Any],
        fitted: Callable[[State], dict[str, Any]],
        seconds_spent: float,
    ) -> _Watching[State]:
        """Collect the watches of a fit: callbacks, checkpoints, the time limit, printed lines, and a rehearsal."""
        following: _Watching[State] = _Watching()
        watches, state = following.watches, vars(self)
        callbacks = callbacks_of(self)
        # A search gives each of its fits a context to report to; without callbacks nobody reads what is reported.
        if callbacks:
            root = open_callback_context(self, max_subtasks=max_steps)
            following.bridge = CallbackBridge(
                self,
                root,
                lambda state: place_attributes(given | fitted(state), source.placement),
                # Rows and labels are given as functions:
                # a callback that does not ask for them does not pay for reading them.
                X=lambda: source.whole(),
                y=lambda: self._labels(source, given),
                judges=[callback for callback in callbacks if isinstance(callback, EarlyStopping)],
            )
            watches.append(following.bridge)
        for callback in callbacks:
            if isinstance(callback, Checkpoint):
                following.start, following.recorder = resume_state(callback, self, source)
                following.resumed = callback
                watches.append(CheckpointWriter(callback, self, source, following.recorder))
        if state.get("max_time") is not None:
            # Seconds that this fit has already spent count against the limit too.
            watches.append(TimeLimit(max(0.0, state["max_time"] - seconds_spent)))
        if state.get("verbose"):
            watches.append(StepPrinter(self._describe_step))
        if (rehearsal := find_rehearsal(self)) is not None:
            rehearsal.most_steps = max_steps
            watches.append(rehearsal)
        return following

    def _is_watched(self) -> bool:
        """Return whether anybody looks at the steps of a fit one by one; otherwise a native call may take many."""
        state = vars(self)
        if callbacks_of(self):
            return True
        limited = state.get("max_time") is not None
        return limited or bool(state.get("verbose")) or find_rehearsal(self) is not None

    def _describe_step(self, number: int, step: Step[Any]) -> str:
        """Return the line about a step that ``verbose`` prints."""
        measures = "".join(f", {name} {value:.3g}" for name, value in step.extra.items())
        return f"{type(self).__name__}: step {number + 1}, objective {step.objective:.9g}{measures}"

    def _conclude(self, outcome: Outcome[Any], cure: str = "raise max_iter or tol") -> None:
        """Warn if the fit did not reach its tolerance, and raise KeyboardInterrupt again if that ended it.

        Called last in ``fit``, when every attribute is stored.
        """
        name = type(self).__name__
        if outcome.interrupt is not None:
            warnings.warn(
                f"{name}: interrupted after {outcome.n_steps} steps; the last complete state was kept.",
                InterruptWarning,
                stacklevel=5,
            )
            if get_config()["on_interrupt"] == "raise":
                # Tells `fitting` not to restore the attributes from before the fit. It names this estimator: those
                # around it, which fit it as a part of theirs, have no state of their own yet and restore theirs.
                vars(outcome.interrupt)["mercer_state_kept"] = self
                raise outcome.interrupt
        elif not outcome.converged and outcome.reason in ("max_iter", "max_time", "line_search", "stalled"):
            reached = outcome.certificate
            bound = (
                ""
                if reached.satisfied is not False
                else f"; {reached.kind} {reached.value:.3g} > {reached.tolerance:.3g}"
            )
            # Where rounding hides any descent, or the method has ended by its own rule, more steps would not help.
            cures = {"max_time": "raise max_time"} | dict.fromkeys(("line_search", "stalled"), self._stalled_cure)
            cure = cures.get(outcome.reason, cure)
            ended = "ended by its own rule" if outcome.reason == "stalled" else f"stopped by {outcome.reason}"
            warnings.warn(
                f"{name}: {ended} after {outcome.n_steps} steps, not converged{bound}; {cure}.",
                ConvergenceWarning,
                stacklevel=5,
            )


class LimitedEstimator(Estimator):
    """An estimator with the two limits that most have: seconds, and threads."""

    max_time: float | None = parameter(Real(0) | Nothing(), default=None)
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)

"""Write checkpoints and resume from them: the estimator's side of :class:`mercer.watch.Checkpoint`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib

from mercer._base import model_file
from mercer._base.guard.soundness import check_parts
from mercer._solver import Solver, Step
from mercer._solver.driver import Recorder
from mercer._source import Source
from mercer._stored import check_stored, collect_stored
from mercer._types import State
from mercer.errors import CheckpointError, MercerError, ModelFileError
from mercer.watch import Checkpoint


def _fingerprint(estimator: Any, source: Source) -> dict[str, Any]:
    """Return what must be the same for a state to be resumed: the class, its parameters, and the data.

    Threads and time limits may differ: they do not change results.
    """
    parameters = estimator.get_params(deep=False)
    return {
        "estimator": type(estimator).__name__,
        "parameters": {
            name: _describe_parameter(value) for name, value in parameters.items() if name not in ("n_jobs", "max_time")
        },
        **source.fingerprint(),
    }


def _describe_parameter(value: Any) -> str:
    """Return what is the same for equal values, also in another process: an address in the text is not."""
    shown = repr(value)
    return shown if " at 0x" not in shown else str(joblib.hash(value))


class CheckpointWriter:
    """A watch that writes the state whenever the user's checkpoint is due."""

    def __init__(self, checkpoint: Checkpoint, estimator: Any, source: Source, recorder: Recorder) -> None:
        self.checkpoint = checkpoint
        self.fingerprint = _fingerprint(estimator, source)
        self.recorder = recorder

    def step(self, number: int, step: Step) -> str | None:
        if self.checkpoint.due():
            record = {"fingerprint": self.fingerprint, "history": self.recorder.columns, "state": step.state}
            model_file.save_plain(record, self.checkpoint.path)
        return None

    def choose_step(self, last: Step) -> Step:
        return last

    def remove(self) -> None:
        """Remove the file after a fit that was not interrupted."""
        self.checkpoint.path.unlink(missing_ok=True)


def resume_state(checkpoint: Checkpoint, estimator: Any, source: Source) -> tuple[Any, Recorder]:
    """Read the state from the checkpoint's file and the history up to it; None and no history without a file."""
    checkpoint.resumed_from_ = None
    if not checkpoint.path.exists():
        return None, Recorder()
    try:
        record = model_file.load_plain(checkpoint.path)
    except ModelFileError as error:
        raise CheckpointError(
            f"Checkpoint: {checkpoint.path} cannot be read ({error}); delete it to start afresh."
        ) from error
    # A saved model is a valid plain file too; its keys tell it from a state.
    if not isinstance(record, dict) or record.keys() != {"fingerprint", "history", "state"}:
        raise CheckpointError(
            f"Checkpoint: {checkpoint.path} must hold the state of a fit; it holds other content, such as a model. "
            f"Name another file, or delete it to start afresh."
        )
    # The fingerprint covers class, parameters and rows: going on from a state of other rows would converge elsewhere.
    if record["fingerprint"] != _fingerprint(estimator, source):
        raise CheckpointError(
            f"Checkpoint: {checkpoint.path} was written by another fit (other estimator, parameters or data); "
            f"delete it to start afresh, or name another file."
        )
    if not _is_history(record["history"]):
        raise CheckpointError(
            f"Checkpoint: {checkpoint.path} must hold columns of numbers, one for each step, as the history of its "
            f"fit; it holds others. Delete it to start afresh."
        )
    recorder = Recorder(record["history"])
    checkpoint.resumed_from_ = len(recorder)
    return record["state"], recorder


def _is_history(history: Any) -> bool:
    """Return whether a value has the columns of a history: lists of numbers, and at least one step."""
    if not isinstance(history, dict) or not history.keys() >= {"step", "objective", "seconds"}:
        return False
    columns = list(history.values())
    if not all(isinstance(column, list) and all(isinstance(one, int | float) for one in column) for column in columns):
        return False
    return 0 < len(history["step"]) == len(history["objective"]) == len(history["seconds"])


def check_resumed(
    estimator: Any, state: State, fitted: Callable[[State], dict[str, Any]], given: dict[str, Any], path: Path
) -> None:
    """Raise CheckpointError if the attributes that a state stands for do not fit the rows of this fit.

    Native code reads rows and parameters side by side, without checking their shapes. `given` holds the attributes that
    do not depend on the state; those of an earlier fit are not looked at.
    """
    cls: Any = type(estimator)
    with _blaming(path):
        attributes = {"n_features_in_": estimator.n_features_in_} | given | fitted(state)
    try:
        check_parts(attributes.values())
        check_stored(cls.__name__, attributes, collect_stored(cls), {})
    except ModelFileError as error:
        raise CheckpointError(
            f"Checkpoint: {path} holds a state that does not fit these rows: {error} Delete it to start afresh."
        ) from error


def resume_solver(
    solve: Callable[[State | None], Solver[State]], start: State, checkpoint: Checkpoint
) -> Solver[State]:
    """Run ``solve(start)``, and blame the file for raw errors of the solver and of its requests.

    Errors of callbacks and other watches pass through: the driver calls those itself.
    """
    with _blaming(checkpoint.path):
        solver = solve(start)
    answer: Any = None
    try:
        while True:
            try:
                with _blaming(checkpoint.path):
                    request = solver.send(answer)
            except StopIteration as end:
                return end.value
            # A Step goes to the watches as it is. Other requests compute on the state,
            # so their raw errors blame the file too.
            answer = yield request if isinstance(request, Step) else _ResumedRequest(request, checkpoint.path)
    # An error of a watch is raised at the yield; closing lets the solver release what it holds.
    finally:
        solver.close()


def read_resumed(
    fitted: Callable[[State], dict[str, Any]], checkpoint: Checkpoint
) -> Callable[[State], dict[str, Any]]:
    """Return `fitted`, from a state to attributes, such that it blames the file for raw errors."""

    def read(state: State) -> dict[str, Any]:
        with _blaming(checkpoint.path):
            return fitted(state)

    return read


@dataclass(frozen=True)
class _ResumedRequest:
    """A request of a resumed solver."""

    request: Any
    path: Path

    def answer(self, source: Source) -> Any:
        with _blaming(self.path):
            return self.request.answer(source)


@contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """Turn raw errors into one that names the checkpoint: a sound state does not raise them."""
    try:
        yield
    # These speak for themselves; StopIteration is how a generator ends, and lack of memory is no fault of the file.
    except (MercerError, StopIteration, MemoryError):
        raise
    except Exception as error:
        raise CheckpointError(
            f"Checkpoint: {path} holds a state that its fit cannot go on from ({type(error).__name__}: "
            f"{str(error)[:200]}); delete it to start afresh."
        ) from error

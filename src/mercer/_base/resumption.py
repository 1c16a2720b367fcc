"""Write checkpoints and resume from them: the estimator's side of :class:`mercer.watch.Checkpoint`."""

from typing import Any

from mercer._base import model_file
from mercer._solver import Step
from mercer._solver.driver import Recorder
from mercer._source import Source
from mercer.errors import CheckpointError, ModelFileError
from mercer.watch import Checkpoint

__all__ = ["CheckpointWriter", "resume_state"]


def _fingerprint(estimator: Any, source: Source) -> dict[str, Any]:
    """Return what must be the same for a state to be resumed: the class, its parameters, and the data.

    Threads and time limits may differ: they do not change results.
    """
    parameters = estimator.get_params(deep=False)
    return {
        "estimator": type(estimator).__name__,
        "parameters": {name: repr(value) for name, value in parameters.items() if name not in ("n_jobs", "max_time")},
        **source.fingerprint(),
    }


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
        message = f"Checkpoint: {checkpoint.path} cannot be read ({error}); delete it to start afresh."
        raise CheckpointError(message) from error
    if not isinstance(record, dict) or record.keys() != {"fingerprint", "history", "state"}:
        message = (
            f"Checkpoint: {checkpoint.path} must hold the state of a fit; it holds other content, such as a model. "
            f"Name another file, or delete it to start afresh."
        )
        raise CheckpointError(message)
    if record["fingerprint"] != _fingerprint(estimator, source):
        message = (
            f"Checkpoint: {checkpoint.path} was written by another fit (other estimator, parameters or data); "
            f"delete it to start afresh, or name another file."
        )
        raise CheckpointError(message)
    recorder = Recorder(record["history"])
    checkpoint.resumed_from_ = len(recorder)
    return record["state"], recorder

"""Checkpoints: a fit that was killed resumes from a file and ends with the same bits."""

import time
from pathlib import Path
from typing import Any


class Checkpoint:
    """Write the solver's state to a file as the fit goes, and resume from that file if it is there.

    The file is replaced in one piece, so a kill at any moment leaves the last complete one. It holds plain data in the
    format of :func:`mercer.save` and a fingerprint of the estimator, its parameters and the data; resuming another fit
    from it is an error. When the fit ends by itself the file is removed.

    Parameters
    ----------
    path : str or Path
        The file.
    every : float, default=10
        Seconds between two writes; 0 writes after every step.

    Attributes
    ----------
    resumed_from_ : int or None
        The number of completed steps in the file that the last fit resumed from.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mercer.cluster import KMeans
    >>> from mercer.watch import Checkpoint
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(1000, random_state=0)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "fit.checkpoint"
    >>> KMeans(3, random_state=0).set_callbacks(Checkpoint(path)).fit(X).converged_
    True
    """

    def __init__(self, path: str | Path, *, every: float = 10.0) -> None:
        self.path = Path(path)
        self.every = every
        self.resumed_from_: int | None = None
        self._written = time.perf_counter()

    # scikit-learn's protocol: the estimator's driver does the work, because only it knows the solver's state.
    def setup(self, estimator: Any, context: Any) -> None:
        self._written = time.perf_counter()

    def teardown(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        return False

    def due(self) -> bool:
        """Return whether `every` seconds have passed since the last write; if so, start the next interval."""
        now = time.perf_counter()
        if now - self._written < self.every:
            return False
        self._written = now
        return True

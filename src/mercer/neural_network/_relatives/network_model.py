"""What estimators made of a network share: parameters of the training, and the warning where it diverges."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._base import Estimator, seed_sequence
from mercer._base.parameter import Boolean, Integer, Nothing, Real, Rule, Seed
from mercer._source import Source
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.neural_network._layers.network import Network
from mercer.neural_network._relatives.training import Schedule

__all__ = ["IN_BATCHES", "WHOLE_ROWS", "NetworkModel", "WholeRows", "find_penalised"]

_SHUFFLED = "rows are shuffled into batches by their place"
IN_BATCHES = "batches have a fixed number of rows, so repeated rows fall into other batches"


@dataclass(frozen=True)
class WholeRows:
    """A request: all rows, targets and weights, as they are stored."""

    def answer(self, source: Source) -> tuple[Array, Array, Array]:
        return source.whole(), source.y, source.weight


WHOLE_ROWS = WholeRows()


class NetworkModel(Estimator):
    """Base of estimators that train a network in batches."""

    # Parameters of the training, the same for every class.
    _training: ClassVar[dict[str, Rule]] = {
        "alpha": Real(0),
        "learning_rate_init": Real(0, closed="neither"),
        "batch_size": Integer(1),
        "max_iter": Integer(1),
        "tol": Real(0),
        "n_iter_no_change": Integer(1),
        "early_stopping": Boolean(),
        "validation_fraction": Real(0, 1, closed="neither"),
        "random_state": Seed(),
        "verbose": Boolean(),
        "max_time": Real(0) | Nothing(),
    }
    _law_exceptions: ClassVar[dict[str, str]] = {"row order": _SHUFFLED, "weights": IN_BATCHES}
    # Batches are noisy.
    _objective_moves: ClassVar[str | None] = None
    # The largest norm of a gradient; longer ones are cut to it.
    _max_norm: ClassVar[float | None] = None

    learning_rate_init: float
    batch_size: int
    max_iter: int
    tol: float
    n_iter_no_change: int
    early_stopping: bool
    validation_fraction: float
    random_state: Any

    _stored: ClassVar[dict[str, Stored]] = {
        "weights_": floats("weights"),
    }

    def _schedule(self) -> Schedule:
        return Schedule(
            float(self.learning_rate_init),
            self.batch_size,
            self.max_iter,
            float(self.tol),
            self.n_iter_no_change,
            float(self.validation_fraction) if self.early_stopping else 0.0,
            self._max_norm,
        )

    def _seed(self) -> tuple[int, ...]:
        return tuple(int(word) for word in seed_sequence(self.random_state).generate_state(4))

    def _finish(self, outcome: Any) -> None:
        """Warn where the training diverged or did not come to rest."""
        if outcome.reason == "diverged":
            message = (
                f"{type(self).__name__}: the loss was no longer a number in epoch {outcome.n_steps + 1}; the weights "
                f"of epoch {outcome.n_steps} were kept. Lower learning_rate_init (now {self.learning_rate_init!r}), or "
                f"scale the columns."
            )
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        self._conclude(outcome, "raise max_iter, tol or learning_rate_init")


def find_penalised(network: Network) -> Array:
    """Return 1 for the weights that a penalty applies to, and 0 for biases and the parameters of normalisations."""
    mask = np.zeros(network.n_weights)
    for node in network.nodes:
        for key, (place, _) in node.weights.items():
            if key[0] in "WU":
                mask[place] = 1.0
    return mask

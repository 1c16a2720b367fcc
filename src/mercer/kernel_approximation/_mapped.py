"""What approximate feature maps share: a draw at the fit, and a map of each block at the transform."""

from collections.abc import Generator
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import LimitedEstimator, few_rows, fitting, open_new_rows
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.parameter import Integer, Seed, parameter
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import Source
from mercer._source.memory import require_memory

_DRAWN = "A feature map is drawn, not optimised; its error falls with the root of n_components."


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LimitedEstimator):
    """A transformer whose dot products approximate a kernel."""

    n_components: int = parameter(Integer(1), default=100)
    random_state: Any = parameter(Seed(), default=None, doc="Seed of the draw.")

    _documents = {
        "max_time": "Accepted as by every estimator; a draw takes no time.",
    }

    _objective_moves: ClassVar[str | None] = None
    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _takes_sparse = True

    def _draw(self, source: Source) -> Generator[Any, Any, Any]:
        """Draw the map for the rows of `source` and return its state; yields requests as a solver does."""
        raise NotImplementedError  # each map defines its own

    def _map(self, ready: bool) -> Any:
        """Return the function from a block to its new columns; `ready` says that rows are in memory."""
        raise NotImplementedError  # each map defines its own

    @property
    def _storage(self) -> Any:
        """What sparse rows become, or False where they are refused."""
        return "csr" if self._takes_sparse else False

    @fitting
    def fit(self, X: Any, y: Any = None) -> "FeatureMap":
        """Draw the map."""
        source = self._open(X, accept_sparse=self._storage)
        outcome = self._drive(lambda start: self._solver(source), source)
        if outcome.interrupt is None:
            outcome.converged, outcome.reason, self.converged_ = True, "converged", True
        self._conclude(outcome)
        return self

    def _solver(self, source: Source) -> Solver:
        state = yield from self._draw(source)
        certificate = Certificate.none(_DRAWN)
        yield Step(0.0, state, certificate)
        return Solution(state, True, certificate)

    def transform(self, X: Any) -> np.ndarray:
        """Map rows to features."""
        check_is_fitted(self)
        if (rows := few_rows(self, X)) is not None:
            return self._map(ready=True).of_rows(rows)
        source = open_new_rows(self, X, accept_sparse=self._storage)
        if source.place != "memory":
            return source.map(self._map(ready=False))
        width = self._n_features_out
        cure = "lower n_components, or transform some rows at a time"
        require_memory(
            type(self).__name__, 8.0 * source.n_rows * width, f"{width} columns of {source.n_rows} rows", cure
        )
        return source.map(self._map(ready=True), out=np.empty((source.n_rows, width), dtype=source.host_dtype))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

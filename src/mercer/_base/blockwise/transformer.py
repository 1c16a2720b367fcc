"""The base of transformers that learn by sums over the rows, and map rows block by block wherever they are."""

from collections.abc import Callable, Generator
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._base.blockwise.column_map import BlockMap
from mercer._base.estimator import LimitedEstimator, fitting
from mercer._base.interface import OneToOneFeatureMixin, TransformerMixin
from mercer._base.later import map_later
from mercer._base.model_placement import check_placement
from mercer._base.opening import find_target_names, open_new_rows
from mercer._base.parameter import Boolean, parameter
from mercer._base.validation import few_rows
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import Source, open_place, open_source, place_of
from mercer._source.memory import require_memory
from mercer._types import Array
from mercer.errors import DataError

_CLOSED = "What is learnt is a closed form of sums over the rows, exact to rounding; nothing is optimised."


class BlockTransformer(TransformerMixin, LimitedEstimator):
    """A transformer whose subclass says what it learns (`_survey`, `_fitted`) and how it maps a block (`_make_map`)."""

    _documents = {
        "max_time": "Has no effect: one pass ends by itself. Kept so that estimators can be exchanged.",
    }

    _objective_moves: ClassVar[str | None] = None
    # What the certificate says: why no certificate is needed.
    _defined: ClassVar[str] = _CLOSED

    def _survey(self, source: Source, seen: Any) -> Generator[Any, Any, Any]:
        """Learn from the training rows, and from what earlier ones gave, as a solver."""
        raise NotImplementedError  # each transformer defines its own

    def _make_map(self, back: bool = False) -> BlockMap:
        """Return the function from a block to its new columns, or `back` from there."""
        raise NotImplementedError  # each transformer defines its own

    def _check_storage(self, source: Source) -> None:
        """Raise if rows of this storage cannot be transformed."""

    @fitting
    def fit(self, X: Any, y: Any = None) -> "BlockTransformer":
        """Learn from the training rows."""
        self._learn(X, y)
        return self

    def _learn(self, X: Any, y: Any = None, sample_weight: Any = None, seen: Any = None) -> None:
        """Fit to rows, in addition to what has been `seen`; columns that `y` names are targets, and no features."""
        source = self._open_training(X, y, sample_weight, seen)
        self._run(lambda start: self._solve(source, seen), source)

    def _open_training(self, X: Any, y: Any, sample_weight: Any, seen: Any) -> Source:
        """Open training rows; columns that `y` names are targets, and no features."""
        options = {"accept_sparse": "csr" if self._takes_sparse else False, "ensure_all_finite": not self._takes_gaps}
        names = find_target_names(X, y)
        source = self._open(X, names, sample_weight, reset=seen is None, **options)
        if self._takes_gaps:
            source.keep_missing()
        self._check_storage(source)
        return source

    def _run(self, solve: Callable[[Any], Solver], source: Source) -> None:
        """Run a solver of one step over a source, and store what it has learnt."""
        outcome = self._drive(solve, source, max_steps=1)
        if outcome.interrupt is None:
            # The fit is complete after its one step, even if a callback asked to stop there.
            outcome.converged, outcome.reason, self.converged_ = True, "converged", True
        self._conclude(outcome)

    def _solve(self, source: Source, seen: Any) -> Solver:
        return (yield from self._end((yield from self._survey(source, seen))))

    def _end(self, state: Any) -> Solver:
        """End a fit in `state`, as a solver."""
        certificate = Certificate.none(self._defined)
        yield Step(0.0, state, certificate)
        return Solution(state, True, certificate)

    def transform(self, X: Any) -> Array:
        """Transform rows by what the fit has learnt.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features_out)
            Where and what the rows are: a Dask array for those of Dask, a CSR matrix for sparse ones. Of rows in files
            and streams an object that an estimator takes in their stead, with the names of columns as targets and
            weights: it reads and transforms the rows block by block in each pass.
        """
        return self._map(X, not vars(self).get("copy", True))

    def _map(self, X: Any, in_place: bool) -> Any:
        """Return transformed rows; NumPy floats are overwritten if `in_place`."""
        if not in_place and (rows := few_rows(self, X)) is not None:
            return self._make_map().on_rows(rows)
        if (place := place_of(X)) in ("file", "stream"):
            options = {"sparse": self._takes_sparse, "gaps": self._takes_gaps, "dtype": self._choose_dtype(None)}
            return map_later(self, X, place, lambda model: model._make_map(), check=self._check_storage, **options)
        sparse = "csr" if self._takes_sparse else False
        source = open_new_rows(self, X, accept_sparse=sparse, ensure_all_finite=not self._takes_gaps)
        return self._apply(source, self._make_map(), X if in_place else None)

    def _apply(self, source: Source, function: BlockMap, given: Any) -> Array:
        """Return the mapped rows of a source; the array `given` is overwritten if the rows are in it."""
        if self._takes_gaps:
            source.keep_missing()
        self._check_storage(source)
        if source.is_sparse:
            rows = source.whole()
            return function.on_entries(rows, rows is given)
        if source.place != "memory":
            return source.map(function)
        rows, width = source.whole(), self._count_columns(source)
        out = rows
        # Rows that had to be converted are a copy, not the user's array: the result goes into a new one.
        if rows is not given or not rows.flags.writeable or width != source.n_features:
            purpose = f"{width} columns of {source.n_rows} rows"
            cure = "set copy=False, or transform some rows at a time"
            require_memory(type(self).__name__, float(rows.itemsize) * width * source.n_rows, purpose, cure)
            out = np.empty((source.n_rows, width), self._choose_dtype(rows.dtype))
        source.each(lambda block: function.write(block, out[block.start : block.start + block.n]))
        return out

    def _count_columns(self, source: Source) -> int:
        """Return the number of columns of the result."""
        return source.n_features

    def _choose_dtype(self, dtype: Any) -> Any:
        """Return the type of the result for rows of a type."""
        return dtype

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class ReversibleTransformer(BlockTransformer):
    """A transformer whose map has a way back."""

    def inverse_transform(self, X: Any) -> Array:
        """Turn transformed rows back.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows as :meth:`transform` gives them, in memory or on a device.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)
            Rows in the units of the fit.
        """
        return self._map_back(X, not vars(self).get("copy", True))

    def _map_back(self, X: Any, in_place: bool) -> Array:
        """Return rows in the units of the fit; NumPy floats are overwritten if `in_place`."""
        check_is_fitted(self)
        check_placement(self, X)
        if (place := place_of(X)) == "device":
            source = open_place(place, X, None, None, subject=type(self).__name__, targets=None, threads=1)
        else:
            floats = {"dtype": [np.float64, np.float32], "order": "C", "ensure_all_finite": False}
            rows = check_array(X, accept_sparse="csr", input_name="X", **floats)
            source = open_source(rows, threads=self._threads())
        if source.n_features != self.n_features_in_:
            raise DataError(
                f"X has {source.n_features} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                f"features as input of inverse_transform; give what transform returned."
            )
        return self._apply(source, self._make_map(back=True), X if in_place else None)


def refuse_infinite(estimator: Any, infinite: float = 0.0) -> None:
    """Raise the error about infinite rows; `infinite` is their number, where it is known."""
    number = f", {infinite:.0f} in all" if infinite else ""
    raise DataError(
        f"{type(estimator).__name__}: Input X contains infinity or a value too large for dtype('float64'){number}. "
        f"Mark missing entries by NaN, and drop or clip the others."
    )


class StatelessTransformer(OneToOneFeatureMixin, BlockTransformer):
    """A transformer of rows by its parameters alone: a fit only notes the columns."""

    copy: bool = parameter(
        Boolean(), default=True, doc="Whether results are new arrays; False writes those of NumPy floats over the rows."
    )

    _documents = {
        "max_time": "Has no effect: nothing is learnt. Kept so that estimators can be exchanged.",
    }
    _defined = "The parameters define the result; nothing is learnt from the rows."
    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _takes_sparse = True

    def _survey(self, source: Source, seen: Any) -> Generator[Any, Any, Any]:
        yield from ()

    def _fitted(self, state: Any) -> dict[str, Any]:
        return {}

    def transform(self, X: Any, copy: bool | None = None) -> Array:
        """Transform rows by the parameters.

        Parameters
        ----------
        copy : bool or None, default=None
            Whether the result is a new array; None means the parameter of that name.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)
            Where and what the rows are, as :meth:`StandardScaler.transform` gives them.
        """
        return self._map(X, not (self.copy if copy is None else copy))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

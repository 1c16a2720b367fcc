"""The rule for a piece of rows: same columns and type as the pieces before it, with matching targets and weights."""

from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

import numpy as np
from scipy.sparse import csr_array, issparse

from mercer._types import Array
from mercer.errors import DataError

# What came from a file or over a network may lie off the grain of its type, where a BLAS cannot read it: NumPy then
# multiplies copies of another layout, and the last digits of products differ.
_PLAIN: list[Literal["C_CONTIGUOUS", "ALIGNED"]] = ["C_CONTIGUOUS", "ALIGNED"]
_SEVERAL = "Give blocks X, (X, y) or (X, y, weight)."


@dataclass
class PieceRule:
    """Checks pieces, one after the other; the first decides columns, types, and whether there are targets and weights.

    Parameters
    ----------
    subject : str
        Who reads, for errors.
    description : str
        What is read, for errors.
    targets : {None, "numbers", "labels"}
        Which targets are wanted.
    part : str
        What a piece is called in errors.
    """

    subject: str
    description: str
    targets: str | None = None
    part: str = "block"
    names: list[str] | None = field(default=None, init=False)  # of the columns of frames
    given: str | None = field(default=None, init=False)  # the type of the rows as they came
    dtype: Any = field(default=None, init=False)
    n_features: int = field(default=0, init=False)
    target_shape: tuple[int, ...] | None = field(default=None, init=False)
    target_kind: str = field(default="", init=False)  # whether labels are text or numbers
    has_weight: bool = field(default=False, init=False)
    is_sparse: bool = field(default=False, init=False)

    def read_block(self, number: int, block: Any) -> tuple[Array, Array, Array]:
        """Check a block as users give it: rows, or a tuple of rows, targets and weights."""
        parts = block if isinstance(block, tuple) else (block,)
        if not 1 <= len(parts) <= 3:
            self._refuse(f"{self._where(number)} is a tuple of {len(parts)}. {_SEVERAL}")
        names = _column_names(parts[0])
        # The first block sets the names; each later one must repeat them, also their order.
        if self.given is None:
            self.names = names
        elif names != self.names:
            got, before = (", ".join(columns) if columns else "without names" for columns in (names, self.names))
            self._refuse(f"{self._where(number)} has columns {got}, those before {before}; give all the same.")
        return self.read(number, *parts)

    def read(self, number: int, X: Any, y: Any = None, weight: Any = None) -> tuple[Array, Array, Array]:
        """Return rows as C-ordered floats or CSR, targets as an array, weights as float64; an error names the piece."""
        where = self._where(number)
        X = X if issparse(X) else self._array(X, "rows", where)
        if X.ndim != 2:
            self._refuse(f"{where} must be a matrix with one row per sample; got {X.ndim} dimension(s). Reshape it.")
        # The first piece sets the rule for all later ones.
        if self.given is None:
            self._learn(X, y, weight, where)
        if X.shape[1] != self.n_features:
            self._refuse(f"{where} has {X.shape[1]} columns, those before have {self.n_features}; give it the same.")
        if X.dtype.name != self.given or issparse(X) != self.is_sparse:
            got, before = (f"{'sparse' if kind else 'dense'} " for kind in (issparse(X), self.is_sparse))
            got, before = ("", "") if got == before else (got, before)
            self._refuse(f"{where} is {got}{X.dtype}, those before are {before}{self.given}; cast it.")
        rows = csr_array(X).astype(self.dtype, copy=False) if self.is_sparse else np.require(X, self.dtype, _PLAIN)
        return rows, *self.read_beside(number, rows.shape[0], y, weight)

    def read_beside(self, number: int, n_rows: int, y: Any, weight: Any) -> tuple[Array, Array]:
        """Return the targets as an array and the weights as float64, for a piece of `n_rows` rows."""
        where = self._where(number)
        return self._read_targets(y, n_rows, where), self._read_weight(weight, n_rows, where)

    def read_again(self, y: Any, weight: Any) -> tuple[Array, Array]:
        """Convert targets and weights that were checked in an earlier pass to the types that are used."""
        if self.targets is None or y is None:
            y = None
        else:
            y = np.require(y, np.float64, ["ALIGNED"]) if self.targets == "numbers" else y.reshape(y.shape[0])
        return y, None if weight is None else np.require(weight, np.float64, ["ALIGNED"])

    def _where(self, number: int) -> str:
        """Name the piece `number`, for errors."""
        return f"{self.part} {number} of {self.description}"

    def _array(self, given: Any, what: str, where: str) -> Array:
        """Convert what was given to an array; raise if its rows have different lengths."""
        try:
            return np.asarray(given)
        except ValueError as error:
            self._refuse(f"the {what} of {where} are no array ({error}); give each row as many entries.")

    def _learn(self, X: Any, y: Any, weight: Any, where: str) -> None:
        """Remember the columns, types, targets and weights of the first piece."""
        if X.dtype.kind not in "fiub":
            self._refuse(f"{where} must hold numbers; got {X.dtype}. Encode its columns, or leave them out.")
        self.given = X.dtype.name
        self.dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        self.n_features = X.shape[1]
        if self.n_features == 0:
            self._refuse(f"{where} has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required; add columns.")
        self.is_sparse = issparse(X)
        self.has_weight = weight is not None
        if self.targets is not None:
            if y is None:
                self._refuse(
                    f"requires y to be passed, but the target y is None; {where} has none. Give blocks (X, y), "
                    f"or y as a column name, a path or an array."
                )
            y = self._array(y, "targets", where)
            self.target_shape, self.target_kind = tuple(y.shape[1:]), _kind(y)
            # Labels as one column are labels.
            if self.targets == "labels" and self.target_shape == (1,):
                self.target_shape = ()

    def _read_targets(self, y: Any, n_rows: int, where: str) -> Array:
        """Check that there is one target per row, of the kind and shape of those before."""
        if self.targets is None:
            return None
        y = None if y is None else self._array(y, "targets", where)
        if y is None or y.shape[:1] != (n_rows,):
            got = "no" if y is None else f"{y.shape[0] if y.ndim else 'one number for all'}"
            self._refuse(f"{where} has {n_rows} rows and {got} targets; give one per row.")
        if self.targets == "labels":
            return self._read_labels(y, n_rows, where)
        if tuple(y.shape[1:]) != self.target_shape:
            self._refuse(
                f"{where} has targets of shape {y.shape[1:]} per row, those before had {self.target_shape}; give all "
                f"the same."
            )
        if y.dtype.kind not in "fiub":
            self._refuse(f"{where} must have numbers for targets; got {y.dtype}. Encode them, or fit a classifier.")
        self._refuse_nan(y, where)
        return np.require(y, np.float64, ["ALIGNED"])

    def _read_labels(self, y: Array, n_rows: int, where: str) -> Array:
        """Check one label per row, of the kind of those before, and return them as a vector."""
        # A column of shape (n, 1) has n labels as well and is made flat at the end.
        if y.size != n_rows:
            self._refuse(f"{where} has labels of shape {y.shape}; give one label per row.")
        if _kind(y) != self.target_kind:
            self._refuse(f"{where} has {_kind(y)} for labels, those before are {self.target_kind}; cast them.")
        if y.dtype.kind == "f":
            self._refuse_nan(y, where)
            # Whole numbers in floats are labels, as scikit-learn has it.
            if not (y == np.floor(y)).all():
                self._refuse(f"Unknown label type: continuous, in {where}; give labels, or fit a regressor.")
        return y.reshape(n_rows)

    def _refuse_nan(self, y: Array, where: str) -> None:
        """Raise if targets hold NaN or infinity."""
        if not np.isfinite(y).all():
            what = "NaN" if np.isnan(y).any() else "infinity"
            self._refuse(f"Input y contains {what}, in {where}; drop or fill those rows.")

    def _read_weight(self, weight: Any, n_rows: int, where: str) -> Array:
        """Check that there is one finite, non-negative weight per row, or none as before."""
        if (weight is not None) != self.has_weight:
            self._refuse(
                f"{where} has {'no ' if weight is None else ''}weights, unlike those before; give all or none."
            )
        if weight is None:
            return None
        weight = self._array(weight, "weights", where)
        if weight.dtype.kind not in "fiub":
            self._refuse(f"{where} must have numbers for weights; got {weight.dtype}.")
        if weight.shape != (n_rows,):
            self._refuse(f"{where} has {n_rows} rows and weights of shape {weight.shape}; give one per row.")
        weight = np.require(weight, np.float64, ["ALIGNED"])
        if not np.isfinite(weight).all() or (weight < 0).any():
            self._refuse(f"sample_weight must be finite and non-negative; it is not in {where}. Drop those rows.")
        return weight

    def _refuse(self, sentence: str) -> NoReturn:
        """Raise a DataError that names who reads the rows."""
        raise DataError(f"{self.subject}: {sentence}")


def _kind(y: Array) -> str:
    """Return whether labels are numbers or text."""
    return "numbers" if y.dtype.kind in "fiub" else "text"


def _column_names(X: Any) -> list[str] | None:
    """Return the names of a frame's columns if all are text, as in scikit-learn; else None."""
    if isinstance(X, np.ndarray) or issparse(X):
        return None
    # pyarrow's `columns` are arrays and not names, so `column_names` is asked for first.
    names = getattr(X, "column_names", None) or getattr(X, "columns", None)
    if names is None:
        schema = getattr(X, "schema", None)
        names = getattr(schema, "names", None)
    if names is None:
        return None
    names = list(names)
    return names if all(isinstance(name, str) for name in names) else None

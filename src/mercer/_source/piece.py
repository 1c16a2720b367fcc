"""What a piece of rows must be: of the same columns and type as those before it, with targets and weights to match."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from mercer.errors import DataError

__all__ = ["PieceRule"]

Array = Any


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
    given: str | None = field(default=None, init=False)  # the type of the rows as they came
    dtype: Any = field(default=None, init=False)
    n_features: int = field(default=0, init=False)
    target_shape: tuple[int, ...] | None = field(default=None, init=False)
    has_weight: bool = field(default=False, init=False)
    is_sparse: bool = field(default=False, init=False)

    def read(self, number: int, X: Any, y: Any = None, weight: Any = None) -> tuple[Array, Array, Array]:
        """Rows as C-ordered floats or CSR, targets as an array, weights as float64; an error names the piece."""
        where = f"{self.part} {number} of {self.description}"
        X = X if issparse(X) else np.asarray(X)
        if X.ndim != 2:
            self._refuse(f"{where} must be a matrix with one row per sample; got {X.ndim} dimension(s). Reshape it.")
        if self.given is None:
            self._learn(X, y, weight, where)
        if X.shape[1] != self.n_features:
            self._refuse(f"{where} has {X.shape[1]} columns, those before have {self.n_features}; give it the same.")
        if X.dtype.name != self.given or issparse(X) != self.is_sparse:
            kind = "sparse " if issparse(X) else ""
            self._refuse(f"{where} is {kind}{X.dtype}, those before are {self.given}; cast it.")
        rows = csr_array(X).astype(self.dtype, copy=False) if self.is_sparse else np.ascontiguousarray(X, self.dtype)
        return rows, self._read_targets(y, rows.shape[0], where), self._read_weight(weight, rows.shape[0], where)

    def _learn(self, X: Any, y: Any, weight: Any, where: str) -> None:
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
            self.target_shape = tuple(np.asarray(y).shape[1:])
            if self.targets == "labels" and self.target_shape == (1,):
                self.target_shape = ()

    def _read_targets(self, y: Any, n_rows: int, where: str) -> Array:
        if self.targets is None:
            return None
        y = None if y is None else np.asarray(y)
        if y is None or y.shape[:1] != (n_rows,):
            got = "none" if y is None else f"{y.shape[0] if y.ndim else 'a scalar'}"
            self._refuse(f"{where} has {n_rows} rows and {got} targets; give one per row.")
        if self.targets == "labels":
            y = y.reshape(n_rows) if y.size == n_rows else y
            if y.ndim > 1:
                self._refuse(f"{where} has labels of shape {y.shape}; give one label per row.")
            if y.dtype.kind == "f" and not (y == np.floor(y)).all():
                self._refuse(f"Unknown label type: continuous, in {where}; give labels, or fit a regressor.")
            return y
        if tuple(y.shape[1:]) != self.target_shape:
            self._refuse(f"{where} has targets of shape {y.shape}, those before had {self.target_shape} per row.")
        if y.dtype.kind not in "fiub":
            self._refuse(f"{where} must have numbers for targets; got {y.dtype}. Encode them, or fit a classifier.")
        if not np.isfinite(y).all():
            self._refuse(f"Input y contains NaN or infinity, in {where}; drop or fill those rows.")
        return y.astype(np.float64, copy=False)

    def _read_weight(self, weight: Any, n_rows: int, where: str) -> Array:
        if (weight is not None) != self.has_weight:
            self._refuse(
                f"{where} has {'no ' if weight is None else ''}weights, unlike those before; give all or none."
            )
        if weight is None:
            return None
        weight = np.asarray(weight, dtype=np.float64)
        if weight.shape != (n_rows,):
            self._refuse(f"{where} has {n_rows} rows and weights of shape {weight.shape}; give one per row.")
        if not np.isfinite(weight).all() or (weight < 0).any():
            self._refuse(f"sample_weight must be finite and non-negative; it is not in {where}. Drop those rows.")
        return weight

    def _refuse(self, sentence: str) -> None:
        message = f"{self.subject}: {sentence}"
        raise DataError(message)

"""Predictions: the outputs of a fitted chain of dense layers, and scores on rows held out."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source import Block, Source
from mercer._source.namespace import is_sparse_matrix, namespace_of
from mercer._types import Array
from mercer.neural_network._layers.activations import ACTIVATIONS
from mercer.neural_network._layers.layer import as_like

# Held-out rows scored at a time, which bounds the memory of their activations.
_TILE = 4096


def find_outputs(model: Any, rows: Array) -> Array:
    """Return the outputs, before any output function, of a fitted perceptron for rows of any kind."""
    coefs, intercepts = model.coefs_, model.intercepts_
    if type(rows) is np.ndarray and rows.dtype == coefs[0].dtype and "embeddings_" not in vars(model):
        return _pass_forward(rows, coefs, intercepts, model.activation)
    if not isinstance(rows, np.ndarray):
        # Weights of a validation in the midst of a fit are NumPy arrays: they go where the rows are.
        coefs, intercepts = place_weights(coefs, rows), place_weights(intercepts, rows)
    tables = vars(model).get("embeddings_")
    a = rows if tables is None else embed_columns(rows, model.categorical_columns_, tables)
    for W, b in zip(coefs[:-1], intercepts[:-1], strict=True):
        a = _activate(model.activation, a @ W + b)
    return a @ coefs[-1] + intercepts[-1]


def _pass_forward(a: np.ndarray, coefs: list[Array], intercepts: list[Array], activation: str) -> np.ndarray:
    """Return the outputs for NumPy rows, with as few new arrays as there are layers: one row takes microseconds."""
    last = len(coefs) - 1
    for number, W in enumerate(coefs):
        a = a @ W
        a += intercepts[number]
        if number < last:
            a = _activate(activation, a)
    return a


def _activate(name: str, z: Array) -> Array:
    if name == "relu" and isinstance(z, np.ndarray):
        return np.maximum(z, 0.0, out=z)
    return ACTIVATIONS[name].value(z, namespace_of(z))


def embed_columns(rows: Array, columns: Any, tables: list[Array]) -> Array:
    """Replace columns of codes by the vectors of their codes; the other columns come last."""
    xp = namespace_of(rows)
    parts = []
    for column, table in zip(columns, tables, strict=True):
        codes = xp.astype(rows[:, int(column)], xp.int64)
        # A code that the fit did not see counts as the first one, which stands for unknown and missing categories.
        codes = xp.where((codes >= 0) & (codes < table.shape[0]), codes, xp.zeros_like(codes))
        parts.append(xp.take(table, codes, axis=0))
    known = {int(column) for column in columns}
    return xp.concat([*parts, *(rows[:, j : j + 1] for j in range(rows.shape[1]) if j not in known)], axis=1)


@dataclass(frozen=True, eq=False)
class Outputs:
    """A function of a block: what `finish` makes of its outputs."""

    model: Any
    prepare: Any
    finish: Any

    def __call__(self, block: Block) -> Array:
        return self.finish(find_outputs(self.model, self.prepare(block.X)))


@dataclass(frozen=True, eq=False)
class ValidationScore:
    """A request: the score of weights on rows held out.

    Parameters
    ----------
    rows : array or None
        The numbers of the source's rows; None where `given` holds rows of the user's.
    given : tuple or None
        Rows, targets and weights (or None) of the user's.
    predict : callable
        From rows to predictions like the targets, by the weights to be judged.
    score : callable
        From targets, predictions and weights to a number.
    """

    rows: np.ndarray | None
    given: tuple[Any, Any, Any] | None
    predict: Any
    score: Any

    def answer(self, source: Source) -> float:
        if self.given is not None:
            X, y, weight = self.given
        else:
            X, rows = source.whole(), self.rows
            if isinstance(X, np.ndarray) or is_sparse_matrix(X):
                X, y = X[rows], source.y[rows]
                weight = None if source.weight is None else source.weight[rows]
            else:
                xp = namespace_of(X)
                place = xp.asarray(rows, device=X.device)
                X, y = xp.take(X, place, axis=0), xp.take(source.y, place, axis=0)
                weight = None if source.weight is None else xp.take(source.weight, place, axis=0)
        n = X.shape[0]
        # By tiles: the activations of all rows at once could take more memory than the rows.
        parts = [self.predict(X[first : min(first + _TILE, n), :]) for first in range(0, n, _TILE)]
        with np.errstate(all="ignore"):
            return float(self.score(y, namespace_of(parts[0]).concat(parts, axis=0), weight))


def place_weights(arrays: list[np.ndarray], like: Any) -> list[Array]:
    """Return host weights where the rows are."""
    if isinstance(like, np.ndarray) or is_sparse_matrix(like):
        return arrays
    return [as_like(array, like) for array in arrays]

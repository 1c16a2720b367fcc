"""Shapley values of linear models, from their coefficients."""

from typing import Any

import numpy as np

from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array
from mercer.explain._coalitions import Shares
from mercer.explain._outputs import Outputs
from mercer.explain._rows import Players, Table

# Rows on which a linear function is compared with the model's own answers.
_PROBES = 8
# Relative difference that counts as equal; models of single precision answer in it.
_CLOSE = 1e-6


def share_linear(model: Any, outputs: Outputs, rows: Table, other: Table, players: Players) -> Shares | None:
    """Return coefficients times differences from the background's mean; None unless they are the model's answer."""
    coefficients = _read_coefficients(model)
    if coefficients is None or coefficients.shape[1] != rows.n_columns:
        return None
    try:
        X, Z = rows.to_floats("shapley"), other.to_floats("shapley")
    except TypeError:
        return None
    offset = np.atleast_1d(np.asarray(getattr(model, "intercept_", 0.0), np.float64)).ravel()
    if len(offset) not in (1, len(coefficients)):
        return None
    probe = rows.take(np.arange(min(_PROBES, len(rows)))).rows
    asked, found = outputs.ask(probe), X[:_PROBES] @ coefficients.T + offset
    if asked.shape != found.shape or not np.allclose(asked, found, rtol=_CLOSE, atol=_CLOSE * np.abs(asked).max()):
        return None
    mean = Z.mean(axis=0)
    values = (X - mean)[:, :, None] * coefficients.T
    if not players.are_columns:
        values = np.stack(
            [values[:, players.of_column == player].sum(axis=1) for player in range(len(players))], axis=1
        )
    return Shares(values, None, coefficients @ mean + offset)


def _read_coefficients(model: Any) -> Array | None:
    """Return the coefficients (k, d) of a model that has them as numbers."""
    try:
        coefficients = getattr(model, "coef_", None)
    except (AttributeError, NotImplementedError):
        return None
    if coefficients is None:
        return None
    coefficients = coefficients.toarray() if is_sparse_matrix(coefficients) else np.asarray(coefficients)
    if coefficients.dtype.kind not in "fiu" or coefficients.ndim > 2:
        return None
    return np.atleast_2d(coefficients).astype(np.float64)

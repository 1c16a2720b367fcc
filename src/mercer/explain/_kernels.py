"""Shapley values of machines whose kernels are products over columns, such as Gaussian ones, without sampling.

Where the kernel is a product over columns, so is a term of the machine for each coalition: columns that are known have
their factors from the explained row, and the others from the background row. The Shapley value of a column in such a
product is an integral over t from 0 to 1 of a polynomial, which Gauss's rule gives exactly; see the walk over trees.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array
from mercer.explain._coalitions import Shares
from mercer.explain._outputs import Outputs
from mercer.explain._rows import Players, Table

# Rows on which a machine that was read is compared with the model's own answers.
_PROBES = 8
# Relative difference that counts as equal; machines are fitted and asked in single precision too.
_CLOSE = 1e-6
# Numbers of one array of factors: 32 MiB.
_NUMBERS = 2**22
# Factors below this count as this: a product with one of them is nothing.
_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class Machine:
    """A sum over points of coefficients times a kernel that is a product over columns, plus a constant.

    Attributes
    ----------
    points : (s, d)
    coefficients : (s, k)
    offset : (k,)
    rate : (d,)
        The kernel is exp of minus the sum over columns of the rate times the difference to the power.
    power : int
        2 for Gaussian kernels, 1 for Laplacian ones with the manhattan norm.
    """

    points: Array
    coefficients: Array
    offset: Array
    rate: Array
    power: int

    def find_factors(self, X: Array, players: Players) -> Array:
        """Return the factors (n, s, players) of rows (n, d): of each group the product over its columns."""
        gaps = np.abs(X[:, None, :] - self.points)
        logs = -self.rate * (gaps if self.power == 1 else gaps * gaps)
        if not players.are_columns:
            logs = logs @ (players.of_column[:, None] == np.arange(len(players))).astype(np.float64)
        return np.asarray(np.exp(logs))

    def score(self, X: Array) -> Array:
        """Return the answers (n, k) to rows (n, d)."""
        step, parts = max(1, _NUMBERS // max(self.points.size, 1)), []
        for start in range(0, len(X), step):
            gaps = np.abs(X[start : start + step, None, :] - self.points)
            logs = (gaps if self.power == 1 else gaps * gaps) @ self.rate
            parts.append(np.exp(-logs) @ self.coefficients + self.offset)
        return np.concatenate(parts)


def share_kernel(model: Any, outputs: Outputs, rows: Table, other: Table, players: Players) -> Shares | None:
    """Return the shares of a machine with a product kernel; None if the model's answer is no such sum."""
    machine = _read_machine(model)
    if machine is None or machine.points.shape[1] != rows.n_columns:
        return None
    try:
        X, Z = rows.to_floats("shapley"), other.to_floats("shapley")
    except TypeError:
        return None
    probe = np.arange(min(_PROBES, len(rows)))
    asked, found = outputs.ask(rows.take(probe).rows), machine.score(X[probe])
    if asked.shape != found.shape or not np.allclose(asked, found, rtol=_CLOSE, atol=_CLOSE * np.abs(asked).max()):
        return None
    g = len(players)
    points, weights = np.polynomial.legendre.leggauss(max(1, (g + 1) // 2))
    step = max(1, _NUMBERS // max(len(machine.points) * g, 1))
    values = np.zeros((len(X), g, machine.coefficients.shape[1]))
    for start in range(0, len(Z), step):
        others = machine.find_factors(Z[start : start + step], players)
        for row in range(len(X)):
            own = machine.find_factors(X[row : row + 1], players)[0]
            effects = np.zeros(own.shape)
            for point, weight in zip(points, weights):
                mixed = np.maximum((1.0 + point) / 2.0 * own + (1.0 - point) / 2.0 * others, _LEAST)
                products = mixed.prod(axis=2, keepdims=True)
                effects += weight / 2.0 * ((own - others) * (products / mixed)).sum(axis=0)
            values[row] += effects.T @ machine.coefficients
    return Shares(values / len(Z), None, machine.score(Z).mean(axis=0))


def _read_machine(model: Any) -> Machine | None:
    """Read a support vector machine, kernel ridge, kernel logistic regression, or a Gaussian process."""
    found = _read_kernel(model)
    points = _first(model, "support_vectors_", "X_fit_", "X_train_")
    coefficients = _first(model, "dual_coef_", "alpha_")
    if found is None or points is None or coefficients is None:
        return None
    amplitude, rate, power = found
    points, coefficients = (
        np.asarray(one.toarray() if is_sparse_matrix(one) else one) for one in (points, coefficients)
    )
    if points.ndim != 2 or coefficients.dtype.kind != "f" or coefficients.ndim > 2:
        return None
    table = coefficients[:, None] if coefficients.ndim == 1 else coefficients
    # Support vector machines have a row for each output, kernel ridge a column.
    table = table.T if len(table) != len(points) else table
    scale, offset = getattr(model, "_y_train_std", 1.0), getattr(model, "_y_train_mean", 0.0)
    offset = np.atleast_1d(np.asarray(getattr(model, "intercept_", offset), np.float64)).ravel()
    if len(table) != len(points) or len(offset) not in (1, table.shape[1]):
        return None
    rates = np.broadcast_to(np.asarray(rate, np.float64), points.shape[1:])
    return Machine(points.astype(np.float64), amplitude * table * scale, offset, rates, power)


def _first(model: Any, *names: str) -> Any:
    return next((getattr(model, name) for name in names if hasattr(model, name)), None)


def _read_kernel(model: Any) -> tuple[float, Any, int] | None:
    """Return amplitude, rates and power of a model's kernel; None if it is no product of this kind."""
    kernel = getattr(model, "kernel_", None)
    if kernel is None:
        kernel = getattr(model, "kernel", None)
    if isinstance(kernel, str):
        if kernel not in ("rbf", "laplacian"):
            return None
        gamma = getattr(model, "_gamma", None)
        gamma = getattr(model, "gamma", None) if gamma is None else gamma
        if gamma is None:
            gamma = 1.0 / getattr(model, "n_features_in_", 1)
        return (1.0, gamma, 2 if kernel == "rbf" else 1) if not isinstance(gamma, str) else None
    return _read_object(kernel)


def _read_object(kernel: Any) -> tuple[float, Any, int] | None:
    """Read a kernel of mercer or of scikit-learn's Gaussian processes."""
    name = type(kernel).__name__
    if name in ("RBF", "Laplacian"):
        if name == "Laplacian" and getattr(kernel, "norm", "") != "manhattan":
            return None
        unit = np.asarray(kernel.get_unit() if hasattr(kernel, "get_unit") else kernel.length_scale, np.float64)
        return (1.0, 0.5 / unit**2, 2) if name == "RBF" else (1.0, 1.0 / unit, 1)
    parts = [getattr(kernel, side, None) for side in ("k1", "k2")]
    if None in parts:
        parts = list(getattr(kernel, "kernels", ()))
    if name == "Product" and len(parts) == 2:
        constants = [_read_constant(part) for part in parts]
        for constant, part in zip(constants, parts[::-1]):
            inner = None if constant is None else _read_object(part)
            if constant is not None and inner is not None:
                return constant * inner[0], inner[1], inner[2]
    if name == "Sum" and len(parts) == 2:
        # White noise is in no covariance between a new row and those of the fit.
        rest = [part for part in parts if not type(part).__name__.startswith("White")]
        return _read_object(rest[0]) if len(rest) == 1 else None
    return None


def _read_constant(kernel: Any) -> float | None:
    if not type(kernel).__name__.startswith("Constant"):
        return None
    value = _first(kernel, "constant_value", "value")
    return None if value is None else float(value)

"""Sparse codes of rows for given atoms, from the inner products of the atoms and of rows with atoms alone.

The Lasso's codes, min over w of w' G w / 2 - p' w + alpha |w|_1 with G = D D^T and p = D x, are found for many rows at
once by coordinate descent in native code, from where they are: a row costs k for each of its coordinates that moves.
The least-angle path ends at the same codes; ``"lasso_lars"`` and ``"lasso_cd"`` name the same method here.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._native.linear import coordinate
from mercer._types import Array
from mercer.errors import ParameterError
from mercer.linear_model import lars_path_gram, orthogonal_mp_gram

ALGORITHMS = ("lasso_lars", "lasso_cd", "lars", "omp", "threshold")
# Subgradient, relative to the largest product of a row with an atom, at which a row is coded: nine digits.
_GOAL = 1e-9
# The same, above which ``transform`` warns of codes that are not done.
_WARNED = 1e-4


@dataclass(frozen=True)
class CodingRule:
    """How rows are coded: the algorithm, its penalty or its number of atoms, the sign, and the most sweeps."""

    algorithm: str
    alpha: float = 1.0
    n_atoms: int = 1
    positive: bool = False
    sweeps: int = 1000

    @classmethod
    def of(
        cls, algorithm: str, alpha: Any, n_atoms: Any, positive: bool, sweeps: int, shape: tuple[int, int]
    ) -> "CodingRule":
        """Return the rule that scikit-learn's parameters mean for atoms of a shape; None stands for its defaults."""
        k, d = shape
        if positive and algorithm in ("omp", "lars"):
            raise ParameterError(
                f"Positive constraint not supported for '{algorithm}' coding method. Set positive_code=False, or take "
                f"'lasso_cd'."
            )
        count = int(min(max(d / 10, 1), k)) if n_atoms is None else int(n_atoms)
        return cls(algorithm, 1.0 if alpha is None else float(alpha), count, bool(positive), int(sweeps))


def encode(
    products: Array, gram: Array, squares: Array, rule: CodingRule, start: Array | None = None, warns: bool = False
) -> Array:
    """Return the codes (n, k) of rows with these inner products with the atoms, and squares.

    The Lasso's codes are found from `start`, or zero. With `warns` rows that are not done in time are said.
    """
    if rule.algorithm == "threshold":
        codes = np.sign(products) * np.maximum(np.abs(products) - rule.alpha, 0.0)
        return np.maximum(codes, 0.0) if rule.positive else codes
    if rule.algorithm == "omp":
        found = orthogonal_mp_gram(gram, products.T, n_nonzero_coefs=rule.n_atoms, norms_squared=squares)
        return np.ascontiguousarray(np.reshape(found, products.T.shape).T)
    if rule.algorithm == "lars":
        # With a number of steps and no path, scikit-learn's end at the same knot.
        ends = [
            lars_path_gram(one, gram, n_samples=1, max_iter=rule.n_atoms, method="lar", return_path=False)[2]
            for one in products
        ]
        return np.array(ends).reshape(products.shape)
    codes = np.zeros_like(products) if start is None else start.copy()
    gradients = codes @ gram - products if start is not None else -products
    goals = _GOAL * np.abs(products).max(axis=1, initial=0.0)
    penalty = np.full(len(gram), rule.alpha)
    given = (gram, penalty, rule.positive, codes, np.ascontiguousarray(gradients), goals, rule.sweeps)
    worst = np.empty(len(codes))
    coordinate.descend_rows(*given, worst)
    unfinished = int(np.count_nonzero(worst * _GOAL > goals * _WARNED)) if warns else 0
    if unfinished:
        warnings.warn(
            f"{unfinished} of {len(codes)} rows were not coded to four digits in {rule.sweeps} sweeps over the atoms; "
            f"raise the most of them (transform_max_iter, max_iter).",
            ConvergenceWarning,
            stacklevel=4,
        )
    return codes


def encode_rows(X: Array, atoms: Array, rule: CodingRule, start: Array | None = None, warns: bool = False) -> Array:
    """Return the codes of dense rows, in float64."""
    rows, atoms = np.asarray(X, dtype=np.float64), np.ascontiguousarray(atoms, dtype=np.float64)
    products = np.ascontiguousarray(rows @ atoms.T)
    return encode(
        products, np.ascontiguousarray(atoms @ atoms.T), np.einsum("ij,ij->i", rows, rows), rule, start, warns
    )

"""Polynomials of the columns: powers, or orthogonal polynomials, which stay accurate at high degree."""

import math
from collections.abc import Generator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Boolean, Choice, Integer, parameter
from mercer._solver import Dense
from mercer._source import Block, Source
from mercer._source.block import DenseBlock
from mercer._source.memory import require_memory
from mercer._source.source import SumTree
from mercer._statistic import Statistic
from mercer._statistic.triangle import Triangle, TriangleSums
from mercer._stored import Stored, floats, integers
from mercer.errors import ModelFileError
from mercer.preprocessing._basis import Basis, BasisState

# Entries of an expanded part of a block, such that it stays in the second-level cache.
_PART = 2**17


class PolynomialBasis(Basis):
    """Polynomials of the columns up to a degree, with products between columns.

    A term is a product of polynomials p_e(x_j) of single columns whose degrees e sum to at most ``degree``. With
    ``basis="power"`` p_e(x) = x^e; "legendre" and "chebyshev" take the orthogonal polynomials on the range of each
    column, which span the same functions and stay far from collinear; "orthonormal" turns the Legendre terms, one
    after the other, into columns of mean zero, variance one and no correlation on the training rows.

    Attributes
    ----------
    data_min_, data_max_ : ndarray of shape (n_features,)
        The range of each column.
    exponents_ : ndarray of shape (n_terms, n_features)
        The degree of each column in each term.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    There are (d + m)! / (d! m!) - 1 terms of degree m in d columns. "orthonormal" costs a pass of n p^2 for p terms; a
    term that others determine on the training rows becomes zero. Outside the range of the training rows high degrees
    grow without bound. Dense rows in memory, files, streams and Dask arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing import PolynomialBasis
    >>> PolynomialBasis(degree=2).fit_transform([[2.0, 3.0]])
    array([[2., 3., 4., 6., 9.]])
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> powers, orthogonal = (PolynomialBasis(10, basis=b).fit_transform(X) for b in ("power", "legendre"))
    >>> bool(np.linalg.cond(powers) > 1e6), bool(np.linalg.cond(orthogonal) < 10)
    (True, True)
    """

    degree: int = parameter(Integer(1), default=2, kw_only=False, doc="The highest total degree.")
    basis: str = parameter(
        Choice("power", "legendre", "chebyshev", "orthonormal"), default="power", doc="The polynomials."
    )
    interactions: bool = parameter(Boolean(), default=True, doc="Whether there are products between columns.")
    include_bias: bool = parameter(Boolean(), default=False, doc="Whether there is a column of ones, first.")

    _documents = {
        "max_time": "Has no effect: one or two passes end by themselves. Kept so that estimators can be exchanged.",
    }

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _stored: ClassVar[dict[str, Stored]] = {
        "exponents_": integers("terms, columns", low=0),
        "data_min_": floats("columns"),
        "data_max_": floats("columns"),
    }

    def _survey(self, source: Source, seen: None) -> Generator[Any, Any, BasisState]:
        count = source.n_features * self.degree
        if self.interactions:
            # Monomials of total degree at most p in d variables: (d + p choose p), less the constant.
            count = math.comb(source.n_features + self.degree, self.degree) - 1
        orthonormal = self.basis == "orthonormal"
        # The table of exponents, and for the orthonormal basis about six count x count matrices of float64.
        n_bytes = 8.0 * count * source.n_features + (48.0 * count**2 if orthonormal else 0.0)
        require_memory(
            "PolynomialBasis", n_bytes, f"a basis of {count} terms", "lower degree, or set interactions=False"
        )
        state = yield from super()._survey(source, seen)
        if not orthonormal:
            return state
        # Legendre terms are nearly orthogonal already, so the triangle is far better conditioned than that of powers.
        triangle = yield _ExpandedTriangle(_Polynomials("legendre", self._list_exponents(source.n_features), state))
        shift, turn = yield Dense(lambda: _orthonormalise(triangle), heavy=count > 200)
        return BasisState(state.low, state.high, shift, turn)

    def _list_exponents(self, n_features: int) -> np.ndarray:
        """Return the degree of each column in each term, ordered by total degree, then by column."""
        if not self.interactions:
            # One row of exponents per term (term, column): a single nonzero entry where columns do not interact.
            powers = np.repeat(np.arange(1, self.degree + 1), n_features)
            return powers[:, None] * np.tile(np.eye(n_features, dtype=np.int64), (self.degree, 1))
        terms = [
            np.bincount(columns, minlength=n_features)
            for total in range(1, self.degree + 1)
            for columns in combinations_with_replacement(range(n_features), total)
        ]
        return np.asarray(terms, dtype=np.int64)

    def _fitted(self, state: BasisState) -> dict[str, Any]:
        return super()._fitted(state) | {"exponents_": self._list_exponents(len(state.low))}

    def _make_expansion(self, state: BasisState) -> Any:
        kind = "legendre" if self.basis == "orthonormal" else self.basis
        return _Polynomials(kind, self.exponents_, state, self.include_bias)

    def _check_structure(self) -> None:
        # There are at least as many terms as degrees: what a file says is bounded by its size.
        if "exponents_" in vars(self) and not (
            self.degree <= len(self.exponents_) and np.max(self.exponents_, initial=0) <= self.degree
        ):
            raise ModelFileError(
                f"PolynomialBasis.exponents_ must list the terms up to degree {self.degree}; the file's do not."
            )

    def _list_names(self, columns: list[str]) -> list[str]:
        letter = {"power": "", "legendre": "P", "chebyshev": "T", "orthonormal": "Q"}[self.basis]

        def factor(name: str, power: int) -> str:
            if letter:
                return f"{letter}{power}({name})"
            return name if power == 1 else f"{name}^{power}"

        terms = [" ".join(factor(columns[j], row[j]) for j in np.flatnonzero(row)) for row in self.exponents_]
        return ["1", *terms] if self.include_bias else terms


@dataclass(frozen=True, eq=False)
class _Polynomials:
    """Expands a block into its terms, of shape (n, p) in float64."""

    kind: str
    exponents: np.ndarray
    state: BasisState
    bias: bool = False

    def __call__(self, block: Block) -> np.ndarray:
        rows = np.asarray(block.X, dtype=np.float64)
        values = _evaluate_powers(
            self.kind, rows if self.kind == "power" else self.state.to_unit(rows), self.exponents.max()
        )
        terms = np.ones((block.n, len(self.exponents) + self.bias))
        # A term is the product over its columns of the polynomial of that column's degree.
        for term, row in enumerate(self.exponents, start=int(self.bias)):
            for column in np.flatnonzero(row):
                terms[:, term] *= values[row[column]][:, column]
        if self.state.turn is not None:
            start = int(self.bias)
            terms[:, start:] = (terms[:, start:] - self.state.shift) @ self.state.turn
        return terms


def _evaluate_powers(kind: str, u: np.ndarray, degree: int) -> list[np.ndarray]:
    """Return the polynomials of degree 0 ... `degree` of every entry, by their recurrences."""
    # T_{n+1} = 2 u T_n - T_{n-1}; (n + 1) P_{n+1} = (2 n + 1) u P_n - n P_{n-1}. Both are stable on [-1, 1].
    values = [np.ones_like(u), u]
    for n in range(1, degree):
        if kind == "power":
            values.append(values[-1] * u)
        elif kind == "chebyshev":
            # T_{n+1}(u) = 2 u T_n(u) - T_{n-1}(u).
            values.append(2.0 * u * values[-1] - values[-2])
        else:
            # (n + 1) P_{n+1}(u) = (2 n + 1) u P_n(u) - n P_{n-1}(u), Bonnet's recurrence.
            values.append(((2 * n + 1) * u * values[-1] - n * values[-2]) / (n + 1))
    return values


@dataclass(frozen=True, eq=False)
class _ExpandedTriangle(Statistic):
    """The triangular factor of the centred terms of the rows."""

    expansion: _Polynomials

    def of(self, block: Any) -> TriangleSums:
        tree = SumTree()
        for part in block.parts(max(1, _PART // len(self.expansion.exponents))):
            tree.add(Triangle().of(DenseBlock(self.expansion(part), part.start)))
        return tree.total()


def _orthonormalise(triangle: TriangleSums) -> tuple[np.ndarray, np.ndarray]:
    """Return a shift m and an upper triangle T such that (terms - m) T has uncorrelated columns of variance one.

    This is the Gram-Schmidt method on the columns of the triangle. Each column is orthogonalised twice, which is enough
    for full precision; a column that depends linearly on those before it becomes zero.
    """
    factor = np.asarray(np.linalg.qr(triangle.factor, mode="r")) / math.sqrt(triangle.weight)
    count = factor.shape[1]
    basis, turn = np.zeros_like(factor), np.zeros((count, count))
    for j in range(count):
        column, combination = factor[:, j].copy(), np.zeros(count)
        combination[j] = 1.0
        size = np.linalg.norm(column)
        # Gram-Schmidt twice is orthogonal to rounding; once loses digits where columns are nearly dependent.
        for _ in range(2):
            along = basis[:, :j].T @ column
            column -= basis[:, :j] @ along
            combination -= turn[:, :j] @ along
        left = np.linalg.norm(column)
        # A term that depends on earlier ones has nothing left of its own and gets a column of zeros.
        if left > 1e-10 * size:
            basis[:, j], turn[:, j] = column / left, combination / left
    return triangle.mean, turn

"""What estimators with a kernel share: the choice of the kernel, rows prepared for it, and sums of kernels."""

import weakref
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from mercer._base.parameter import Choice, Declared, Function, Nothing, Real, Rule, parameter
from mercer._source import Block
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, part
from mercer._types import Array
from mercer.kernels import KERNEL_NAMES, Kernel, Precomputed, Prepared, as_kernel

# Values of a tile: 2**18 float64 are 2 MiB, which stay in a second-level cache.
_TILE = 2**18


class Settings(Rule):
    """A dictionary of further arguments."""

    text = "a dictionary"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, dict)


_prepared: "weakref.WeakKeyDictionary[Any, tuple[Any, Any, Prepared]]" = weakref.WeakKeyDictionary()


def prepare_for_kernel(model: Any, kernel: Kernel, rows: Array) -> Prepared:
    """Prepare the rows of a fitted model for its kernel, once per model; they are not saved with it."""
    known = _prepared.get(model)
    if known is None or known[0] is not rows or known[1] is not kernel:
        known = _prepared[model] = (rows, kernel, kernel.prepare(rows))
    return known[2]


@dataclass(frozen=True, eq=False)
class KernelSum:
    """For each row x of a block the sums over j of k(x, x_j) weights_j, plus an offset.

    A frozen description that travels to wherever the rows are: on a device the kernel's definition is used, elsewhere
    tiles of products.
    """

    kernel: Kernel
    rows: Array
    weights: Array
    offset: Any = 0.0
    ready: Any = None

    def __call__(self, block: Block) -> Array:
        if block.xp is not np:
            rows = self.rows
            values = [
                block.xp.matmul(self.kernel.of(block.xp, block.X[tile, :], rows), self.weights)
                for tile in block.tiles(rows.shape[0])
            ]
            return block.xp.concat(values) + self.offset
        return self.of_rows(block.X)

    def of_rows(self, X: Array) -> Array:
        """Compute the sums for rows in memory."""
        others = self.kernel.prepare(self.rows) if self.ready is None else self.ready
        with one_order(X.shape[0] * len(others)):
            return self._of_rows(X, others)

    def _of_rows(self, X: Array, others: Prepared) -> Array:
        # Rows of a precomputed kernel are already the values k(x, x_i) for the fitted rows x_i.
        if isinstance(self.kernel, Precomputed):
            return ((X @ self.weights) + self.offset).astype(X.dtype, copy=False)
        # A tile of kernel values has `height` rows and a column for each fitted row; _TILE bounds their product.
        height = max(1, _TILE // max(1, len(others)))
        if X.shape[0] <= height:
            return self._tile(X, others)
        tiles = [self._tile(X[start : start + height], others) for start in range(0, X.shape[0], height)]
        return np.concatenate(tiles)

    def _tile(self, X: Array, others: Prepared) -> Array:
        values = self.kernel.between(self.kernel.prepare(X, like=others), others)
        return (values @ self.weights + self.offset).astype(X.dtype, copy=False)


def one_order(size: int) -> Any:
    """Return a context in which products of `size` values are summed in one order, whatever else runs.

    A BLAS computes small products on one thread by itself, and setting its threads would take longer than they do.
    """
    return one_blas_thread() if size > 2**13 else nullcontext()


class KernelChoice(Declared):
    """Mixin of estimators with the parameters kernel, gamma, degree, coef0 and kernel_params."""

    kernel: Any = parameter(
        Choice(*KERNEL_NAMES) | Function(),
        default="rbf",
        doc="The kernel by name, as an object of :mod:`mercer.kernels`, or a function of two rows.",
    )
    gamma: float | None = parameter(
        Real(0, closed="neither") | Nothing(), default=None, doc="Of kernels by name; None means 1 / d."
    )
    degree: float = parameter(Real(0), default=3, doc="The degree of polynomials.")
    coef0: float = parameter(Real(), default=1, doc="Of polynomials and of tanh.")
    kernel_params: dict[str, Any] | None = parameter(
        Settings() | Nothing(), default=None, doc="Further arguments of a function."
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "kernel_": part("Kernel"),
    }
    _takes_sparse = True

    def _choose_kernel(self, rows: Array) -> Kernel:
        return as_kernel(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            rows=rows,
            parameters=self.kernel_params,
            pairs=True,
        )

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed) or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = self._is_precomputed
        return tags


def wide_rows(rows: Array) -> Array:
    """Return rows in float64, the type in which kernel matrices are factored."""
    return rows if issparse(rows) and rows.dtype == np.float64 else rows.astype(np.float64, copy=False)

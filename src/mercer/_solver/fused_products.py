"""Sums of Gaussian kernel rows on an NVIDIA GPU as one Triton program: no value is stored.

Array operations write a table of values and read it four times, which takes longer than all else. Products are made by
the matrix units, by three for one (``tf32x3``), as exact as float32; values are added in float32 over 64 rows, and
these sums in float64.
"""

from typing import Any

from mercer.kernels import RBF, Kernel

try:
    import torch
    import triton
    import triton.language as tl
except ImportError:
    triton = None

__all__ = ["can_sum", "gaussian_sums"]

Array = Any
# Wider rows leave too little of the fast memory; their products are long enough for array operations.
_MOST_COLUMNS = 128


def can_sum(kernel: Kernel, X: Array) -> bool:
    """Whether it can be done: a Gaussian kernel, and float32 rows of torch on an NVIDIA GPU with matrix units."""
    if triton is None or type(kernel) is not RBF or not X.is_cuda or X.dtype != torch.float32:
        return False
    return X.shape[1] <= _MOST_COLUMNS and torch.cuda.get_device_capability(X.device) >= (8, 0)


def gaussian_sums(X: Array, weights: Array, Y: Array) -> Array:
    """For each row y of `Y` the sum over the rows x of `X` of weight times exp(-|x - y|^2 / 2), as float64.

    Parameters
    ----------
    X : (m, d) float32, in units of the kernel
    weights : (m,)
    Y : (n, d) float32, in units of the kernel
    """
    X, Y, weights = X.contiguous(), Y.contiguous(), weights.to(torch.float32)
    (m, d), n = X.shape, Y.shape[0]
    out = torch.empty(n, dtype=torch.float64, device=X.device)
    squares, others = (X * X).sum(1), (Y * Y).sum(1)
    shape = {"ROWS": 64, "COLUMNS": 128, "WIDTH": max(16, triton.next_power_of_2(d))}
    _sums[(triton.cdiv(n, 128),)](X, squares, weights, Y, others, out, m, n, d, **shape, num_warps=8)
    return out


if triton is not None:

    @triton.jit(do_not_specialize=["m", "n"])
    def _sums(
        X, squares, weights, Y, others, out, m, n, d, ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDTH: tl.constexpr
    ):  # fmt: skip
        columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
        features = tl.arange(0, WIDTH)
        known = (columns < n)[:, None] & (features < d)[None, :]
        y = tl.load(Y + columns.to(tl.int64)[:, None] * d + features[None, :], mask=known, other=0.0)
        lengths = tl.load(others + columns, mask=columns < n, other=0.0)
        total = tl.zeros((COLUMNS,), tl.float64)
        for start in range(0, m, ROWS):
            rows = start + tl.arange(0, ROWS)
            given = (rows < m)[None, :] & (features < d)[:, None]
            x = tl.load(X + rows.to(tl.int64)[None, :] * d + features[:, None], mask=given, other=0.0)
            squared = tl.load(squares + rows, mask=rows < m, other=0.0)[None, :] + lengths[:, None]
            squared -= 2.0 * tl.dot(y, x, input_precision="tf32x3")
            values = tl.exp(-0.5 * tl.maximum(squared, 0.0))
            total += tl.sum(values * tl.load(weights + rows, mask=rows < m, other=0.0)[None, :], axis=1).to(tl.float64)
        tl.store(out + columns, total, mask=columns < n)

"""A candidate for the search of k-means on NVIDIA GPUs: scores and their least in one Triton program, no score stored.

Scores of float32 rows are taken in full (``"ieee"``, on the ordinary units) or as three products of ten-bit halves
(``"tf32x3"``, on the matrix units). It is here to be measured: it belongs in the library where it halves the time of a
fit, and nowhere else. ``TRITON_INTERPRET=1`` runs it without a GPU.
"""

import torch
import triton
import triton.language as tl

__all__ = ["fused_search"]


@triton.jit
def _search(
    X, directions, offset, shift, labels, n, d, stride, COUNT: tl.constexpr,
    ROWS: tl.constexpr, NUMBERS: tl.constexpr, WIDTH: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, WIDTH)
    inside = columns < d
    x = tl.load(X + rows[:, None] * stride + columns[None, :], mask=(rows < n)[:, None] & inside[None, :], other=0.0)
    x = x - tl.load(shift + columns, mask=inside, other=0.0)[None, :]
    best = tl.full((ROWS,), float("inf"), tl.float32)
    label = tl.zeros((ROWS,), tl.int32)
    for start in range(0, COUNT, NUMBERS):
        numbers = start + tl.arange(0, NUMBERS)
        known = numbers < COUNT
        places = numbers[None, :] * d + columns[:, None]
        c = tl.load(directions + places, mask=inside[:, None] & known[None, :], other=0.0)
        least = tl.load(offset + numbers, mask=known, other=float("inf"))
        scores = least[None, :] - tl.dot(x, c, input_precision=PRECISION)
        lowest, at = tl.min(scores, axis=1, return_indices=True)
        better = lowest < best
        label = tl.where(better, start + at, label)
        best = tl.where(better, lowest, best)
    tl.store(labels + rows, label, mask=rows < n)


def fused_search(X, directions, offset, shift, *, rows=128, numbers=128, precision="tf32x3", warps=8, stages=2):
    """For each row x the j of least offset_j - (x - shift) . directions_j; rows of at most 256 columns."""
    n, d = X.shape
    labels = torch.empty(n, dtype=torch.int32, device=X.device)
    _search[(triton.cdiv(n, rows),)](
        X, directions.contiguous(), offset, shift, labels, n, d, X.stride(0), COUNT=directions.shape[0],
        ROWS=rows, NUMBERS=numbers, WIDTH=max(16, triton.next_power_of_2(d)), PRECISION=precision,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return labels

"""The search of k-means on an NVIDIA GPU as one Triton program: scores, their least and its distance, no score stored.

Rows and centres of float32 are split into two halves of ten bits each and multiplied by the matrix units, by three
products for one (``tf32x3``): as exact as float32, and faster than the array operations of
:meth:`mercer._source.block.Block.nearest`, which are its oracle. Rows of few columns stay in registers while centres
pass; wider rows are read again, 32 columns at a time, for each tile of centres. On an H200, one million rows of 96
columns and 512 centres take 1.8 ms, where a product and an argmin in torch take 4.4.
"""

from typing import Any, NamedTuple

try:
    import torch
    import triton
    import triton.language as tl
except ImportError:
    triton = None

# Wider rows make products so long that writing the scores is a small part of the work.
MOST_COLUMNS = 1024
# Columns up to which rows stay in registers.
_NARROW = 32
# Columns of wider rows that are multiplied at a time.
_PART = 32


class Tiles(NamedTuple):
    """The shape of the work: rows and centres of a tile, columns at a time, warps of a block, tiles in flight."""

    rows: int
    numbers: int
    width: int
    warps: int
    stages: int


def choose_tiles(d: int, k: int) -> Tiles:
    """Return the fastest of the shapes that were measured on an H200, for d in 8 to 256 and k in 8 to 2048."""
    # The matrix units multiply by 16 numbers at least.
    few = max(16, min(64, 2 ** (k - 1).bit_length()))
    if d > _NARROW:
        return Tiles(128, 128, _PART, 8, 3) if k > 64 else Tiles(128, few, _PART, 4, 3)
    width = max(16, 2 ** (d - 1).bit_length())
    if k <= 64:
        return Tiles(64, few, width, 4, 2)
    return Tiles(128, few, width, 8 if width > 16 else 4, 2)


def can_fuse(X: Any) -> bool:
    """Return whether the program can read these rows: float32 on an NVIDIA GPU with matrix units, not too wide."""
    if triton is None or not (X.is_cuda and X.dtype == torch.float32 and X.stride(1) == 1):
        return False
    return X.shape[1] <= MOST_COLUMNS and torch.cuda.get_device_capability(X.device) >= (8, 0)


if triton is not None:

    @triton.jit
    def _search(
        X, centres, directions, offset, shift, labels, distances, n, d, stride, COUNT: tl.constexpr,
        ROWS: tl.constexpr, NUMBERS: tl.constexpr, WIDTH: tl.constexpr,
    ):  # fmt: skip
        rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
        columns = tl.arange(0, WIDTH)
        inside = columns < d
        given = (rows < n)[:, None] & inside[None, :]
        x = tl.load(X + rows[:, None] * stride + columns[None, :], mask=given, other=0.0)
        # About the shift, so that scores keep more digits.
        moved = x - tl.load(shift + columns, mask=inside, other=0.0)[None, :]
        best = tl.full((ROWS,), float("inf"), tl.float32)
        label = tl.zeros((ROWS,), tl.int32)
        # Some centres at a time: their scores exist in registers only.
        for start in range(0, COUNT, NUMBERS):
            numbers = start + tl.arange(0, NUMBERS)
            known = numbers < COUNT
            places = numbers[None, :] * d + columns[:, None]
            c = tl.load(directions + places, mask=inside[:, None] & known[None, :], other=0.0)
            least = tl.load(offset + numbers, mask=known, other=float("inf"))
            # |c|^2 / 2 - x.c orders centres as their distances do.
            scores = least[None, :] - tl.dot(moved, c, input_precision="tf32x3")
            lowest, at = tl.min(scores, axis=1, return_indices=True)
            better = lowest < best
            label = tl.where(better, start + at, label)
            best = tl.where(better, lowest, best)
        tl.store(labels + rows, label, mask=rows < n)
        # The distance to the winner is taken directly, not from the score.
        own = tl.load(centres + label[:, None] * d + columns[None, :], mask=given, other=0.0)
        step = x - own
        tl.store(distances + rows, tl.sum((step * step).to(tl.float64), axis=1), mask=rows < n)

    @triton.jit
    def _search_wide(
        X, centres, directions, offset, shift, labels, distances, n, d, stride, COUNT: tl.constexpr,
        ROWS: tl.constexpr, NUMBERS: tl.constexpr, WIDTH: tl.constexpr, PARTS: tl.constexpr,
    ):  # fmt: skip
        rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
        there = rows < n
        columns = tl.arange(0, WIDTH)
        best = tl.full((ROWS,), float("inf"), tl.float32)
        label = tl.zeros((ROWS,), tl.int32)
        for start in range(0, COUNT, NUMBERS):
            numbers = start + tl.arange(0, NUMBERS)
            known = numbers < COUNT
            sums = tl.zeros((ROWS, NUMBERS), tl.float32)
            for part in range(PARTS):
                entry = part * WIDTH + columns
                inside = entry < d
                given = there[:, None] & inside[None, :]
                x = tl.load(X + rows[:, None] * stride + entry[None, :], mask=given, other=0.0)
                x = x - tl.load(shift + entry, mask=inside, other=0.0)[None, :]
                places = numbers[None, :] * d + entry[:, None]
                c = tl.load(directions + places, mask=inside[:, None] & known[None, :], other=0.0)
                sums = tl.dot(x, c, sums, input_precision="tf32x3")
            least = tl.load(offset + numbers, mask=known, other=float("inf"))
            lowest, at = tl.min(least[None, :] - sums, axis=1, return_indices=True)
            better = lowest < best
            label = tl.where(better, start + at, label)
            best = tl.where(better, lowest, best)
        tl.store(labels + rows, label, mask=there)
        total = tl.zeros((ROWS,), tl.float64)
        for part in range(PARTS):
            entry = part * WIDTH + columns
            given = there[:, None] & (entry < d)[None, :]
            x = tl.load(X + rows[:, None] * stride + entry[None, :], mask=given, other=0.0)
            step = x - tl.load(centres + label[:, None] * d + entry[None, :], mask=given, other=0.0)
            total += tl.sum((step * step).to(tl.float64), axis=1)
        tl.store(distances + rows, total, mask=there)


def search_nearest(X: Any, centres: Any, directions: Any, offset: Any, shift: Any) -> tuple[Any, Any]:
    """Return for each float32 row x the j of least offset_j - (x - shift) . directions_j, and |x - centres_j|^2."""
    (n, d), k = X.shape, directions.shape[0]
    labels = torch.empty(n, dtype=torch.int32, device=X.device)
    distances = torch.empty(n, dtype=torch.float64, device=X.device)
    tiles = choose_tiles(d, k)
    given = X, centres.contiguous(), directions.contiguous(), offset, shift, labels, distances, n, d, X.stride(0)
    options = {"COUNT": k, "ROWS": tiles.rows, "NUMBERS": tiles.numbers, "WIDTH": tiles.width}
    options |= {"num_warps": tiles.warps, "num_stages": tiles.stages}
    grid = (triton.cdiv(n, tiles.rows),)
    with torch.cuda.device(X.device):
        if d > _NARROW:
            _search_wide[grid](*given, **options, PARTS=triton.cdiv(d, tiles.width))
        else:
            _search[grid](*given, **options)
    return labels, distances

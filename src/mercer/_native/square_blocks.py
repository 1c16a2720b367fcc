"""The uncompiled twin of ``square_blocks.pxd``."""

from mercer._native import dual_sweep, radial

__all__ = ["fill"]


def fill(form, X, squares, chosen, top, left, block, lengths, numbers, panels, rows, tile, K):
    """Make the block of `K` at a row and a column, and its mirror image; `panels`, `rows` and `tile` are scratch."""
    bottom, right = min(top + block, len(chosen)), min(left + block, len(chosen))
    radial.pack(X, chosen, left, right - left, panels, 0)
    radial.fill(
        form, X, squares, chosen, top, bottom, chosen, left, right, panels, 0, lengths, numbers, left, rows, tile, K
    )
    if top != left:
        dual_sweep.mirror(K, top, bottom, left, right)

"""The uncompiled twin of ``dual_tile.pxd``."""

from mercer._native.dual import dual_sweep, radial

__all__ = ["fill_block", "sweep"]


def sweep(
    form,
    X,
    squares,
    columns,
    first,
    last,
    panels,
    others,
    fresh,
    room,
    slots,
    change,
    groups,
    left,
    tile,
    table,
    slope,
):
    """Write rows `fresh` to the table at `room`, and add those in `slots`, times their change, to slopes, in groups."""
    made = added = 0
    given = columns, first, last, panels, first // panels.shape[2], others, room, first, left, tile, table
    for next_made, next_added in groups:
        radial.fill(form, X, squares, fresh, made, next_made, *given)
        dual_sweep.add(table, slots[added:next_added], change[added:next_added], first, last, slope)
        made, added = next_made, next_added


def fill_block(form, X, squares, chosen, lengths, numbers, top, bottom, first, last, panels, left, tile, K):
    """Make a block of the square of the rows `chosen`, of squared `lengths`, and its mirror image."""
    radial.pack(X, chosen, first, last - first, panels, 0)
    others = chosen, first, last, panels, 0, lengths
    radial.fill(form, X, squares, chosen, top, bottom, *others, numbers, first, left, tile, K)
    if top != first:
        dual_sweep.mirror(K, top, bottom, first, last)

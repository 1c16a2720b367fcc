"""The loss, gradients and curvatures of boosting at scores, over a run of blocks; ``slopes`` has the formulas."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.boosting import slopes
else:
    from mercer._native.boosting import slopes


def compute_loss(
    loss: cython.int,
    shape: cython.double,
    flat: cython.int,
    scores: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    unit: cython.Py_ssize_t,
    first_block: cython.Py_ssize_t,
    last_block: cython.Py_ssize_t,
    gradients: cython.double[:, :, ::1],
    sums: cython.double[:, ::1],
) -> None:
    """Write the gradients (k, n, 2) of a loss (see ``slopes``) at scores (n, k), and a row of sums for each block."""
    with cython.nogil:
        for block in range(first_block, last_block):
            start = block * unit
            stop = min(start + unit, y.shape[0])
            slopes.compute_loss(loss, shape, flat, scores, y, weight, start, stop, gradients, sums[block])


def fold(sums: cython.double[:, ::1]) -> None:
    """Add all rows to the first one, along the tree of blocks."""
    step: cython.Py_ssize_t = 1
    with cython.nogil:
        # Block b takes in block b + step for step = 1, 2, 4...: the shape of the sum depends on the number of blocks
        # alone.
        while step < sums.shape[0]:
            block = 0
            while block + step < sums.shape[0]:
                for j in range(sums.shape[1]):
                    sums[block, j] += sums[block + step, j]
                block += 2 * step
            step *= 2

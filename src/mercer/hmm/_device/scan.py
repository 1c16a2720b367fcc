"""An associative scan over time: what enters each chunk of steps, from the products of the chunks before or after it.

Step t multiplies a row vector of filtered probabilities by the matrix M_t = A diag(b_t), and the first step of a
sequence by 1 (pi b_t)^T, which forgets all that was before. Products of matrices may be taken in any grouping. So
time is cut into chunks of some hundred steps: all chunks are multiplied out at once, one step of each per array
operation; the products of the chunks are scanned in the same way, level by level; and with what enters it each chunk
is passed by vectors alone.

Two kinds of elements: matrices of probabilities whose rows sum to one, with the logarithm of what each row was divided
by; and matrices of logarithms, whose sums are maxima (best paths) or logarithms of sums of exponentials (probabilities
that leave the range of the type).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._types import Array

# Most elements that are walked through one by one; more of them are grouped first.
_FEW = 64
# Elements per group.
_GROUP = 64
# Most numbers in the table that a product of matrices of logarithms needs: 512 MiB in float64.
_MOST_TERMS = 2**26


def divide_safely(xp: Any, table: Array, total: Array) -> tuple[Array, Array]:
    """Return rows divided by their totals, and the logarithms of the totals; rows whose total is zero stay zero."""
    positive = total > 0
    safe = xp.where(positive, total, xp.ones_like(total))
    return table / safe[..., None], xp.where(positive, xp.log(safe), xp.full_like(total, -np.inf))


def take_finite_top(xp: Any, table: Array) -> Array:
    """Return the maximum along the last axis, and zero where it is minus infinity, so that differences have a value."""
    top = xp.max(table, axis=-1)
    return xp.where(xp.isfinite(top), top, xp.zeros_like(top))


def add_logs(xp: Any, table: Array) -> Array:
    """Return log(sum(exp(table))) along the last axis."""
    top = take_finite_top(xp, table)
    total = xp.sum(xp.exp(table - top[..., None]), axis=-1)
    return top + divide_safely(xp, total[..., None], total)[1]


class ScaledElements:
    """Matrices of probabilities (n, k, k) with rows that sum to one, and the logarithms (n, k) of what divided them."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def make_identity(self, like: Any, count: int) -> Any:
        """Return `count` elements that change nothing."""
        xp, (rows, _) = self.xp, like
        k = rows.shape[-1]
        eye = xp.eye(k, dtype=rows.dtype, device=rows.device)
        logs = xp.zeros((count, k), dtype=rows.dtype, device=rows.device)
        return xp.broadcast_to(eye, (count, k, k)), logs

    def combine(self, first: Any, second: Any) -> Any:
        """Return the products of elements, the earlier ones first."""
        xp, (rows, logs), (later, later_logs) = self.xp, first, second
        others = xp.broadcast_to(later_logs[:, None, :], rows.shape)
        top = take_finite_top(xp, xp.where(rows > 0, others, xp.full_like(rows, -np.inf)))
        # The cut at zero concerns entries without probability, whose factor could overflow.
        factor = xp.exp(xp.minimum(others - top[..., None], xp.zeros_like(rows)))
        product = (rows * factor) @ later
        product, total = divide_safely(xp, product, xp.sum(product, axis=-1))
        return product, logs + top + total

    def push(self, vector: Array, element: Any) -> Array:
        """Return row vectors (n, k) after elements, divided by their sums."""
        xp, (rows, logs) = self.xp, element
        top = take_finite_top(xp, xp.where(vector > 0, logs, xp.full_like(logs, -np.inf)))
        weight = vector * xp.exp(xp.minimum(logs - top[:, None], xp.zeros_like(logs)))
        out = (weight[:, None, :] @ rows)[:, 0, :]
        return divide_safely(xp, out, xp.sum(out, axis=-1))[0]

    def pull(self, vector: Array, element: Any) -> Array:
        """Return column vectors (n, k) before elements, divided by their maxima."""
        xp, (rows, logs) = self.xp, element
        out = (rows @ vector[:, :, None])[:, :, 0]
        top = take_finite_top(xp, xp.where(out > 0, logs, xp.full_like(logs, -np.inf)))
        out = out * xp.exp(xp.minimum(logs - top[:, None], xp.zeros_like(logs)))
        return divide_safely(xp, out, xp.max(out, axis=-1))[0]


class LogElements:
    """Matrices of logarithms (n, k, k); `add` sums over the last axis: a maximum, or :func:`add_logs`."""

    def __init__(self, xp: Any, add: Callable[[Array], Array]) -> None:
        self.xp, self.add = xp, add

    def make_identity(self, like: Any, count: int) -> Any:
        """Return `count` elements that change nothing."""
        xp, (rows,) = self.xp, like
        k = rows.shape[-1]
        eye = xp.eye(k, dtype=rows.dtype, device=rows.device)
        return (xp.broadcast_to(xp.where(eye > 0, eye - 1.0, xp.full_like(eye, -np.inf)), (count, k, k)),)

    def multiply(self, first: Array, second: Array) -> Array:
        """Return products of matrices (n, i, j) and (n or 1, j, k), some at a time to bound the memory."""
        xp, k = self.xp, second.shape[-1]
        turned = xp.matrix_transpose(second)
        # (n, i, j, k) terms at a time, in parts of a bounded size.
        most = max(1, _MOST_TERMS // (first.shape[1] * k * k))
        parts = []
        for begin in range(0, first.shape[0], most):
            stop = min(first.shape[0], begin + most)
            other = turned if turned.shape[0] == 1 else turned[begin:stop, ...]
            parts.append(self.add(first[begin:stop, :, None, :] + other[:, None, :, :]))
        return parts[0] if len(parts) == 1 else xp.concat(parts)

    def combine(self, first: Any, second: Any) -> Any:
        """Return the products of elements, the earlier ones first."""
        return (self.multiply(first[0], second[0]),)

    def push(self, vector: Array, element: Any) -> Array:
        """Return row vectors (n, k) after elements, less their maxima."""
        return self._level(self.multiply(vector[:, None, :], element[0])[:, 0, :])

    def pull(self, vector: Array, element: Any) -> Array:
        """Return column vectors (n, k) before elements, less their maxima."""
        return self._level(self.add(element[0] + vector[:, None, :]))

    def _level(self, vector: Array) -> Array:
        return vector - take_finite_top(self.xp, vector)[:, None]


def scan_elements(kind: Any, elements: Any, vector: Array, backward: bool = False) -> Array:
    """Return what enters each of n elements, (n, k), from the first on or, backward in time, from the last on.

    `vector` (1, k) enters the first element that is met.
    """
    xp, n = kind.xp, elements[0].shape[0]
    move = kind.pull if backward else kind.push
    # A few elements one by one; more are grouped, and the groups are scanned in the same way.
    if n <= _FEW:
        order = range(n - 1, -1, -1) if backward else range(n)
        entering = [vector] * n
        for number in order:
            entering[number] = vector
            vector = move(vector, tuple(part[number : number + 1, ...] for part in elements))
        return xp.concat(entering)
    groups = -(-n // _GROUP)
    padding = groups * _GROUP - n
    # Identities at the end change no product.
    if padding:
        identity = kind.make_identity(elements, padding)
        elements = tuple(xp.concat([part, more]) for part, more in zip(elements, identity, strict=True))
    folded = tuple(xp.reshape(part, (groups, _GROUP, *part.shape[1:])) for part in elements)
    members = [tuple(part[:, number, ...] for part in folded) for number in range(_GROUP)]
    # The product of each group, over its members in their order.
    products = members[0]
    for member in members[1:]:
        products = kind.combine(products, member)
    vectors = scan_elements(kind, products, vector, backward)
    # What enters a group, moved through its members, is what enters each of them.
    inside = [vectors] * _GROUP
    for number in range(_GROUP - 1, -1, -1) if backward else range(_GROUP):
        inside[number] = vectors
        vectors = move(vectors, members[number])
    return xp.reshape(xp.stack(inside, axis=1), (groups * _GROUP, -1))[:n, :]

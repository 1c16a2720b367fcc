"""Passes of batches through the network, and steps of its weights: native for plain chains, else layer by layer."""

from contextlib import ExitStack
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import numpy as np

from mercer._native.network import dense_steps
from mercer._source.namespace import is_sparse_matrix, namespace_of, to_numpy
from mercer._source.threads import run_alongside
from mercer._types import Array
from mercer.neural_network._layers.layer import as_like
from mercer.neural_network._perceptron.plan import Plan
from mercer.neural_network._perceptron.torch_passes import TorchPasses, suits_torch

# Rows in an item of native work: fewer would pack the weights anew too often, more would leave threads idle.
_CHUNK = 64
# Weights in an item of native work: 2^15 of them, with their gradients and two means, take half a megabyte.
_PIECE = 2**15
# Floating-point operations in a native call, after which Ctrl-C is noticed: some 5 ms on one core for wide layers, and
# 40 ms for layers of 8 units, whose loops are short.
_CALL = 1.5e8
# Floating-point operations of a batch for each thread: below this a second thread costs more than it saves.
_SHARE = 4e6
# Rows whose gradient over all rows is computed at a time, layer by layer.
_TILE = 2048
_NONE = np.empty(0, dtype=np.intp)
_NO_WEIGHT = np.empty(0)


def open_passes(plan: Plan, X: Any, y: Any, weight: Any, threads: int, batch: int) -> "Passes":
    """Return the passes for these rows: the plan's own, written out for torch, or native for plain chains in NumPy."""
    # The order is from the special to the general: layers in array operations serve everything else.
    own = getattr(plan, "make_passes", None)
    if own is not None:
        return own(X, y, weight)
    if suits_torch(plan, X):
        return TorchPasses(plan, X, y, weight, batch)
    if plan.native_kinds is not None and (isinstance(X, np.ndarray) or is_sparse_matrix(X)):
        return DensePasses(plan, X, y, weight, threads, batch)
    return LayerPasses(plan, X, y, weight)


class DensePasses:
    """Native passes through a chain of dense layers.

    Parameters
    ----------
    plan : Plan
    X : array of shape (n, d), or CSR matrix
    y : array of shape (n,) or (n, k)
        Numbers of classes for softmax; targets for other losses.
    weight : array of shape (n,) or None
    threads : int
    batch : int
        The most rows that a batch has.
    """

    def __init__(self, plan: Plan, X: Any, y: Array, weight: Array | None, threads: int, batch: int) -> None:
        self.plan, self.n = plan, X.shape[0]
        self.batch = self.most_rows = batch = min(batch, self.n)
        self.dtype = dtype = X.dtype
        layout, size = _lay_out(plan, batch)
        work = plan.count_work() * batch
        self.threads = max(1, min(threads, int(work / _SHARE)))
        self.per_call = max(1, int(_CALL / work)) * batch
        pieces = _cut_weights(layout)
        n_items = -(-batch // _CHUNK)
        activation, loss = plan.native_kinds or (0, 0)
        self.rules = np.zeros(6)
        kinds = np.array([activation, loss, plan.native_method, -(-batch // n_items)], dtype=np.intp)
        sparse = (X.indices.astype(np.intp), X.indptr.astype(np.intp)) if is_sparse_matrix(X) else (_NONE, _NONE)
        weight = _NO_WEIGHT if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
        tables = (np.empty(batch), np.zeros(len(pieces)))
        control = np.zeros(48 + 8 * self.threads, np.int64)[8:-8]
        self.tasks = dense_steps.NetworkTasks(
            dtype == np.float64, layout, pieces, sparse, weight, kinds, self.rules, tables, control
        )
        # Whether steps are native too, or only the gradient.
        self.takes_steps = plan.native_method != 0
        n_weights = plan.network.n_weights
        self.theta, self.gradient = np.empty(n_weights, dtype), np.empty(n_weights, dtype)
        self.carried = tuple(np.zeros(n_weights, dtype) for _ in range(2))
        targets = np.ascontiguousarray(y, dtype=dtype).reshape(self.n, -1)
        dense = np.empty((0, 0), dtype) if is_sparse_matrix(X) else X
        data = X.data if is_sparse_matrix(X) else np.empty(0, dtype)
        scratch = (np.empty(size, dtype), np.empty(size, dtype))
        self.tasks.hold((dense, data, targets), (self.theta, self.gradient, *self.carried), scratch)
        self._threads: ExitStack | None = None

    def _call_threads(self) -> None:
        """Start the worker threads, unless they run."""
        if self._threads is None and self.threads > 1:
            self._threads = ExitStack()
            self.tasks.call()
            self._threads.enter_context(run_alongside(self.tasks.help, self.tasks.dismiss, self.threads))

    def close(self) -> None:
        """Stop the worker threads."""
        if self._threads is not None:
            self._threads.close()
        self._threads = None

    def load(self, theta: Array, carried: tuple[Array, ...]) -> None:
        """Begin at these weights."""
        self.theta[:] = theta
        for own, given in zip(self.carried, carried, strict=False):
            own[:] = given

    def read(self) -> tuple[Array, tuple[Array, ...]]:
        """Return copies of the weights and of what their steps carry along."""
        return self.theta.copy(), tuple(array.copy() for array in self.carried[: self.plan.n_carried])

    def run(self, order: np.ndarray, rate: float, steps: int) -> np.ndarray:
        """Take a native step for each batch; return the sums that :meth:`NetworkTasks.run` describes."""
        self.rules[:] = (rate, *self.plan.rules, self.plan.alpha, self.plan.loss.loss.shape)
        sums = np.zeros(5)
        sums[2] = steps
        self._call_threads()
        for first in range(0, len(order), self.per_call):
            self.tasks.run(order, first, min(first + self.per_call, len(order)), self.batch, sums)
        return sums

    def differentiate(self, theta: Array, rows: np.ndarray, step: int = 0) -> tuple[float, Array, float]:
        """Return the mean loss of some rows, its gradient, without penalty, and their weight."""
        self.theta[:] = theta
        self.rules[:] = (0.0, 0.0, 0.0, 0.0, 0.0, self.plan.loss.loss.shape)
        sums = np.zeros(5)
        self._call_threads()
        self.tasks.run(rows, 0, len(rows), self.batch, sums)
        if sums[1] == 0.0:
            return 0.0, np.zeros_like(self.gradient), 0.0
        # Python's numbers: NumPy's own float64 would turn gradients in float32, divided by the weight, into float64.
        return float(sums[0] / sums[1]), self.gradient, float(sums[1])


class LayerPasses:
    """Passes by the layers' own methods, in any array library; parameters are those of DensePasses."""

    takes_steps: ClassVar[bool] = False

    def __init__(self, plan: Plan, X: Any, y: Array, weight: Array | None) -> None:
        self.plan, self.X, self.n = plan, X, X.shape[0]
        self.y, self.weight, self.most_rows = y, weight, _TILE
        # The weights of batches are summed on the host, so that nobody waits for a device.
        self.host_weight = None if weight is None else to_numpy(weight)
        self.statistics: dict[str, Any] = {}
        self.seed: tuple[int, ...] = (0,)

    def close(self) -> None:
        """Hold nothing that must be given back."""

    def take(self, rows: np.ndarray) -> tuple[Array, Array, Array | None]:
        """Return some rows, dense, with targets and weights."""
        if is_sparse_matrix(self.X):
            X = np.asarray(self.X[rows].toarray())
        elif isinstance(self.X, np.ndarray):
            X = self.X[rows]
        else:
            xp = namespace_of(self.X)
            rows = xp.asarray(rows, device=self.X.device)
            weight = None if self.weight is None else xp.take(self.weight, rows, axis=0)
            return xp.take(self.X, rows, axis=0), xp.take(self.y, rows, axis=0), weight
        return X, self.y[rows], None if self.weight is None else self.weight[rows].astype(X.dtype)

    def differentiate(self, theta: Array, rows: np.ndarray, step: int = 0) -> tuple[Array, Array, float]:
        """Return the mean loss of some rows, its gradient, without penalty, and their weight.

        The loss is an array of no axes: on a device nobody waits for it before the epoch ends.
        """
        total = float(len(rows)) if self.host_weight is None else float(self.host_weight[rows].sum())
        # A batch whose rows all weigh nothing takes no step.
        if total == 0.0:
            return 0.0, 0.0 * theta, 0.0
        X, y, weight = self.take(rows)
        if weight is not None:
            weight = namespace_of(X).astype(weight, X.dtype, copy=False)
        network = self.plan.network
        trace = network.forward(theta, X, self.statistics, training=True, seed=self.seed, step=step)
        value, by_output = self.plan.loss.differentiate(trace.output, y, weight, total)
        self.statistics = trace.statistics
        return value, network.backward(trace, by_output)[0], total


Passes: TypeAlias = DensePasses | LayerPasses | TorchPasses


def move_named(plan: Plan, theta: Array, gradient: Array, carried: tuple[Array, ...], rate: float, t: int) -> Any:
    """Take a step of "adam" or "sgd" in any array library: the formulas of native code."""
    first, second, epsilon = plan.rules
    if plan.method == "adam":
        xp = namespace_of(theta)
        mean = first * carried[0] + (1.0 - first) * gradient
        square = second * carried[1] + (1.0 - second) * gradient**2
        # Both running means start at zero: the two factors make up for it (Kingma and Ba, 2015).
        rate = rate * (1.0 - second**t) ** 0.5 / (1.0 - first**t)
        return theta - rate * mean / (xp.sqrt(square) + epsilon), (mean, square)
    velocity = first * carried[0] - rate * gradient
    # Nesterov's form: one more part of the velocity ahead.
    move = first * velocity - rate * gradient if plan.nesterov else velocity
    return theta + move, (velocity,)


def place_like(arrays: tuple[Array, ...], like: Array) -> tuple[Array, ...]:
    """Return host arrays in the library, the precision and on the device of `like`."""
    return tuple(as_like(array, like) for array in arrays)


def _lay_out(plan: Plan, batch: int) -> tuple[np.ndarray, int]:
    """Return where each layer's parts begin, see dense_steps.py, and the length of the scratch arrays."""
    widths, rows, weights, values = plan.widths, [], 0, 0
    for wide, out in pairwise(widths):
        rows.append([wide, out, weights, weights + wide * out, values, values + batch * wide, values + batch * wide])
        weights += wide * out + out
        values += batch * wide
    return np.array(rows, dtype=np.intp), values + batch * widths[-1]


def _cut_weights(layout: np.ndarray) -> np.ndarray:
    """Cut the weight matrices into pieces of whole rows, about equally large; an even number for large ones."""
    pieces = []
    for layer, (wide, out, *_) in enumerate(layout.tolist()):
        n_pieces = -(-wide * out // _PIECE)
        n_pieces = min(wide, n_pieces + n_pieces % 2) if n_pieces > 1 else 1
        bounds = np.linspace(0, wide, n_pieces + 1).astype(int)
        pieces += [[layer, first, last] for first, last in pairwise(bounds.tolist())]
    return np.array(pieces, dtype=np.intp).reshape(-1, 3)

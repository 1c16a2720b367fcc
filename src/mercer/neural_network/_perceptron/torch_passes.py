"""Epochs of a chain of dense layers on tensors of torch: nothing comes back to the host before an epoch ends.

The weights, what their steps carry along and the gradient are one flat tensor each, so that a step of Adam is a few
kernels for all layers together. What a batch needs besides (its rows, its learning rate, its weight) is in tables that
are sent once for each epoch, and a counter on the device says which batch it is. So all batches are the same program
without arguments: on a CUDA device it is recorded once as a graph and launched by one call for each batch.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from mercer._source.device.source import full_precision
from mercer._source.namespace import library_of, to_numpy
from mercer._source.placement import Placement
from mercer._types import Array
from mercer.neural_network._perceptron.plan import Plan
from mercer.objectives import Logistic, Poisson, Softmax, Squared

# Batches of an epoch from which on a graph is recorded: recording takes about as long as this many batches.
_RECORDED = 16
# The same numbers as in native code, see unit_rows.py: the slope of leaky ReLU, and the highest score of counts.
_LEAK = 0.01
_HIGHEST = 80.0


def suits_torch(plan: Plan, X: Any) -> bool:
    """Return whether the rows are tensors of torch, and the network one whose steps are written out here."""
    suited = isinstance(plan.loss.loss, Softmax | Logistic | Squared | Poisson) and plan.native_kinds is not None
    return library_of(X) == "torch" and suited and plan.native_method != 0


class TorchPasses:
    """Steps for batches of tensors.

    Parameters
    ----------
    plan : Plan
    X : tensor of shape (n, d)
    y : tensor of shape (n,) or (n, k)
    weight : tensor of shape (n,) or None
    batch : int
        The most rows that a batch has.
    """

    takes_steps = True

    def __init__(self, plan: Plan, X: Any, y: Any, weight: Any, batch: int) -> None:
        import torch

        self.torch, self.plan, self.X = torch, plan, X
        self.n, self.batch = X.shape[0], min(batch, X.shape[0])
        self.activation, self.loss = (plan.native_kinds or (0, 0))[0], plan.loss.loss
        like: dict[str, Any] = {"dtype": X.dtype, "device": X.device}
        self.wide = torch.float32 if X.device.type == "mps" else torch.float64
        labels = isinstance(self.loss, Softmax)
        self.y = y.to(torch.int64) if labels else y.to(X.dtype).reshape(self.n, -1)
        self.weight = None if weight is None else weight.to(X.dtype)
        # On the host, in double: the weights of batches are summed there.
        self.host_weight = None if weight is None else to_numpy(weight).astype(np.float64)
        size = plan.network.n_weights
        self.theta, self.gradient, self.scratch = (torch.zeros(size, **like) for _ in range(3))
        self.carried = tuple(torch.zeros(size, **like) for _ in range(2))
        self.marks = torch.asarray(plan.is_weight, device=X.device).to(X.dtype)
        self.layers, self.slopes = self._split(self.theta), self._split(self.gradient)
        self.values = [torch.empty((self.batch, width), **like) for width in plan.widths]
        self.deltas = [torch.empty((self.batch, width), **like) for width in plan.widths[1:-1]]
        self.minus = torch.full((self.batch, 1), -1.0, **like)
        self.met = torch.zeros(2, dtype=self.wide, device=X.device)
        self.counter = torch.zeros(1, dtype=torch.int64, device=X.device)
        n_batches = -(-self.n // self.batch)
        self.order = torch.zeros((n_batches, self.batch), dtype=torch.int64, device=X.device)
        self.rates, self.inverses = (torch.zeros(n_batches, **like) for _ in range(2))
        self.graph: Any = None
        self.latest: tuple[Array, tuple[Array, ...]] | None = None

    def _split(self, vector: Any) -> list[tuple[Any, Any]]:
        """Return the matrix and the bias of each layer as views of a flat tensor."""
        parts, at = [], 0
        for wide, out in pairwise(self.plan.widths):
            bias = at + wide * out
            parts.append((vector[at:bias].view(wide, out), vector[bias : bias + out]))
            at = bias + out
        return parts

    def close(self) -> None:
        """Let the recorded graph go."""
        self.graph = None

    def load(self, theta: Array, carried: tuple[Array, ...]) -> None:
        """Begin at these weights; those that the last epoch gave are on the device already."""
        if self.latest is not None and theta is self.latest[0] and carried is self.latest[1]:
            return
        with self.torch.no_grad():
            self.theta.copy_(self.torch.from_numpy(np.ascontiguousarray(theta)))
            for own, given in zip(self.carried, carried, strict=False):
                own.copy_(self.torch.from_numpy(np.ascontiguousarray(given)))

    def read(self) -> tuple[Array, tuple[Array, ...]]:
        """Return the weights and what their steps carry along, on the host."""
        carried = tuple(to_numpy(part).copy() for part in self.carried[: self.plan.n_carried])
        self.latest = to_numpy(self.theta).copy(), carried
        return self.latest

    def run(self, order: np.ndarray, rate: float, steps: int) -> np.ndarray:
        """Take a step for each batch; return the sums that ``NetworkTasks.run`` of native code describes."""
        n_batches = -(-len(order) // self.batch)
        n_whole = len(order) // self.batch
        total = self._send_tables(order, n_batches, rate, steps)
        with full_precision(Placement.of(self.X)), self.torch.no_grad():
            if self.graph is None and self.X.is_cuda and n_whole >= _RECORDED:
                self._record()
            self.met.zero_()
            self.counter.zero_()
            for _ in range(n_whole):
                if self.graph is None:
                    self._step(self.batch)
                else:
                    self.graph.replay()
            if n_batches > n_whole:
                # The last batch is shorter, and not in the graph.
                self._step(len(order) - n_whole * self.batch)
            met = to_numpy(self.met)
        return np.array([met[0], total, steps + n_batches, met[1], len(order)], dtype=np.float64)

    def _send_tables(self, order: np.ndarray, n_batches: int, rate: float, steps: int) -> float:
        """Send the rows, the rates and the inverse weights of all batches; return the weight of all rows."""
        padded = np.zeros(n_batches * self.batch, dtype=np.int64)
        padded[: len(order)] = order
        weight = np.zeros(n_batches * self.batch)
        weight[: len(order)] = 1.0 if self.host_weight is None else self.host_weight[order]
        totals = weight.reshape(n_batches, self.batch).sum(axis=1)
        first, second, _ = self.plan.rules
        rates = np.full(n_batches, rate)
        if self.plan.native_method == 3:
            # Both means of Adam start at zero: the two factors make up for it.
            t = np.arange(steps + 1, steps + n_batches + 1)
            rates *= np.sqrt(1.0 - second**t) / (1.0 - first**t)
        tables = ((self.order, padded.reshape(n_batches, -1)), (self.rates, rates), (self.inverses, 1.0 / totals))
        for table, values in tables:
            table[:n_batches].copy_(self.torch.from_numpy(values))
        return float(totals.sum())

    def _record(self) -> None:
        """Record the program of a whole batch as a CUDA graph; without one, kernels are launched one by one."""
        cuda = self.torch.cuda
        kept = [(part, part.clone()) for part in (self.theta, *self.carried)]
        try:
            # The libraries set themselves up in a first run, which a graph must not contain.
            side = cuda.Stream()
            side.wait_stream(cuda.current_stream())
            with cuda.stream(side):
                self.counter.zero_()
                self._step(self.batch)
                self._step(self.batch)
            cuda.current_stream().wait_stream(side)
            graph = cuda.CUDAGraph()
            self.counter.zero_()
            with cuda.graph(graph):
                self._step(self.batch)
            self.graph = graph
        except RuntimeError:
            self.graph = None
        # The rehearsals moved the weights: they are put back.
        for part, values in kept:
            part.copy_(values)

    def _step(self, n: int) -> None:
        """Go forward and back with the batch that the counter names, and move the weights."""
        torch, plan = self.torch, self.plan
        rows = self.order.index_select(0, self.counter).view(-1)[:n]
        inverse = self.inverses.index_select(0, self.counter)
        values = [part[:n] for part in self.values]
        torch.index_select(self.X, 0, rows, out=values[0])
        for number, (W, b) in enumerate(self.layers):
            torch.addmm(b, values[number], W, out=values[number + 1])
            if number + 1 < len(self.layers):
                self._activate(values[number + 1])
        delta = self._meet_loss(values[-1], rows, inverse)
        for number in range(len(self.layers) - 1, -1, -1):
            W_slope, b_slope = self.slopes[number]
            # dL/dW = (inputs)^T delta and dL/db = sum of delta over the rows.
            torch.mm(values[number].T, delta, out=W_slope)
            torch.sum(delta, 0, out=b_slope)
            if number > 0:
                # dL/d(inputs) = delta W^T, then times the slope of the activation.
                delta = torch.mm(delta, self.layers[number][0].T, out=self.deltas[number - 1][:n])
                self._return_slopes(delta, values[number])
        # Marks are one at weights and zero at intercepts, which are not penalised.
        if plan.alpha > 0:
            torch.mul(self.theta, self.marks, out=self.scratch)
            self.met[1] += torch.dot(self.scratch, self.scratch) * inverse[0] * (0.5 * plan.alpha * n)
            self.gradient.addcmul_(self.scratch, inverse, value=plan.alpha)
        self._move(self.rates.index_select(0, self.counter))
        self.counter += 1

    def _activate(self, z: Any) -> None:
        """Apply the activation function in place."""
        torch, kind = self.torch, self.activation
        # The numbers are those that native code uses for the same functions.
        if kind == 1:
            z.sigmoid_()
        elif kind == 2:
            z.tanh_()
        elif kind == 3:
            z.relu_()
        elif kind == 4:
            torch.nn.functional.leaky_relu_(z, _LEAK)
        elif kind == 5:
            torch.nn.functional.elu_(z)
        elif kind == 6:
            # Softplus: log(1 + exp(z)) = logaddexp(z, 0), which does not overflow.
            torch.logaddexp(z, torch.zeros_like(z), out=z)

    def _return_slopes(self, delta: Any, a: Any) -> None:
        """Multiply derivatives by those of the activation function, which its values give."""
        torch, kind = self.torch, self.activation
        if kind == 1:
            delta.mul_(a).mul_(1.0 - a)
        elif kind == 2:
            delta.mul_(1.0 - a * a)
        elif kind == 3:
            delta.mul_(a > 0)
        elif kind == 4:
            delta.mul_(torch.where(a > 0, 1.0, _LEAK))
        elif kind == 5:
            delta.mul_(torch.where(a > 0, 1.0, a + 1.0))
        elif kind == 6:
            # The derivative is the logistic function of z, and exp(-a) = 1 / (1 + exp(z)).
            delta.mul_(torch.expm1(-a).neg_())

    def _meet_loss(self, z: Any, rows: Any, inverse: Any) -> Any:
        """Add the losses of the batch to what was met; return the derivative of its mean loss by the outputs."""
        torch = self.torch
        y = self.y.index_select(0, rows)
        weight = None if self.weight is None else self.weight.index_select(0, rows)
        if isinstance(self.loss, Softmax):
            delta = torch.log_softmax(z, 1)
            # -log p of the true class; the derivative by the outputs is p less one there.
            losses = delta.gather(1, y[:, None]).neg_()
            delta.exp_().scatter_add_(1, y[:, None], self.minus[: len(rows)])
        elif isinstance(self.loss, Logistic):
            # log(1 + e^z) - y z, the logistic loss with y of 0 or 1.
            losses = torch.nn.functional.softplus(z, threshold=40.0) - y * z
            delta = torch.sigmoid(z) - y
        elif isinstance(self.loss, Squared):
            delta = z - y
            losses = 0.5 * delta * delta
        else:
            capped = z.clamp(max=_HIGHEST)
            means = torch.exp(capped)
            losses, delta = means - y * capped, means - y
        if weight is not None:
            losses = losses * weight[:, None]
        self.met[0] += torch.sum(losses, dtype=self.wide)
        return delta.mul_(inverse if weight is None else (weight * inverse)[:, None])

    def _move(self, rate: Any) -> None:
        """Take the step of all weights together: the formulas of native code."""
        torch, (keep, keep_square, epsilon) = self.torch, self.plan.rules
        mean, square = self.carried
        if self.plan.native_method == 3:
            # Adam: m = b1 m + (1 - b1) g and v = b2 v + (1 - b2) g^2;
            # `rate` contains the correction of the first steps.
            mean.lerp_(self.gradient, 1.0 - keep)
            square.mul_(keep_square).addcmul_(self.gradient, self.gradient, value=1.0 - keep_square)
            torch.sqrt(square, out=self.scratch)
            self.scratch.add_(epsilon)
            torch.div(mean, self.scratch, out=self.scratch)
            self.theta.addcmul_(self.scratch, rate, value=-1.0)
            return
        self.gradient.mul_(rate)
        # Momentum: v = mu v - rate g, and the step is v.
        mean.mul_(keep).sub_(self.gradient)
        if self.plan.native_method == 2:
            # Nesterov's step is mu v - rate g, with the v of after this step.
            self.theta.add_(mean, alpha=keep).sub_(self.gradient)
        else:
            self.theta.add_(mean)

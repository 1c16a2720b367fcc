"""A network: layers joined in a directed acyclic graph, with all weights in one vector."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._base.randomness import seed_sequence
from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.neural_network._layers.layer import Call, Layer, Shape, as_like, count
from mercer.neural_network._layers.losses import read_loss

_INPUT = "input"


@dataclass(frozen=True, eq=False)
class _Node:
    """A layer in its place: where its inputs come from, its shapes, and where its weights lie in the vector."""

    name: str
    layer: Layer
    sources: tuple[str, ...]
    shapes: tuple[Shape, ...]
    shape: Shape
    weights: dict[str, tuple[slice, Shape]]


@dataclass(eq=False)
class Trace:
    """What a forward pass leaves: the output, and all that the backward pass needs.

    Attributes
    ----------
    output : array of shape (n, ...)
        The output of the last layer.
    outputs : dict of array
        The outputs of all layers, and the inputs, by name.
    statistics : dict
        The running statistics after the pass.
    """

    output: Array
    outputs: dict[str, Array]
    statistics: dict[str, dict[str, Array]]
    theta: Array
    calls: dict[str, Call] = field(default_factory=dict)


class Network:
    """Layers joined in a directed acyclic graph.

    All shapes are checked when the network is made; a message names the layer where they do not meet. The network
    itself holds no weights: they are one vector `theta`, which every method takes.

    Parameters
    ----------
    layers : list of Layer, or dict of tuples
        A list is a chain. A dict gives for each name ``(layer, input, ...)``, where an input is the name of a layer or
        of an input of the network. The last one is the output, unless `output` names another.
    shape : tuple of int, or dict of tuples
        The shape of one row of the input, named ``"input"``; or the shapes of several inputs by name.
    output : str or None, default=None
        The layer whose output is the network's.

    Attributes
    ----------
    n_weights : int
        The length of `theta`.
    output_shape : tuple of int
        The shape of one row of the output.
    names : list of str
        The names of the layers, in the order in which they run.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.neural_network import Activation, Dense, Network
    >>> network = Network([Dense(2), Activation("tanh"), Dense(1)], shape=(3,))
    >>> network.n_weights, network.output_shape
    (11, (1,))
    >>> theta, statistics = network.initialise(random_state=0)
    >>> network.forward(theta, np.ones((4, 3)), statistics).output.shape
    (4, 1)
    """

    def __init__(
        self,
        layers: list[Layer] | dict[str, tuple[Any, ...]],
        shape: Shape | dict[str, Shape],
        output: str | None = None,
    ) -> None:
        self.inputs = (
            {name: tuple(value) for name, value in shape.items()} if isinstance(shape, dict) else {_INPUT: tuple(shape)}
        )
        graph = self._read_layers(layers)
        if not graph:
            raise ParameterError("Network: layers must hold at least one layer; got none.")
        # In a chain the last layer is the output; a graph may name another one.
        self.output = list(graph)[-1] if output is None else output
        if self.output not in graph:
            raise ParameterError(f"Network: output must name a layer ({', '.join(graph)}); got {self.output!r}.")
        self.nodes, self.n_weights = self._lay_out(graph)
        self.output_shape = next(node.shape for node in self.nodes if node.name == self.output)

    @property
    def names(self) -> list[str]:
        return [node.name for node in self.nodes]

    def _read_layers(self, layers: Any) -> dict[str, tuple[Any, ...]]:
        if isinstance(layers, dict):
            for name, entry in layers.items():
                if (
                    not (isinstance(entry, tuple) and len(entry) > 1 and isinstance(entry[0], Layer))
                    or name in self.inputs
                ):
                    raise ParameterError(
                        f"Network: layer {name!r} must be a tuple (layer, input, ...) under a name that no input has; "
                        f"got {entry!r}."
                    )
            return dict(layers)
        if len(self.inputs) != 1:
            raise ParameterError(
                f"Network: a list of layers has one input; got {len(self.inputs)}. Give a dict of layers."
            )
        (last,) = self.inputs
        graph: dict[str, tuple[Any, ...]] = {}
        for number, layer in enumerate(layers):
            if not isinstance(layer, Layer):
                raise ParameterError(f"Network: layers must be layers; number {number} is {layer!r}.")
            # The number in the name keeps two layers of one kind apart.
            name = f"{number} {type(layer).__name__}"
            graph[name] = (layer, last)
            last = name
        return graph

    def _lay_out(self, graph: dict[str, tuple[Any, ...]]) -> tuple[list[_Node], int]:
        """Order the layers, infer all shapes, and give every weight its place in the vector."""
        shapes: dict[str, Shape] = dict(self.inputs)
        nodes, first = [], 0
        for name in _sort(graph, set(self.inputs)):
            layer, *sources = graph[name]
            given = tuple(shapes[source] for source in sources)
            least, most = layer.n_inputs
            if not least <= len(given) <= most:
                raise ParameterError(f"Network: layer {name!r} takes {least} to {most} inputs; got {len(given)}.")
            try:
                shapes[name] = layer.infer_shape(*given)
            except ParameterError as error:
                raise ParameterError(
                    f"Network: layer {name!r}, fed by {', '.join(map(repr, sources))}: {error}"
                ) from None
            weights = {}
            # The shapes of weights do not depend on the numbers drawn.
            for key, value in layer.initialise(np.random.default_rng(0), *given).items():
                weights[key] = (slice(first, first + value.size), value.shape)
                first += value.size
            nodes.append(_Node(name, layer, tuple(sources), given, shapes[name], weights))
        return nodes, first

    def initialise(self, random_state: Any = None, dtype: Any = np.float64) -> tuple[np.ndarray, dict[str, Any]]:
        """Draw the first weights; return them, and the statistics that layers keep beside them."""
        theta, statistics = np.empty(self.n_weights, dtype=dtype), {}
        # A stream for each layer, so that adding a layer leaves the weights of the others as they are.
        for node, child in zip(self.nodes, seed_sequence(random_state).spawn(len(self.nodes)), strict=True):
            values = node.layer.initialise(np.random.default_rng(child), *node.shapes)
            for key, (place, _) in node.weights.items():
                theta[place] = values[key].ravel()
            kept = node.layer.begin_statistics(*node.shapes)
            if kept:
                statistics[node.name] = {key: np.asarray(value, dtype=dtype) for key, value in kept.items()}
        return theta, statistics

    def split(self, theta: Array) -> dict[str, dict[str, Array]]:
        """Return the weights of each layer, by name, as views of the vector."""
        xp = namespace_of(theta)
        return {
            node.name: {key: xp.reshape(theta[place], shape) for key, (place, shape) in node.weights.items()}
            for node in self.nodes
        }

    def place(self, values: dict[str, Any], like: Array) -> dict[str, Any]:
        """Return running statistics as arrays of the library, the precision and the device of `like`."""
        return {name: {key: as_like(value, like) for key, value in kept.items()} for name, kept in values.items()}

    def forward(
        self,
        theta: Array,
        X: Any,
        statistics: dict[str, Any] | None = None,
        *,
        training: bool = False,
        seed: tuple[int, ...] = (0,),
        step: int = 0,
    ) -> Trace:
        """Compute the output for a batch.

        Parameters
        ----------
        theta : array of shape (n_weights,)
        X : array of shape (n,) + shape, or dict of arrays
        statistics : dict or None
            As `initialise` or an earlier trace gave it; None where no layer keeps any.
        training : bool
            Whether dropout drops, and batch norm uses the batch.
        seed, step : tuple of int and int
            What random numbers of this pass are drawn from.
        """
        outputs = self._read_rows(theta, X)
        if statistics is None:
            statistics = self.place(self.initialise(0)[1], theta)
        trace = Trace(theta, outputs, {}, theta)
        weights = self.split(theta)
        for number, node in enumerate(self.nodes):
            # The random numbers of a layer come from seed, step and its own number.
            call = Call(weights[node.name], training, dict(statistics.get(node.name, {})), (*seed, step, number))
            outputs[node.name] = node.layer.forward(call, *(outputs[source] for source in node.sources))
            trace.calls[node.name] = call
            if call.statistics:
                trace.statistics[node.name] = call.statistics
        trace.output = outputs[self.output]
        return trace

    def _read_rows(self, theta: Array, X: Any) -> dict[str, Array]:
        rows = dict(X) if isinstance(X, dict) else {next(iter(self.inputs)): X}
        for name, shape in self.inputs.items():
            if name not in rows or tuple(rows[name].shape[1:]) != shape:
                got = tuple(rows[name].shape[1:]) if name in rows else "nothing"
                raise DataError(f"Network: rows of the input {name!r} must have the shape {shape}; got {got}.")
        if tuple(theta.shape) != (self.n_weights,):
            raise DataError(f"Network: theta must have the shape {(self.n_weights,)}; got {tuple(theta.shape)}.")
        return rows

    def backward(self, trace: Trace, gradient: Array, *, by_inputs: bool = True) -> tuple[Array, dict[str, Array]]:
        """Propagate the derivative by the output backwards: return those by theta and, by name, by the inputs.

        Without `by_inputs`, the first layers need not compute the derivatives by the rows, which training does not use.
        """
        xp = namespace_of(trace.theta)
        pending: dict[str, Array] = {self.output: gradient}
        parts: dict[str, dict[str, Array]] = {}
        for node in reversed(self.nodes):
            if node.name not in pending:
                continue  # nothing of this layer reaches the output
            call = trace.calls[node.name]
            # Derivatives by the rows themselves are wanted only if someone asks.
            call.wants_inputs = by_inputs or not self.inputs.keys() >= set(node.sources)
            slopes = node.layer.backward(call, pending.pop(node.name))
            parts[node.name] = call.gradients
            for source, part in zip(node.sources, slopes, strict=True):
                if part is None:
                    continue
                # A value that several layers use receives the sum of their derivatives.
                pending[source] = pending[source] + part if source in pending else part
        pieces = []
        for node in self.nodes:
            for key, (_, shape) in node.weights.items():
                if node.name in parts:
                    pieces.append(xp.reshape(parts[node.name][key], (-1,)))
                else:
                    pieces.append(xp.zeros(count(shape), dtype=trace.theta.dtype, device=trace.theta.device))
        vector = xp.concat(pieces) if pieces else 0.0 * trace.theta
        return vector, {name: pending[name] for name in self.inputs if name in pending}

    def evaluate(
        self,
        theta: Array,
        X: Any,
        y: Array,
        *,
        loss: Any = "squared_error",
        weight: Array | None = None,
        **options: Any,
    ) -> tuple[float, Array, Trace]:
        """Return the mean loss of a batch, its gradient by theta, and the trace; `options` are those of `forward`."""
        trace = self.forward(theta, X, **options)
        value, by_output = read_loss(loss, self.output_shape[-1]).evaluate(trace.output, y, weight)
        return value, self.backward(trace, by_output, by_inputs=False)[0], trace


def _sort(graph: dict[str, tuple[Any, ...]], known: set[str]) -> list[str]:
    """Return the names of the layers in an order in which every layer follows its inputs; raise if there is none."""
    order: list[str] = []
    done = set(known)
    left = dict(graph)
    while left:
        # All layers whose inputs are ready: Kahn's topological order.
        ready = [name for name, (_, *sources) in left.items() if all(source in done for source in sources)]
        if not ready:
            strange = {source for _, *sources in left.values() for source in sources} - done - set(graph)
            if strange:
                raise ParameterError(
                    f"Network: inputs must name layers or inputs of the network; got {', '.join(sorted(strange))}."
                )
            raise ParameterError(
                f"Network: layers must not feed themselves; {', '.join(map(repr, left))} form or follow a cycle."
            )
        for name in ready:
            order.append(name)
            done.add(name)
            del left[name]
    return order

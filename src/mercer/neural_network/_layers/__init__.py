"""Layers of neural networks, each with its forward and its backward pass, and the network that joins them.

A layer is a frozen dataclass of options. It holds no weights: a :class:`~.network.Network` keeps all weights of all
layers in one vector `theta`, so that any optimiser of vectors can train any network. The interface of a layer is

- ``infer_shape(*shapes)``: the shape of one row of its output, given the shapes of one row of its inputs. It raises
  `ParameterError` if they do not meet; the network adds the name of the layer to the message.
- ``initialise(random, *shapes)``: a dict of NumPy arrays, the first weights, by name.
- ``begin_statistics(*shapes)``: a dict of what is kept beside the weights, such as the running means of batch norm.
- ``forward(call, *inputs)``: the output for a batch; the first axis of all arrays counts rows.
- ``backward(call, gradient)``: given the derivative of the loss by the output, the derivatives by each input, as a
  tuple. It writes those by the weights to ``call.gradients``.

A :class:`~.layer.Call` is one use of a layer in one pass: ``call.weights`` (dict), ``call.training``,
``call.statistics`` (dict; a training pass may replace its entries), ``call.draw(shape, like)`` (uniform numbers that
depend on the seed, the step and the layer only), and ``call.kept``, where the forward pass leaves what the backward
pass needs. Everything is written in array-API operations, so that NumPy, torch and CuPy arrays run through the same
code.

The interface of a network::

    network = Network([Dense(32), Activation("relu"), Dropout(0.2), Dense(3)], shape=(8,))
    theta, statistics = network.initialise(random_state=0)
    trace = network.forward(theta, X, statistics)               # trace.output, of shape (n, *network.output_shape)
    gradient, by_inputs = network.backward(trace, by_output)    # the shape of theta; dict of arrays by input
    value, gradient, trace = network.evaluate(theta, X, y, loss="log_loss", weight=None, statistics=statistics,
                                              training=True, seed=(0,), step=7)
    network.split(theta)["0 Dense"]["W"]                        # a view of the weights of a layer

In place of a list, a dict ``{"name": (layer, "input", ...)}`` describes any directed acyclic graph. ``"input"`` is the
name of the rows; several inputs are named by ``shape={"image": (8, 8, 1), "mask": (8,)}``, and X is then a dict too.
"""

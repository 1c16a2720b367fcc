"""Write the models of `mercer.interop.scores.bodies` as nodes of an ONNX graph."""

from typing import Any

import numpy as np

from mercer.interop.scores.bodies import Curves, Gaussians, Kernel, Layers, Machines, Neighbours, Products

# The functions between the layers of a perceptron, by the names that ONNX gives them.
_FUNCTIONS = {"relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid"}


def add_body(builder: Any, body: Any, x: str) -> str:
    """Return the scores of the encoded rows `x`, of shape (rows, outputs)."""
    makers: dict[type, Any] = {
        Layers: _add_layers,
        Gaussians: _add_gaussians,
        Kernel: _add_kernel,
        Machines: _add_machines,
        Neighbours: _add_neighbours,
        Products: _add_products,
        Curves: _add_curves,
    }
    name: str = makers[type(body)](builder, body, x)
    return name


def _hold_axis(builder: Any, axis: int = 1) -> str:
    return builder.hold(np.array([axis], dtype=np.int64))


def _add_layers(builder: Any, body: Layers, x: str) -> str:
    """Return the outputs of the last layer."""
    for place, (weights, shift) in enumerate(zip(body.weights, body.shifts)):
        x = builder.add("Add", builder.add("MatMul", x, builder.hold(weights)), builder.hold(shift))
        if place < len(body.weights) - 1 and body.function in _FUNCTIONS:
            x = builder.add(_FUNCTIONS[body.function], x)
    return x


def _add_gaussians(builder: Any, body: Gaussians, x: str) -> str:
    """Return the logarithm of the density of each class, but for a constant that all classes share."""
    last = _hold_axis(builder)
    scores = []
    for mean, whitener, constant in zip(body.means, body.whiteners, body.constants):
        moved = builder.add("MatMul", builder.add("Sub", x, builder.hold(mean)), builder.hold(whitener))
        square = builder.add("ReduceSum", builder.add("Mul", moved, moved), last, keepdims=1)
        half = builder.add("Mul", square, builder.hold(-0.5))
        scores.append(builder.add("Add", half, builder.hold(float(constant))))
    return builder.add("Concat", *scores, axis=1)


def _add_kernel(builder: Any, body: Kernel, x: str) -> str:
    """Return weighted sums of kernel values."""
    near = builder.add("Exp", builder.add("Mul", add_distances(builder, body.rows, x), builder.hold(-body.gamma)))
    return builder.add("MatMul", near, builder.hold(body.weights.T.copy()))


def _add_machines(builder: Any, body: Machines, x: str) -> str:
    """Return the scores of the classes by machines of pairs of classes; see `Machines` for the formulas."""
    found = builder.add("Add", _add_kernel(builder, body.kernel, x), builder.hold(body.shifts))
    zero = builder.hold(0.0)
    if body.n_classes == 2:
        above = builder.add("Mul", builder.add("Max", found, zero), builder.hold(body.slopes[0]))
        return builder.add(
            "Add", above, builder.add("Mul", builder.add("Min", found, zero), builder.hold(body.slopes[1]))
        )
    first, second = (np.eye(body.n_classes)[places] for places in np.triu_indices(body.n_classes, 1))
    scaled = builder.add("Mul", found, builder.hold(body.slopes[0]))
    # log sigmoid(u) = -softplus(-u): of u for the first class of a pair, of -u for the second one.
    for_first = builder.add("MatMul", _add_softplus(builder, builder.add("Neg", scaled)), builder.hold(first))
    for_second = builder.add("MatMul", _add_softplus(builder, scaled), builder.hold(second))
    scores = builder.add("Mul", builder.add("Add", for_first, for_second), builder.hold(-body.slopes[1]))
    won = builder.add("Where", builder.add("Greater", found, zero), builder.hold(1.0), zero)
    lost = builder.add("Sub", builder.hold(1.0), won)
    votes = builder.add(
        "Add",
        builder.add("MatMul", won, builder.hold(first)),
        builder.add("MatMul", lost, builder.hold(second)),
    )
    return _exchange(builder, scores, votes, body.n_classes)


def _add_softplus(builder: Any, u: str) -> str:
    """Return ``log(1 + exp(u)) = max(u, 0) + log(1 + exp(-|u|))``; onnxruntime has its own in single precision only."""
    small = builder.add("Exp", builder.add("Neg", builder.add("Abs", u)))
    rest = builder.add("Log", builder.add("Add", small, builder.hold(1.0)))
    return builder.add("Add", builder.add("Max", u, builder.hold(0.0)), rest)


def _exchange(builder: Any, scores: str, votes: str, n_classes: int) -> str:
    """Return the scores with those of the class of most votes and of the highest score exchanged."""
    marks = []
    for table in (votes, scores):
        place = builder.add("ArgMax", table, axis=1, keepdims=0)
        marks.append(builder.add("Gather", builder.hold(np.eye(n_classes)), place, axis=0))
    chosen, best = marks
    last = _hold_axis(builder)
    own, highest = (
        builder.add("ReduceSum", builder.add("Mul", scores, mark), last, keepdims=1) for mark in (chosen, best)
    )
    # The class of most votes rises by the difference, and the other one falls by it; if both are one class, by zero.
    moved = builder.add("Mul", builder.add("Sub", chosen, best), builder.add("Sub", highest, own))
    return builder.add("Add", scores, moved)


def add_distances(builder: Any, rows: np.ndarray, x: str) -> str:
    """Return the squared distances of each row to the stored ones: ``|x|² - 2 x·r + |r|²``, at least 0."""
    own = builder.add("ReduceSum", builder.add("Mul", x, x), _hold_axis(builder), keepdims=1)
    product = builder.add("Mul", builder.add("MatMul", x, builder.hold(rows.T.copy())), builder.hold(-2.0))
    others = builder.hold((rows * rows).sum(axis=1))
    # Rounding may leave a tiny negative number where a row equals a stored one.
    return builder.add("Max", builder.add("Add", builder.add("Add", own, product), others), builder.hold(0.0))


def _add_neighbours(builder: Any, body: Neighbours, x: str) -> str:
    """Return the mean of the values of the nearest stored rows."""
    from onnx import helper

    name = f"nearest_{len(builder.nodes)}"
    count = builder.hold(np.array([body.count], dtype=np.int64))
    given = [add_distances(builder, body.rows, x), count]
    builder.nodes.append(helper.make_node("TopK", given, [f"{name}_far", name], name=name, axis=1, largest=0))
    taken = builder.add("Gather", builder.hold(np.asarray(body.values, dtype=float)), name, axis=0)
    last = _hold_axis(builder)
    if not body.inverse:
        return builder.add("ReduceMean", taken, last, keepdims=0)
    # The distances anew, from differences: these are exactly zero where a row equals a stored one.
    near = builder.add("Gather", builder.hold(np.asarray(body.rows, dtype=float)), name, axis=0)
    away = builder.add("Sub", near, builder.add("Unsqueeze", x, last))
    squares = builder.add("ReduceSum", builder.add("Mul", away, away), _hold_axis(builder, 2), keepdims=0)
    zero, one = builder.hold(0.0), builder.hold(1.0)
    touching = builder.add("Where", builder.add("Equal", squares, zero), one, zero)
    any_touching = builder.add("ReduceMax", touching, last, keepdims=1)
    positive = builder.add("Where", builder.add("Equal", squares, zero), one, squares)
    inverse = builder.add("Div", one, builder.add("Sqrt", positive))
    # Rows at distance zero count alone.
    shares = builder.add("Where", builder.add("Greater", any_touching, zero), touching, inverse)
    whole = builder.add("ReduceSum", shares, last, keepdims=1)
    weighted = builder.add("Mul", taken, builder.add("Unsqueeze", shares, _hold_axis(builder, 2)))
    return builder.add("Div", builder.add("ReduceSum", weighted, last, keepdims=0), whole)


def _add_products(builder: Any, body: Products, x: str) -> str:
    """Return weighted sums of the columns and of products of two of them."""
    sides = [builder.add("Gather", x, builder.hold(body.pairs[:, side].astype(np.int64)), axis=1) for side in (0, 1)]
    terms = builder.add("Concat", x, builder.add("Mul", *sides), axis=1)
    return builder.add("MatMul", terms, builder.hold(body.weights.T.copy()))


def _add_curves(builder: Any, body: Curves, x: str) -> str:
    """Return sums of the curves of all columns."""
    total = ""
    for low, high, coefficients in zip(body.knots, body.knots[1:], body.coefficients):
        inside = builder.add("Min", builder.add("Max", x, builder.hold(low)), builder.hold(high))
        u = builder.add("Sub", inside, builder.hold(low))
        power = u
        for place, weights in enumerate(coefficients):
            power = u if place == 0 else builder.add("Mul", power, u)
            part = builder.add("MatMul", power, builder.hold(weights))
            total = builder.add("Add", total, part) if total else part
    return total

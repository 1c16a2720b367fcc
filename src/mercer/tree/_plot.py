"""Trees drawn with matplotlib or as SVG text: boxes with what is known of each node, and lines between them."""

import re
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.errors import ParameterError
from mercer.tree._conditions import list_conditions, list_feature_labels
from mercer.tree._export import _asks_for_numbers, _name_classes, _write_condition, _write_numbers
from mercer.tree._node_view import NodeView

# One colour for each class, told apart also by those who see few colours; used in turn.
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb")
# Width of a node's box in pixels.
_WIDTH = 132
# Height of a node's box in pixels: two lines of text and a bar of class shares.
_HEIGHT = 46
# Pixels between two levels: room for the labels of the edges.
_GAP = 46
_NODE = re.compile(r'^(\d+) \[label="(.*?)"(?:, fillcolor="(#\w+)")?\] ;$')
_EDGE = re.compile(r'^(\d+) -> (\d+)(?: \[.*headlabel="(\w+)"\])? ;$')
# The most times that letters are made smaller and texts measured: two are enough where letters have several pixels.
_MOST_FITS = 8


def tree_svg(
    model: Any, *, feature_names: Any = None, class_names: Any = None, max_depth: int | None = None, decimals: int = 3
) -> str:
    """Draw a tree as SVG.

    Each node is a box with its answer, its weight and a bar of its class shares; conditions are on the branches.

    Parameters
    ----------
    model : estimator
        A fitted decision tree of mercer or scikit-learn.
    feature_names, class_names : list of str or None, default=None
        Names of the columns and of the classes; None takes those of the fit.
    max_depth : int or None, default=None
        Branches below are left out; None draws all.
    decimals : int, default=3
        Digits of numbers.

    Returns
    -------
    str
        A complete SVG document.

    Examples
    --------
    >>> from mercer.datasets import load_hiking
    >>> from mercer.tree import MultiwayTreeClassifier, tree_svg
    >>> days = load_hiking(as_frame=True)
    >>> drawing = tree_svg(MultiwayTreeClassifier().fit(days.data, days.target))
    >>> drawing.count('class="node"')
    8
    """
    nodes, conditions = list_conditions(model, feature_names)
    classes = _name_classes(nodes, class_names)
    x, depth = place_nodes(nodes.parent, max_depth)
    shown = np.flatnonzero(depth >= 0)
    lines = []
    # Branches come before boxes, so that the boxes are drawn over the ends of the lines.
    for node in shown:
        parent = int(nodes.parent[node])
        if parent >= 0:
            text = escape(_write_condition(conditions[node], decimals))
            lines.append(_draw_branch(x[parent], depth[parent], x[node], depth[node], text))
    lines += [_draw_box(nodes, int(node), classes, x[node], depth[node], decimals) for node in shown]
    width = (x[shown].max() + 1) * (_WIDTH + 16) + 8
    height = (depth[shown].max() + 1) * (_HEIGHT + _GAP) + 8
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="sans-serif" font-size="11" text-anchor="middle">'
    )
    return "\n".join([head, f'<rect width="{width:g}" height="{height:g}" fill="white"/>', *lines, "</svg>"])


def place_nodes(parents: np.ndarray, max_depth: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Place leaves from left to right and parents above the middle of their children; depth -1 is not drawn.

    Children have larger numbers than their parents.
    """
    n = len(parents)
    depth, x = np.full(n, -1), np.zeros(n)
    below: list[list[int]] = [[] for _ in range(n)]
    for node, parent in enumerate(parents.tolist()):
        # Children of a node that is not drawn are not drawn either.
        if parent < 0 or (depth[parent] >= 0 and (max_depth is None or depth[parent] < max_depth)):
            depth[node] = 0 if parent < 0 else depth[parent] + 1
            if parent >= 0:
                below[parent].append(node)
    place = 0
    waiting = [(0, False)]
    while waiting:
        node, seen = waiting.pop()
        if not below[node]:
            x[node], place = place, place + 1
        elif seen:
            # On the second visit all children have their places.
            x[node] = x[below[node]].mean()
        else:
            waiting += [(node, True), *((child, False) for child in below[node][::-1])]
    return x, depth


def _find_centre(x: float, depth: int) -> tuple[float, float]:
    return 8 + (x + 0.5) * (_WIDTH + 16), 8 + depth * (_HEIGHT + _GAP)


def _draw_branch(x0: float, depth0: int, x1: float, depth1: int, text: str) -> str:
    left, top = _find_centre(x0, depth0)
    right, bottom = _find_centre(x1, depth1)
    top += _HEIGHT
    place = f'x="{(left + 2 * right) / 3:.1f}" y="{(top + 2 * bottom) / 3:.1f}"'
    line = f'<path d="M{left:.1f} {top:.1f}L{right:.1f} {bottom:.1f}" stroke="#888" fill="none"/>'
    return f'{line}<text {place} stroke="white" stroke-width="3" paint-order="stroke">{text}</text>'


def _draw_box(nodes: NodeView, node: int, classes: Any, x: float, depth: int, decimals: int) -> str:
    centre, top = _find_centre(x, depth)
    left, value = centre - _WIDTH / 2, nodes.value[node]
    answer = f"{value[0]:.{decimals}g}" if classes is None else str(classes[int(value.argmax())])
    parts = [
        f'<g class="node"><rect x="{left:.1f}" y="{top:.1f}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" fill="#f7f7f7" '
        f'stroke="#555"/>',
        f'<text x="{centre:.1f}" y="{top + 15:.1f}" font-weight="bold">{escape(answer)}</text>',
        f'<text x="{centre:.1f}" y="{top + 29:.1f}">{nodes.weight[node]:g} rows, '
        f"{nodes.impurity[node]:.{decimals}f}</text>",
    ]
    if classes is not None:
        start = left + 6
        for number, share in enumerate(value):
            # The bar is as wide as the box less a margin of 6 on both sides; shares of the classes sum to one.
            wide = share * (_WIDTH - 12)
            colour = COLOURS[number % len(COLOURS)]
            parts.append(f'<rect x="{start:.1f}" y="{top + 35:.1f}" width="{wide:.1f}" height="6" fill="{colour}"/>')
            start += wide
    return "".join([*parts, "</g>"])


@dataclass(frozen=True)
class Box:
    """A node as it is drawn: its text, its colour if it has one, what it hangs on, and the text on that branch."""

    text: str
    colour: str
    parent: int
    branch: str


def plot_tree(
    decision_tree: Any,
    *,
    max_depth: int | None = None,
    feature_names: Any = None,
    class_names: Any = None,
    label: str = "all",
    filled: bool = False,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rounded: bool = False,
    precision: int = 3,
    ax: Any = None,
    fontsize: int | None = None,
) -> list[Any]:
    """Draw a tree with matplotlib.

    Needs matplotlib, which is imported when the function is called. :func:`~mercer.tree.tree_svg` needs nothing.

    Parameters
    ----------
    decision_tree : estimator
        A fitted decision tree of mercer or scikit-learn.
    max_depth : int or None, default=None
        Branches below are left out; None draws all.
    feature_names : array-like of str or None, default=None
        Names of the columns; None writes ``x[0]``, ``x[1]``... or, of splits by categories, the names of the fit.
    class_names : array-like of str, True or None, default=None
        Names of the classes; True writes ``y[0]``, ``y[1]``...; None writes none.
    label : {"all", "root", "none"}, default="all"
        Where to say what the numbers are.
    filled : bool, default=False
        Whether nodes are coloured by their answers.
    impurity : bool, default=True
        Whether nodes say how impure they are.
    node_ids, proportion, rounded : bool, default=False
        Whether nodes have numbers, shares in place of weights, and boxes round corners.
    precision : int, default=3
        Digits after the point.
    ax : matplotlib axes or None, default=None
        Where to draw; None means the current axes. What was there is cleared.
    fontsize : int or None, default=None
        The size of the letters; None means the largest at which no boxes meet.

    Returns
    -------
    list of matplotlib annotations
        The boxes, from the root down along the left branches first, each followed by the text on its branch if it has
        one.

    Notes
    -----
    Trees that ask for numbers have the texts of scikit-learn. Splits by categories, and into more than two branches,
    have their conditions on the branches.

    Examples
    --------
    >>> from mercer.tree import DecisionTreeClassifier, plot_tree
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> plot_tree(model)[0].get_text().splitlines()[0]
    'x[0] <= 0.5'
    """
    _check(label, max_depth=max_depth, precision=precision, fontsize=fontsize)
    check_is_fitted(decision_tree)
    looks = {
        "max_depth": max_depth,
        "feature_names": feature_names,
        "class_names": class_names,
        "label": label,
        "filled": filled,
        "impurity": impurity,
        "node_ids": node_ids,
        "proportion": proportion,
        "precision": precision,
    }
    if _asks_for_numbers(decision_tree):
        boxes = _read(_write_numbers(decision_tree, None, **looks))
    else:
        boxes = _boxes(decision_tree, **looks)
    return _draw(boxes, ax, fontsize, rounded)


def _check(label: str, **numbers: int | None) -> None:
    if label not in ("all", "root", "none"):
        raise ParameterError(f"plot_tree: label must be one of 'all', 'root' or 'none'; got {label!r}.")
    for name, value in numbers.items():
        # The precision is a number in all formats; depth and font size may be left open.
        may_be_absent = name != "precision"
        if value is None and may_be_absent:
            continue
        if not isinstance(value, int) or value < 0:
            rule = "an integer in [0, inf)" + (" or None" if may_be_absent else "")
            raise ParameterError(f"plot_tree: {name} must be {rule}; got {value!r}.")


def _read(graph: str) -> list[Box]:
    """Return the boxes of a program for Graphviz, in which nodes and then the edges to them are listed depth first."""
    texts: dict[str, tuple[str, str]] = {}
    numbers: dict[str, int] = {}
    boxes: list[Box] = []
    for line in graph.splitlines():
        if found := _NODE.match(line):
            # A backslash stands before a quote and before the n of a new line.
            text = re.sub(r"\\(.)", lambda one: "\n" if one[1] == "n" else one[1], found[2])
            texts[found[1]] = text, found[3] or ""
            if not boxes:
                numbers[found[1]] = 0
                boxes.append(Box(*texts[found[1]], -1, ""))
        elif found := _EDGE.match(line):
            numbers[found[2]] = len(boxes)
            boxes.append(Box(*texts[found[2]], numbers[found[1]], found[3] or ""))
    return boxes


def _boxes(
    model: Any, max_depth: int | None, feature_names: Any, class_names: Any, precision: int, filled: bool, **looks: Any
) -> list[Box]:
    """Return the boxes of a tree with conditions on its branches."""
    nodes, conditions = list_conditions(model, list_feature_labels(model, feature_names))
    names = None if class_names is None else _name_classes(nodes, None if class_names is True else class_names)
    # scikit-learn names classes y[0], y[1], ... for class_names=True.
    if class_names is True and names is not None:
        names = [f"y[{number}]" for number in range(len(names))]
    depth = place_nodes(nodes.parent, max_depth)[1]
    shown = np.flatnonzero(depth >= 0)
    # Boxes that are not shown get no number; `place` maps a node to its box.
    place = np.cumsum(depth >= 0) - 1
    boxes = []
    for node in shown.tolist():
        parent = int(nodes.parent[node])
        text = _text(nodes, node, names, precision, **looks)
        branch = _write_condition(conditions[node], precision) if parent >= 0 else ""
        boxes.append(
            Box(text, _colour(nodes, node) if filled else "", int(place[parent]) if parent >= 0 else -1, branch)
        )
    return boxes


def _text(
    nodes: NodeView,
    node: int,
    names: Any,
    precision: int,
    label: str,
    impurity: bool,
    node_ids: bool,
    proportion: bool,
) -> str:
    """Return what is known of a node, line by line."""
    value, weight = nodes.value[node], nodes.weight[node]
    # The stored values of a classifier are shares; times the weight they are the weights of the classes.
    counts = value if proportion or nodes.classes is None else value * weight
    digits = ", ".join(f"{number:.{precision}f}".rstrip("0").rstrip(".") for number in counts)
    known = [("node #", "", str(node))] if node_ids else []
    if impurity:
        criterion = getattr(nodes.model, "criterion", "impurity")
        known.append((str(criterion), " = ", f"{nodes.impurity[node]:.{precision}f}"))
    known.append(("samples", " = ", f"{100 * weight / nodes.weight[0]:.1f}%" if proportion else f"{weight:g}"))
    known.append(("value", " = ", digits if len(counts) == 1 else f"[{digits}]"))
    if names is not None:
        known.append(("class", " = ", str(names[int(value.argmax())])))
    told = label == "all" or (label == "root" and node == 0)
    return "\n".join(f"{name}{sign}{text}" if told or not sign else text for name, sign, text in known)


def _colour(nodes: NodeView, node: int) -> str:
    """Return the colour of a node's answer: paler for a less certain class or a lower value."""
    value = nodes.value[node]
    if nodes.classes is None:
        low, high = nodes.value.min(), nodes.value.max()
        colour, strength = COLOURS[0], (value[0] - low) / (high - low) if high > low else 0.0
    else:
        # A class of share 1 / K is a guess and white; a share of one has the full colour.
        least = 1.0 / len(value)
        colour, strength = COLOURS[int(value.argmax()) % len(COLOURS)], (value.max() - least) / max(1.0 - least, least)
    parts = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    # Strength 0 is white (255), strength 1 the colour itself; between them each channel is interpolated.
    return "#" + "".join(f"{round(255 + strength * (part - 255)):02x}" for part in parts)


def _draw(boxes: list[Box], ax: Any, fontsize: int | None, rounded: bool) -> list[Any]:
    from matplotlib import pyplot

    ax = pyplot.gca() if ax is None else ax
    ax.clear()
    ax.set_axis_off()
    x, depth = place_nodes(np.array([box.parent for box in boxes]), None)
    columns, rows = x.max() + 1, depth.max() + 1
    places = np.stack([(x + 0.5) / columns, 1 - (depth + 0.5) / rows], axis=1)
    common = {"xycoords": "axes fraction", "ha": "center", "va": "center", "size": fontsize}
    line = {"arrowstyle": "<-", "ec": "black", "relpos": (0.5, 0.5), "shrinkA": 0, "shrinkB": 0}
    drawn, framed = [], []
    for number, box in enumerate(boxes):
        frame = {"boxstyle": "round" if rounded else "square", "fc": box.colour or "white", "ec": "black"}
        # A line goes from middle to middle, under the boxes of both.
        looks = {"bbox": frame, "zorder": 2 + rows - depth[number], **common}
        if box.parent >= 0:
            looks |= {"xytext": places[number], "textcoords": "axes fraction", "arrowprops": line}
        framed.append(ax.annotate(box.text, places[box.parent if box.parent >= 0 else number], **looks))
        drawn.append(framed[-1])
        if box.branch:
            # As in scikit-learn, blanks keep these words beside the line.
            text = {"True": "True  ", "False": "  False"}.get(box.branch, box.branch)
            plain = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}
            drawn.append(ax.annotate(text, 0.4 * places[box.parent] + 0.6 * places[number], bbox=plain, **common))
    if fontsize is None:
        _fit_letters(ax, drawn, rows)
    return drawn


def _fit_letters(ax: Any, drawn: list[Any], rows: float) -> None:
    """Set the largest letters at which no texts meet."""
    from matplotlib.text import Text

    renderer = ax.figure.canvas.get_renderer()
    whole = ax.get_window_extent(renderer)
    # Small letters are whole pixels wide, so that texts do not shrink as much as their letters: measure them again.
    for _ in range(_MOST_FITS):
        size = drawn[0].get_fontsize()
        letter = renderer.points_to_pixels(size)
        beside: dict[float, list[tuple[float, float]]] = {}
        high = 0.0
        for one in drawn:
            x, y = one.get_position()
            extent = Text.get_window_extent(one, renderer)
            # A frame is 0.3 letters away from its text on every side.
            beside.setdefault(round(y, 6), []).append((x * whole.width, extent.width + letter))
            high = max(high, extent.height + letter)
        shares = [
            (right - left) / (0.5 * (wide + wider))
            for line in beside.values()
            for (left, wide), (right, wider) in pairwise(sorted(line))
        ]
        # At 0.6 of the way from one box down to the next there is a line of text: from there to the middle of the lower
        # box half of each must fit.
        share = min(1.0, *shares, 0.8 * (whole.height / rows) / (high + 1.5 * letter))
        if share == 1.0:
            return
        for one in drawn:
            one.set_fontsize(size * share)

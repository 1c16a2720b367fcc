"""Trees as text and as Graphviz programs."""

import inspect
from typing import Any

import numpy as np
import sklearn.tree
from sklearn.utils.validation import check_is_fitted

from mercer._written_file import write_whole
from mercer.errors import DataError, ParameterError, UnsupportedError
from mercer.tree._conditions import Condition, list_conditions, list_feature_labels
from mercer.tree._node_view import NodeView

_write_numbers = sklearn.tree.export_graphviz


def export_text(
    decision_tree: Any,
    *,
    feature_names: Any = None,
    class_names: Any = None,
    max_depth: int = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
) -> str:
    """Write a tree as indented text.

    Parameters
    ----------
    decision_tree : estimator
        A fitted decision tree of mercer or scikit-learn.
    feature_names : list of str or None, default=None
        Names of the columns; None writes feature_0, feature_1...
    class_names : list of str or None, default=None
        Names of the classes; None takes the labels.
    max_depth : int, default=10
        Branches below are cut short.
    spacing : int, default=3
        Characters of indentation for each level.
    decimals : int, default=2
        Digits after the point.
    show_weights : bool, default=False
        Whether to write the class weights of each leaf.

    Returns
    -------
    str

    Examples
    --------
    >>> from mercer.tree import DecisionTreeClassifier, export_text
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> print(export_text(model))
    |--- feature_0 <= 0.50
    |   |--- class: a
    |--- feature_0 >  0.50
    |   |--- class: b
    <BLANKLINE>
    """
    for name, value, least in (("max_depth", max_depth, 0), ("spacing", spacing, 1), ("decimals", decimals, 0)):
        if not isinstance(value, int) or value < least:
            raise ParameterError(f"export_text: {name} must be an integer in [{least}, inf); got {value!r}.")
    check_is_fitted(decision_tree)
    # scikit-learn names columns feature_0, feature_1, ... in this text, and x0, x1, ... elsewhere.
    if feature_names is None and not hasattr(decision_tree, "feature_names_in_"):
        feature_names = [f"feature_{j}" for j in range(getattr(decision_tree, "n_features_in_", 0))]
    nodes, conditions = list_conditions(decision_tree, feature_names)
    classes = _name_classes(nodes, class_names)
    lines: list[str] = []
    indent = "|" + " " * spacing

    def write(node: int, depth: int) -> None:
        lead = indent * depth + "|" + "-" * spacing + " "
        below = nodes.children[node]
        if not below:
            lines.append(lead + _write_leaf(nodes, node, classes, decimals, show_weights))
        # The depth is that of the condition above the node, so max_depth = 0 still shows the first split.
        elif depth > max_depth:
            lines.append(f"{lead}truncated branch of depth {_count_levels(nodes, node)}")
        else:
            for child in below:
                lines.append(lead + _write_condition(conditions[child], decimals))
                write(child, depth + 1)

    write(0, 0)
    return "\n".join(lines) + "\n"


def _count_levels(nodes: NodeView, node: int) -> int:
    return 1 + max((_count_levels(nodes, child) for child in nodes.children[node]), default=0)


def _write_condition(one: Condition | None, decimals: int) -> str:
    if one is None:
        return ""
    if one.operator == "missing":
        return f"{one.name} is missing"
    if isinstance(one.value, float):
        # The wider blank lines the two comparisons up.
        return f"{one.name} {one.operator + ' ' * (2 - len(one.operator))} {one.value:.{decimals}f}"
    return f"{one.name} {one.operator} {one.value}"


def _write_leaf(nodes: NodeView, node: int, classes: Any, decimals: int, show_weights: bool) -> str:
    value = nodes.value[node]
    if classes is None:
        return f"value: [{value[0]:.{decimals}f}]"
    weights = ", ".join(f"{one:.{decimals}f}" for one in value * nodes.weight[node])
    return (f"weights: [{weights}] " if show_weights else "") + f"class: {classes[int(value.argmax())]}"


def _name_classes(nodes: NodeView, names: Any) -> Any:
    if names is None or nodes.classes is None:
        return nodes.classes
    if len(names) != len(nodes.classes):
        raise DataError(
            f"When `class_names` is an array, it should contain as many items as `decision_tree.classes_`. Got "
            f"{len(names)} while the tree was fitted with {len(nodes.classes)} classes."
        )
    return names


def export_graphviz(
    decision_tree: Any,
    out_file: Any = None,
    *,
    max_depth: int | None = None,
    feature_names: Any = None,
    class_names: Any = None,
    label: str = "all",
    filled: bool = False,
    leaves_parallel: bool = False,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rotate: bool = False,
    rounded: bool = False,
    special_characters: bool = False,
    precision: int = 3,
    fontname: str = "helvetica",
) -> str | None:
    """Write a tree as a program for Graphviz.

    Parameters
    ----------
    decision_tree : estimator
        A fitted decision tree of mercer or scikit-learn.
    out_file : str, path, file or None, default=None
        Where to write; None returns the text.
    max_depth : int or None, default=None
        Branches below are left out; None writes all.
    feature_names, class_names : list of str or None, default=None
        Names of the columns and of the classes.
    label : {"all", "root", "none"}, default="all"
        Where to say what the numbers are.
    filled, leaves_parallel, rotate, rounded : bool, default=False
        Whether nodes are coloured by their answers, leaves lie on one line, the tree grows to the right, boxes have
        round corners.
    impurity : bool, default=True
        Whether nodes say how impure they are.
    node_ids, proportion : bool, default=False
        Whether nodes have numbers, and shares in place of weights.
    special_characters : bool, default=False
        Whether the text has characters that PostScript has not.
    precision : int, default=3
        Digits after the point.
    fontname : str, default="helvetica"
        The font.

    Returns
    -------
    str or None
        The text, where `out_file` is None.

    Notes
    -----
    Trees of numbers are written as scikit-learn writes them. Splits by categories, and into more than two branches,
    have their conditions on the edges; the parameters that change the looks of nodes are not for them.

    Examples
    --------
    >>> from mercer.tree import DecisionTreeClassifier, export_graphviz
    >>> text = export_graphviz(DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], ["a", "b", "b"]), filled=True)
    >>> text.count("->")
    2
    """
    check_is_fitted(decision_tree)
    looks = {
        "label": label,
        "filled": filled,
        "leaves_parallel": leaves_parallel,
        "impurity": impurity,
        "node_ids": node_ids,
        "proportion": proportion,
        "rotate": rotate,
        "rounded": rounded,
        "special_characters": special_characters,
        "fontname": fontname,
    }
    names = {"feature_names": feature_names, "class_names": class_names}
    # Trees that ask for numbers only can be written with all options of scikit-learn.
    if _asks_for_numbers(decision_tree):
        text = _write_numbers(decision_tree, None, max_depth=max_depth, precision=precision, **names, **looks)
    else:
        _check_looks(looks)
        text = _write_graph(decision_tree, max_depth, precision, **names)
    if out_file is None:
        return text
    if hasattr(out_file, "write"):
        out_file.write(text)
    else:
        write_whole(out_file, text)
    return None


def _asks_for_numbers(model: Any) -> bool:
    """Return whether each split sends values up to a threshold left and the others right."""
    tree = model.tree_
    return hasattr(tree, "children_left") and not len(getattr(tree, "categories", ()))


def _check_looks(looks: dict[str, Any]) -> None:
    # The defaults are read from the signature, so that they are stated once.
    defaults = inspect.signature(export_graphviz).parameters
    for name, value in looks.items():
        if value != defaults[name].default:
            raise UnsupportedError(
                f"export_graphviz: {name} must be left at {defaults[name].default!r} for a tree that asks for "
                f"categories or has many branches; got {value!r}. Use tree_svg, which colours every tree."
            )


def _write_graph(model: Any, max_depth: int | None, precision: int, feature_names: Any, class_names: Any) -> str:
    """Return the program for a tree of any kind, with conditions on the edges."""
    nodes, conditions = list_conditions(model, list_feature_labels(model, feature_names))
    classes = _name_classes(nodes, class_names)
    lines = ["digraph Tree {", 'node [shape=box, fontname="helvetica"];', 'edge [fontname="helvetica"];']
    depths = np.zeros(len(nodes.parent), dtype=np.int64)
    # A parent has a smaller number than its children, so its depth is known when theirs is needed.
    for node in range(len(nodes.parent)):
        parent = int(nodes.parent[node])
        depths[node] = 0 if parent < 0 else depths[parent] + 1
        if max_depth is not None and depths[node] > max_depth:
            continue
        share = ", ".join(f"{one:.{precision}g}" for one in nodes.value[node])
        answer = f"value {share}" if classes is None else f"{classes[int(nodes.value[node].argmax())]}\\n[{share}]"
        label = _quote(f"{answer}\\nimpurity {nodes.impurity[node]:.{precision}g}, weight {nodes.weight[node]:g}")
        lines.append(f"{node} [label={label}];")
        if parent >= 0:
            lines.append(f"{parent} -> {node} [label={_quote(_write_condition(conditions[node], precision))}];")
    return "\n".join([*lines, "}"])


def _quote(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'

"""A tree as rules: one for each leaf, as text that can be read back, and as rectangles."""

import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.tree._conditions import Condition, list_conditions, list_feature_labels

_OPERATOR = re.compile(r" (is missing|<=|>|is|in|not in)(?: |$)")
_NUMBER = re.compile(r"\S+")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Rule:
    """The path to a leaf and its answer.

    Attributes
    ----------
    conditions : tuple of Condition
        All must be met.
    answer : label or float
        What the leaf predicts.
    weight : float
        Weight of the training rows that meet the conditions.
    """

    conditions: tuple[Condition, ...]
    answer: Any
    weight: float

    def __str__(self) -> str:
        when = " and ".join(str(one) for one in self.conditions) or "always"
        return f"if {when} then {json.dumps(self.answer)} ({self.weight!r})"

    def met(self, columns: list[np.ndarray]) -> np.ndarray:
        """Return which rows meet all conditions."""
        found = np.ones(len(columns[0]), dtype=bool)
        for one in self.conditions:
            found &= one.met(columns[one.feature])
        return found


@dataclass(frozen=True)
class RuleSet:
    """The rules of a tree; each row meets one of them.

    ``str`` writes a line for each rule, which :func:`parse_rules` reads back.
    """

    rules: tuple[Rule, ...]
    feature_names: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([f"columns {json.dumps(list(self.feature_names))}", *map(str, self.rules)])

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Any:
        return iter(self.rules)

    def __getitem__(self, number: int) -> Rule:
        return self.rules[number]

    def apply(self, X: Any) -> np.ndarray:
        """Return the index of the rule that each row meets; -1 if a category is in no rule."""
        columns = _read_columns(X)
        found = np.full(len(columns[0]), -1)
        for number, rule in enumerate(self.rules):
            found[rule.met(columns)] = number
        return found

    def predict(self, X: Any) -> np.ndarray:
        """Return the answer of the rule that each row meets."""
        place = self.apply(X)
        if (place < 0).any():
            raise DataError(
                f"RuleSet: row {int(np.argmax(place < 0))} meets no rule: it has a category that no rule knows."
            )
        return np.array([rule.answer for rule in self.rules])[place]


def rules(model: Any, *, feature_names: Any = None) -> RuleSet:
    """Return the rules of a fitted tree, one for each leaf.

    Parameters
    ----------
    model : estimator
        A fitted decision tree of mercer or scikit-learn.
    feature_names : list of str or None, default=None
        Names of the columns; None takes those of the fit, or x0, x1...

    Returns
    -------
    RuleSet
        Printed, a text that :func:`parse_rules` turns into the same rules; it predicts what the tree predicts.

    Examples
    --------
    >>> from mercer.datasets import load_hiking
    >>> from mercer.tree import MultiwayTreeClassifier, rules
    >>> days = load_hiking(as_frame=True)
    >>> print(rules(MultiwayTreeClassifier().fit(days.data, days.target))[0])
    if "outlook" is "overcast" then "yes" (4.0)
    """
    nodes, conditions = list_conditions(model, feature_names)
    found = []
    for leaf in np.flatnonzero(nodes.leaves):
        path, node = [], int(leaf)
        while nodes.parent[node] >= 0:
            path.append(conditions[node])
            node = int(nodes.parent[node])
        value = nodes.value[leaf]
        answer = float(value[0]) if nodes.classes is None else nodes.classes.tolist()[value.argmax()]
        found.append(Rule(tuple(path[::-1]), answer, float(nodes.weight[leaf])))  # type: ignore[arg-type]
    return RuleSet(tuple(found), tuple(list_feature_labels(model, feature_names)))


def parse_rules(text: str) -> RuleSet:
    """Read rules from the text that they print.

    Parameters
    ----------
    text : str
        What ``str(rules(model))`` gives.

    Returns
    -------
    RuleSet

    Examples
    --------
    >>> from mercer.tree import DecisionTreeClassifier, parse_rules, rules
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier().fit(X, y)
    >>> bool((parse_rules(str(rules(model))).predict(X) == model.predict(X)).all())
    True
    """
    first, *lines = text.strip().splitlines()
    if not first.startswith("columns "):
        raise DataError(f"parse_rules: the first line must be 'columns [...]'; got {first[:60]!r}. Print a RuleSet.")
    names = json.loads(first.removeprefix("columns "))
    return RuleSet(tuple(_parse_rule(line, names) for line in lines), tuple(names))


def _parse_rule(line: str, names: list[str]) -> Rule:
    """Read one rule from left to right: names, categories and answers are JSON and may contain any word of the form."""
    rest, conditions = line.strip(), []
    if rest.startswith("if always then "):
        rest = rest.removeprefix("if always then ")
    else:
        lead = "if "
        while rest.startswith(lead):
            condition, rest = _parse_condition(rest.removeprefix(lead), names)
            conditions.append(condition)
            lead = " and "
        rest = rest.removeprefix(" then ") if conditions else ""
    try:
        answer, end = _DECODER.raw_decode(rest)
        weight = float(re.fullmatch(r" \((.*)\)", rest[end:])[1])  # type: ignore[index]
    except (ValueError, TypeError):
        raise DataError(
            f"parse_rules: a rule must be 'if ... then ... (weight)'; got {line[:60]!r}. Print a RuleSet."
        ) from None
    return Rule(tuple(conditions), answer, weight)


def _parse_condition(text: str, names: list[str]) -> tuple[Condition, str]:
    """Return the condition at the beginning of `text`, and what follows it."""
    try:
        name, end = _DECODER.raw_decode(text)
        feature = names.index(name)
        operator = _OPERATOR.match(text[end:])[1]  # type: ignore[index]
        rest = text[end + 1 + len(operator) :]
        if operator == "is missing":
            return Condition(feature, name, "missing"), rest
        rest = rest.removeprefix(" ")
        # Thresholds are printed as Python writes floats: a split by missing values alone has an infinite one.
        number = _NUMBER.match(rest) if operator in ("<=", ">") else None
        value, end = _DECODER.raw_decode(rest) if number is None else (float(number[0]), number.end())
    except (ValueError, TypeError):
        raise DataError(
            f"parse_rules: a condition must compare a quoted column; got {text[:60]!r}. Print a RuleSet."
        ) from None
    rest = rest[end:]
    with_missing = rest.startswith(" or missing")
    return Condition(feature, name, operator, value, with_missing), rest.removeprefix(" or missing")


def leaf_regions(model: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the box of space that each leaf of a tree with numeric splits answers for.

    Parameters
    ----------
    model : estimator
        A fitted decision tree.

    Returns
    -------
    low, high : ndarray of shape (n_leaves, n_features)
        A row x is in the box of a leaf where ``low < x <= high``; infinite where the box is open. Boxes do not overlap
        and fill the space.
    value : ndarray of shape (n_leaves, n_classes) or (n_leaves, 1)
        Class shares, or the number predicted.

    Examples
    --------
    >>> from mercer.tree import DecisionTreeClassifier, leaf_regions
    >>> low, high, value = leaf_regions(DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 1]))
    >>> high[:, 0].tolist()
    [0.5, inf]
    """
    nodes, conditions = list_conditions(model)
    low = np.full((len(nodes.parent), model.n_features_in_), -np.inf)
    high = -low
    for node in range(1, len(nodes.parent)):
        condition = conditions[node]
        low[node], high[node] = low[nodes.parent[node]], high[nodes.parent[node]]
        if condition is None or condition.operator not in ("<=", ">"):
            raise DataError("leaf_regions: every split must be numeric; got one by category. Use rules(model).")
        # A split by missing values alone has an infinite threshold, which must not widen the box of its parent.
        if condition.operator == "<=":
            high[node, condition.feature] = min(high[node, condition.feature], condition.value)
        else:
            low[node, condition.feature] = max(low[node, condition.feature], condition.value)
    return low[nodes.leaves], high[nodes.leaves], nodes.value[nodes.leaves]


def _read_columns(X: Any) -> list[np.ndarray]:
    if hasattr(X, "columns") and hasattr(X, "shape"):
        import narwhals

        frame = narwhals.from_native(X, eager_only=True)
        return [column.to_numpy() for column in frame.iter_columns()]
    table = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    return [table[:, j] for j in range(table.shape[1])]

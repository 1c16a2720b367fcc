"""Every tree in every place that takes one: of numbers, of categories, with missing values, of one leaf.

Producers are the public estimators that have `tree_` once fitted, the members of forests, and scikit-learn's trees.
Consumers are the public functions whose documentation asks for a fitted decision tree.
"""

import inspect
import xml.etree.ElementTree

import numpy as np
import pandas
import pytest
import sklearn.tree
from sklearn.base import BaseEstimator, is_regressor

from mercer.ensemble import RandomForestClassifier
from mercer.errors import MercerError
from mercer.tree import parse_rules
from tests.vocabulary.public_names import list_classes, list_public_names

NUMBERS = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32).astype(np.float64)
LABELS = np.array(["no", "yes"])[(NUMBERS[:, 0] + 0.3 * np.random.default_rng(1).normal(size=60) > 0).astype(int)]
TABLE = pandas.DataFrame(
    {"sky": np.random.default_rng(2).choice(["sun", "rain and wind", "fog"], 60), "wind": NUMBERS[:, 1]}
)
WEATHER = np.where((TABLE["sky"] == "sun") ^ (np.random.default_rng(3).random(60) < 0.1), "go", "stay")
HOLES = np.where(np.random.default_rng(4).random(NUMBERS.shape) < 0.2, np.nan, NUMBERS)


def fit(cls, kind):
    """Return a fitted tree on rows of a kind, with the rows; None where the class does not take them."""
    rows, y = {
        "numbers": (NUMBERS, LABELS),
        "missing": (HOLES, LABELS),
        "categories": (TABLE, WEATHER),
        "one leaf": (NUMBERS, LABELS),
    }[kind]
    settings = {"random_state": 0} if "random_state" in inspect.signature(cls).parameters else {}
    if kind == "categories" and "categorical_features" in inspect.signature(cls).parameters:
        settings["categorical_features"] = ["sky"]
    if kind == "one leaf":
        if "max_depth" not in inspect.signature(cls).parameters or cls.__module__.startswith("sklearn"):
            return None
        settings["max_depth"] = 0
    model = cls(**settings)
    target = (y == y[0]) * 1.5 if is_regressor(model) else y
    try:
        return model.fit(rows, target), rows
    except ValueError:
        return None


TREES = list_classes(lambda cls: issubclass(cls, BaseEstimator) and cls.__module__.startswith("mercer.tree"))
FOREIGN = {
    "scikit-learn classifier": sklearn.tree.DecisionTreeClassifier,
    "scikit-learn regressor": sklearn.tree.DecisionTreeRegressor,
}
KINDS = ("numbers", "missing", "categories", "one leaf")
FITTED = {f"{name} of {kind}": fit(cls, kind) for name, cls in (TREES | FOREIGN).items() for kind in KINDS}
FITTED = {name: pair for name, pair in FITTED.items() if pair is not None and hasattr(pair[0], "tree_")}
FOREST = RandomForestClassifier(2, random_state=0).fit(NUMBERS, LABELS)
FITTED["member of a forest"] = (FOREST.estimators_[0], NUMBERS)
CONSUMERS = {
    name: thing
    for name, thing in list_public_names()
    if inspect.isfunction(thing) and "fitted decision tree" in (inspect.getdoc(thing) or "").lower()
}


def take_rules(function, model, rows):
    found = function(model)
    text = str(found)
    for again in (found, parse_rules(text)):
        assert str(again) == text
        answers = again.predict(rows)
        wanted = model.predict(rows)
        # A member of a forest predicts the indices of the classes.
        assert (answers == wanted).all() if answers.dtype.kind in "US" else np.allclose(answers, wanted)
    counts = sum(rule.met([np.asarray(rows)[:, j] for j in range(np.shape(rows)[1])]).astype(int) for rule in found)
    assert (counts == 1).all()


def take_text(function, model, rows):
    text = function(model, max_depth=60)
    assert text.count("class:") + text.count("value:") == model.tree_.node_count - splits(model)


def splits(model):
    """The nodes that are split."""
    tree = model.tree_
    if hasattr(tree, "children_left"):
        return int((tree.children_left >= 0).sum())
    return len(set(tree.parent[tree.parent >= 0].tolist()))


def take_graph(function, model, rows):
    assert function(model).count("->") == model.tree_.node_count - 1


def take_drawing(function, model, rows):
    drawing = xml.etree.ElementTree.fromstring(function(model))
    assert len(drawing.findall("{http://www.w3.org/2000/svg}g")) == model.tree_.node_count


def take_plot(function, model, rows):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    assert len(function(model, ax=ax)) >= model.tree_.node_count
    plt.close(figure)


def take_explanation(function, model, rows):
    answers = model.predict_proba(rows) if hasattr(model, "predict_proba") else np.asarray(model.predict(rows))[:, None]
    try:
        explained = function(model, rows)
    except MercerError as error:
        if "goes down several branches" not in str(error):
            raise
        return
    for explanation, answer in zip(explained, answers, strict=True):
        np.testing.assert_allclose(explanation.base + explanation.contributions.sum(axis=0), answer, atol=1e-6)


def take_boxes(function, model, rows):
    try:
        low, high, _ = function(model)
    except MercerError as error:
        if "every split must be numeric" not in str(error):
            raise
        return
    points = NUMBERS[:, : low.shape[1]]
    inside = ((points[:, None] > low) & (points[:, None] <= high)).all(axis=2)
    assert (inside.sum(axis=1) == 1).all()


def take_pruning(function, model, rows):
    y = WEATHER if isinstance(rows, pandas.DataFrame) else LABELS
    y = (y == y[0]) * 1.5 if is_regressor(model) else y
    if type(model).__name__ == "DecisionStump":
        with pytest.raises(MercerError, match="a stump has one split; there is nothing to prune"):
            function(model, rows, y)
        return
    pruned = function(model, rows, y)
    pruned = pruned[0] if isinstance(pruned, tuple) else pruned
    assert pruned.tree_.node_count <= model.tree_.node_count


RECIPES = {
    "tree.rules": take_rules,
    "tree.export_text": take_text,
    "tree.export_graphviz": take_graph,
    "tree.tree_svg": take_drawing,
    "tree.plot_tree": take_plot,
    "tree.explain_rows": take_explanation,
    "tree.leaf_regions": take_boxes,
    "tree.prune_reduced_error": take_pruning,
}


def test_the_grid_finds_trees_of_every_kind_and_their_consumers():
    assert set(CONSUMERS) == set(RECIPES), "a function that takes a tree has no recipe, or the recipe is of none"
    assert len(TREES) >= 6
    for kind in KINDS:
        assert sum(name.endswith(kind) for name in FITTED) >= 3, kind


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("consumer", RECIPES)
def test_every_tree_in_every_place(consumer, name):
    model, rows = FITTED[name]
    if name == "member of a forest" and consumer == "tree.prune_reduced_error":
        return  # it was fitted to indices of classes, and the labels are names
    RECIPES[consumer](CONSUMERS[consumer], model, rows)

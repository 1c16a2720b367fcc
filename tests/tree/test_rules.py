"""Trees as rules, boxes, text, Graphviz and SVG, and the paths of single rows."""

import re
import xml.etree.ElementTree

import numpy as np
import pytest
import sklearn.tree
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from mercer.datasets import load_hiking
from mercer.ensemble import RandomForestClassifier
from mercer.errors import DataError, ParameterError, UnsupportedError
from mercer.tree import (
    DecisionStump,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    MultiwayTreeClassifier,
    explain_rows,
    export_graphviz,
    export_text,
    leaf_regions,
    parse_rules,
    rules,
    tree_svg,
)

X, Y = load_iris(return_X_y=True)
MODELS = [
    DecisionTreeClassifier(random_state=0).fit(X, np.array(["setosa", 'versi"color', "virginica and more"])[Y]),
    DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, X[:, 2] * 1.7),
    sklearn.tree.DecisionTreeClassifier(random_state=0).fit(X, Y),
    MultiwayTreeClassifier().fit(X, Y),
    DecisionStump().fit(X, Y),
]


@pytest.fixture
def days():
    return load_hiking(as_frame=True)


@pytest.mark.catalogue("TE-10")
@pytest.mark.parametrize("model", MODELS, ids=lambda one: type(one).__module__)
def test_printed_rules_read_back_predict_what_the_tree_predicts(model):
    text = str(rules(model, feature_names=["a b", 'c"d', "e and f", "g"]))
    again = parse_rules(text)
    assert str(again) == text
    # scikit-learn compares in float32.
    rows = X.astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


@pytest.mark.catalogue("TE-10")
def test_every_row_meets_one_rule(days):
    model = MultiwayTreeClassifier().fit(days.data, days.target)
    found = rules(model)
    columns = [days.data[name].to_numpy() for name in days.data]
    assert np.sum([rule.met(columns) for rule in found], axis=0).tolist() == [1] * 14
    np.testing.assert_array_equal(parse_rules(str(found)).predict(days.data), days.target)
    assert sum(rule.weight for rule in found) == 14
    with pytest.raises(DataError, match="row 0 meets no rule"):
        found.predict(days.data.assign(outlook="fog"))


@pytest.mark.catalogue("TE-10")
@pytest.mark.parametrize("kind", ["frame", "array"])
@pytest.mark.parametrize("model", [DecisionTreeClassifier(), ExtraTreeClassifier(random_state=0)])
def test_rules_of_text_categories_name_them_and_predict_from_text(days, kind, model):
    table = days.data.astype(object) if kind == "frame" else days.data.astype(str).to_numpy()
    model = clone(model).set_params(categorical_features=[0, 1, 2, 3]).fit(table, days.target)
    found = rules(model, feature_names=list(days.data))
    text = str(found)
    forms = [text, export_text(model), tree_svg(model), *map(str, explain_rows(model, table))]
    written = "\n".join(forms)
    assert any(name in written for name in ("sunny", "overcast", "rain"))
    assert not re.search(r"in \[\d", written)
    for again in (found, parse_rules(text)):
        assert str(again) == text
        np.testing.assert_array_equal(again.predict(table), model.predict(table))
    # A category that the fit has not seen goes where the tree sends it.
    strange = table.copy()
    if kind == "frame":
        strange["outlook"] = "fog"
    else:
        strange[:, 0] = "fog"
    np.testing.assert_array_equal(found.predict(strange), model.predict(strange))


def test_rules_of_a_tree_in_a_forest_name_its_categories(days):
    table = days.data.astype(object)
    forest = RandomForestClassifier(1, bootstrap=False, max_features=None, categorical_features=[0, 1, 2, 3])
    text = str(rules(forest.fit(table, days.target).estimators_[0]))
    assert any(name in text for name in ("sunny", "overcast", "rain"))
    assert not re.search(r"in \[\d", text)
    # Trees of a forest predict the numbers of the classes, as scikit-learn's do.
    codes = parse_rules(text).predict(table.to_numpy()).astype(int)
    np.testing.assert_array_equal(forest.classes_[codes], forest.predict(table))


def test_categories_that_read_like_parts_of_a_rule_survive_the_round_trip():
    words = ['rock and "roll"', " and ", "x then 1 (2.0)", "a or missing", "is missing", "]", "or"]
    X = np.array([[word] for word in words * 4], dtype=object)
    y = np.array([f"{word} then no (3.0)" for word in words * 4])
    model = DecisionTreeClassifier(categorical_features=[0]).fit(X, y)
    text = str(rules(model, feature_names=['b and "c" in [1] or missing']))
    assert str(parse_rules(text)) == text
    np.testing.assert_array_equal(parse_rules(text).predict(X), y)


def test_categories_that_are_numbers_keep_their_meaning_in_rules():
    random = np.random.default_rng(0)
    codes = random.choice([2.0, 5.0, 40.0], 60)
    X = np.column_stack([codes, random.normal(size=60)])
    model = DecisionTreeClassifier(categorical_features=[0]).fit(X, (codes == 5.0) * 1)
    text = str(rules(model))
    assert "[5]" in text or "[2, 40]" in text
    np.testing.assert_array_equal(parse_rules(text).predict(X), model.predict(X))
    holes = X.copy()
    holes[::7, 0] = np.nan
    np.testing.assert_array_equal(parse_rules(text).predict(holes), model.predict(holes))


@pytest.mark.parametrize("side", ["heavy", "light"])
def test_rules_of_categories_send_missing_values_where_the_tree_does(side):
    # No missing value is in the fit: it goes with the heavier side, which is left or right by the classes.
    words = ["a"] * 6 + ["b"] * 3 if side == "heavy" else ["a"] * 3 + ["b"] * 6
    X = np.array([[word] for word in words], dtype=object)
    for labels in (("x", "y"), ("y", "x")):
        y = np.where(X[:, 0] == "a", *labels)
        model = DecisionTreeClassifier(categorical_features=[0]).fit(X, y)
        strange = np.array([["a"], ["b"], [None], ["c"], [np.nan]], dtype=object)
        for found in (rules(model), parse_rules(str(rules(model)))):
            np.testing.assert_array_equal(found.predict(strange), model.predict(strange))


def test_rules_tell_where_missing_values_go():
    rows = np.array([[0.0], [1.0], [2.0], [np.nan], [np.nan]])
    model = DecisionStump().fit(rows, [0, 0, 1, 1, 1])
    text = str(rules(model))
    assert "or missing" in text
    np.testing.assert_array_equal(parse_rules(text).predict(rows), model.predict(rows))
    words = MultiwayTreeClassifier().fit(rows, [0, 0, 1, 2, 2])
    assert '"x0" is missing' in str(rules(words))
    np.testing.assert_array_equal(parse_rules(str(rules(words))).predict(rows), [0, 0, 1, 2, 2])


@pytest.mark.catalogue("TE-10")
@pytest.mark.parametrize("model", [MODELS[0], MODELS[2], MODELS[3]], ids=lambda one: type(one).__module__)
def test_each_row_is_in_one_box(model):
    low, high, value = leaf_regions(model)
    rows = X.astype(np.float32).astype(np.float64)
    inside = ((rows[:, None] > low) & (rows[:, None] <= high)).all(axis=2)
    assert (inside.sum(axis=1) == 1).all()
    np.testing.assert_array_equal(model.classes_[value[inside.argmax(axis=1)].argmax(axis=1)], model.predict(rows))


def test_boxes_need_numbers(days):
    with pytest.raises(DataError, match="every split must be numeric; got one by category"):
        leaf_regions(MultiwayTreeClassifier().fit(days.data, days.target))


@pytest.mark.parametrize("settings", [{}, {"decimals": 3, "show_weights": True, "spacing": 4}, {"max_depth": 1}])
def test_the_text_of_a_binary_tree_is_scikit_learns(settings):
    model = MODELS[2]
    assert export_text(model, **settings) == sklearn.tree.export_text(model, **settings)
    numbers = sklearn.tree.DecisionTreeRegressor(max_depth=3).fit(X, X[:, 0])
    assert export_text(numbers) == sklearn.tree.export_text(numbers)


def test_the_text_of_a_multiway_tree_has_a_line_for_each_branch(days):
    text = export_text(MultiwayTreeClassifier().fit(days.data, days.target))
    assert "|--- outlook is overcast\n|   |--- class: yes\n" in text
    assert text.count("class:") == 5


def test_graphviz_and_svg_show_every_node(days, tmp_path):
    for model in [*MODELS, MultiwayTreeClassifier().fit(days.data, days.target)]:
        n_nodes = model.tree_.node_count
        text = export_graphviz(model)
        assert text.count("->") == n_nodes - 1
        drawing = xml.etree.ElementTree.fromstring(tree_svg(model))
        assert len(drawing.findall("{http://www.w3.org/2000/svg}g")) == n_nodes
    export_graphviz(MODELS[0], tmp_path / "tree.dot")
    assert (tmp_path / "tree.dot").read_text() == export_graphviz(MODELS[0])
    shallow = tree_svg(MODELS[0], max_depth=1)
    assert shallow.count('class="node"') == 3


@pytest.mark.parametrize("looks", [{}, {"filled": True, "rounded": True, "proportion": True, "max_depth": 2}])
def test_graphviz_of_a_tree_of_numbers_is_scikit_learns(looks):
    for model in MODELS[:3]:
        assert export_graphviz(model, **looks) == sklearn.tree.export_graphviz(model, **looks)


def test_graphviz_of_categories_has_them_on_the_edges(days):
    model = MultiwayTreeClassifier().fit(days.data, days.target)
    assert 'label="outlook is overcast"' in export_graphviz(model)
    with pytest.raises(UnsupportedError) as caught:
        export_graphviz(model, filled=True)
    assert str(caught.value) == (
        "export_graphviz: filled must be left at False for a tree that asks for categories or has many branches; "
        "got True. Use tree_svg, which colours every tree."
    )


def test_a_tree_that_was_not_grown_cannot_be_written():
    for write in (export_text, export_graphviz):
        with pytest.raises(NotFittedError):
            write(DecisionTreeClassifier())


@pytest.mark.parametrize("model", MODELS, ids=lambda one: type(one).__module__)
def test_contributions_sum_to_the_answer(model):
    rows = X[::29].astype(np.float32).astype(np.float64)
    answers = model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)[:, None]
    for explanation, answer in zip(explain_rows(model, rows), answers, strict=True):
        np.testing.assert_allclose(explanation.base + explanation.contributions.sum(axis=0), answer, atol=1e-7)
        np.testing.assert_allclose(
            explanation.contributions.sum(axis=0), sum(step.change for step in explanation.steps), atol=1e-12
        )


def test_arguments_out_of_range_are_refused():
    with pytest.raises(ParameterError) as caught:
        export_text(MODELS[0], decimals=-1)
    assert str(caught.value) == "export_text: decimals must be an integer in [0, inf); got -1."
    with pytest.raises(DataError, match=r"feature_names must contain 4 elements, got 1\. Give a name for each"):
        rules(MODELS[0], feature_names=["a"])
    for text, words in (("nothing", "the first line"), ('columns ["a"]\nno rule', "a rule must be")):
        with pytest.raises(DataError, match=words):
            parse_rules(text)

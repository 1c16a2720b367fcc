"""plot_tree: texts, branches, colours, places without overlap, and its errors."""

import numpy as np
import pytest
import sklearn.tree
from sklearn.exceptions import NotFittedError

from mercer.datasets import load_hiking
from mercer.errors import ParameterError
from mercer.tree import DecisionTreeClassifier, DecisionTreeRegressor, MultiwayTreeClassifier, plot_tree

matplotlib = pytest.importorskip("matplotlib", reason="the trees are drawn with matplotlib")
matplotlib.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot", reason="the trees are drawn with matplotlib")
X = np.random.default_rng(0).normal(size=(300, 3)).round(1)
Y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 0.5)
COLOURLESS = "#ffffff"


@pytest.fixture(autouse=True)
def figure():
    drawn = pyplot.figure(figsize=(10, 6))
    yield drawn
    pyplot.close(drawn)


def texts(drawn):
    return [one.get_text() for one in drawn]


def colour_of(one):
    return matplotlib.colors.to_hex(one.get_bbox_patch().get_facecolor())


@pytest.mark.parametrize(
    "looks",
    [
        {},
        {"filled": True, "class_names": True},
        {"class_names": ["a", "b", "c"], "proportion": True, "label": "root", "precision": 1},
        {"node_ids": True, "impurity": False, "feature_names": ['in "quotes"', "b", "c"]},
    ],
)
def test_texts_and_colours_are_those_of_scikit_learn(looks):
    theirs = sklearn.tree.DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
    drawn, expected = plot_tree(theirs, **looks), sklearn.tree.plot_tree(theirs, **looks)
    assert texts(drawn) == texts(expected)
    boxes = [one for one in expected if one.get_text().strip() not in ("True", "False")]
    mine = [one for one in drawn if one.get_text().strip() not in ("True", "False")]
    assert [colour_of(one) for one in mine] == [colour_of(one) for one in boxes]


def test_several_outputs_and_numbers_are_drawn():
    model = DecisionTreeRegressor(max_depth=1).fit(X, np.stack([X[:, 0], X[:, 1]], axis=1))
    assert texts(plot_tree(model))[0].startswith("x[")
    assert "value = " in texts(plot_tree(DecisionTreeRegressor(max_depth=1).fit(X, Y)))[0]


def test_branches_below_the_depth_are_left_out():
    model = DecisionTreeClassifier().fit(X, Y)
    drawn = texts(plot_tree(model, max_depth=1))
    assert sum("..." in one for one in drawn) == 4
    categories = MultiwayTreeClassifier().fit(load_hiking(as_frame=True).data, load_hiking(as_frame=True).target)
    assert len(plot_tree(categories, max_depth=1)) == 1 + 2 * 3


def test_conditions_are_on_the_branches_of_a_tree_of_categories():
    days = load_hiking(as_frame=True)
    model = MultiwayTreeClassifier().fit(days.data, days.target)
    drawn = plot_tree(model, filled=True, class_names=["stay", "go"], precision=2, node_ids=True)
    assert texts(drawn)[0] == "node #0\nentropy = 0.94\nsamples = 14\nvalue = [5, 9]\nclass = go"
    assert {"outlook is overcast", "outlook is rain", "wind is weak"} < set(texts(drawn))
    sure = [one for one in drawn if "value = [0, 4]" in one.get_text()]
    unsure = [one for one in drawn if "value = [2, 3]" in one.get_text()]
    assert COLOURLESS != colour_of(unsure[0]) != colour_of(sure[0]) == "#ee6677"


def test_splits_of_a_binary_tree_by_categories_are_drawn_in_shares():
    kind = np.random.default_rng(1).integers(6, size=200).astype(float)
    model = DecisionTreeRegressor(max_depth=1, categorical_features=[0]).fit(kind[:, None], kind % 2)
    drawn = texts(plot_tree(model, proportion=True, label="none", filled=True))
    assert drawn[0].splitlines()[1] == "100.0%"
    # The split is the same whichever side is named.
    assert {drawn[2], drawn[4]} in ({f"x0 in {one}", f"x0 not in {one}"} for one in ([0, 2, 4], [1, 3, 5]))


@pytest.mark.parametrize("looks", [{}, {"max_depth": 2, "rounded": True}])
def test_no_boxes_meet(figure, looks):
    drawn = plot_tree(DecisionTreeClassifier(max_depth=4).fit(X, Y), ax=figure.add_subplot(), **looks)
    figure.canvas.draw()
    extents = [one.get_bbox_patch().get_window_extent() for one in drawn if "=" in one.get_text()]
    met = [(a, b) for k, a in enumerate(extents) for b in extents[k + 1 :] if a.overlaps(b)]
    assert met == []


def test_letters_keep_their_size_and_what_was_drawn_before_is_cleared(figure):
    axes = figure.add_subplot()
    assert {one.get_fontsize() for one in plot_tree(DecisionTreeClassifier().fit(X, Y), ax=axes, fontsize=7)} == {7}
    assert len(plot_tree(DecisionTreeClassifier().fit(X, np.zeros(len(X))), ax=axes)) == 1
    assert len(axes.texts) == 1


def test_errors_name_what_is_wrong():
    with pytest.raises(NotFittedError):
        plot_tree(DecisionTreeClassifier())
    model = DecisionTreeClassifier(max_depth=1).fit(X, Y)
    with pytest.raises(ParameterError, match=r"plot_tree: label must be one of 'all', 'root' or 'none'; got 'some'."):
        plot_tree(model, label="some")
    with pytest.raises(ParameterError, match=r"plot_tree: max_depth must be an integer in \[0, inf\) or None; got -1."):
        plot_tree(model, max_depth=-1)
    with pytest.raises(ParameterError, match=r"plot_tree: precision must be an integer in \[0, inf\); got None."):
        plot_tree(model, precision=None)

"""Trees and forests of depth 0: one leaf, which predicts what is best without looking at the row."""

import numpy as np
import pytest

from mercer.ensemble import ExtraTreesRegressor, RandomForestClassifier
from mercer.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    export_text,
    leaf_regions,
    rules,
)

X, NUMBERS = np.random.default_rng(0).normal(size=(30, 3)), np.random.default_rng(1).normal(size=30)
LABELS = np.random.default_rng(2).choice(["a", "b", "c"], 30, p=[0.2, 0.5, 0.3])


@pytest.mark.parametrize("settings", [{}, {"max_leaf_nodes": 5}, {"splitter": "histogram"}, {"ccp_alpha": 0.1}])
def test_a_classifier_of_one_leaf_predicts_the_shares_of_the_classes(settings):
    model = DecisionTreeClassifier(max_depth=0, **settings).fit(X, LABELS)
    assert (model.tree_.node_count, model.get_depth(), model.get_n_leaves()) == (1, 0, 1)
    classes, counts = np.unique(LABELS, return_counts=True)
    np.testing.assert_allclose(model.predict_proba(X), np.tile(counts / 30, (30, 1)))
    assert set(model.predict(X)) == {classes[counts.argmax()]}
    assert str(rules(model)[0]) == f'if always then "{classes[counts.argmax()]}" (30.0)'
    assert "class:" in export_text(model)
    assert leaf_regions(model)[0].shape == (1, 3)


@pytest.mark.parametrize("model", [DecisionTreeRegressor, ExtraTreeRegressor])
def test_a_regressor_of_one_leaf_predicts_the_weighted_mean(model):
    weight = np.arange(30.0)
    fitted = model(max_depth=0).fit(X, NUMBERS, sample_weight=weight)
    np.testing.assert_allclose(fitted.predict(X), np.average(NUMBERS, weights=weight))


def test_forests_of_one_leaf_each():
    forest = RandomForestClassifier(5, max_depth=0, bootstrap=False).fit(X, LABELS)
    tree = DecisionTreeClassifier(max_depth=0).fit(X, LABELS)
    np.testing.assert_allclose(forest.predict_proba(X), tree.predict_proba(X))
    np.testing.assert_allclose(ExtraTreesRegressor(5, max_depth=0).fit(X, NUMBERS).predict(X), NUMBERS.mean())
    assert ExtraTreeClassifier(max_depth=0).fit(X, LABELS).get_n_leaves() == 1

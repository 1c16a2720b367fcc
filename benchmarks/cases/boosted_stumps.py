"""AdaBoost with stumps; the accuracy is recomputed here from the splits and the votes of the members."""

from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.case import Agreement, Case, Data, estimators, scaled, split


def make_rows(scale: float) -> dict[str, np.ndarray]:
    """Draw 30 columns of two classes, a tenth of the labels wrong."""
    test_rows = scaled(10_000, scale)
    n = scaled(20_000, scale, 2_000) + test_rows
    X, y = make_classification(n, 30, n_informative=10, n_redundant=5, flip_y=0.1, random_state=0)
    return split(X, test_rows, y)


def votes(model: Any) -> dict[str, np.ndarray]:
    """Return column, threshold and the votes of both sides of each member, of mercer or scikit-learn."""
    trees = [member.tree_ for member in model.estimators_]
    said = np.array([np.where(tree.value[1:3, 0].argmax(axis=1) == 1, 1.0, -1.0) for tree in trees])
    return {
        "feature": np.array([tree.feature[0] for tree in trees]),
        "threshold": np.array([tree.threshold[0] for tree in trees]),
        "votes": said * np.asarray(model.estimator_weights_)[: len(trees), None],
    }


def lightgbm_votes(model: Any) -> dict[str, np.ndarray]:
    """Return the same of LightGBM's trees of two leaves."""
    nodes = [tree["tree_structure"] for tree in model.booster_.dump_model()["tree_info"]]
    nodes = [node for node in nodes if "split_feature" in node]
    return {
        "feature": np.array([node["split_feature"] for node in nodes]),
        "threshold": np.array([node["threshold"] for node in nodes]),
        "votes": np.array([[node[side]["leaf_value"] for side in ("left_child", "right_child")] for node in nodes]),
    }


def accuracy(solution: Data, data: Data) -> dict[str, float]:
    right = data["X_test"][:, solution["feature"]] > solution["threshold"]
    score = np.where(right, solution["votes"][:, 1], solution["votes"][:, 0]).sum(axis=1)
    return {"accuracy": float(np.mean((score > 0) == (data["y_test"] == 1)))}


NAME = "ensemble.AdaBoostClassifier"
contestants = (
    *estimators({"mercer": f"mercer.{NAME}", "sklearn": f"sklearn.{NAME}"}, votes, n_estimators=200),
    *estimators({"lightgbm": "lightgbm.LGBMClassifier"}, lightgbm_votes, n_estimators=200, num_leaves=2, verbose=-1),
)

CASES = (
    Case(
        "adaboost_stumps",
        "AdaBoost, 200 stumps, 20 000 x 30, two classes",
        make_rows,
        contestants,
        accuracy,
        # LightGBM descends another loss, with a rate.
        Agreement("accuracy", "higher", 0.05),
    ),
)

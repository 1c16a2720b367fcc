"""The candidates of ensembles for a study."""

from typing import Any

import numpy as np

from mercer._base.candidate import Candidate, Shape
from mercer.ensemble._forest.forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mercer.ensemble._histogram.estimators import HistGradientBoostingClassifier, HistGradientBoostingRegressor

_NEEDS = ("dense", "codes", "missing")
# Slow learning of small trees for few or noisy rows, a middle way, and a thousand trees for many rows or little noise.
# Leaves of five rows serve small tables, and splits that see half of the columns make trees less alike. Chosen with
# three folds on the development tables of benchmarks/choice_tables.py: 300 trees of 31 leaves as the third setting are
# behind on all three tables where it matters. Half of the columns would make the third one take longer on few columns.
_BOOSTING: list[dict[str, list[Any]]] = [
    {"learning_rate": [0.03], "max_leaf_nodes": [4]},
    {"learning_rate": [0.05], "max_leaf_nodes": [8], "min_samples_leaf": [5], "max_features": [0.5]},
    {"max_iter": [1000], "max_leaf_nodes": [8], "min_samples_leaf": [5]},
]


def _draw_boosting(random: np.random.Generator) -> dict[str, Any]:
    """Draw a setting of boosted trees whose number of trees is found by early stopping."""
    return {
        "learning_rate": float(np.exp(random.uniform(np.log(0.03), np.log(0.15)))),
        "max_leaf_nodes": int(random.choice([8, 15, 31, 63])),
        "min_samples_leaf": int(random.choice([5, 20, 60])),
        "max_features": float(random.choice([0.3, 0.6, 1.0])),
        "l2_regularization": float(random.choice([0.0, 1.0, 10.0])),
        "max_iter": 1000,
        "early_stopping": True,
        "n_iter_no_change": 15,
    }


def _forest(shape: Shape) -> Any:
    return RandomForestClassifier(100, min_samples_leaf=2, random_state=shape.seed)


def _forest_of_numbers(shape: Shape) -> Any:
    return RandomForestRegressor(100, min_samples_leaf=2, max_features=1 / 3, random_state=shape.seed)


def _extra_trees(shape: Shape) -> Any:
    return ExtraTreesClassifier(100, random_state=shape.seed)


def _extra_trees_of_numbers(shape: Shape) -> Any:
    return ExtraTreesRegressor(100, random_state=shape.seed)


def _boosting(shape: Shape) -> Any:
    return HistGradientBoostingClassifier(max_iter=100, early_stopping=False, random_state=shape.seed)


def _boosting_of_numbers(shape: Shape) -> Any:
    return HistGradientBoostingRegressor(max_iter=100, early_stopping=False, random_state=shape.seed)


def _leaves(model: Any) -> tuple[float, str]:
    count = sum(int(tree.get_n_leaves()) for tree in model.estimators_)
    return float(count), f"{count} leaves in {len(model.estimators_)} trees"


def _count_boosted(model: Any) -> tuple[float, str]:
    n_trees = int(model.n_iter_ * model.n_trees_per_iteration_)
    return float(n_trees * model.max_leaf_nodes), f"{n_trees} trees of up to {model.max_leaf_nodes} leaves"


CANDIDATES = (
    *(
        Candidate(
            "random forest",
            "ensembles",
            (task,),
            200,
            make,
            {},
            _NEEDS,
            complexity=_leaves,
            text="The mean of a hundred trees, each grown on other rows and columns.",
        )
        for task, make in (("classification", _forest), ("regression", _forest_of_numbers))
    ),
    *(
        Candidate(
            "extra trees",
            "ensembles",
            (task,),
            202,
            make,
            {"min_samples_leaf": [5, 1]},
            _NEEDS,
            complexity=_leaves,
            text="The mean of a hundred trees whose splits are drawn at random.",
        )
        for task, make in (("classification", _extra_trees), ("regression", _extra_trees_of_numbers))
    ),
    *(
        Candidate(
            "boosted trees",
            "ensembles",
            (task,),
            210,
            make,
            _BOOSTING,
            _NEEDS,
            complexity=_count_boosted,
            text="A hundred trees or more, each grown on the errors of the trees before it.",
            draw=_draw_boosting,
        )
        for task, make in (("classification", _boosting), ("regression", _boosting_of_numbers))
    ),
)

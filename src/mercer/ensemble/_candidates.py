"""The candidates of ensembles for a study."""

from typing import Any

from mercer._base.candidate import Candidate, Shape
from mercer.ensemble._forest.random_forest import RandomForestClassifier, RandomForestRegressor
from mercer.ensemble._histogram.classifier import HistGradientBoostingClassifier
from mercer.ensemble._histogram.regressor import HistGradientBoostingRegressor

__all__ = ["CANDIDATES"]

_NEEDS = ("dense", "codes", "missing")


def _forest(shape: Shape) -> Any:
    return RandomForestClassifier(100, min_samples_leaf=2, random_state=shape.seed)


def _forest_of_numbers(shape: Shape) -> Any:
    return RandomForestRegressor(100, min_samples_leaf=2, max_features=1 / 3, random_state=shape.seed)


def _boosting(shape: Shape) -> Any:
    return HistGradientBoostingClassifier(max_iter=100, early_stopping=False, random_state=shape.seed)


def _boosting_of_numbers(shape: Shape) -> Any:
    return HistGradientBoostingRegressor(max_iter=100, early_stopping=False, random_state=shape.seed)


def _leaves(model: Any) -> tuple[float, str]:
    count = sum(int(tree.get_n_leaves()) for tree in model.estimators_)
    return float(count), f"{count} leaves in {len(model.estimators_)} trees"


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
            "boosted trees",
            "ensembles",
            (task,),
            210,
            make,
            {"learning_rate": [0.03, 0.1]},
            _NEEDS,
            text="A hundred small trees, each grown on the errors of the trees before it.",
        )
        for task, make in (("classification", _boosting), ("regression", _boosting_of_numbers))
    ),
)

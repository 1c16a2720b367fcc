"""The trees that a study tries."""

from typing import Any

from mercer._base.candidate import Candidate, Shape
from mercer.tree._decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

# Numbers of leaves that a person can still read; for more leaves there are forests.
_LEAVES = [4, 8, 16, 32]


def _make_classifier(shape: Shape) -> Any:
    return DecisionTreeClassifier(min_samples_leaf=5, random_state=shape.seed)


def _make_regressor(shape: Shape) -> Any:
    return DecisionTreeRegressor(min_samples_leaf=5, random_state=shape.seed)


def _count_leaves(model: Any) -> tuple[float, str]:
    count = int(model.get_n_leaves())
    return float(count), f"{count} leaves"


CANDIDATES = tuple(
    Candidate(
        "one tree",
        "trees",
        (task,),
        48,
        make,
        {"max_leaf_nodes": _LEAVES},
        ("dense", "codes", "missing"),
        complexity=_count_leaves,
        text="A few questions one after the other, each about one column.",
    )
    for task, make in (("classification", _make_classifier), ("regression", _make_regressor))
)

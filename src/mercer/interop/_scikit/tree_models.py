"""Trees and their ensembles: the nodes of mercer's trees in the records of scikit-learn's."""

from typing import Any

import numpy as np

from mercer._base.scikit_learn import fill_boosting
from mercer.ensemble import average_path_length
from mercer.interop._scikit.classifiers import fit_first
from mercer.interop._scikit.conversion import completes, convert, refuse
from mercer.interop.scores.scikit_trees import fill_tree


def _refuse_categories(model: Any, tree: Any) -> None:
    if len(tree.categories) and (np.asarray(tree.categories) >= 0).any():
        refuse(model, "its trees split by categories")


@completes("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor")
def _complete_tree(model: Any, made: Any) -> Any:
    _refuse_categories(model, model.tree_)
    return fill_tree(made, model.tree_)


@completes("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor")
def _complete_forest(model: Any, made: Any) -> None:
    if hasattr(made, "classes_"):
        # Members of scikit-learn's forests predict the places of classes.
        for member in made.estimators_:
            several = isinstance(made.classes_, list)
            member.classes_ = (
                [np.arange(len(names)) for names in made.classes_] if several else np.arange(len(made.classes_))
            )


@completes("RandomTreesEmbedding")
def _complete_embedding(model: Any, made: Any) -> None:
    from sklearn.preprocessing import OneHotEncoder

    leaves = [np.flatnonzero(np.asarray(member.tree_.children_left) < 0) for member in model.estimators_]
    longest = max(map(len, leaves))
    # The encoder learns the leaves of every tree: shorter lists repeat their last leaf.
    rows = np.column_stack([np.append(one, np.full(longest - len(one), one[-1])) for one in leaves])
    made.one_hot_encoder_ = OneHotEncoder(sparse_output=model.sparse_output).fit(rows)


@completes("IsolationForest")
def _complete_isolation(model: Any, made: Any) -> None:
    made.estimators_ = [convert(member) for member in model.estimators_]
    # mercer's trees count the columns of the table, whichever each of them may split.
    made.estimators_features_ = [np.arange(model.n_features_in_) for _ in made.estimators_]
    made.estimator_ = made.estimators_[0]
    made._max_features, made._max_samples = len(made.estimators_features_[0]), model.max_samples_
    # scikit-learn divides by its own mean path of as many rows, which is not exact: the lengths here make up for it.
    share = _approximate_path(model.max_samples_) / average_path_length(np.array([model.max_samples_]))[0]
    lengths, rests = [], []
    for member in model.estimators_:
        depths = np.asarray(member.tree_.depths, dtype=float)
        lengths.append(depths + 1.0)
        # What mercer's tree predicts is the depth of a leaf and the mean path of the rows that are left in it.
        rests.append(share * np.asarray(member.tree_.value).ravel() - depths)
    made._decision_path_lengths, made._average_path_length_per_tree = tuple(lengths), tuple(rests)


# Euler's constant.
_GAMMA = 0.5772156649015329


def _approximate_path(count: int) -> float:
    """Return the mean path of a search among `count` rows as scikit-learn computes it."""
    if count <= 2:
        return float(count == 2)
    return 2.0 * (np.log(count - 1.0) + _GAMMA) - 2.0 * (count - 1.0) / count


@completes("GradientBoostingClassifier", "GradientBoostingRegressor")
def _complete_boosting(model: Any, made: Any) -> None:
    made.estimators_ = convert(model.estimators_)
    made._loss = made._get_loss(sample_weight=None)
    if model.init is None or isinstance(model.init, str):
        made.init_ = model.init_ if not isinstance(model.init_, str) else "zero"


@completes("AdaBoostClassifier")
def _complete_stumps(model: Any, made: Any) -> None:
    if getattr(model, "algorithm", "discrete") == "real":
        refuse(model, "scikit-learn has discrete AdaBoost alone")


@completes("DecisionStump")
def _complete_stump(model: Any, made: Any) -> Any:
    """Return a tree of one split."""
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=1)
    if not hasattr(model, "classes_"):
        return tree
    tree.classes_, tree.n_classes_, tree.n_outputs_ = model.classes_, model.n_classes_, 1
    tree.n_features_in_ = model.n_features_in_
    return fill_tree(tree, model.tree_)


@completes("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
def _complete_histograms(model: Any, made: Any) -> Any:
    if model.is_categorical_ is not None:
        refuse(model, "its trees split by categories")
    quick = {"max_iter": 1, "early_stopping": False, "warm_start": False}
    made = fit_first(model, made, getattr(model, "classes_", None), **quick)
    fill_boosting(made, model._list_records(), np.asarray(model._baseline, dtype=float).reshape(1, -1))
    return made

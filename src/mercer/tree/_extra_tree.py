"""Extremely randomised trees: every split is the best of a few drawn at random."""

from typing import Any

from mercer._base.parameter import Choice, Integer, Nothing, Share, parameter
from mercer._documentation import compose_docstring
from mercer.tree._decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from mercer.tree._documentation import SHARED


class ExtraTreeClassifier(DecisionTreeClassifier):
    """An extremely randomised tree for classes.

    A node draws a few features, for each a threshold evenly between the least and the greatest value of its rows, and
    takes the split that lowers the impurity most. Alone such a tree is poor; many of them make
    :class:`mercer.ensemble.ExtraTreesClassifier`.

    Attributes
    ----------
    tree_, classes_, n_classes_, n_outputs_, max_features_, feature_importances_
        As of :class:`DecisionTreeClassifier`.
    history_, converged_, n_iter_, certificate_, n_features_in_, feature_names_in_
        As of :class:`DecisionTreeClassifier`.

    %(extra_notes)s

    Examples
    --------
    >>> from mercer.tree import ExtraTreeClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreeClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    splitter: str = parameter(Choice("best", "random", "histogram"), default="random", after="criterion")
    max_features: Any = parameter(
        Integer(1) | Share(0, 1, "right") | Choice("sqrt", "log2") | Nothing(),
        default="sqrt",
        after="min_weight_fraction_leaf",
    )

    _documents = {
        "random_state": "The seed of the random draws.",
    }


class ExtraTreeRegressor(DecisionTreeRegressor):
    """An extremely randomised tree for numbers.

    A node draws features, for each a threshold evenly between the least and the greatest value of its rows, and takes
    the split that lowers the impurity most. Alone such a tree is poor; many of them make
    :class:`mercer.ensemble.ExtraTreesRegressor`.

    Attributes
    ----------
    tree_, n_outputs_, max_features_, feature_importances_
        As of :class:`DecisionTreeRegressor`.
    history_, converged_, n_iter_, certificate_, n_features_in_, feature_names_in_
        As of :class:`DecisionTreeRegressor`.

    %(extra_notes)s

    Examples
    --------
    >>> from mercer.tree import ExtraTreeRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ExtraTreeRegressor(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    splitter: str = parameter(Choice("best", "random", "histogram"), default="random", after="criterion")
    max_features: Any = parameter(
        Integer(1) | Share(0, 1, "right") | Choice("sqrt", "log2") | Nothing(),
        default=1.0,
        after="min_weight_fraction_leaf",
    )
    max_leaf_nodes: int | None = parameter(Integer(2) | Nothing(), default=None, after="min_impurity_decrease")

    _documents = {
        "random_state": "The seed of the random draws.",
    }

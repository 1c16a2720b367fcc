"""Extremely randomised trees: thresholds are drawn at random too."""

from typing import ClassVar

from mercer._documentation import compose_docstring
from mercer.ensemble._forest.kinds import SHARED, ForestClassifier, ForestRegressor
from mercer.tree import ExtraTreeClassifier, ExtraTreeRegressor


class ExtraTreesClassifier(ForestClassifier):
    """Extremely randomised trees for classification: each split is the best of a few drawn at random.

    The forest predicts the mean of the class shares p_t in the leaves of its T trees,

        p(x) = 1/T sum_t p_t(x).

    Attributes
    ----------
    estimators_ : list of ExtraTreeClassifier
        The trees, which know classes by their indices.
    classes_, n_classes_
        Labels, sorted, and their number; lists of them for several outputs.
    %(scores)s
    oob_decision_function_ : ndarray of shape (n_samples, ...)
        With `oob_score`: these predictions; NaN for rows that every tree saw.
    %(history)s

    %(extra_notes)s

    Examples
    --------
    >>> from mercer.ensemble import ExtraTreesClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ExtraTreesClassifier(random_state=0).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.95
    """

    __doc__ = compose_docstring(__doc__, SHARED)

    _documents = {
        "criterion": "The impurity that splits lower, as of :class:`mercer.tree.ExtraTreeClassifier`.",
    }

    _tree_class = ExtraTreeClassifier
    splitter: ClassVar[str] = "random"


class ExtraTreesRegressor(ForestRegressor):
    """Extremely randomised trees for regression: each split is the best of those drawn at random.

    The forest predicts the mean of its T trees,

        f(x) = 1/T sum_t f_t(x).

    Attributes
    ----------
    estimators_ : list of ExtraTreeRegressor
        The trees.
    %(scores)s
    oob_prediction_ : ndarray of shape (n_samples, ...)
        With `oob_score`: these predictions; NaN for rows that every tree saw.
    %(history)s

    %(extra_notes)s

    Examples
    --------
    >>> from mercer.ensemble import ExtraTreesRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ExtraTreesRegressor(min_samples_leaf=5, random_state=0).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 1)
    0.4
    """

    __doc__ = compose_docstring(__doc__, SHARED)

    _documents = {
        "criterion": "The impurity that splits lower, as of :class:`mercer.tree.ExtraTreeRegressor`.",
    }

    _tree_class = ExtraTreeRegressor
    splitter: ClassVar[str] = "random"

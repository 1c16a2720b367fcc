"""Random forests, on samples of rows and features, and extremely randomised trees, whose thresholds are drawn too."""

from typing import ClassVar

from mercer._base.parameter import Boolean, parameter
from mercer._documentation import compose_docstring
from mercer.ensemble._forest.kinds import SHARED, ForestClassifier, ForestRegressor
from mercer.ensemble._forest.model import DRAWN, ForestModel
from mercer.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor


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


class RandomForestClassifier(ForestClassifier):
    """A random forest of classification trees: the mean of trees grown on different samples of rows and features.

    Each of T trees is grown on rows drawn with replacement, and each of its splits is the best by one of a few features
    drawn for it. The forest predicts the mean of the class shares p_t in the leaves,

        p(x) = 1/T sum_t p_t(x).

    Averaging keeps the bias of a tree and lowers the variance to rho s^2 + (1 - rho) s^2 / T for trees of variance s^2
    and correlation rho; drawing features lowers rho.

    Attributes
    ----------
    estimators_ : list of DecisionTreeClassifier
        The trees, which know classes by their indices.
    classes_, n_classes_
        Labels, sorted, and their number; lists of them for several outputs.
    %(scores)s
    oob_decision_function_ : ndarray of shape (n_samples, ...)
        With `oob_score`: these predictions; NaN for rows that every tree saw.
    %(history)s

    %(forest_notes)s

    Examples
    --------
    >>> from mercer.ensemble import RandomForestClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> round(model.oob_score_, 2)
    0.96
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    bootstrap: bool = parameter(Boolean(), default=True, after="min_impurity_decrease")

    _documents = {
        "criterion": "The impurity that splits lower, as of :class:`mercer.tree.DecisionTreeClassifier`.",
        "random_state": "The seed of the rows and features that are drawn; every tree has its own.",
    }

    _tree_class = DecisionTreeClassifier
    _law_exceptions: ClassVar[dict[str, str]] = ForestModel._law_exceptions | DRAWN


class RandomForestRegressor(ForestRegressor):
    """A random forest of regression trees: the mean of trees grown on different samples of rows.

    Each of T trees is grown on rows drawn with replacement, and each of its splits is the best by one of the features
    drawn for it, by default all (Breiman took a third: ``max_features=1/3``). The forest predicts the mean of trees,

        f(x) = 1/T sum_t f_t(x),

    which never leaves the range of the targets.

    Attributes
    ----------
    estimators_ : list of DecisionTreeRegressor
        The trees.
    %(scores)s
    oob_prediction_ : ndarray of shape (n_samples, ...)
        With `oob_score`: these predictions; NaN for rows that every tree saw.
    %(history)s

    %(forest_notes)s

    Examples
    --------
    >>> from mercer.ensemble import RandomForestRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomForestRegressor(oob_score=True, min_samples_leaf=5, random_state=0).fit(X, y)
    >>> round(model.oob_score_, 1)
    0.4
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    bootstrap: bool = parameter(Boolean(), default=True, after="min_impurity_decrease")

    _documents = {
        "criterion": "The impurity that splits lower, as of :class:`mercer.tree.DecisionTreeRegressor`.",
        "random_state": "The seed of the rows and features that are drawn; every tree has its own.",
    }

    _tree_class = DecisionTreeRegressor
    _law_exceptions: ClassVar[dict[str, str]] = ForestModel._law_exceptions | DRAWN

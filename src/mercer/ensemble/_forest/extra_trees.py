"""Extremely randomised trees: thresholds are drawn at random too."""

from typing import ClassVar

from mercer._documentation import compose_docstring
from mercer.ensemble._forest.documentation import SHARED
from mercer.ensemble._forest.kinds import ForestClassifier, ForestRegressor
from mercer.tree import ExtraTreeClassifier, ExtraTreeRegressor


class ExtraTreesClassifier(ForestClassifier):
    """Extremely randomised trees for classification: each split is the best of a few drawn at random.

    The forest predicts the mean of the class shares p_t in the leaves of its T trees,

        p(x) = 1/T sum_t p_t(x).

    Parameters
    ----------
    n_estimators : an integer in [1, inf), default=100
        The number of trees.
    criterion : one of 'gini', 'entropy', 'log_loss', default='gini'
        The impurity that splits lower, as of :class:`mercer.tree.ExtraTreeClassifier`.
    %(limits)s
    max_features : an integer in [1, inf) or a number in (0, 1] or one of 'sqrt', 'log2' or None, default='sqrt'
        The number or share of features, drawn at random, among which a node is split; None means all.
    %(leaves)s
    bootstrap : a boolean, default=False
        Whether each tree is grown on rows drawn with replacement, or on all rows.
    oob_score : a boolean or a callable, default=False
        Whether trees are scored on rows that they did not see: by accuracy, or a function of truth and prediction.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all cores. Changes no result.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        The seed of the rows, thresholds and features that are drawn; every tree has its own.
    %(progress)s
    class_weight : one of 'balanced', 'balanced_subsample' or an instance of dict or list or None, default=None
        Factors of the weights of each class; with "balanced" all classes have the same total weight, with
        "balanced_subsample" so in each bootstrap sample.
    %(pruning_and_samples)s

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
    _tree_class = ExtraTreeClassifier
    splitter: ClassVar[str] = "random"


class ExtraTreesRegressor(ForestRegressor):
    """Extremely randomised trees for regression: each split is the best of those drawn at random.

    The forest predicts the mean of its T trees,

        f(x) = 1/T sum_t f_t(x).

    Parameters
    ----------
    n_estimators : an integer in [1, inf), default=100
        The number of trees.
    criterion : one of 'squared_error', 'friedman_mse', 'absolute_error', 'poisson', default='squared_error'
        The impurity that splits lower, as of :class:`mercer.tree.ExtraTreeRegressor`.
    %(limits)s
    max_features : an integer in [1, inf) or a number in (0, 1] or one of 'sqrt', 'log2' or None, default=1.0
        The number or share of features, drawn at random, among which a node is split; None means all.
    %(leaves)s
    bootstrap : a boolean, default=False
        Whether each tree is grown on rows drawn with replacement, or on all rows.
    oob_score : a boolean or a callable, default=False
        Whether trees are scored on rows that they did not see: by R squared, or a function of truth and prediction.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all cores. Changes no result.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        The seed of the rows, thresholds and features that are drawn; every tree has its own.
    %(progress)s
    %(pruning_and_samples)s

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
    _tree_class = ExtraTreeRegressor
    splitter: ClassVar[str] = "random"

"""Extremely randomised trees: every split is the best of a few drawn at random."""

from typing import Any, ClassVar

from mercer._base.parameter import Rule
from mercer.tree._decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = ["ExtraTreeClassifier", "ExtraTreeRegressor"]


class ExtraTreeClassifier(DecisionTreeClassifier):
    """An extremely randomised tree for classes.

    A node draws a few features, for each a threshold evenly between the least and the greatest value of its rows, and
    takes the split that lowers the impurity most. Alone such a tree is poor; many of them make
    :class:`mercer.ensemble.ExtraTreesClassifier`.

    Parameters
    ----------
    criterion : one of 'gini', 'entropy', 'log_loss', default='gini'
        The impurity I; 'entropy' and 'log_loss' are the same.
    splitter : one of 'best', 'random', 'histogram', default='random'
        Whether all thresholds are tried, one drawn at random for each feature, or those between at most 255 steps of
        each column, which hold about equal weight.
    max_depth : an integer in [1, inf) or None, default=None
        The most questions from the root to a leaf; None means no limit.
    min_samples_split : an integer in [2, inf) or a number in (0, 1], default=2
        The rows a node needs to be split, or their share.
    min_samples_leaf : an integer in [1, inf) or a number in (0, 1), default=1
        The rows each side of a split needs, or their share.
    min_weight_fraction_leaf : a number in [0, 0.5], default=0.0
        The share of the weight that each side of a split needs.
    max_features : an integer in [1, inf) or a number in (0, 1] or one of 'sqrt', 'log2' or None, default='sqrt'
        How many features, drawn at random, a node looks at; None means all. More are looked at where those drawn are
        constant.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        The seed of what is drawn.
    max_leaf_nodes : an integer in [2, inf) or None, default=None
        The most leaves; the tree then grows where a split gains most.
    min_impurity_decrease : a number in [0, inf), default=0.0
        What a split must gain, as a share of all weight.
    class_weight : one of 'balanced' or an instance of dict or list or None, default=None
        Factors for the weights of classes; "balanced" makes classes weigh the same. For several outputs a list.
    ccp_alpha : a number in [0, inf), default=0.0
        The price of a leaf in cost-complexity pruning: the smallest tree that minimises impurity plus price is kept.
    monotonic_cst : an array-like or None, default=None
        For each feature 1 if the probability of the second class must rise with it, -1 if it must fall, 0 if free.
    categorical_features : an array-like or one of 'from_dtype' or None, default=None
        The columns that hold categories, by number, mask or name, or those of a frame that have such a type.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which growth ends with the levels that are complete.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all that are free. Never changes a result.

    Attributes
    ----------
    tree_, classes_, n_classes_, n_outputs_, max_features_, feature_importances_
        As of :class:`DecisionTreeClassifier`.
    history_, converged_, n_iter_, certificate_, n_features_in_, feature_names_in_
        As of :class:`DecisionTreeClassifier`.

    Notes
    -----
    What a node draws hangs on the seed and on the way from the root to it, not on the order of rows or of growth.

    References
    ----------
    P. Geurts, D. Ernst and L. Wehenkel, Extremely randomized trees, 2006.

    Examples
    --------
    >>> from mercer.tree import ExtraTreeClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreeClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    _parameters: ClassVar[dict[str, Rule]] = DecisionTreeClassifier._parameters

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        categorical_features: Any = None,
        max_time: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            class_weight=class_weight,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            categorical_features=categorical_features,
            max_time=max_time,
            n_jobs=n_jobs,
        )


class ExtraTreeRegressor(DecisionTreeRegressor):
    """An extremely randomised tree for numbers.

    A node draws features, for each a threshold evenly between the least and the greatest value of its rows, and takes
    the split that lowers the impurity most. Alone such a tree is poor; many of them make
    :class:`mercer.ensemble.ExtraTreesRegressor`.

    Parameters
    ----------
    criterion : one of 'squared_error', 'friedman_mse', 'absolute_error', 'poisson', default='squared_error'
        The impurity: the variance; 'friedman_mse' chooses the same splits; the mean distance from the median, which a
        leaf then predicts; half the mean Poisson deviance, for counts.
    splitter : one of 'best', 'random', 'histogram', default='random'
        Whether all thresholds are tried, one drawn at random for each feature, or those between at most 255 steps of
        each column, which hold about equal weight.
    max_depth : an integer in [1, inf) or None, default=None
        The most questions from the root to a leaf; None means no limit.
    min_samples_split : an integer in [2, inf) or a number in (0, 1], default=2
        The rows a node needs to be split, or their share.
    min_samples_leaf : an integer in [1, inf) or a number in (0, 1), default=1
        The rows each side of a split needs, or their share.
    min_weight_fraction_leaf : a number in [0, 0.5], default=0.0
        The share of the weight that each side of a split needs.
    max_features : an integer in [1, inf) or a number in (0, 1] or one of 'sqrt', 'log2' or None, default=1.0
        How many features, drawn at random, a node looks at; None means all.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        The seed of what is drawn.
    max_leaf_nodes : an integer in [2, inf) or None, default=None
        The most leaves; the tree then grows where a split gains most.
    min_impurity_decrease : a number in [0, inf), default=0.0
        What a split must gain, as a share of all weight.
    ccp_alpha : a number in [0, inf), default=0.0
        The price of a leaf in cost-complexity pruning.
    monotonic_cst : an array-like or None, default=None
        For each feature 1 if predictions must rise with it, -1 if they must fall, 0 if free.
    categorical_features : an array-like or one of 'from_dtype' or None, default=None
        The columns that hold categories, by number, mask or name, or those of a frame that have such a type.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which growth ends with the levels that are complete.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all that are free. Never changes a result.

    Attributes
    ----------
    tree_, n_outputs_, max_features_, feature_importances_
        As of :class:`DecisionTreeRegressor`.
    history_, converged_, n_iter_, certificate_, n_features_in_, feature_names_in_
        As of :class:`DecisionTreeRegressor`.

    Notes
    -----
    What a node draws hangs on the seed and on the way from the root to it, not on the order of rows or of growth.

    References
    ----------
    P. Geurts, D. Ernst and L. Wehenkel, Extremely randomized trees, 2006.

    Examples
    --------
    >>> from mercer.tree import ExtraTreeRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ExtraTreeRegressor(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    _parameters: ClassVar[dict[str, Rule]] = DecisionTreeRegressor._parameters

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        random_state: Any = None,
        min_impurity_decrease: float = 0.0,
        max_leaf_nodes: int | None = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        categorical_features: Any = None,
        max_time: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            categorical_features=categorical_features,
            max_time=max_time,
            n_jobs=n_jobs,
        )

"""Decision trees: binary questions about one column at a time, each the best for its node."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from mercer._base import fitting
from mercer._base.parameter import Choice, Instance, Nothing, Rule
from mercer._types import Array
from mercer.tree._tree_model import TREE_PARAMETERS, TreeModel

__all__ = ["DecisionTreeClassifier", "DecisionTreeRegressor"]


class DecisionTreeClassifier(ClassifierMixin, TreeModel):
    r"""A decision tree for classes.

    A node asks whether ``x[j] <= s`` and sends rows left or right. Feature j and threshold s are those that lower the
    weighted impurity most,

    .. math:: \max_{j, s} \; w I - w_L I_L - w_R I_R , \qquad
              I = 1 - \sum_k p_k^2 \;\text{(gini)} \quad \text{or} \quad I = -\sum_k p_k \log_2 p_k \;\text{(entropy)},

    with p the shares of the classes in a node and w its weight; a leaf predicts p. Thresholds lie half way between
    neighbouring values.

    Parameters
    ----------
    criterion : one of 'gini', 'entropy', 'log_loss', default='gini'
        The impurity I; 'entropy' and 'log_loss' are the same.
    splitter : one of 'best', 'random', 'histogram', default='best'
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
    max_features : an integer in [1, inf) or a number in (0, 1] or one of 'sqrt', 'log2' or None, default=None
        How many features, drawn at random, a node looks at; None means all. More are looked at where those drawn are
        constant.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        The seed of what is drawn. With all features and all thresholds nothing is: of equal splits the first feature
        and the lowest threshold are taken.
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
    tree_ : BinaryTree
        The tree, with the arrays of scikit-learn's ``tree_``, nodes counted depth first.
    classes_ : ndarray of shape (n_classes,), or a list of them
        Labels, sorted.
    n_classes_, n_outputs_, max_features_ : int
        As in scikit-learn.
    feature_importances_ : ndarray of shape (n_features,)
        Shares of the impurity that the splits by each feature take away.
    history_ : dict of ndarray
        By level: ``objective``, the weighted impurity of the leaves, and ``leaves``, their number.
    converged_, n_iter_, certificate_
        How the fit went. No certificate: a greedy tree may be far from the best one.
    n_features_in_, feature_names_in_
        Number and names of the columns.

    Notes
    -----
    O(n d) for each level after sorting every column once, and 1 to 4 bytes a value of memory, up to 10 for histograms.
    But for these the search is exact, on values in the precision they are given in (scikit-learn rounds them to
    float32). Sums are of whole numbers, hence exact: neither threads nor the order of rows nor a row repeated instead
    of weighted change a split. Missing values (NaN) go to the side that gains more; where a node saw none, to the
    heavier side. Rows must be in memory.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone, Classification and Regression Trees, 1984.

    Examples
    --------
    >>> from mercer.tree import DecisionTreeClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=3).fit(X, y)
    >>> model.get_n_leaves(), round(model.score(X, y), 3)
    (5, 0.973)
    """

    _parameters: ClassVar[dict[str, Rule]] = {
        "criterion": Choice("gini", "entropy", "log_loss"),
        **TREE_PARAMETERS,
        "class_weight": Choice("balanced") | Instance(dict, list) | Nothing(),
    }

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
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
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.max_time = max_time
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> "DecisionTreeClassifier":
        """Grow the tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; NaN is a missing value.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights; a weight of two is the row twice.
        check_input : bool, default=True
            Has no effect: rows are always checked. Kept so that scikit-learn's calls run.

        Returns
        -------
        self : DecisionTreeClassifier
        """
        self._fit(X, y, sample_weight)
        return self

    def predict_proba(self, X: Any, check_input: bool = True) -> Array:
        """Return the shares of the classes in each row's leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        check_input : bool, default=True
            Has no effect: rows are always checked.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes), or a list of them, one for each output
        """
        values = self._values(X)
        if self.n_outputs_ == 1:
            return values[:, : self.n_classes_]
        return [values[:, k, : self.n_classes_[k]] for k in range(self.n_outputs_)]

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of :meth:`predict_proba`."""
        found = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(found) if self.n_outputs_ == 1 else [np.log(one) for one in found]

    def predict(self, X: Any, check_input: bool = True) -> Array:
        """Return the most frequent class in each row's leaf; of equals the first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        check_input : bool, default=True
            Has no effect: rows are always checked.

        Returns
        -------
        labels : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        rows = self._rows(X)
        best = self.tree_.value.argmax(axis=2)[self.tree_.apply(rows, self._threads())]
        if self.n_outputs_ == 1:
            return self.classes_.take(best[:, 0], axis=0)
        return np.stack([classes.take(best[:, k]) for k, classes in enumerate(self.classes_)], axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class DecisionTreeRegressor(RegressorMixin, TreeModel):
    r"""A decision tree for numbers.

    A node asks whether ``x[j] <= s``; feature j and threshold s are those that lower the weighted impurity most. With
    criterion 'squared_error' that is the least sum of squares around the means c of both sides,

    .. math:: \min_{j, s} \; \sum_{x_{ij} \le s} w_i (y_i - c_L)^2 + \sum_{x_{ij} > s} w_i (y_i - c_R)^2 ,

    and a leaf predicts its mean. Thresholds lie half way between neighbouring values.

    Parameters
    ----------
    criterion : one of 'squared_error', 'friedman_mse', 'absolute_error', 'poisson', default='squared_error'
        The impurity: the variance; 'friedman_mse' chooses the same splits; the mean distance from the median, which a
        leaf then predicts; half the mean Poisson deviance, for counts.
    splitter : one of 'best', 'random', 'histogram', default='best'
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
    max_features : an integer in [1, inf) or a number in (0, 1] or one of 'sqrt', 'log2' or None, default=None
        How many features, drawn at random, a node looks at; None means all.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        The seed of what is drawn. With all features and all thresholds nothing is.
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
    tree_ : BinaryTree
        The tree, with the arrays of scikit-learn's ``tree_``, nodes counted depth first.
    n_outputs_, max_features_ : int
        As in scikit-learn.
    feature_importances_ : ndarray of shape (n_features,)
        Shares of the impurity that the splits by each feature take away.
    history_ : dict of ndarray
        By level: ``objective``, the weighted impurity of the leaves, and ``leaves``, their number.
    converged_, n_iter_, certificate_
        How the fit went. No certificate: a greedy tree may be far from the best one.
    n_features_in_, feature_names_in_
        Number and names of the columns.

    Notes
    -----
    As of :class:`DecisionTreeClassifier`. For exact sums the search takes targets as whole numbers of a small step,
    at most 2^-30 of their range for a million rows; values of nodes come from the targets as they are.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone, Classification and Regression Trees, 1984.

    Examples
    --------
    >>> from mercer.tree import DecisionTreeRegressor
    >>> X, y = [[0], [1], [2], [3], [4], [5], [6], [7]], [4, 0, 5, 0, 5, 5, 5, 5]
    >>> model = DecisionTreeRegressor(max_depth=1).fit(X, y)
    >>> float(model.tree_.threshold[0]), model.predict([[0], [7]]).tolist()
    (3.5, [2.25, 5.0])
    """

    _parameters: ClassVar[dict[str, Rule]] = {
        "criterion": Choice("squared_error", "friedman_mse", "absolute_error", "poisson"),
        **TREE_PARAMETERS,
    }

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        categorical_features: Any = None,
        max_time: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.max_time = max_time
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> "DecisionTreeRegressor":
        """Grow the tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; NaN is a missing value.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights; a weight of two is the row twice.
        check_input : bool, default=True
            Has no effect: rows are always checked. Kept so that scikit-learn's calls run.

        Returns
        -------
        self : DecisionTreeRegressor
        """
        self._fit(X, y, sample_weight)
        return self

    def predict(self, X: Any, check_input: bool = True) -> Array:
        """Return the value of each row's leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        check_input : bool, default=True
            Has no effect: rows are always checked.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._values(X)[..., 0]

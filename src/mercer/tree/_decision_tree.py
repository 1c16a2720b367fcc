"""Decision trees, and extremely randomised trees, whose splits are the best of a few drawn at random."""

from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Choice, Instance, Integer, Nothing, Share, parameter
from mercer._base.scoring import ClassifierMixin, RegressorMixin
from mercer._base.tree_problem import check_classes
from mercer._documentation import compose_docstring
from mercer._stored import Stored, integers, members
from mercer._types import Array
from mercer.tree._tree_model import TreeModel

_ATTRIBUTES = """feature_importances_ : ndarray of shape (n_features,)
        Shares of the impurity that the splits by each feature take away.
    history_ : dict of ndarray
        By level: ``objective``, the weighted impurity of the leaves, and ``leaves``, their number.
    converged_, n_iter_, certificate_
        How the fit went. No certificate: a greedy tree may be far from the best one.
    n_features_in_, feature_names_in_
        Number and names of the columns."""

_EXTRA_NOTES = """Notes
    -----
    The draws of a node depend on the seed and on the path from the root to it, not on the order of rows or of growth.

    References
    ----------
    P. Geurts, D. Ernst and L. Wehenkel, Extremely randomized trees, 2006."""

# The texts by the names that the docstrings of the four classes use.
SHARED = {
    "attributes": _ATTRIBUTES,
    "extra_notes": _EXTRA_NOTES,
}


class DecisionTreeClassifier(ClassifierMixin, TreeModel):
    r"""A decision tree for classes.

    A node asks whether ``x[j] <= s`` and sends rows left or right. Feature j and threshold s are those that lower the
    weighted impurity most,

    .. math:: \max_{j, s} \; w I - w_L I_L - w_R I_R , \qquad
              I = 1 - \sum_k p_k^2 \;\text{(gini)} \quad \text{or} \quad I = -\sum_k p_k \log_2 p_k \;\text{(entropy)},

    with p the shares of the classes in a node and w its weight; a leaf predicts p. Thresholds lie half way between
    neighbouring values.

    Attributes
    ----------
    tree_ : BinaryTree
        The tree, with the arrays of scikit-learn's ``tree_``, nodes counted depth first.
    classes_ : ndarray of shape (n_classes,), or a list of them
        Labels, sorted.
    n_classes_, n_outputs_, max_features_ : int
        As in scikit-learn.
    %(attributes)s

    Notes
    -----
    Growth takes O(n d) for each level after sorting every column once, and 1 to 4 bytes of memory for each value, up to
    10 with histograms. Without histograms the search is exact, on values in the precision of the input (scikit-learn
    rounds them to float32). All sums are of integers, hence exact: splits depend neither on threads nor on the order of
    rows, and a row of weight two is the row twice. Missing values (NaN) go to the side that gains more; where a node
    saw none, to the heavier side. Rows must be in memory.

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

    __doc__ = compose_docstring(__doc__, SHARED)
    criterion: str = parameter(
        Choice("gini", "entropy", "log_loss"),
        default="gini",
        doc="The impurity I; 'entropy' and 'log_loss' are the same.",
    )
    class_weight: Any = parameter(
        Choice("balanced") | Instance(dict, list) | Nothing(),
        default=None,
        after="min_impurity_decrease",
        doc='Factors for the weights of classes; "balanced" makes classes weigh the same. For several outputs a list.',
    )

    _documents = {
        "random_state": (
            "The seed of the random draws. With all features and all thresholds there are none: of equal splits the "
            "tree takes the first feature and the lowest threshold."
        ),
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "n_classes_": integers(" | outputs", low=0) | members(integers(low=0), "outputs"),
    }

    def _check_structure(self) -> None:
        super()._check_structure()
        if "tree_" in vars(self):
            check_classes(self, self.tree_.value.shape)

    def predict_proba(self, X: Any, check_input: bool = True) -> Array:
        """Return the shares of the classes in each row's leaf.

        Parameters
        ----------
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
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(shares) if self.n_outputs_ == 1 else [np.log(output) for output in shares]

    def predict(self, X: Any, check_input: bool = True) -> Array:
        """Return the most frequent class in each row's leaf; of equals the first.

        Parameters
        ----------
        check_input : bool, default=True
            Has no effect: rows are always checked.
        """
        rows = self._rows(X)
        leaves, shares = self.tree_.apply(rows, self._threads()), self.tree_.value
        # Classes are chosen for the fewer of the two: rows or nodes.
        best = shares[leaves].argmax(axis=2) if len(leaves) < len(shares) else shares.argmax(axis=2)[leaves]
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

    Attributes
    ----------
    tree_ : BinaryTree
        The tree, with the arrays of scikit-learn's ``tree_``, nodes counted depth first.
    n_outputs_, max_features_ : int
        As in scikit-learn.
    %(attributes)s

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

    __doc__ = compose_docstring(__doc__, SHARED)
    criterion: str = parameter(
        Choice("squared_error", "friedman_mse", "absolute_error", "poisson"),
        default="squared_error",
        doc="The impurity: 'squared_error' is the variance, and 'friedman_mse' chooses the same splits; "
        "'absolute_error' is the mean distance from the median, which a leaf then predicts; 'poisson' is half "
        "the mean Poisson deviance, for counts.",
    )

    _documents = {
        "random_state": "The seed of the random draws. With all features and all thresholds there are none.",
        "monotonic_cst": "For each feature 1 if predictions must rise with it, -1 if they must fall, 0 if free.",
    }

    def predict(self, X: Any, check_input: bool = True) -> Array:
        """Return the value of each row's leaf.

        Parameters
        ----------
        check_input : bool, default=True
            Has no effect: rows are always checked.
        """
        return self._values(X)[..., 0]


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

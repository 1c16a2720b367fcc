"""Decision trees: binary questions about one column at a time, each the best for its node."""

from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Choice, Instance, Nothing, parameter
from mercer._base.scoring import ClassifierMixin, RegressorMixin
from mercer._base.tree_problem import check_classes
from mercer._documentation import compose_docstring
from mercer._stored import Stored, integers, members
from mercer._types import Array
from mercer.tree._documentation import SHARED
from mercer.tree._tree_model import TreeModel


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

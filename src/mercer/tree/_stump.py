"""The decision stump: one split of one column, the weak learner of boosting."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, fitting
from mercer._base.parameter import Choice, Integer, Nothing, attribute, parameter
from mercer._base.scoring import ClassifierMixin
from mercer._base.tree_problem import open_table, read_table
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._solver.tree.binary_tree import BinaryTree
from mercer._solver.tree.stump_search import Stump, describe_stump, sort_columns
from mercer._source.memory import require_memory
from mercer._stored import Stored, flags, floats, integers, part, size


class DecisionStump(ClassifierMixin, Estimator):
    r"""Decision stump: the best single split of one column.

    Among all columns j and thresholds s the split into :math:`x_j \le s` and :math:`x_j > s` is taken that maximises

    .. math:: I(S) - \frac{W_l}{W} I(S_l) - \frac{W_r}{W} I(S_r) ,

    the gain of the impurity I (`criterion`), where W is the weight of all rows and l and r are the sides. Each side
    answers with the class shares of its rows. It is what boosting learns from: one weak rule.

    Attributes
    ----------
    classes_, n_classes_ : ndarray of shape (n_classes,), int
        The labels, and how many there are.
    feature_ : int
        The column that is split; -2 where no split gains anything.
    threshold_ : float
        Rows with a value of at most this are left.
    missing_left_ : bool
        Whether rows without a value in the column are left.
    value_ : ndarray of shape (2, n_classes)
        Class shares of the two sides.
    error_ : float
        Share of the training weight that is classified wrongly.
    tree_ : BinaryTree
        The stump in the arrays of a tree of depth one.
    feature_importances_ : ndarray of shape (n_features_in_,)
        One for the column, zero for others.
    history_, converged_, n_iter_, certificate_ :
        One step, whose objective is the impurity after the split; the certificate is the difference to the least one,
        zero, since the search is exhaustive.

    Notes
    -----
    Exact: every threshold between two values of a column is tried. Time O(d n log n), memory 12 bytes for each value.
    A missing value (NaN) goes to the side where it gains more; a column whose presence tells most is split into
    present and missing. Among equal gains the first column and the lowest threshold win. Sparse rows are not made
    dense. Rows must be in memory.

    References
    ----------
    W. Iba and P. Langley, *Induction of one-level decision trees*, ICML (1992).

    Examples
    --------
    >>> from mercer.tree import DecisionStump
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> stump = DecisionStump(criterion="error").fit(X, y)
    >>> stump.feature_, round(stump.score(X, y), 4)
    (20, 0.9227)
    """

    _needs_rows: ClassVar[str] = "it sorts the values of every column"

    criterion: str = parameter(
        Choice("gini", "entropy", "error"),
        default="gini",
        doc=r"The impurity: :math:`1 - \sum p_k^2`, :math:`-\sum p_k \log p_k`, or the share of rows that are not "
        r"of the commonest class, :math:`1 - \max p_k`. ``'error'`` finds the stump of least weighted training "
        "error.",
    )
    n_jobs: int | None = parameter(
        Integer() | Nothing(), default=None, doc="Threads over columns; None means all cores. Changes no result."
    )

    _law_exceptions: ClassVar[dict[str, str]] = {"memory": "each column's rows are kept in the order of its values"}

    _stump: Stump = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "n_classes_": size("classes"),
        "_stump": part("Stump"),
        "feature_": integers(low=-2, below="columns"),
        "threshold_": floats(),
        "missing_left_": flags(),
        "value_": floats("2, classes"),
        "error_": floats(),
    }
    _takes_gaps = True
    _takes_sparse = True

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "DecisionStump":
        """Find the best split."""
        source = open_table(self, X, y, sample_weight)
        classes, labels = np.unique(source.y, return_inverse=True)
        weight = np.ones(source.n_rows) if source.weight is None else source.weight

        def solve(start: Stump | None) -> Solver:
            stump = start
            if stump is None:
                rows = source.whole()
                columns = yield Dense(lambda: sort_columns(type(self).__name__, rows, source.weight, source.threads))
                stump, _ = columns.find_best_stump(labels.astype(np.int32), weight, len(classes), self.criterion)
            # The objective is the mean impurity of both sides, weighted: sum_s w_s I_s / w.
            left = float((_compute_impurities(stump.weights, self.criterion) * stump.weights.sum(axis=1)).sum())
            statement = "The search is exhaustive: no split of one column leaves less impurity."
            certificate = Certificate.of("optimality gap", 0.0, 0.0, statement)
            yield Step(left / float(weight.sum()), stump, certificate)
            return Solution(stump, True, certificate)

        labelled = {"classes_": classes, "n_classes_": len(classes)}
        outcome = self._drive(solve, source, fitted=describe_stump, max_steps=1, attributes=labelled)
        self._conclude(outcome)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class shares of the side that each row is on."""
        rows = read_table(self, X)
        return self.value_[self._stump.sides(rows)].astype(rows.dtype, copy=False)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return logarithms of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the commonest class of the side that each row is on; the first among equals."""
        rows = read_table(self, X)
        return self.classes_[self._stump.commonest()[self._stump.sides(rows)]]

    def apply(self, X: Any) -> np.ndarray:
        """Return the leaf that each row reaches: 1 left, 2 right; 0 where nothing is split.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        rows = read_table(self, X)
        return self._stump.sides(rows) + int(self._stump.feature >= 0)

    def get_depth(self) -> int:
        """Return 1, or 0 where nothing is split."""
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return 2, or 1 where nothing is split."""
        return self.tree_.n_leaves

    @property
    def tree_(self) -> BinaryTree:
        """The stump in the arrays of a tree of depth one."""
        check_is_fitted(self)
        # Without a split there is a root only; else node 0 is the root, 1 and 2 are its leaves.
        stump, n_nodes = self._stump, 1 if self._stump.feature < 0 else 3
        sums = np.vstack([stump.weights.sum(axis=0), stump.weights])[:n_nodes]
        total = sums.sum(axis=1)
        return BinaryTree(
            n_features=self.n_features_in_,
            n_classes=np.array([self.n_classes_]),
            # -1 marks a leaf among the children, -2 among features and thresholds, as in scikit-learn.
            children_left=np.array([1, -1, -1] if n_nodes == 3 else [-1]),
            children_right=np.array([2, -1, -1] if n_nodes == 3 else [-1]),
            feature=np.array([stump.feature, -2, -2])[:n_nodes],
            threshold=np.array([stump.threshold, -2.0, -2.0] if n_nodes == 3 else [-2.0]),
            missing_go_to_left=np.array([stump.missing_left and n_nodes == 3, False, False], np.uint8)[:n_nodes],
            impurity=_compute_impurities(sums, self.criterion),
            n_node_samples=np.array([stump.counts.sum(), *stump.counts])[:n_nodes],
            weighted_n_node_samples=total,
            # Values have the shape (nodes, outputs, classes); a stump has one output.
            value=(sums / total[:, None])[:, None, :],
            categories=np.full(n_nodes, -1),
            words=np.zeros(0, np.int64),
        )

    @property
    def feature_importances_(self) -> np.ndarray:
        """One for the column that is split, zero for others."""
        check_is_fitted(self)
        n_bytes, purpose = 8 * self.n_features_in_, f"the importances of {self.n_features_in_} columns"
        require_memory(type(self).__name__, n_bytes, purpose, "read feature_, the only column with an importance")
        importances = np.zeros(self.n_features_in_)
        if self.feature_ >= 0:
            importances[self.feature_] = 1.0
        return importances

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # One split cannot tell three classes apart.
        tags.classifier_tags.poor_score = True
        return tags


def _compute_impurities(weights: np.ndarray, criterion: str) -> np.ndarray:
    """Return the impurity of each row of class weights; zero without weight."""
    total = weights.sum(axis=1, keepdims=True)
    # An empty side has no shares; dividing by one instead keeps its impurity at zero.
    shares = weights / np.where(total > 0, total, 1.0)
    if criterion == "gini":
        found = 1.0 - (shares**2).sum(axis=1)
    elif criterion == "entropy":
        # p log2 p is zero at p = 0; taking the logarithm of one there gives it.
        found = -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=1)
    else:
        found = 1.0 - shares.max(axis=1)
    return np.where(total[:, 0] > 0, found, 0.0)

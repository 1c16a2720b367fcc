"""Rows as the leaves that they reach in totally random trees: a sparse code of high dimension, without targets."""

from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting, seed_sequence
from mercer._base.column_names import read_column_names
from mercer._base.interface import TransformerMixin
from mercer._base.parameter import Boolean, Integer, Nothing, attribute, parameter
from mercer._base.tree_problem import Problem
from mercer._base.validation import count_given_rows
from mercer._solver.tree.binary_tree import LEAF
from mercer._source.memory import require_memory
from mercer._types import Array
from mercer.ensemble._forest.model import ForestModel
from mercer.tree import ExtraTreeRegressor


class RandomTreesEmbedding(TransformerMixin, ForestModel):
    r"""Code rows by the leaves that they reach in totally random trees.

    Each of T trees splits its nodes at a random value of a random column, whatever the targets would be, until a leaf
    is `max_depth` splits from the root. A row becomes a vector with a one for its leaf in each tree,

    .. math:: \phi(x)_l = [x \in R_l], \qquad \phi(x)^\top \phi(z) = \#\{t : x, z \text{ share a leaf of tree } t\},

    so that a linear model of :math:`\phi` is an additive function of boxes. Rows that are near to each other share most
    leaves: the product above is a similarity that knows no scale of the columns.

    Attributes
    ----------
    estimators_ : list of ExtraTreeRegressor
        The trees, grown on random targets.
    one_hot_encoder_ : OneHotEncoder
        scikit-learn's encoder of leaves by the columns of the code, made when it is asked for.
    n_outputs_ : int
        Columns of the random targets: one.
    feature_importances_ : ndarray of shape (n_features,)
        Mean share of each feature in the decrease of impurity of the random targets: about equal shares.
    history_ : dict of ndarray
        For each tree ``nodes``; and ``objective``, the variance of the random targets in its leaves, which says nothing
        about the code.
    n_features_in_, feature_names_in_
        Number and names of the columns.

    Notes
    -----
    T trees of depth D cost O(T D n) to grow, and O(T D) to code a row, with T numbers that are not zero. The code has
    up to :math:`T 2^D` columns. Trees grow in parallel, each from a seed of its own. Missing values (NaN) go to a side
    drawn at random. Rows must be in memory.

    References
    ----------
    P. Geurts, D. Ernst and L. Wehenkel, Extremely randomized trees, 2006. F. Moosmann, B. Triggs and F. Jurie, Fast
    discriminative visual codebooks using randomized clustering forests, 2006.

    See Also
    --------
    ExtraTreesClassifier : Trees whose random splits are chosen by targets.
    mercer.kernel_approximation.RBFSampler : A dense code whose products approximate a kernel.

    Examples
    --------
    Two circles, one within the other, are separated by a line in the space of the code:

    >>> from mercer.ensemble import RandomTreesEmbedding
    >>> from mercer.linear_model import LogisticRegression
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(400, factor=0.5, noise=0.05, random_state=0)
    >>> codes = RandomTreesEmbedding(n_estimators=50, random_state=0).fit_transform(X)
    >>> line, codes_line = LogisticRegression().fit(X[::2], y[::2]), LogisticRegression().fit(codes[::2], y[::2])
    >>> round(line.score(X[1::2], y[1::2]), 1), round(codes_line.score(codes[1::2], y[1::2]), 1)
    (0.6, 1.0)
    """

    max_depth: int | None = parameter(
        Integer(0) | Nothing(),
        default=5,
        after="n_estimators",
        doc="Most splits from the root to a leaf; None means until rows are alone.",
    )
    max_leaf_nodes: int | None = parameter(
        Integer(2) | Nothing(),
        default=None,
        after="min_weight_fraction_leaf",
        doc="Most leaves of a tree, which then grows by the random targets, best first.",
    )
    sparse_output: bool = parameter(
        Boolean(),
        default=True,
        after="min_impurity_decrease",
        doc="Whether the code is a sparse matrix, or a dense array.",
    )
    # What other forests take as parameters is fixed here: a random column and a random cut, on all rows.
    criterion: str = attribute("squared_error")
    max_features: Any = attribute(1)
    bootstrap: bool = attribute(False)
    oob_score: Any = attribute(False)
    ccp_alpha: float = attribute(0.0)
    max_samples: float | None = attribute(None)
    monotonic_cst: Any = attribute(None)
    categorical_features: Any = attribute(None)

    _documents = {
        "random_state": "The seed of the columns and thresholds that are drawn; every tree has its own.",
        "min_impurity_decrease": "Least decrease of the impurity of the random targets by a split.",
    }
    _tree_class = ExtraTreeRegressor
    splitter: ClassVar[str] = "random"

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the trees; `y` is ignored."""
        return super().fit(X, None, sample_weight)

    def _open_problem(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        # No split is chosen by them; targets that all differ keep a node from being a leaf before its time.
        stream = np.random.default_rng(seed_sequence(self.random_state).spawn(1)[0])
        return super()._open_problem(X, stream.random(count_given_rows(type(self).__name__, X)), sample_weight)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Grow the trees, and return the code of these rows; `y` is ignored."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def transform(self, X: Any) -> Any:
        """Return the code of rows: for each a one at its leaf of every tree.

        Returns
        -------
        codes : csr_matrix or ndarray of shape (n_samples, n_leaves)
            The leaves of the first tree come first, in the order of its nodes.
        """
        leaves, packed, is_leaf = self.apply(X), self._pack(), self._mark_leaves()
        width, dtype = int(np.count_nonzero(is_leaf)), np.dtype(self._dtype)
        columns = (np.cumsum(is_leaf) - 1)[leaves + packed.roots]
        n, trees = columns.shape
        if self.sparse_output:
            return csr_matrix((np.ones(columns.size, dtype), columns.ravel(), np.arange(n + 1) * trees), (n, width))
        n_bytes, cure = dtype.itemsize * n * width, "set sparse_output=True"
        require_memory(type(self).__name__, n_bytes, f"the {n} x {width} dense code", cure)
        codes = np.zeros((n, width), dtype)
        np.put_along_axis(codes, columns, 1.0, axis=1)
        return codes

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return a name for each column of the code, from the number of the tree and that of the leaf's node.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of rows, which are only compared with those of the fit.

        Returns
        -------
        ndarray of str
            ``randomtreesembedding_0_3`` is the leaf at node 3 of tree 0.
        """
        check_is_fitted(self)
        read_column_names(self, input_features, needed=False)
        names = [
            f"randomtreesembedding_{tree}_{leaf}"
            for tree, leaves in enumerate(self._list_leaves())
            for leaf in leaves.tolist()
        ]
        return np.asarray(names, dtype=object)

    @property
    def one_hot_encoder_(self) -> OneHotEncoder:
        """scikit-learn's encoder of leaves by the columns of the code."""
        check_is_fitted(self)
        leaves = self._list_leaves()
        encoder = OneHotEncoder(categories=leaves, sparse_output=self.sparse_output, dtype=np.dtype(self._dtype).type)
        return encoder.fit(np.array([[own[0] for own in leaves]]))

    @property
    def _n_features_out(self) -> int:
        """The columns of the code."""
        return int(np.count_nonzero(self._mark_leaves()))

    def _mark_leaves(self) -> Array:
        """Return whether each node of all trees, one tree after the other, is a leaf."""
        return np.concatenate([member.tree_.children_left == LEAF for member in self.estimators_])

    def _list_leaves(self) -> list[Array]:
        """Return the nodes of each tree that are leaves."""
        return [np.flatnonzero(member.tree_.children_left == LEAF) for member in self.estimators_]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

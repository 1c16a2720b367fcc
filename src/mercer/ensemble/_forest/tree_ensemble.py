"""The base of ensembles of exact trees: checked rows, and access to the trees."""

from collections.abc import Iterator
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, accept_rows
from mercer._base.parameter import attribute
from mercer._base.tree_problem import check_values
from mercer._base.validation import check_rows
from mercer._solver.tree.packed_forest import PackedForest, join_trees, share_values
from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array
from mercer.errors import ModelFileError

# The packed trees of each ensemble that has predicted, with the list of trees from which they were made.
_PACKED: "WeakKeyDictionary[Any, tuple[list[Any], PackedForest]]" = WeakKeyDictionary()


class TreeEnsemble(Estimator):
    """An ensemble whose trees grow on ranks of the values."""

    _needs_rows: ClassVar[str] = "it sorts the values of every column"

    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the rows are kept as ranks, column by column, while trees grow"
    }
    # How a split is found: "best" searches all thresholds, "random" draws one for each feature.
    splitter: ClassVar[str] = "best"
    estimators_: Any = attribute()
    _takes_sparse = True
    _takes_gaps = True

    def _check_structure(self) -> None:
        # Gradient boosting keeps its trees in `_members`; `estimators_` is a view of them there.
        members = vars(self).get("_members", vars(self).get("estimators_", ()))
        shapes = {(member.tree_.n_features, *member.tree_.value.shape[1:]) for member in members}
        if len(shapes) > 1 or any(shape[0] != self.n_features_in_ for shape in shapes):
            raise ModelFileError(
                f"{type(self).__name__}: its trees must all read {self.n_features_in_} columns and have values of one "
                f"shape; the file's do not."
            )

    def _pack(self) -> PackedForest:
        """Return all trees in a few arrays, joined when first needed; the trees then become views of these."""
        # Gradient boosting has its trees in `_members`, and `estimators_` makes a table of them.
        kept = self.__dict__
        members, cached = kept["_members" if "_members" in kept else "estimators_"], _PACKED.get(self)
        if cached is None or cached[0] is not members:
            trees = [member.tree_ for member in members]
            packed = join_trees(trees, vars(self).get("n_trees_per_iteration_", 1))
            for member, tree in zip(members, share_values(packed, trees)):
                member.tree_ = tree
            cached = _PACKED[self] = (members, packed)
        return cached[1]

    def _check_rows(self, X: Any) -> Array:
        """Return rows to predict, checked; those of a NumPy array need fewer checks."""
        table = self.__dict__.get("_categories")
        if table is None and (rows := accept_rows(self, X)) is not None:
            return rows
        check_is_fitted(self)
        X = X if table is None else table.encode(X, type(self).__name__)
        X = check_rows(self, X, reset=False, accept_sparse="csr", ensure_all_finite=False)
        check_values(type(self).__name__, X)
        return X

    def _read_values(self, X: Any) -> Array:
        """Return the values that the trees compare, for rows in memory; explanations ask for them."""
        rows: Any = self._check_rows(X)
        return np.asarray(rows.toarray() if is_sparse_matrix(rows) else rows, np.float64, order="C")

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: int) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

"""Which entries are missing."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csc_array, issparse
from sklearn.impute import MissingIndicator as TheirIndicator
from sklearn.utils.validation import check_is_fitted

from mercer._base.blockwise import BlockMap, refuse_infinite
from mercer._base.column_names import read_column_names
from mercer._base.parameter import Boolean, Choice, parameter
from mercer._source import Block, Source
from mercer._statistic.gaps import Gaps
from mercer._stored import Stored, integers, part
from mercer._types import Array
from mercer.errors import DataError
from mercer.impute._marked import Marked, MarkedTransformer, find_missing


class MissingIndicator(MarkedTransformer):
    """Tell which entries are missing: a column of yes and no for each column with missing entries.

    Attributes
    ----------
    features_ : ndarray of int of shape (n_features_out,)
        The columns that are told of: those with missing entries in the training rows, or all.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    One pass, O(d) memory. Rows of floats: NumPy, sparse, frames, files, streams (also such as can be read only once),
    Dask; for rows in files and streams, whose results are read later, an estimator gets ones and zeros. Rows of
    texts, objects and whole numbers: in memory, by scikit-learn's class.

    Examples
    --------
    >>> from mercer.impute import MissingIndicator
    >>> rows = [[float("nan"), 1.0, 3.0], [4.0, 0.0, float("nan")], [8.0, 1.0, 0.0]]
    >>> MissingIndicator().fit_transform(rows)
    array([[ True, False],
           [False,  True],
           [False, False]])
    """

    features: str = parameter(
        Choice("missing-only", "all"),
        default="missing-only",
        doc="Whether columns without missing training entries are left out.",
    )
    sparse: Any = parameter(
        Choice("auto") | Boolean(),
        default="auto",
        doc='Whether the result is a CSC matrix; "auto" means where the rows are sparse.',
    )
    error_on_new: bool = parameter(
        Boolean(), default=True, doc="Whether missing entries in a column that had none in the fit are an error."
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "features_": integers("*", low=0, below="columns"),
        "_theirs": part("MissingIndicator", "none"),
    }

    def _make_theirs(self) -> Any:
        return TheirIndicator(
            missing_values=self.missing_values,
            features=self.features,
            sparse=self.sparse,
            error_on_new=self.error_on_new,
        )

    def _read_theirs(self, theirs: Any) -> dict[str, Any]:
        return {"features_": theirs.features_}

    def _survey(self, source: Source, seen: None) -> Generator[Any, Any, dict[str, Any]]:
        gaps = yield Marked(Gaps(), self.missing_values)
        if gaps.infinite:
            refuse_infinite(self, gaps.infinite)
        found = np.arange(source.n_features) if self.features == "all" else np.flatnonzero(gaps.missing)
        return {"features_": found}

    def _make_map(self, back: bool = False) -> "_Missing":
        new = self.error_on_new and self.features == "missing-only"
        return _Missing(type(self).__name__, self.missing_values, self.features_, self.sparse, new)

    def transform(self, X: Any) -> Any:
        """Tell which entries of rows are missing.

        Returns
        -------
        ndarray or csc_array of bool of shape (n_samples, n_features_out)
            Yes where an entry is missing.
        """
        found = super().transform(X)
        return csc_array(found) if self.sparse is True and isinstance(found, np.ndarray) else found

    def _choose_dtype(self, dtype: Any) -> Any:
        return np.dtype(bool)

    def _count_columns(self, source: Source) -> int:
        return len(self.features_)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that are told of, each after ``missingindicator_``."""
        check_is_fitted(self)
        names = read_column_names(self, input_features)
        return np.asarray([f"{type(self).__name__.lower()}_{names[index]}" for index in self.features_], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def indicate_columns(missing_values: Any, features: Array, width: int) -> MissingIndicator:
    """Return a fitted indicator of some of `width` columns, those with missing entries, for an imputer."""
    indicator = MissingIndicator(missing_values=missing_values, error_on_new=False)
    indicator.features_, indicator.n_features_in_, indicator._theirs = features, width, None
    return indicator


@dataclass(frozen=True, eq=False)
class _Missing(BlockMap):
    """Whether entries of some columns are missing; `new` ones in other columns are an error."""

    mark: float
    features: Array
    sparse: Any
    new: bool

    def on_rows(self, rows: Array, xp: Any = np) -> Array:
        self.check(rows, rows, np)
        missing = find_missing(rows, self.mark)
        if self.new:
            self._check_new(missing.any(axis=0))
        return missing[:, self.features]

    def write(self, block: Block, out: Array) -> None:
        out[...] = self.on_rows(block.X)

    def __call__(self, block: Block) -> Any:
        return self.on_entries(block.X, False) if block.is_sparse else self.on_rows(block.X)

    def on_entries(self, X: Any, in_place: bool) -> Any:
        self.check(X.data, X.data, np)
        missing = X.copy()
        missing.data = find_missing(missing.data, self.mark)
        missing.eliminate_zeros()
        if self.new:
            self._check_new(np.bincount(missing.indices, minlength=X.shape[1]) > 0)
        found = missing[:, self.features]
        return found.toarray() if self.sparse is False else found.tocsc() if issparse(found) else found

    def _check_new(self, some: Array) -> None:
        """Raise if there are missing entries in columns that had none in the fit."""
        new = np.setdiff1d(np.flatnonzero(some), self.features)
        if len(new):
            raise DataError(
                f"{self.subject}: The features {new} have missing values in transform but have no missing values in "
                f"fit. Fill them, or set error_on_new=False."
            )

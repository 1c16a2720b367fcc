"""Missing entries filled with the mean of the nearest rows that have them."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.impute import KNNImputer as TheirImputer
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting
from mercer._base.blockwise import BlockMap, refuse_infinite
from mercer._base.parameter import Boolean, Choice, Function, Integer, parameter
from mercer._native.nearest import known_entries
from mercer._source import Source
from mercer._stored import Stored, floats, part
from mercer._types import Array
from mercer.impute._marked import MarkedTransformer, find_missing
from mercer.impute._missing_indicator import indicate_columns

# Training entries that a native call compares with; it then takes some 20 ms.
_ENTRIES = 2**25


class KNNImputer(MarkedTransformer):
    r"""Fill missing entries with the mean of the nearest training rows that have them.

    .. math:: d(a, b)^2 = \frac{d}{|K|} \sum_{j \in K} (a_j - b_j)^2

    is the squared distance of two rows of d columns, with the columns K in which neither has a missing entry.

    Attributes
    ----------
    indicator_ : MissingIndicator or None
        Tells which entries were missing; None without ``add_indicator``.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    See Also
    --------
    SimpleImputer : One value of each column, in any place.

    Notes
    -----
    The neighbours are exact: each row with missing entries is compared with all n training rows, in O(n d) operations
    of native code and O(n) memory, on all threads. Distances are sums of squared differences in double precision, and
    of equal ones the first row counts; scikit-learn's are differences of large products, and of equal ones any row may
    count. Rows in memory: all training rows are kept. Functions for ``weights`` or ``metric``, and missing entries that
    are marked by a text or None, are left to scikit-learn's class.

    References
    ----------
    .. [1] O. Troyanskaya et al., "Missing value estimation methods for DNA microarrays", Bioinformatics 17, 2001.

    Examples
    --------
    >>> from mercer.impute import KNNImputer
    >>> nan = float("nan")
    >>> KNNImputer(n_neighbors=2).fit_transform([[1.0, 2.0, nan], [3.0, 4.0, 3.0], [nan, 6.0, 5.0], [8.0, 8.0, 7.0]])
    array([[1. , 2. , 4. ],
           [3. , 4. , 3. ],
           [5.5, 6. , 5. ],
           [8. , 8. , 7. ]])
    """

    n_neighbors: int = parameter(Integer(1), default=5, doc="How many rows a mean is of.")
    weights: str | Callable[..., Any] = parameter(
        Choice("uniform", "distance") | Function(),
        default="uniform",
        doc="How neighbours weigh: alike, by the inverse of their distance, or as a function of the distances says.",
    )
    metric: str | Callable[..., Any] = parameter(
        Choice("nan_euclidean") | Function(), default="nan_euclidean", doc="The distance, or a function of two rows."
    )
    copy: bool = parameter(
        Boolean(), default=True, doc="Whether results are new arrays; False writes those of NumPy floats over the rows."
    )
    add_indicator: bool = parameter(
        Boolean(), default=False, doc="Whether the columns of a MissingIndicator stand beside the others."
    )
    keep_empty_features: bool = parameter(
        Boolean(), default=False, doc="Whether a column without known training entries is filled with 0 and kept."
    )

    _places: ClassVar[tuple[str, ...]] = ("memory",)
    _law_exceptions: ClassVar[dict[str, str]] = {"memory": "The training rows are kept, column by column."}
    _takes_sparse = False
    _depends_on_units = ("columns",)
    _stored: ClassVar[dict[str, Stored]] = {
        "indicator_": part("MissingIndicator", "none"),
        "_fit_columns": floats("columns, *"),
        "_means": floats("columns"),
        "_theirs": part("KNNImputer", "none"),
    }

    def _needs_theirs(self) -> bool:
        return super()._needs_theirs() or callable(self.weights) or callable(self.metric)

    def _make_theirs(self) -> Any:
        return TheirImputer(**{name: getattr(self, name) for name in TheirImputer().get_params()})

    def _read_theirs(self, theirs: Any) -> dict[str, Any]:
        return {"indicator_": theirs.indicator_}

    @fitting
    def fit(self, X: Any, y: Any = None) -> "KNNImputer":
        """Keep the training rows."""
        if self._needs_theirs():
            super().fit(X, y)
        else:
            self._learn(X, y)
        return self

    def _survey(self, source: Source, seen: None) -> Generator[Any, Any, dict[str, Any]]:
        rows = np.asarray(source.whole(), np.float64)
        if np.isinf(rows).any():
            refuse_infinite(self, float(np.isinf(rows).sum()))
        columns = np.where(find_missing(rows, self.missing_values), np.nan, rows).T.copy()
        yield from ()
        known = ~np.isnan(columns)
        counts = known.sum(axis=1)
        means = np.where(known, columns, 0.0).sum(axis=1) / np.maximum(counts, 1)
        means = np.where(counts > 0, means, np.nan)
        indicator = None
        if self.add_indicator:
            indicator = indicate_columns(self.missing_values, np.flatnonzero(~known.all(axis=1)), len(columns))
        return {"_fit_columns": columns, "_means": means, "indicator_": indicator}

    def _make_map(self, back: bool = False) -> "_FromNearest":
        told = np.empty(0, np.int64) if self.indicator_ is None else self.indicator_.features_
        kept = np.arange(len(self._means)) if self.keep_empty_features else np.flatnonzero(~np.isnan(self._means))
        number = min(self.n_neighbors, self._fit_columns.shape[1])
        by_distance = self.weights == "distance"
        means = np.where(np.isnan(self._means), 0.0, self._means)
        name = type(self).__name__
        return _FromNearest(name, self.missing_values, self._fit_columns, means, kept, told, number, by_distance)

    def _count_columns(self, source: Source) -> int:
        told = 0 if self.indicator_ is None else len(self.indicator_.features_)
        return told + (len(self._means) if self.keep_empty_features else int((~np.isnan(self._means)).sum()))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that are kept, and of the indicator's.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            The names of the columns; None means those seen by ``fit``, or x0, x1...

        Returns
        -------
        ndarray of str
            Names.
        """
        check_is_fitted(self)
        if self._theirs is not None:
            return self._theirs.get_feature_names_out(input_features)
        names = np.asarray(self._check_names(input_features), dtype=object)
        kept = names if self.keep_empty_features else names[~np.isnan(self._means)]
        told = () if self.indicator_ is None else self.indicator_.get_feature_names_out(names)
        return np.concatenate([kept, told]) if len(told) else kept


@dataclass(frozen=True, eq=False)
class _FromNearest(BlockMap):
    """Rows with means of the nearest training rows in the place of missing entries, and indicators of those `told`."""

    mark: float
    columns: Array
    means: Array
    kept: Array
    told: Array
    n_neighbors: int
    by_distance: bool

    def on_rows(self, rows: Array, xp: Any = np) -> Array:
        out = np.empty((len(rows), len(self.kept) + len(self.told)), rows.dtype)
        self._fill(rows, out)
        return out

    def write(self, block: Any, out: Array) -> None:
        self._fill(block.X, out)
        self.check(block.X, out, np)

    def _fill(self, rows: Array, out: Array) -> None:
        missing, width = find_missing(rows, self.mark), len(self.kept)
        out[:, width:] = missing[:, self.told]
        filled = np.where(missing, np.nan, rows).astype(np.float64, copy=False)
        wanted, (n, k) = missing.astype(np.uint8), (self.columns.shape[1], self.n_neighbors)
        scratch = np.empty(n), np.empty(n), np.empty(k), np.empty(k, np.int64)
        step, result = max(1, _ENTRIES // max(1, self.columns.size)), filled.copy()
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            known_entries.fill_from_nearest(
                self.columns, filled[part], wanted[part], self.by_distance, self.means, *scratch, result[part]
            )
        out[:, :width] = result[:, self.kept]

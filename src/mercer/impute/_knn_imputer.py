"""Missing entries filled with the mean of the nearest rows that have them."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.impute import KNNImputer as TheirImputer

from mercer._base.blockwise import refuse_infinite
from mercer._base.parameter import Boolean, Choice, Function, Integer, parameter
from mercer._native.nearest import known_entries
from mercer._source import Source
from mercer._stored import Stored, floats, part
from mercer._types import Array
from mercer.impute._filling import FillingMap, Imputer
from mercer.impute._marked import find_missing

# Training entries that a native call compares with; it then takes some 20 ms.
_ENTRIES = 2**25


class KNNImputer(Imputer):
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

    _needs_rows: ClassVar[str] = "it searches the neighbours of every row among all rows"

    n_neighbors: int = parameter(Integer(1), default=5, doc="How many rows a mean is of.")
    weights: str | Callable[..., Any] = parameter(
        Choice("uniform", "distance") | Function(),
        default="uniform",
        doc="How neighbours weigh: alike, by the inverse of their distance, or as a function of the distances says.",
    )
    metric: str | Callable[..., Any] = parameter(
        Choice("nan_euclidean") | Function(),
        default="nan_euclidean",
        doc="The distance, or a function of two rows.",
    )
    copy: bool = parameter(
        Boolean(),
        default=True,
        doc="Whether results are new arrays; False writes those of NumPy floats over the rows.",
    )

    _places: ClassVar[tuple[str, ...]] = ("memory",)
    _law_exceptions: ClassVar[dict[str, str]] = {"memory": "The training rows are kept, column by column."}
    _takes_sparse = False
    _keeps_kinds = False
    _depends_on_units = ("columns",)
    _stored: ClassVar[dict[str, Stored]] = {
        "_fit_columns": floats("columns, *"),
        "_means": floats("columns"),
        "_theirs": part("KNNImputer", "none"),
    }

    def _needs_theirs(self) -> bool:
        return super()._needs_theirs() or callable(self.weights) or callable(self.metric)

    def _make_theirs(self) -> Any:
        return TheirImputer(**{name: getattr(self, name) for name in TheirImputer().get_params()})

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
        return {"_fit_columns": columns, "_means": means, "indicator_": self._indicate(~known.all(axis=1))}

    def _find_known(self) -> Array:
        return ~np.isnan(self._means) | self.keep_empty_features

    def _make_map(self, back: bool = False) -> "_FromNearest":
        return _FromNearest(
            type(self).__name__,
            self.missing_values,
            np.flatnonzero(self._find_known()),
            self._list_told(),
            self._fit_columns,
            np.where(np.isnan(self._means), 0.0, self._means),
            min(self.n_neighbors, self._fit_columns.shape[1]),
            self.weights == "distance",
        )


@dataclass(frozen=True, eq=False)
class _FromNearest(FillingMap):
    """Rows with means of the nearest training rows in the place of missing entries."""

    columns: Array
    means: Array
    n_neighbors: int
    by_distance: bool

    def fill(self, rows: Array, missing: Array, out: Array) -> None:
        filled = np.where(missing, np.nan, rows).astype(np.float64, copy=False)
        wanted, (n, k) = missing.astype(np.uint8), (self.columns.shape[1], self.n_neighbors)
        scratch = np.empty(n), np.empty(n), np.empty(k), np.empty(k, np.int64)
        step, result = max(1, _ENTRIES // max(1, self.columns.size)), filled.copy()
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            known_entries.fill_from_nearest(
                self.columns, filled[part], wanted[part], self.by_distance, self.means, *scratch, result[part]
            )
        out[...] = result[:, self.kept]

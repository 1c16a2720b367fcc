"""One value of each column in the place of its missing entries."""

import warnings
from collections.abc import Generator
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import hstack
from sklearn.impute import SimpleImputer as TheirImputer
from sklearn.utils.validation import check_is_fitted

from mercer._base.blockwise import refuse_infinite
from mercer._base.blockwise.quantiles import summarise_columns
from mercer._base.parameter import Anything, Boolean, Choice, Function, parameter
from mercer._source import Source
from mercer._statistic.column_moments import ColumnMoments
from mercer._statistic.gaps import Gaps
from mercer._statistic.pair import Pair
from mercer._stored import Stored, floats, labels, part
from mercer._types import Array
from mercer.errors import DataError
from mercer.impute._filling import FillingMap, Imputer
from mercer.impute._marked import Marked, find_missing


class SimpleImputer(Imputer):
    """Put one value of each column in the place of its missing entries.

    Attributes
    ----------
    statistics_ : ndarray of shape (n_features,)
        The value of each column; NaN for a column without known entries, which is left out of the result.
    indicator_ : MissingIndicator or None
        Tells which entries were missing; None without ``add_indicator``.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    One pass. Means are centred block by block, so that columns far from zero keep their digits. Medians and most
    frequent values are exact in memory; elsewhere they are exact as long as at most a million values differ in a
    column, and a warning states the error of others. Rows of floats: NumPy, sparse, frames, files, streams (also such
    as can be read only once), Dask. Rows of texts, objects and whole numbers, and a ``strategy`` of your own: in
    memory, by scikit-learn's class.

    Examples
    --------
    >>> from mercer.impute import SimpleImputer
    >>> imputer = SimpleImputer().fit([[7.0, 2.0], [4.0, float("nan")], [10.0, 5.0]])
    >>> imputer.transform([[float("nan"), 2.0], [10.0, float("nan")]])
    array([[ 7. ,  2. ],
           [10. ,  3.5]])
    """

    strategy: Any = parameter(
        Choice("mean", "median", "most_frequent", "constant") | Function(),
        default="mean",
        doc="The value of a column: its mean, its median, the most frequent entry (of several the least), "
        "``fill_value``, or what a function returns for the known entries.",
    )
    fill_value: Any = parameter(
        Anything(),
        default=None,
        doc="The constant; None means 0 for numbers, and 'missing_value' for texts.",
    )
    copy: bool = parameter(
        Boolean(),
        default=True,
        doc="Whether results are new arrays; False writes those of NumPy floats over the rows.",
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "statistics_": floats("columns") | labels("columns"),
        "_theirs": part("SimpleImputer", "none"),
    }

    def _needs_theirs(self) -> bool:
        own = self.fill_value is None or isinstance(self.fill_value, Real)
        return super()._needs_theirs() or callable(self.strategy) or not own

    def _make_theirs(self) -> Any:
        return TheirImputer(
            missing_values=self.missing_values,
            strategy=self.strategy,
            fill_value=self.fill_value,
            copy=self.copy,
            add_indicator=self.add_indicator,
            keep_empty_features=self.keep_empty_features,
        )

    def _read_theirs(self, theirs: Any) -> dict[str, Any]:
        return super()._read_theirs(theirs) | {"statistics_": theirs.statistics_}

    def _survey(self, source: Source, seen: None) -> Generator[Any, Any, dict[str, Any]]:
        mark, width = self.missing_values, source.n_features
        values, missing = np.full(width, np.nan), np.zeros(width, bool)
        if self.strategy in ("median", "most_frequent"):

            def receive(index: int, summary: Any) -> None:
                missing[index] = summary.n_missing > 0
                if summary.n_known:
                    values[index] = summary.median() if self.strategy == "median" else summary.most_frequent()

            yield from summarise_columns(self, source, receive, mark=mark)
            known = ~np.isnan(values)
        else:
            sums = yield Marked(Pair(ColumnMoments(), Gaps()), mark)
            if sums.first.infinite:
                refuse_infinite(self, sums.first.infinite)
            missing, known = sums.second.missing > 0, sums.first.weights > 0
            fill = self.fill_value or 0
            values = np.where(known, sums.first.mean if self.strategy == "mean" else fill, np.nan)
        if self.keep_empty_features:
            values = np.where(known, values, (self.fill_value or 0) if self.strategy == "constant" else 0.0)
        return {"statistics_": values, "indicator_": self._indicate(missing)}

    def _find_known(self) -> Array:
        return ~np.isnan(self.statistics_)

    def _make_map(self, back: bool = False) -> "_Filled":
        known = self._find_known()
        kept = np.flatnonzero(known)
        if len(kept) < len(known):
            empty = np.flatnonzero(~known)
            names = vars(self).get("feature_names_in_")
            warnings.warn(
                f"Skipping features without any observed values: {empty if names is None else names[empty]}. At least "
                f"one non-missing value is needed for imputation with strategy={self.strategy!r}.",
                UserWarning,
                stacklevel=4,
            )
        return _Filled(type(self).__name__, self.missing_values, kept, self._list_told(), self.statistics_[kept])

    def inverse_transform(self, X: Any) -> Array:
        """Mark the filled entries as missing again; needs ``add_indicator=True``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_out)
            Rows as :meth:`transform` gives them, in memory.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Rows with missing entries. Columns without missing training entries stay as they were filled.
        """
        check_is_fitted(self)
        if not self.add_indicator:
            raise DataError(
                f"'inverse_transform' works only when 'SimpleImputer' is instantiated with 'add_indicator=True'. Got "
                f"'add_indicator={self.add_indicator}' instead."
            )
        if self._theirs is not None:
            return self._theirs.inverse_transform(X)
        rows, told, kept = np.asarray(X), self._list_told(), np.flatnonzero(self._find_known())
        result = np.full((len(rows), len(self.statistics_)), self.missing_values, dtype=rows.dtype)
        result[:, kept] = rows[:, : len(kept)]
        marks = np.zeros(result.shape, bool)
        marks[:, told] = rows[:, len(kept) :] > 0
        result[marks] = self.missing_values
        return result


@dataclass(frozen=True, eq=False)
class _Filled(FillingMap):
    """Rows with `values` in the place of missing entries of the columns that are kept."""

    values: Array

    def fill(self, rows: Array, missing: Array, out: Array) -> None:
        if len(self.kept) == rows.shape[1]:
            out[...] = rows
        else:
            out[...] = rows[:, self.kept]
            missing = missing[:, self.kept]
        np.copyto(out, self.values.astype(out.dtype), where=missing)

    def on_entries(self, X: Any, in_place: bool) -> Any:
        self.check(X.data, X.data, np)
        whole = len(self.kept) == X.shape[1]
        result = X if in_place and whole else X.copy() if whole else X[:, self.kept]
        missing = find_missing(result.data, self.mark)
        result.data[missing] = self.values[result.indices[missing]]
        if not len(self.told):
            return result
        marks = X[:, self.told].copy()
        marks.data = find_missing(marks.data, self.mark).astype(X.dtype)
        marks.eliminate_zeros()
        return hstack([result, marks], format="csr")

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

from mercer._base.blockwise import BlockMap, refuse_infinite
from mercer._base.blockwise.quantiles import summarise_columns
from mercer._base.parameter import Anything, Boolean, Choice, Function, parameter
from mercer._source import Source
from mercer._statistic.column_moments import ColumnMoments
from mercer._statistic.gaps import Gaps
from mercer._statistic.pair import Pair
from mercer._stored import Stored, floats, labels, part
from mercer._types import Array
from mercer.errors import DataError
from mercer.impute._marked import Marked, MarkedTransformer, find_missing
from mercer.impute._missing_indicator import indicate_columns


class SimpleImputer(MarkedTransformer):
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
        Anything(), default=None, doc="The constant; None means 0 for numbers, and 'missing_value' for texts."
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

    _stored: ClassVar[dict[str, Stored]] = {
        "statistics_": floats("columns") | labels("columns"),
        "indicator_": part("MissingIndicator", "none"),
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
        return {"statistics_": theirs.statistics_, "indicator_": theirs.indicator_}

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
        told = np.flatnonzero(missing)
        indicator = indicate_columns(self.missing_values, told, width) if self.add_indicator else None
        return {"statistics_": values, "indicator_": indicator}

    def _make_map(self, back: bool = False) -> "_Filled":
        kept = np.flatnonzero(~np.isnan(self.statistics_))
        if len(kept) < len(self.statistics_):
            empty = np.flatnonzero(np.isnan(self.statistics_))
            names = vars(self).get("feature_names_in_")
            warnings.warn(
                f"Skipping features without any observed values: {empty if names is None else names[empty]}. At least "
                f"one non-missing value is needed for imputation with strategy={self.strategy!r}.",
                UserWarning,
                stacklevel=4,
            )
        told = np.empty(0, np.int64) if self.indicator_ is None else self.indicator_.features_
        return _Filled(type(self).__name__, self.missing_values, kept, self.statistics_[kept], told)

    def _count_columns(self, source: Source) -> int:
        told = 0 if self.indicator_ is None else len(self.indicator_.features_)
        return int((~np.isnan(self.statistics_)).sum()) + told

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
        rows, told = np.asarray(X), self.indicator_.features_
        kept = np.flatnonzero(~np.isnan(self.statistics_))
        result = np.full((len(rows), len(self.statistics_)), self.missing_values, dtype=rows.dtype)
        result[:, kept] = rows[:, : len(kept)]
        marks = np.zeros(result.shape, bool)
        marks[:, told] = rows[:, len(kept) :] > 0
        result[marks] = self.missing_values
        return result

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
        kept = names[~np.isnan(self.statistics_)]
        told = () if self.indicator_ is None else self.indicator_.get_feature_names_out(names)
        return np.concatenate([kept, told]) if len(told) else kept


@dataclass(frozen=True, eq=False)
class _Filled(BlockMap):
    """Rows with `values` in the place of missing entries of the columns `kept`, and indicators of those `told`."""

    mark: float
    kept: Array
    values: Array
    told: Array

    def on_rows(self, rows: Array, xp: Any = np) -> Array:
        out = np.empty((len(rows), len(self.kept) + len(self.told)), rows.dtype)
        self._fill(rows, out)
        return out

    def write(self, block: Any, out: Array) -> None:
        self._fill(block.X, out)
        self.check(block.X, out, np)

    def _fill(self, rows: Array, out: Array) -> None:
        missing, width = find_missing(rows, self.mark), len(self.kept)
        # The indicators first: `out` may be the rows themselves, which are then all kept.
        out[:, width:] = missing[:, self.told]
        if width == rows.shape[1]:
            out[:, :width] = rows
        else:
            out[:, :width] = rows[:, self.kept]
            missing = missing[:, self.kept]
        np.copyto(out[:, :width], self.values.astype(out.dtype), where=missing)

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

"""Codes of categories."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._base.interface import OneToOneFeatureMixin
from mercer._base.parameter import Anything, Choice, Integer, Nothing, Rule, Share, parameter
from mercer._native.sums import distinct_texts
from mercer._source.table.distinct import Distinct, is_nan
from mercer._source.table.encoded import Locate
from mercer._stored import Stored
from mercer._types import Array
from mercer.errors import DataError
from mercer.preprocessing._categories.encoder import Levels
from mercer.preprocessing._categories.grouping import number_groups
from mercer.preprocessing._categories.one_hot import INFREQUENT, GroupingEncoder

# The types that compiled code writes; codes of other types are converted afterwards.
_WRITTEN = "ilqfd"


class MissingMark(Rule):
    """The code of missing values where it is no number."""

    text = "NaN"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, float) and np.isnan(value)


class OrdinalEncoder(OneToOneFeatureMixin, GroupingEncoder):
    """Replace each category by its index among the sorted categories of its column.

    Attributes
    ----------
    categories_ : list of ndarray
        The categories of each column, sorted; None and NaN are categories, and stand last.
    infrequent_categories_ : list of ndarray
        The categories of each column that share the code after those of the others; None for a column without.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    One pass, see :class:`OneHotEncoder`. Trees split codes as they split numbers; linear models need indicators. Rows:
    NumPy arrays of any type, frames, files, streams, Dask dataframes.

    See Also
    --------
    OneHotEncoder : A column of indicators for each category.
    TargetEncoder : The mean of the target of each category.

    Examples
    --------
    >>> from mercer.preprocessing import OrdinalEncoder
    >>> encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    >>> encoder.fit([["small", 1], ["large", 3], ["small", 2]])
    OrdinalEncoder(handle_unknown='use_encoded_value', unknown_value=-1)
    >>> encoder.transform([["large", 3], ["huge", 1]])
    array([[ 0.,  2.],
           [-1.,  0.]])
    """

    dtype: Any = parameter(Anything(), default=np.float64, doc="The type of the codes, as NumPy takes it.")
    handle_unknown: str = parameter(
        Choice("error", "use_encoded_value"),
        default="error",
        doc="What a category means that the training rows did not have: an error, or ``unknown_value``.",
    )
    unknown_value: Any = parameter(
        Anything(), default=None, doc="The code of unknown categories: a whole number that is no other's code, or NaN."
    )
    encoded_missing_value: Any = parameter(
        Integer() | MissingMark(), default=np.nan, doc="The code of missing values (NaN)."
    )
    min_frequency: Any = parameter(
        Integer(1) | Share(0, 1, "neither") | Nothing(),
        default=None,
        doc="Categories of fewer rows, or of a smaller share of the rows, are infrequent and share a code.",
    )
    max_categories: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        doc="The most codes of a column, that of infrequent categories among them; missing and unknown ones do not "
        "count.",
    )

    _stored: ClassVar[dict[str, Stored]] = {}

    def _accepts_unknown(self) -> bool:
        return self.handle_unknown != "error"

    def _describe(self, levels: Levels) -> dict[str, Any]:
        self._check_unknown_value()
        gaps = [ends_with_gap(categories) for categories in levels.values]
        known = [counts[: len(counts) - gap] for counts, gap in zip(levels.counts, gaps, strict=True)]
        rare = self._group(levels, known)
        sizes = [len(counts) for counts in known]
        if rare is not None:
            # The group has one code more than the frequent ones; it is no category by itself.
            sizes = [size - (0 if few is None else len(few)) for size, few in zip(sizes, rare, strict=True)]
        self._check_codes(sizes, gaps)
        return {"_infrequent_indices": rare}

    def _check_unknown_value(self) -> None:
        """Raise unless the code of unknown categories is given where it is used, and can be stored."""
        if self.handle_unknown == "error":
            if self.unknown_value is not None:
                raise TypeError(
                    f"unknown_value should only be set when handle_unknown is 'use_encoded_value', got "
                    f"{self.unknown_value}."
                )
        elif isinstance(self.unknown_value, float) and np.isnan(self.unknown_value):
            if np.dtype(self.dtype).kind != "f":
                raise DataError(
                    f"When unknown_value is np.nan, the dtype parameter should be a float dtype. Got {self.dtype}."
                )
        elif not isinstance(self.unknown_value, Integral):
            raise TypeError(
                f"unknown_value should be an integer or np.nan when handle_unknown is 'use_encoded_value', got "
                f"{self.unknown_value}."
            )

    def _check_codes(self, sizes: list[int], gaps: list[bool]) -> None:
        """Raise if the code of unknown or of missing values is also that of a category."""
        if self.handle_unknown == "use_encoded_value" and any(0 <= self.unknown_value < size for size in sizes):
            raise DataError(
                f"The used value for unknown_value {self.unknown_value} is one of the values already used for encoding "
                f"the seen categories. Give a negative one."
            )
        missing = [index for index, gap in enumerate(gaps) if gap]
        if not missing:
            return
        if is_nan(self.encoded_missing_value):
            if np.dtype(self.dtype).kind != "f":
                raise DataError(
                    f"There are missing values in features {missing}. For OrdinalEncoder to encode missing values with "
                    f"dtype: {self.dtype}, set encoded_missing_value to a non-nan value, or set dtype to a float"
                )
            return
        taken: Any = [index for index in missing if 0 <= self.encoded_missing_value < sizes[index]]
        if taken:
            names = vars(self).get("feature_names_in_")
            raise DataError(
                f"encoded_missing_value ({self.encoded_missing_value}) is already used to encode a known category in "
                f"features: {taken if names is None else names[taken]}"
            )

    def _list_codes(self, index: int) -> Array:
        """Return the code of each category of a column."""
        categories = self.categories_[index]
        gap = ends_with_gap(categories)
        codes = number_groups(len(categories) - gap, self._infrequent_of(index)).astype(np.float64)
        return np.append(codes, self.encoded_missing_value) if gap else codes

    def _encode(self, columns: list[Distinct], locate: Locate = None, start: int = 0) -> Any:
        dtype = np.dtype(self.dtype)
        written = dtype if dtype.char in _WRITTEN else np.dtype(np.float64)
        out = np.empty((len(columns[0].codes), len(columns)), written)
        for index, column in enumerate(columns):
            places, used = self._look_up(column, index)
            new = (places < 0) & used
            if new.any() and self.handle_unknown == "error":
                raise self._refuse_rows(column, places, index, locate)
            table = self._list_codes(index)[places]
            if new.any():
                table[new] = self.unknown_value
            # Entries that no row has may be no code.
            table = np.where(used, table, 0.0)
            distinct_texts.write_values(column.codes, table.astype(written), out, index)
        return out.astype(dtype, copy=False)

    def inverse_transform(self, X: Any) -> Array:
        """Return the category of each code.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Codes as :meth:`transform` gives them, in memory.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The categories; None for unknown ones.
        """
        check_is_fitted(self)
        X = check_array(X, ensure_all_finite="allow-nan")
        if X.shape[1] != len(self.categories_):
            raise DataError(
                f"Shape of the passed X data is not correct. Expected {len(self.categories_)} columns, got "
                f"{X.shape[1]}."
            )
        columns = [self._read_back(index, X[:, index]) for index in range(X.shape[1])]
        result = np.empty(X.shape, np.result_type(*[column.dtype for column in columns]))
        for index, column in enumerate(columns):
            result[:, index] = column
        return result

    def _read_back(self, index: int, codes: Array) -> Array:
        """Return the categories of a column."""
        categories, rare = self.categories_[index], self._infrequent_of(index)
        gap = ends_with_gap(categories)
        names = categories[: len(categories) - gap]
        if rare is not None:
            names = np.append(np.delete(names, rare).astype(object), INFREQUENT)
        missing = _equals(codes, self.encoded_missing_value) if gap else np.zeros(len(codes), bool)
        unknown = np.zeros(len(codes), bool)
        if self.handle_unknown == "use_encoded_value":
            unknown = _equals(codes, self.unknown_value) & ~missing
        known = ~(missing | unknown)
        column = np.empty(len(codes), object if unknown.any() or rare is not None else categories.dtype)
        column[known] = names[codes[known].astype(np.int64)]
        if missing.any():
            column[missing] = categories[-1]
        if unknown.any():
            column[unknown] = None
        return column


def ends_with_gap(categories: Array) -> bool:
    """Return whether the last category stands for missing values: NaN, but not None, as in scikit-learn."""
    if not len(categories):
        return False
    last = categories[-1]
    return last is not None and not isinstance(last, str) and is_nan(last)


def _equals(codes: Array, value: Any) -> Array:
    """Return which codes are a value, which may be NaN."""
    return np.isnan(codes) if is_nan(value) else codes == value

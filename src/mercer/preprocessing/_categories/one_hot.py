"""Indicators of categories."""

import warnings
from typing import Any, ClassVar

import numpy as np
import sklearn
from scipy.sparse import csr_array
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._base.column_names import read_column_names
from mercer._base.parameter import Anything, Boolean, Choice, Function, Integer, Nothing, Share, parameter
from mercer._base.parameter import Array as ArrayRule
from mercer._base.scikit_learn import OUTPUT_CONFIG
from mercer._native.sums import distinct_texts
from mercer._source.table.distinct import Distinct, find_places
from mercer._source.table.encoded import Locate
from mercer._stored import Stored, integers, members, part
from mercer._types import Array
from mercer.errors import DataError
from mercer.preprocessing._categories.encoder import CategoryEncoder, Levels
from mercer.preprocessing._categories.grouping import find_infrequent, number_groups

INFREQUENT = "infrequent_sklearn"


class GroupingEncoder(CategoryEncoder):
    """An encoder that may join infrequent categories."""

    _stored: ClassVar[dict[str, Stored]] = {
        "_infrequent_indices": members(integers("*", low=0) | part("none"), "columns") | part("none"),
    }

    def _group(self, levels: Levels, counted: list[Array]) -> list[Array | None] | None:
        """Return the infrequent categories of each column by the counts of those that may be; None if none may."""
        if self.min_frequency is None and self.max_categories is None:
            return None
        limits = levels.n_rows, self.min_frequency, self.max_categories
        return [find_infrequent(counts, *limits) for counts in counted]

    def _infrequent_of(self, index: int) -> Array | None:
        """Return the infrequent categories of a column."""
        return None if self._infrequent_indices is None else self._infrequent_indices[index]

    @property
    def infrequent_categories_(self) -> list[Array | None]:
        """The infrequent categories of each column; None for a column without."""
        check_is_fitted(self)
        if self._infrequent_indices is None:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute 'infrequent_categories_': neither min_frequency nor "
                f"max_categories is set."
            )
        pairs = zip(self.categories_, self._infrequent_indices, strict=True)
        return [None if rare is None else categories[rare] for categories, rare in pairs]


class OneHotEncoder(GroupingEncoder):
    r"""Turn each category into a column of its own: :math:`x_k = 1` in the rows of category k, and 0 in others.

    Attributes
    ----------
    categories_ : list of ndarray
        The categories of each column, sorted; None and NaN are categories, and stand last.
    drop_idx_ : ndarray of object or None
        The index of the category of each column that has no output; None where all have one.
    infrequent_categories_ : list of ndarray
        The categories of each column that share an output; None for a column without.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    One pass. The distinct values of a column of texts or numbers are found by hashing, some 6 ns for a row of a frame
    of pandas, polars or Arrow and 30 ns for a Python string; ``fit_transform`` reads the rows once. Memory: the counts
    of all categories. Rows: NumPy arrays of any type, frames, files, streams, Dask dataframes; rows that are not in
    memory are encoded block by block as an estimator reads them.

    See Also
    --------
    OrdinalEncoder : One column of codes for each column.
    TargetEncoder : The mean of the target of each category, for columns with many categories.
    TableEncoder : Chooses an encoding for each column of a table.

    Examples
    --------
    >>> from mercer.preprocessing import OneHotEncoder
    >>> encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    >>> encoder.fit([["Audi", 1], ["BMW", 3], ["Audi", 2]]).categories_
    [array(['Audi', 'BMW'], dtype=object), array([1, 2, 3], dtype=object)]
    >>> encoder.transform([["BMW", 1], ["VW", 2]])
    array([[0., 1., 1., 0., 0.],
           [0., 0., 0., 1., 0.]])
    """

    drop: Any = parameter(
        Choice("first", "if_binary") | ArrayRule("anything") | Nothing(),
        default=None,
        doc="The category of each column that has no output: the first, the first of columns with two categories, "
        "those of an array with one for each column, or none.",
    )
    sparse_output: bool = parameter(Boolean(), default=True, doc="Whether the result is a CSR array.")
    dtype: Any = parameter(Anything(), default=np.float64, doc="The type of the result, as NumPy takes it.")
    handle_unknown: str = parameter(
        Choice("error", "ignore", "infrequent_if_exist", "warn"),
        default="error",
        doc="What a category means that the training rows did not have: an error, zeros in all outputs, or the output "
        "of infrequent categories if there is one and zeros otherwise, with a warning for ``'warn'``.",
    )
    min_frequency: Any = parameter(
        Integer(1) | Share(0, 1, "neither") | Nothing(),
        default=None,
        doc="Categories of fewer rows, or of a smaller share of the rows, are infrequent and share an output.",
    )
    max_categories: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        doc="The most outputs of a column, that of infrequent categories among them.",
    )
    feature_name_combiner: Any = parameter(
        Choice("concat") | Function(),
        default="concat",
        doc="How outputs are named: column, underscore and category, or what a function of both returns.",
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "drop_idx_": members(integers(low=0) | part("none"), "columns") | part("none"),
    }

    def _accepts_unknown(self) -> bool:
        return self.handle_unknown != "error"

    def _describe(self, levels: Levels) -> dict[str, Any]:
        rare = self._group(levels, levels.counts)
        return {"_infrequent_indices": rare, "drop_idx_": self._find_dropped(levels.values, rare)}

    def _find_dropped(self, categories: list[Array], rare: list[Array | None] | None) -> Any:
        """Return the index of the category of each column without an output, or None."""
        if self.drop is None:
            return None
        rare = [None] * len(categories) if rare is None else rare
        groups = [number_groups(len(one), few) for one, few in zip(categories, rare, strict=True)]
        dropped = np.empty(len(categories), object)
        if isinstance(self.drop, str):
            for index, group in enumerate(groups):
                if self.drop == "first" or group.max() == 1:
                    dropped[index] = int(np.flatnonzero(group == 0)[0])
            return dropped
        given = np.asarray(self.drop, dtype=object)
        if len(given) != len(categories):
            raise DataError(
                f"`drop` should have length equal to the number of features ({len(categories)}), got {len(given)}"
            )
        missing = []
        for index, value in enumerate(given):
            place = int(find_places(categories[index], given[index : index + 1])[0])
            if place < 0:
                missing.append(f"Category: {index}, Feature: {value}")
            elif (few := rare[index]) is not None and place in few:
                raise DataError(f"Unable to drop category {value!r} from feature {index} because it is infrequent")
            dropped[index] = place
        if missing:
            raise DataError(
                "The following categories were supposed to be dropped, but were not found in the training data.\n"
                + "\n".join(missing)
            )
        return dropped

    def _list_outputs(self, index: int) -> tuple[Array, int, int | None]:
        """Return the output of each category of a column, -1 for none; their number; and that of infrequent ones."""
        rare = self._infrequent_of(index)
        places = number_groups(len(self.categories_[index]), rare)
        width = int(places.max()) + 1
        few = None if rare is None else width - 1
        dropped = None if self.drop_idx_ is None else self.drop_idx_[index]
        if dropped is None:
            return places, width, few
        gone = places[dropped]
        # All categories may be infrequent: their output is then the one that is dropped.
        few = None if few is None or few == gone else few - 1
        return np.where(places == gone, -1, places - (places > gone)), width - 1, few

    def _encode(self, columns: list[Distinct], locate: Locate = None, start: int = 0) -> Any:
        self._check_container()
        n, d = len(columns[0].codes), len(columns)
        outputs = np.empty((n, d), np.int32)
        first, complete, unknown = 0, True, []
        for index, column in enumerate(columns):
            places, used = self._look_up(column, index)
            targets, width, few = self._list_outputs(index)
            new = (places < 0) & used
            if new.any():
                if self.handle_unknown == "error":
                    raise self._refuse_rows(column, places, index, locate)
                unknown.append(index)
            stranger = -1 if few is None or self.handle_unknown == "ignore" else few
            table = np.where(places < 0, stranger, targets[places])
            complete &= not ((table < 0) & used).any()
            table = np.where(table < 0, -1, table + first).astype(np.int32)
            distinct_texts.write_values(column.codes, table, outputs, index)
            first += width
        if unknown:
            self._warn_unknown(unknown)
        return self._indicate(outputs, first, complete)

    def _indicate(self, outputs: Array, width: int, complete: bool) -> Any:
        """Return indicators of the outputs of each row, -1 for none; `complete` says that there are none of these."""
        n, d = outputs.shape
        flat = outputs.reshape(-1)
        kind = np.int64 if n * d >= 2**31 else np.int32
        if complete:
            places = np.arange(0, n * d + 1, d, dtype=kind)
        else:
            kept = outputs >= 0
            flat = flat[kept.reshape(-1)]
            places = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(kind)
        ones = np.ones(len(flat), self.dtype)
        result = csr_array((ones, flat.astype(kind, copy=False), places), shape=(n, width))
        return result if self.sparse_output else result.toarray()

    def _warn_unknown(self, columns: list[int]) -> None:
        """Warn of unknown categories where they are taken for others."""
        joined = self.handle_unknown in ("infrequent_if_exist", "warn")
        if self.handle_unknown == "warn" or self.drop is not None:
            what = "the infrequent category" if joined else "all zeros"
            warnings.warn(
                f"Found unknown categories in columns {columns} during transform. These unknown categories will be "
                f"encoded as {what}.",
                UserWarning,
                stacklevel=4,
            )

    def _check_container(self) -> None:
        """Raise if the result is to be a frame, but sparse."""
        given = vars(self).get(OUTPUT_CONFIG, {}).get("transform", sklearn.get_config()["transform_output"])
        if given != "default" and self.sparse_output:
            name = given.capitalize()
            raise DataError(
                f"{name} output does not support sparse data. Set sparse_output=False to output {given} dataframes or "
                f'disable {name} output via` ohe.set_output(transform="default").'
            )

    def _name_outputs(self, index: int, dropped: bool = True) -> Array:
        """Return the category of each output of a column; with `dropped` those without an output are left out."""
        categories, rare = self.categories_[index], self._infrequent_of(index)
        if rare is not None:
            categories = np.append(np.delete(categories, rare).astype(object), INFREQUENT)
        gone = None if self.drop_idx_ is None else self.drop_idx_[index]
        if not dropped or gone is None:
            return categories
        return np.delete(categories, number_groups(len(self.categories_[index]), rare)[gone])

    def inverse_transform(self, X: Any) -> Array:
        """Return the category of each row of indicators.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features_out)
            Rows as :meth:`transform` gives them, in memory.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The categories; None for a row of zeros, or the dropped category where one is.
        """
        check_is_fitted(self)
        X = check_array(X, accept_sparse="csr")
        widths = [len(self._name_outputs(index)) for index in range(len(self.categories_))]
        if X.shape[1] != sum(widths):
            raise DataError(
                f"Shape of the passed X data is not correct. Expected {sum(widths)} columns, got {X.shape[1]}."
            )
        whole = [self._name_outputs(index, dropped=False) for index in range(len(widths))]
        result = np.empty((X.shape[0], len(widths)), np.result_type(*[names.dtype for names in whole]))
        empty: dict[int, Array] = {}
        starts = np.concatenate([[0], np.cumsum(widths)])
        for index in range(len(widths)):
            rows = X[:, starts[index] : starts[index + 1]]
            zeros = self._read_back(index, rows, result)
            if zeros is not None:
                empty[index] = zeros
        if empty and result.dtype != object:
            result = result.astype(object)
        for index, zeros in empty.items():
            result[zeros, index] = None
        return result

    def _read_back(self, index: int, rows: Any, result: Array) -> Array | None:
        """Write the categories of a column, and return the rows that have none."""
        gone = None if self.drop_idx_ is None else self.drop_idx_[index]
        names = self._name_outputs(index)
        if not len(names):
            # Its only category was dropped.
            result[:, index] = self.categories_[index][gone]
            return None
        result[:, index] = names[np.asarray(rows.argmax(axis=1)).reshape(-1)]
        zeros = np.asarray(rows.sum(axis=1) == 0).reshape(-1)
        if not zeros.any():
            return None
        if gone is not None:
            groups = number_groups(len(self.categories_[index]), self._infrequent_of(index))
            result[zeros, index] = self._name_outputs(index, dropped=False)[groups[gone]]
            return None
        lenient = self.handle_unknown == "ignore" or (
            self.handle_unknown in ("infrequent_if_exist", "warn") and self._infrequent_of(index) is None
        )
        if not lenient:
            raise DataError(
                f"Samples {np.flatnonzero(zeros)} can not be inverted when drop=None and handle_unknown='error' "
                f"because they contain all zeros"
            )
        return zeros

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the outputs."""
        check_is_fitted(self)
        names = read_column_names(self, input_features)
        found = []
        for index, name in enumerate(names):
            for category in self._name_outputs(index):
                if self.feature_name_combiner == "concat":
                    found.append(f"{name}_{category}")
                    continue
                combined = self.feature_name_combiner(name, category)
                if not isinstance(combined, str):
                    raise TypeError(
                        f"When `feature_name_combiner` is a callable, it should return a Python string. Got "
                        f"{type(combined)}."
                    )
                found.append(combined)
        return np.array(found, dtype=object)

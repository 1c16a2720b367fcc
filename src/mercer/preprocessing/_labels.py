"""Labels as numbers and as columns of zeros and ones: scikit-learn's classes, with labels found by a native table."""

import warnings
from itertools import chain, repeat
from typing import Any

import numpy as np
import sklearn.preprocessing
from scipy.sparse import csr_array, csr_matrix
from sklearn.utils.validation import check_is_fitted

from mercer._source.table.distinct import Distinct, Numbers, find_distinct, find_places, sort_values
from mercer._types import Array
from mercer.errors import DataError


class FoundLabels:
    """What the classes of one column of labels share: a native table finds the labels, or scikit-learn's code does."""

    def _find(self, y: Any) -> Distinct | None:
        """Return the different labels; None where scikit-learn's code should look at them."""
        return find_labels(y)

    def _store(self, found: Distinct) -> None:
        """Store the labels, sorted."""
        self.classes_ = found.values[sort_values(found.values)]

    def _knows(self, found: Distinct) -> bool:
        """Return whether new labels are of the kind that the fit has seen."""
        raise NotImplementedError  # each class defines its own

    def _give(self, found: Distinct, places: Array, y: Any) -> Array:
        """Return the result for labels, by the place of each different one; -1 for one that the fit has not seen."""
        raise NotImplementedError  # each class defines its own

    def fit(self, y: Any) -> Any:
        """Find the different labels.

        Parameters
        ----------
        y : array-like of shape (n_samples,), or what else scikit-learn's class takes
            Labels.

        Returns
        -------
        self
            The fitted transformer.
        """
        found = self._find(y)
        if found is None:
            return super().fit(y)  # type: ignore[misc]
        self._store(found)
        return self

    def fit_transform(self, y: Any) -> Any:
        """Find the different labels, and transform them.

        Parameters
        ----------
        y : array-like of shape (n_samples,), or what else scikit-learn's class takes
            Labels.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples,) or (n_samples, n_classes)
            As :meth:`transform` returns them.
        """
        found = self._find(y)
        if found is None:
            return super().fit_transform(y)  # type: ignore[misc]
        self._store(found)
        return self._give(found, find_places(self.classes_, found.values), y)

    def transform(self, y: Any) -> Any:
        """Give labels their numbers, or their columns.

        Parameters
        ----------
        y : array-like of shape (n_samples,), or what else scikit-learn's class takes
            Labels.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples,) or (n_samples, n_classes)
            The number of each label, or a row of zeros and ones.
        """
        check_is_fitted(self)
        found = self._find(y)
        if found is None or not self._knows(found):
            return super().transform(y)  # type: ignore[misc]
        return self._give(found, find_places(self.classes_, found.values), y)


class LabelEncoder(FoundLabels, sklearn.preprocessing.LabelEncoder):
    """Number the labels of one column, in sorted order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted; the number of a label is its place here.

    Notes
    -----
    Labels are numbered by a hash table, and only the different ones are sorted: O(n + k log k) for n labels and k
    different ones. Arrays of other libraries than NumPy, and labels with missing ones among them, are left to
    scikit-learn's code, with the same answers.

    See Also
    --------
    OrdinalEncoder : Does so for the columns of a table, in any place.

    Examples
    --------
    >>> from mercer.preprocessing import LabelEncoder
    >>> encoder = LabelEncoder().fit(["paris", "tokyo", "paris", "amsterdam"])
    >>> encoder.transform(["tokyo", "amsterdam"])
    array([2, 0])
    >>> encoder.inverse_transform([1])
    array(['paris'], dtype='<U9')
    """

    def _knows(self, found: Distinct) -> bool:
        return (found.values.dtype.kind in "iub") == (self.classes_.dtype.kind in "iub")

    def _give(self, found: Distinct, places: Array, y: Any) -> Array:
        if (places < 0).any():
            unknown = found.values[places < 0]
            row = int(np.flatnonzero(places[found.codes] < 0)[0])
            raise DataError(
                f"y contains previously unseen labels: {unknown[:5].tolist()}, the first in row {row}. Fit "
                f"LabelEncoder to all labels, or drop these rows."
            )
        return places[found.codes]


class LabelBinarizer(FoundLabels, sklearn.preprocessing.LabelBinarizer):
    """Give each label a column that is one in the rows with this label, and zero elsewhere.

    Two labels share one column, which is one for the second.

    Parameters
    ----------
    neg_label, pos_label : int, default=0 and 1
        The numbers in the place of zero and one.
    sparse_output : bool, default=False
        Whether the result is a CSR matrix.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    y_type_ : str
        What the targets are, in scikit-learn's words: ``'binary'``, ``'multiclass'``, ``'multilabel-indicator'``...
    sparse_input_ : bool
        Whether the targets of the fit were sparse.

    Notes
    -----
    One-dimensional labels are found by a hash table; indicators of several labels, floats, sparse results and arrays of
    other libraries than NumPy are left to scikit-learn's code, with the same answers. An unknown label gets a row of
    zeros.

    See Also
    --------
    OneHotEncoder : Does so for the columns of a table, in any place.

    Examples
    --------
    >>> from mercer.preprocessing import LabelBinarizer
    >>> LabelBinarizer().fit_transform(["spam", "ham", "eggs"])
    array([[0, 0, 1],
           [0, 1, 0],
           [1, 0, 0]])
    """

    def _find(self, y: Any) -> Distinct | None:
        return None if self._is_unusual() else find_labels(y)

    def _knows(self, found: Distinct) -> bool:
        # scikit-learn gives more than two different new labels a column each, although the fit has seen only two.
        few = len(found.values) <= 2 or len(self.classes_) > 2
        return self.y_type_ in ("binary", "multiclass") and few

    def _is_unusual(self) -> bool:
        """Return whether scikit-learn's code has to check the parameters or make a sparse matrix."""
        numbers = (self.neg_label, self.pos_label)
        return (
            self.sparse_output is not False or not all(type(one) is int for one in numbers) or numbers[0] >= numbers[1]
        )

    def _store(self, found: Distinct) -> None:
        super()._store(found)
        self.y_type_ = "binary" if len(found.values) <= 2 else "multiclass"
        self.sparse_input_ = False

    def _give(self, found: Distinct, places: Array, y: Any) -> Array:
        known, n = len(self.classes_), len(found.codes)
        kind = y.dtype if getattr(getattr(y, "dtype", None), "kind", "") == "i" else np.int64
        if known <= 2:
            # One column: of the second label, or of none.
            codes = np.full(len(places), self.neg_label, kind)
            codes[(places == 1) & (known == 2)] = self.pos_label
            return codes[found.codes].reshape(-1, 1)
        result = np.full((n, known), self.neg_label, kind)
        columns = places[found.codes]
        if (places < 0).any():
            rows = np.flatnonzero(columns >= 0)
            result[rows, columns[rows]] = self.pos_label
        else:
            result.ravel()[np.arange(0, n * known, known) + columns] = self.pos_label
        return result


class MultiLabelBinarizer(sklearn.preprocessing.MultiLabelBinarizer):
    """Give each label a column that is one in the rows whose set of labels has it.

    Parameters
    ----------
    classes : array-like of shape (n_classes,), default=None
        The labels in the order of the columns; None takes the sorted labels of the training rows.
    sparse_output : bool, default=False
        Whether the result is a CSR matrix.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, in the order of the columns.

    Notes
    -----
    Each label is looked up once in a dictionary, O(1) each. Unknown labels are left out, with a warning that names
    them.

    See Also
    --------
    LabelBinarizer : Takes one label for each row.

    Examples
    --------
    >>> from mercer.preprocessing import MultiLabelBinarizer
    >>> MultiLabelBinarizer().fit_transform([{"thriller", "sci-fi"}, {"comedy"}])
    array([[0, 1, 1],
           [1, 0, 0]])
    """

    def fit_transform(self, y: Any) -> Any:
        """Find the different labels, and give each a column.

        Parameters
        ----------
        y : iterable of iterables
            The labels of each row.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_classes)
            Zeros and ones.
        """
        if self.classes is not None:
            return self.fit(y).transform(y)
        sets, numbers = _take_sets(y), Numbers()
        found = np.fromiter(map(numbers.__getitem__, chain.from_iterable(sets)), np.int64)
        labels = list(numbers)
        order = sorted(range(len(labels)), key=labels.__getitem__)
        self.classes_ = np.empty(len(order), int if all(isinstance(one, int) for one in labels) else object)
        self.classes_[:] = [labels[place] for place in order]
        self._cached_dict = None
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        return self._mark(sets, places[found])

    def transform(self, y: Any) -> Any:
        """Give sets of labels the columns of the fit.

        Parameters
        ----------
        y : iterable of iterables
            The labels of each row.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_classes)
            Zeros and ones.
        """
        check_is_fitted(self)
        sets = _take_sets(y)
        known = {label: place for place, label in enumerate(self.classes_.tolist())}
        columns = np.fromiter(map(known.get, chain.from_iterable(sets), repeat(-1)), np.int64)
        if len(columns) and columns.min() < 0:
            unknown = {one for one in chain.from_iterable(sets) if one not in known}
            warnings.warn(f"unknown class(es) {sorted(unknown, key=str)} will be ignored", UserWarning, stacklevel=2)
            sets = [[one for one in labels if one in known] for labels in sets]
            columns = columns[columns >= 0]
        return self._mark(sets, columns)

    def _mark(self, sets: list[Any], columns: Array) -> Any:
        """Return the indicators of sets of labels; `columns` are those of all labels, set after set."""
        sizes = np.fromiter(map(len, sets), np.int64, len(sets))
        shape = (len(sets), len(self.classes_))
        if self.sparse_output:
            ends = np.zeros(len(sets) + 1, np.int32 if len(columns) < 2**31 else np.int64)
            np.cumsum(sizes, out=ends[1:])
            kind = csr_array if sklearn.get_config().get("sparse_interface") == "sparray" else csr_matrix
            return kind((np.ones(len(columns), np.int64), columns.astype(ends.dtype), ends), shape)
        dense = np.zeros(shape, np.int64)
        dense[np.repeat(np.arange(len(sets)), sizes), columns] = 1
        return dense


def _take_sets(y: Any) -> list[Any]:
    """Return sets of labels; each may be given as any iterable."""
    return [labels if type(labels) in (set, frozenset) else set(labels) for labels in y]


def find_labels(y: Any) -> Distinct | None:
    """Return the different labels of a column; None where scikit-learn's code should look at them.

    That is anything but a NumPy array or list of one dimension with texts, whole numbers or booleans without gaps.
    """
    column = np.asarray(y) if type(y) is list and y and type(y[0]) in (str, int, bool) and _are_alike(y) else y
    if type(column) is not np.ndarray or column.ndim != 1 or not len(column):
        return None
    if column.dtype.kind in "iubU":
        return find_distinct(column)
    if column.dtype.kind != "O" or type(column[0]) is not str:
        return None
    try:
        found = find_distinct(column)
    except TypeError:
        return None
    return found if not found.counts[0] and all(type(one) is str for one in found.values.tolist()) else None


def _are_alike(labels: list[Any]) -> bool:
    """Return whether all labels of a list are of one type."""
    return len(set(map(type, labels))) == 1

"""Rows from dictionaries: a column for each name, or for the hash of a name."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from numbers import Number
from operator import methodcaller
from typing import Any

import numpy as np
import sklearn.feature_extraction
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from mercer._source import place_of
from mercer._source.table.distinct import Numbers
from mercer._types import Array
from mercer.errors import DataError
from mercer.feature_extraction._sparse_kind import convert_kind

# Samples that are read at a time, so that a stream of them is not held as a whole.
_CHUNK = 10_000
_PLAIN = {int, float, bool, np.float64, np.float32, np.int64, np.int32}


def cut_samples(samples: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield samples in lists."""
    rest = iter(samples)
    return iter(lambda: list(itertools.islice(rest, _CHUNK)), [])


def read_entries(samples: list[Any], separator: str) -> tuple[list[Any], list[Any], list[int]]:
    """Return the names and numbers of the entries of dictionaries, and how many each has.

    A text is a category: its name is that of the entry and the text, and its number is one.
    """
    names = list(itertools.chain.from_iterable(samples))
    values = list(itertools.chain.from_iterable(map(methodcaller("values"), samples)))
    kinds = set(map(type, values))
    if kinds <= _PLAIN:
        return names, values, list(map(len, samples))
    if kinds <= _PLAIN | {str}:
        pairs = list(zip(names, values, strict=True))
        names = [f"{name}{separator}{value}" if type(value) is str else name for name, value in pairs]
        return names, [1 if type(value) is str else value for value in values], list(map(len, samples))
    found = [list(_spell_entries(sample, separator)) for sample in samples]
    flat = list(itertools.chain.from_iterable(found))
    return [name for name, _ in flat], [value for _, value in flat], list(map(len, found))


def _spell_entries(sample: Mapping[Any, Any], separator: str) -> Iterator[tuple[Any, Any]]:
    """Yield the names and numbers of the entries of a dictionary with values of any kind."""
    for name, value in sample.items():
        if isinstance(value, str):
            yield f"{name}{separator}{value}", 1
        elif isinstance(value, Number) or value is None:
            yield name, value
        elif isinstance(value, Mapping) or not isinstance(value, Iterable):
            raise TypeError(
                f"DictVectorizer: Unsupported value Type {type(value)} for {name!r}: {str(value)[:40]}. Values must be "
                f"texts, numbers, or lists of texts; unfold nested mappings."
            )
        else:
            for one in value:
                if not isinstance(one, str):
                    raise TypeError(
                        f"Unsupported type {type(one)} in iterable value. Only iterables of string are supported."
                    )
                yield f"{name}{separator}{one}", 1


def _find_ends(sizes: list[list[int]]) -> Array:
    """Return where each row ends in a list of all entries, behind a zero."""
    ends = np.zeros(sum(map(len, sizes)) + 1, np.int64)
    np.cumsum(np.fromiter(itertools.chain.from_iterable(sizes), np.int64, len(ends) - 1), out=ends[1:])
    return ends


def _join(parts: list[Array], kind: Any) -> Array:
    """Return arrays behind each other."""
    return np.concatenate([np.empty(0, kind), *parts])


class DictVectorizer(sklearn.feature_extraction.DictVectorizer):
    """Turn dictionaries into rows: a column for each name, and for each name with each of its texts.

    Parameters
    ----------
    dtype : type, default=numpy.float64
        Of the entries.
    separator : str, default="="
        Stands between a name and its text.
    sparse : bool, default=True
        Whether the result is sparse.
    sort : bool, default=True
        Whether the columns are sorted by name, rather than in the order in which names are found.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each name.
    feature_names_ : list
        The names, in the order of the columns.

    See Also
    --------
    FeatureHasher : Columns by hash, without a vocabulary.
    OneHotEncoder : For the columns of tables.

    Notes
    -----
    Numbers stay numbers, and None is missing. Names are found by a dictionary, ten thousand samples at a time, so that
    a stream of samples is read once and not held. Of a Dask bag the names of the partitions are joined, and the result
    is a bag of blocks of rows, which estimators take.

    Examples
    --------
    >>> from mercer.feature_extraction import DictVectorizer
    >>> vectorizer = DictVectorizer(sparse=False)
    >>> vectorizer.fit_transform([{"city": "Rome", "heat": 30.0}, {"city": "Oslo", "heat": 12.0}])
    array([[ 0.,  1., 30.],
           [ 1.,  0., 12.]])
    >>> vectorizer.get_feature_names_out().tolist()
    ['city=Oslo', 'city=Rome', 'heat']
    """

    def fit(self, X: Any, y: Any = None) -> "DictVectorizer":
        """Find the names.

        Parameters
        ----------
        X : iterable of mappings, or a Dask bag of them
            Samples.
        y : None
            Ignored.

        Returns
        -------
        self
            The fitted vectorizer.
        """
        # scikit-learn's own fit checks the parameters, and stores what there is without samples.
        super().fit([])
        numbers = Numbers()
        if _is_bag(X):
            for names in _compute_parts(X.map_partitions(_list_names, self.separator), type(self).__name__):
                numbers.number(names)
        else:
            for samples in cut_samples(_list_samples(X)):
                names, _, _ = read_entries(samples, self.separator)
                numbers.number(names)
        self._store(numbers)
        return self

    def _store(self, numbers: Numbers) -> Array:
        """Store the columns of names, and return the column of each name in the order in which they were found."""
        found = list(numbers)
        order = sorted(range(len(found)), key=found.__getitem__) if self.sort else list(range(len(found)))
        self.feature_names_ = [found[place] for place in order]
        self.vocabulary_ = {name: column for column, name in enumerate(self.feature_names_)}
        columns = np.empty(len(found), np.int64)
        columns[order] = np.arange(len(found))
        return columns

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Find the names, and turn the samples into rows; they are read once.

        Parameters
        ----------
        X : iterable of mappings, or a Dask bag of them
            Samples.
        y : None
            Ignored.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)
            The entries; of a bag a bag of blocks.
        """
        if _is_bag(X):
            return self.fit(X).transform(X)
        super().fit([])
        numbers, codes, values, sizes = Numbers(), [], [], []
        for samples in cut_samples(_list_samples(X)):
            names, entries, lengths = read_entries(samples, self.separator)
            codes.append(numbers.number(names))
            values.append(np.array(entries, self.dtype))
            sizes.append(lengths)
        columns = self._store(numbers)
        return self._make_rows(columns[_join(codes, np.int64)], _join(values, self.dtype), _find_ends(sizes))

    def transform(self, X: Any) -> Any:
        """Turn samples into rows; names that the fit has not seen are left out.

        Parameters
        ----------
        X : iterable of mappings, or a Dask bag of them
            Samples.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)
            The entries; of a bag a bag of blocks.
        """
        check_is_fitted(self, ["feature_names_", "vocabulary_"])
        if _is_bag(X):
            return X.map_partitions(lambda part: [self.transform(list(part))])
        columns, values, sizes, unknown = [], [], [], itertools.repeat(-1)
        for samples in cut_samples(_list_samples(X)):
            names, entries, lengths = read_entries(samples, self.separator)
            found = np.fromiter(map(self.vocabulary_.get, names, unknown), np.int64, len(names))
            known = found >= 0
            rows = np.repeat(np.arange(len(lengths)), lengths)[known]
            columns.append(found[known])
            values.append(np.array(entries, self.dtype)[known])
            sizes.append(np.bincount(rows, minlength=len(lengths)).tolist())
        return self._make_rows(_join(columns, np.int64), _join(values, self.dtype), _find_ends(sizes))

    def _make_rows(self, columns: Array, values: Array, ends: Array) -> Any:
        """Return rows of entries."""
        if len(ends) == 1:
            raise DataError(f"{type(self).__name__}: Sample sequence X is empty. Give one sample or more.")
        kind = np.int32 if len(columns) < 2**31 else np.int64
        shape = len(ends) - 1, len(self.vocabulary_)
        rows = csr_array((values, columns.astype(kind), ends.astype(kind)), shape=shape, dtype=self.dtype)
        rows.sort_indices()
        return convert_kind(rows) if self.sparse else rows.toarray()


class FeatureHasher(sklearn.feature_extraction.FeatureHasher):
    """Turn dictionaries, pairs or texts into rows, in columns that the hashes of their names choose.

    The column of a name is the absolute value of its hash (MurmurHash3 of 32 bits) modulo ``n_features``; with
    ``alternate_sign`` the entries of names of negative hash change their sign.

    Parameters
    ----------
    n_features : int, default=2**20
        The number of columns.
    input_type : {"dict", "pair", "string"}, default="dict"
        What a sample is: a mapping, pairs of name and value, or names, each of value one.
    dtype : type, default=numpy.float64
        Of the entries.
    alternate_sign : bool, default=True
        Whether names of negative hash count negatively.

    See Also
    --------
    DictVectorizer : A column for each name.

    Notes
    -----
    Nothing is learnt: rows can be made anywhere and in any order. scikit-learn's compiled loop hashes the samples of an
    iterable; of a Dask bag the result is a bag of blocks of rows, which estimators take.

    Examples
    --------
    >>> from mercer.feature_extraction import FeatureHasher
    >>> FeatureHasher(n_features=10).transform([{"dog": 1, "cat": 2, "elephant": 4}, {"dog": 2, "run": 5}]).toarray()
    array([[ 0.,  0., -4., -1.,  0.,  0.,  0.,  0.,  0.,  2.],
           [ 0.,  0.,  0., -2., -5.,  0.,  0.,  0.,  0.,  0.]])
    """

    def transform(self, raw_X: Any) -> Any:
        """Turn samples into rows.

        Parameters
        ----------
        raw_X : iterable of samples, or a Dask bag of them
            Samples, as ``input_type`` says.

        Returns
        -------
        sparse matrix of shape (n_samples, n_features)
            The entries; of a bag a bag of blocks.
        """
        if _is_bag(raw_X):
            return raw_X.map_partitions(lambda part: [self.transform(list(part))])
        return super().transform(raw_X)


def _is_bag(X: Any) -> bool:
    """Return whether samples are a Dask bag."""
    return hasattr(X, "map_partitions") and place_of(X) == "dask"


def _compute_parts(bag: Any, subject: str) -> list[list[Any]]:
    """Return the items of the partitions of a bag."""
    import dask

    from mercer._source.dask.graph import compute

    return compute(dask.delayed(list)(bag.to_delayed()), subject)


def _list_names(part: Iterable[Any], separator: str) -> list[Any]:
    """Return the different names of the samples of a partition."""
    numbers = Numbers()
    for samples in cut_samples(part):
        numbers.number(read_entries(samples, separator)[0])
    return list(numbers)


def _list_samples(X: Any) -> Iterable[Any]:
    """Return samples in a list, also a single one."""
    return [X] if isinstance(X, Mapping) else X

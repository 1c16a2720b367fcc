"""Classification by the votes of the k nearest rows, or of the rows within a radius."""

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets

from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Integer, Nothing, Text, attribute, parameter
from mercer._base.scoring import ClassifierMixin
from mercer._base.validation import check_labels
from mercer._documentation import compose_docstring
from mercer._source import Source, place_of
from mercer._source.namespace import to_numpy
from mercer._source.placement import is_on_device
from mercer._stored import Stored, flags, integers, labels, members
from mercer._types import Array, Rows
from mercer.errors import DataError, ParameterError
from mercer.neighbors._nearest.queries import SHARED, NearestQueries, RadiusQueries
from mercer.neighbors._nearest.rows_model import ON_DEVICES, precision_of
from mercer.neighbors._nearest.votes import (
    COUNTS_ROWS,
    COUNTS_ROWS_IN_CHECKS,
    Neighbours,
    TargetsModel,
    count_votes,
    weigh,
)


class ClassVotes(ClassifierMixin, TargetsModel):
    """A classifier that counts the votes of neighbours; :meth:`_find` finds them."""

    _check_exceptions: ClassVar[dict[str, str]] = dict(TargetsModel._check_exceptions)
    classes_: Any = attribute()
    outputs_2d_: bool = attribute()
    _codes: Array = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "outputs_2d_": flags(),
        "_codes": integers("rows, outputs", low=0, below="classes"),
    }

    def _learn_rows(self, X: Any, y: Any, sample_weight: Any) -> None:
        options = {"multi_output": True} if place_of(X, y) == "memory" else {}
        source = self._open_fit(X, y, sample_weight, targets="labels", **options)
        rows, labels, weight = self._gather(source)
        classes, codes, flat = self._read_labels(labels)
        attributes = {"classes_": classes, "outputs_2d_": not flat, "_codes": codes, "_row_weight": weight}
        self._keep(source, rows, attributes | self._list_more(classes, codes, flat, weight))

    def _list_more(self, classes: Any, codes: Array, flat: bool, weight: Array) -> dict[str, Any]:
        """Return more fitted attributes that depend on the labels."""
        return {}

    def _read_labels(self, y: Any) -> tuple[Any, Array, bool]:
        """Return the classes of each output, the code of each label, (n, n_outputs), and whether y has one column."""
        y = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
        flat = y.ndim == 1 or y.shape[1] == 1
        if y.ndim == 2 and flat:
            warnings.warn(
                f"{type(self).__name__}: A column-vector y was passed when a 1d array was expected. Please change the "
                f"shape of y to (n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=6,
            )
        if y.ndim == 1:
            check_labels(y)
        else:
            check_classification_targets(y)
        columns = y[:, None] if y.ndim == 1 else y
        # Each output has classes of its own.
        parts = [np.unique(column, return_inverse=True) for column in columns.T]
        codes = np.stack([part[1].ravel() for part in parts], axis=1).astype(np.intp)
        return parts[0][0] if flat else [part[0] for part in parts], codes, flat

    @property
    def _classes_by_output(self) -> list[Array]:
        return self.classes_ if self.outputs_2d_ else [to_numpy(self.classes_)]

    def _votes(self, rows: Rows, threads: int) -> tuple[Array, ...]:
        """Return the share of each class in the votes, one table (m, n_classes) for each output."""
        parts = [self._count(neighbours) for neighbours in self._find(rows, threads)]
        return parts[0] if len(parts) == 1 else tuple(np.concatenate(tables) for tables in zip(*parts, strict=True))

    def _count(self, neighbours: Neighbours) -> tuple[Array, ...]:
        """Return the share of each class in the votes of lists of neighbours, for each output."""
        subject = type(self).__name__
        weight = weigh(subject, neighbours, self.weights, self._row_weight)
        return tuple(
            count_votes(subject, neighbours, self._codes[:, output], len(classes), weight)
            for output, classes in enumerate(self._classes_by_output)
        )

    def _label(self, rows: Rows, threads: int) -> Array:
        """Return the label with the most votes of each output; of equal votes, the first class."""
        votes = self._votes(rows, threads)
        labels = [
            classes[np.argmax(table, axis=1)] for classes, table in zip(self._classes_by_output, votes, strict=True)
        ]
        return np.stack(labels, axis=1) if self.outputs_2d_ else labels[0]

    def _share(self, rows: Rows, threads: int) -> Any:
        """Return the shares of the votes in the precision of the rows; a tuple for several outputs."""
        dtype = precision_of(self._fit_X if rows is None else rows)
        shares = tuple(table.astype(dtype, copy=False) for table in self._votes(rows, threads))
        return shares if self.outputs_2d_ else shares[0]

    def predict(self, X: Any) -> Array:
        """Predict the class with the most votes among the neighbours of each query; of equal votes, the first class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, d), rows in any other place, distances of shape (m, n) with
            ``metric='precomputed'``, or None
            The queries; None means the rows of the fit, which are not their own neighbours.

        Returns
        -------
        labels : ndarray of shape (m,) or (m, n_outputs)
        """
        return self._query(X, self._label)

    def predict_proba(self, X: Any) -> Any:
        """Return the share of each class in the votes of the neighbours of each query.

        Parameters
        ----------
        X : as in :meth:`predict`

        Returns
        -------
        shares : ndarray of shape (m, n_classes), or a list of one for each output
            In the order of ``classes_``.
        """
        shares = self._query(X, self._share)
        return list(shares) if isinstance(shares, tuple) else shares

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of queries whose predicted class is their own.

        Parameters
        ----------
        X : as in :meth:`predict`
            For None, the rows of the fit are predicted from the other rows: the accuracy of leave-one-out.
        y : array-like of shape (m,) or (m, n_outputs)
        """
        if is_on_device(self._fit_X) and (X is None or is_on_device(X)):
            hits = to_numpy(self.predict(X)) == to_numpy(y)
            return float(np.average(hits, weights=None if sample_weight is None else to_numpy(sample_weight)))
        if X is None or place_of(X, y) == "memory":
            return super().score(X, y, sample_weight)
        source: Source = self._open(X, y, sample_weight, targets="labels", reset=False, accept_sparse="csr")
        if source.n_targets != 1:
            raise DataError(
                f"{type(self).__name__}: score of several outputs needs all rows in memory. Load the rows first."
            )
        hits = source.map(lambda block: self._label(block.X, 1) == to_numpy(block.y))
        weight = source.row_weights()
        return float(np.average(hits, weights=None if weight is None else to_numpy(weight)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class KNeighborsClassifier(ClassVotes, NearestQueries):
    r"""Classification by the votes of the k nearest rows.

    A query x gets the class with the largest share of the votes of its `n_neighbors` nearest rows :math:`N(x)`,

    .. math:: P(c \mid x) = \frac{\sum_{i \in N(x)} w_i [y_i = c]}{\sum_{i \in N(x)} w_i}.

    With k = 1 and many rows, the error is at most twice that of the best possible classifier (Cover and Hart, 1967).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of them for several outputs
        Labels, sorted.
    effective_metric_, effective_metric_params_ : str or callable, dict
        The metric in use and its arguments.
    n_samples_fit_ : int
        The number of rows.
    outputs_2d_ : bool
        Whether there are several outputs.
    %(fitted)s

    Notes
    -----
    Of equal distances the row with the lower index is the neighbour, of equal votes the first class wins. The sample
    weight of a row multiplies its vote; k counts rows, whatever their weight. Cost and places are those of
    :class:`NearestNeighbors`.

    References
    ----------
    T. Cover and P. Hart, Nearest neighbor pattern classification, 1967.

    Examples
    --------
    >>> from mercer.neighbors import KNeighborsClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNeighborsClassifier(n_neighbors=7).fit(X, y)
    >>> round(model.score(None, y), 3)  # every row predicted from the other rows
    0.967
    """

    __doc__ = compose_docstring(__doc__, SHARED)

    _documents = {
        "n_neighbors": (
            "k: few neighbours follow every row (high variance), many blur the borders (high bias). "
            ":func:`select_n_neighbors` compares all k from one search."
        ),
        "weights": (
            "The vote :math:`w_i` of a neighbour: one; one over its distance (where that is zero, only such rows "
            "vote); or a function from an array of distances to one of votes. None means ``'uniform'``."
        ),
    }

    _places: ClassVar[tuple[str, ...]] = ON_DEVICES
    _law_exceptions: ClassVar[dict[str, str]] = COUNTS_ROWS
    _check_exceptions: ClassVar[dict[str, str]] = ClassVotes._check_exceptions | COUNTS_ROWS_IN_CHECKS


class RadiusNeighborsClassifier(ClassVotes, RadiusQueries):
    r"""Classification by the votes of all rows within a radius.

    A query gets the class with the largest share of the votes of the rows at a distance of at most `radius`. Where no
    row is that near, it is an *outlier*.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of them for several outputs
        Labels, sorted.
    outlier_label_ : list or None
        The label of outliers for each output.
    effective_metric_, effective_metric_params_ : str or callable, dict
        The metric in use and its arguments.
    n_samples_fit_ : int
        The number of rows.
    outputs_2d_ : bool
        Whether there are several outputs.
    %(fitted)s

    Notes
    -----
    A weight of two is the row twice. The shares of an outlier are zeros, or one for the outlier label if that is a
    class. Cost and places are those of :class:`NearestNeighbors`.

    Examples
    --------
    >>> from mercer.neighbors import RadiusNeighborsClassifier
    >>> model = RadiusNeighborsClassifier(radius=1.0, outlier_label=-1)
    >>> model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[0.5], [2.5], [9.0]]).tolist()
    [0, 1, -1]
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    outlier_label: Any = parameter(
        Integer() | Text() | ArrayRule("entries") | Nothing(),
        default=None,
        after="metric",
        doc="The label of outliers: one, or one for each output; ``'most_frequent'`` takes the most frequent label "
        "of the fit. None refuses outliers.",
    )

    _documents = {
        "radius": "How far a row may be that votes.",
        "weights": "As in :class:`KNeighborsClassifier`; a function gets an array of arrays of distances.",
        "metric": "As in :class:`NearestNeighbors`.",
    }

    outlier_label_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "outlier_label_": members(labels(" | none")) | labels("* | none"),
    }
    _depends_on_units = ("columns", "scale")

    def _list_more(self, classes: Any, codes: Array, flat: bool, weight: Array) -> dict[str, Any]:
        by_output = [classes] if flat else classes
        given = self.outlier_label
        if given is None:
            return {"outlier_label_": None}
        if isinstance(given, str) and given == "most_frequent":
            # Ties go to the first class, as argmax returns the lowest index.
            counts = [np.bincount(codes[:, output], weight) for output in range(len(by_output))]
            return {"outlier_label_": [labels[count.argmax()] for labels, count in zip(by_output, counts, strict=True)]}
        is_scalar = isinstance(given, str) or np.ndim(given) == 0
        labels = [given] * len(by_output) if is_scalar else list(given)
        self._check_outlier_labels(labels, by_output)
        return {"outlier_label_": labels}

    def _check_outlier_labels(self, labels: list[Any], by_output: list[Array]) -> None:
        name = type(self).__name__
        if len(labels) != len(by_output):
            raise ParameterError(
                f"{name}: The length of outlier_label: {self.outlier_label} is inconsistent with the output length: "
                f"{len(by_output)}; give one label for each output."
            )
        for classes, label in zip(by_output, labels, strict=True):
            if not isinstance(label, str) and np.ndim(label):
                raise TypeError(
                    f"{name}: The outlier_label of classes {classes} is supposed to be a scalar, got {label}."
                )
            # A label of another kind would change the type of all predictions.
            if np.append(classes, label).dtype != classes.dtype:
                raise TypeError(
                    f"{name}: The dtype of outlier_label {label} is inconsistent with classes {classes} in y; give a "
                    f"label of their kind."
                )

    def _votes(self, rows: Rows, threads: int) -> tuple[Array, ...]:
        votes = super()._votes(rows, threads)
        # A query without neighbours has no votes.
        outliers = np.flatnonzero(~votes[0].any(axis=1))
        if len(outliers) and self.outlier_label_ is None:
            raise DataError(
                f"{type(self).__name__}: No neighbors found for test samples {outliers!r}, you can try using larger "
                f"radius, giving a label for outliers, or considering removing them from your dataset."
            )
        for classes, label, table in zip(self._classes_by_output, self.outlier_label_ or (), votes, strict=False):
            place = np.flatnonzero(classes == label)
            if len(outliers) and not len(place):
                warnings.warn(
                    f"{type(self).__name__}: Outlier label {label} is not in training classes. All class probabilities "
                    f"of outliers will be assigned with 0.",
                    UserWarning,
                    stacklevel=5,
                )
            table[np.ix_(outliers, place)] = 1.0
        return votes

    def _label(self, rows: Rows, threads: int) -> Array:
        votes = self._votes(rows, threads)
        labels = []
        for output, (classes, table) in enumerate(zip(self._classes_by_output, votes, strict=True)):
            chosen = classes[np.argmax(table, axis=1)]
            # A query without a vote has no neighbour within the radius.
            outliers = ~table.any(axis=1)
            if outliers.any():
                chosen[outliers] = self.outlier_label_[output]
            labels.append(chosen)
        return np.stack(labels, axis=1) if self.outputs_2d_ else labels[0]

"""Classification by the votes of the k nearest rows, or of the rows within a radius."""

import warnings
from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Integer, Nothing, Text, attribute, parameter
from mercer._documentation import compose_docstring
from mercer._stored import Stored, labels, members
from mercer._types import Array, Rows
from mercer.errors import DataError, ParameterError
from mercer.neighbors._nearest.class_votes import ClassVotes
from mercer.neighbors._nearest.documentation import SHARED
from mercer.neighbors._nearest.queries import NearestQueries, RadiusQueries
from mercer.neighbors._nearest.rows_model import ON_DEVICES
from mercer.neighbors._nearest.votes import COUNTS_ROWS, COUNTS_ROWS_IN_CHECKS


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
        Integer() | Text() | ArrayRule("anything") | Nothing(),
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

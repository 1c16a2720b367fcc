"""What classifiers by neighbours share: labels as codes, and predictions from votes."""

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets

from mercer._base.parameter import attribute
from mercer._base.scoring import ClassifierMixin
from mercer._base.validation import check_labels
from mercer._source import Source, place_of
from mercer._source.namespace import to_numpy
from mercer._source.placement import is_on_device
from mercer._stored import Stored, flags, integers
from mercer._types import Array, Rows
from mercer.errors import DataError
from mercer.neighbors._nearest.rows_model import precision_of
from mercer.neighbors._nearest.votes import Neighbours, TargetsModel, count_votes, weigh


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

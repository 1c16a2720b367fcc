"""Labels as targets of least squares: 1 for a row's own class and -1 for every other."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base.linear.classifier import LinearDecision, label_classes
from mercer._base.validation import flatten_targets, name_targets
from mercer._source import Block, Source, place_of
from mercer._source.namespace import namespace_of
from mercer._stored import Stored, flags, numbers


@dataclass(frozen=True, eq=False)
class _Signs:
    """Turns class indices, as another labelling gives them, into signs: one column for two classes, else k."""

    n_classes: int
    numbering: Any = None

    @property
    def by_class(self) -> Any:
        return None if self.numbering is None else self.numbering.by_class

    def on(self, block: Block) -> Block:
        block = block if self.numbering is None else self.numbering.on(block)
        xp = block.xp
        if self.n_classes == 2:
            y = 2.0 * xp.astype(block.y, block.wide, copy=False) - 1.0
        else:
            own = block.y[:, None] == xp.arange(self.n_classes, dtype=block.y.dtype, device=block.device)[None, :]
            y = 2.0 * xp.astype(own, block.wide) - 1.0
        return type(block)(block.X, block.start, y, block.weight, xp, block.wide)


class SignedClassifier(LinearDecision):
    """Opens rows with labels for least squares, and decides by the largest score; also several labels for a row."""

    classes_: Any
    _multilabel: bool
    _is_binary: bool

    _stored: ClassVar[dict[str, Stored]] = {
        # One vector for two classes, as in scikit-learn.
        "coef_": numbers("scores, columns | columns", sparse=True),
        "_multilabel": flags(),
        "_is_binary": flags(),
    }
    _takes_sparse = True

    def _open_signed(self, X: Any, y: Any, sample_weight: Any, accept_sparse: Any) -> tuple[Source, Any, np.ndarray]:
        """Open rows with signs for targets; return them, the labels as a scorer knows them, and the classes."""
        if place_of(X, y) == "memory" and y is not None and not isinstance(y, str):
            self._multilabel = name_targets(y).startswith("multilabel")
            if self._multilabel:
                return self._open_indicators(X, y, sample_weight, accept_sparse)
            y = flatten_targets(y)
        self._multilabel = False
        source = self._open(X, y, sample_weight, targets="labels", accept_sparse=accept_sparse)  # type: ignore[attr-defined]
        classes, numbered = label_classes(self, source)
        self._is_binary = len(classes) == 2
        signed = numbered.relabel(_Signs(len(classes), numbered.labelling))
        return signed, source.y, classes

    def _open_indicators(
        self, X: Any, y: Any, sample_weight: Any, accept_sparse: Any
    ) -> tuple[Source, Any, np.ndarray]:
        dense = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
        signs, self._is_binary = np.where(dense > 0, 1.0, -1.0), False
        source = self._open(X, signs, sample_weight, targets="numbers", accept_sparse=accept_sparse)  # type: ignore[attr-defined]
        return source, (dense > 0).astype(np.int64), np.arange(dense.shape[1])

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class of each row, by its largest score; of several labels, each whose score is positive.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n,) or (n, n_labels)
            Labels out of ``classes_``, or zeros and ones.
        """
        check_is_fitted(self)
        return self._map(X, _positive) if self._multilabel else super().predict(X)

    def _columns(self) -> Any:
        return (self.coef_ if self.coef_.ndim == 2 else self.coef_[None, :]).T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _positive(scores: Any, dtype: Any) -> Any:
    xp = namespace_of(scores)
    return xp.astype(scores > 0, xp.int64)

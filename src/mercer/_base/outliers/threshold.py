"""The threshold between rows that are usual and rows that are strange, shared by all detectors.

A detector scores rows: the lower the score, the stranger the row. ``offset_`` is the threshold. With a share as
`contamination` it is the quantile of the scores of the fit, so that about this share of its rows lie below.
"""

from typing import Any, ClassVar

import numpy as np

from mercer._base.interface import OutlierMixin
from mercer._base.parameter import Choice, Real
from mercer._source.namespace import to_numpy
from mercer._source.placement import Placement, is_on_device
from mercer._stored import Stored, floats
from mercer._types import Array

# The share of outliers among the rows of a fit; more than half of them cannot be the exception.
CONTAMINATION = Choice("auto") | Real(0, 0.5, closed="right")


class Detector(OutlierMixin):
    """A detector of outliers: scores of rows, a threshold, and labels.

    A subclass defines ``fit``, which stores ``offset_``, and ``score_samples``.
    """

    offset_: float

    _stored: ClassVar[dict[str, Stored]] = {
        "offset_": floats(),
    }

    def score_samples(self, X: Any) -> Any:
        """Return the score of each row: the lower, the stranger."""
        raise NotImplementedError  # each detector defines its own

    def decision_function(self, X: Any) -> Any:
        """Return the score of each row less the threshold: negative for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``score_samples(X) - offset_``.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Any:
        """Return 1 for usual rows and -1 for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,), int64
        """
        return label_scores(self.decision_function(X))


def label_scores(decisions: Any) -> Any:
    """Return 1 where a decision value is not negative, else -1, where the values are."""
    if is_on_device(decisions):
        return Placement.of(decisions).put(np.where(to_numpy(decisions) >= 0, 1, -1))
    # In operations that Dask's arrays have too.
    return 2 * (decisions >= 0).astype(np.int64) - 1


def find_offset(scores: Array, contamination: float, weight: Array = None) -> float:
    """Return the quantile of scores below which a share `contamination` of the rows lies.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    contamination : float
        In (0, 0.5].
    weight : ndarray of shape (n,) or None
        A row of weight two counts as two rows of the same score, and one of weight zero is left out.
    """
    if weight is None:
        return float(np.percentile(scores, 100.0 * contamination))
    order = np.argsort(scores, kind="stable")
    order = order[weight[order] > 0]
    ends = np.cumsum(weight[order])
    # Position h of W rows in order, by linear interpolation between the two positions next to it, as np.percentile.
    position = max(ends[-1] - 1.0, 0.0) * contamination
    below = np.floor(position)
    places = np.minimum(np.searchsorted(ends, [below, below + 1.0], side="right"), len(order) - 1)
    low, high = scores[order[places]]
    return float(low + (position - below) * (high - low))

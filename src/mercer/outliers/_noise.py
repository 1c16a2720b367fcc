"""Outliers as rows outside all dense regions: the noise of DBSCAN."""

from typing import Any, ClassVar

import numpy as np

from mercer._base import check_new_rows
from mercer._base.outliers import CONTAMINATION, find_offset
from mercer._base.parameter import Integer, Nothing, Real, attribute, parameter
from mercer._solver.neighbours import nearest_rows
from mercer._stored import Stored, floats, integers
from mercer._types import Array
from mercer.cluster import DBSCAN
from mercer.outliers._detector import OutlierDetector


class ClusterOutlier(OutlierDetector):
    """Detector of rows outside all dense regions: what DBSCAN calls noise.

    A core row has at least `min_samples` rows, itself among them, within `eps`. The score of a row is minus its
    distance to the nearest core row, and rows farther than `eps` from every core row are outliers: these are DBSCAN's
    noise, and new rows are judged by the same rule.

    Attributes
    ----------
    core_rows_ : ndarray of shape (n_core, n_features)
        The core rows.
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row of the fit; -1 for noise.
    training_scores_ : ndarray of shape (n_samples,)
        Scores of the rows of the fit; less than -1e19 where there is no core row.
    offset_ : float
        The threshold: rows with lower scores are outliers.

    Notes
    -----
    Distances are Euclidean: scale the columns. Rows must be in memory, and core rows are kept.

    References
    ----------
    M. Ester, H.-P. Kriegel, J. Sander and X. Xu, A density-based algorithm for discovering clusters in large spatial
    databases with noise, 1996.

    Examples
    --------
    >>> from mercer.outliers import ClusterOutlier
    >>> model = ClusterOutlier(eps=1.0, min_samples=3).fit([[0.0], [0.5], [1.0], [1.5], [8.0]])
    >>> model.training_scores_.tolist(), model.predict([[2.4], [7.0]]).tolist()
    ([-0.0, -0.0, -0.0, -0.0, -6.5], [1, -1])
    """

    eps: float = parameter(
        Real(0, closed="neither"), default=0.5, kw_only=False, doc="The radius of the surroundings of a row."
    )
    min_samples: int = parameter(Integer(1), default=5, doc="Rows within `eps` of a core row.")
    contamination: Any = parameter(
        CONTAMINATION,
        default="auto",
        doc="The share of outliers among the rows of the fit; 'auto' sets the threshold to minus `eps`.",
    )
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)

    _law_exceptions: ClassVar[dict[str, str]] = {"memory": "the core rows are the model, and all rows may be core"}
    core_rows_: Any = attribute()
    labels_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "core_rows_": floats("*, columns", finite=True),
        "labels_": integers("rows"),
    }
    _depends_on_units = ("columns", "scale")

    def _learn(self, X: Array, weight: Array) -> tuple[dict[str, Any], Array]:
        model = DBSCAN(eps=self.eps, min_samples=self.min_samples, n_jobs=self.n_jobs).fit(X)
        core = np.ascontiguousarray(X[model.core_sample_indices_])
        scores = _score(X, core, self._threads())
        # Rows of a cluster are within eps of a core row by DBSCAN's own arithmetic: rounding must not change that.
        member = model.labels_ >= 0
        scores[member] = np.maximum(scores[member], -self.eps)
        return {"core_rows_": core, "labels_": model.labels_}, scores

    def _set_offset(self, scores: Array, weight: Array) -> float:
        if self.contamination == "auto":
            # The score is minus a distance, and eps is the distance at which DBSCAN separates noise.
            return -float(self.eps)
        return find_offset(scores, self.contamination)

    def score_samples(self, X: Any) -> Array:
        """Return minus the distance of each row to the nearest core row."""
        return _score(check_new_rows(self, X), self.core_rows_, self._threads())


def _score(X: Array, core: Array, threads: int) -> Array:
    if len(core) == 0:
        # Farther than any distance, yet such that sums of scores stay finite.
        return np.full(len(X), -np.sqrt(np.finfo(X.dtype).max), X.dtype)
    wide = np.ascontiguousarray(X, dtype=np.float64), np.ascontiguousarray(core, dtype=np.float64)
    distances, _ = nearest_rows(*wide, 1, threads=threads)
    return -distances[:, 0].astype(X.dtype, copy=False)

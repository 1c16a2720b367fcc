"""Networks of radial basis functions: centres without labels, then output weights in closed form."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import Estimator, LimitedEstimator, few_rows, fitting, open_new_rows, seed_sequence
from mercer._base.interface import MultiOutputMixin
from mercer._base.kernel_choice import one_order
from mercer._base.linear.classifier import check_scores
from mercer._base.parameter import Array, Boolean, Choice, Integer, Nothing, Real, Seed, parameter
from mercer._base.scoring import ClassifierMixin, RegressorMixin
from mercer._base.validation import check_labels, check_rows
from mercer._native.dual import kernel_values
from mercer._plain import plain
from mercer._solver import Certificate, Outcome, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._stored import Stored, flags, floats
from mercer.cluster import KMeans
from mercer.errors import DataError

_STATEMENT = (
    "Norm of the gradient by the output weights, over the norms of the activations and of the targets, centred."
)
# Relative gradient norm that rounding leaves in a closed form.
_TOLERANCE = 1e-8
# The spread of rows relative to their largest value, below which it is rounding of float64.
_ROUNDING = 1e-12


@plain
@dataclass(frozen=True, eq=False)
class NetworkState:
    """Centres, widths, output weights and intercepts."""

    centres: Any
    widths: Any
    coef: Any
    intercept: Any


@dataclass(frozen=True, eq=False)
class Activations:
    """exp(-|x - c|^2 / (2 w^2)) of each row of a block and each centre; with output weights, their sums."""

    centres: Any
    widths: Any
    coef: Any = None
    intercept: Any = 0.0

    def __call__(self, block: Block) -> np.ndarray:
        return self.of_rows(block.X)

    def of_rows(self, X: np.ndarray) -> np.ndarray:
        """Return the activations, or their weighted sums, of rows in memory."""
        centres = self.centres.astype(X.dtype, copy=False)
        # Distances do not depend on the origin; near the centres they keep their digits.
        origin = centres.mean(axis=0)
        rows, others = X - origin, centres - origin
        with one_order(len(rows) * len(others)):
            tile = rows @ others.T
        squares, lengths = (np.einsum("ij,ij->i", part, part) for part in (rows, others))
        kernel_values.radial(0, 1.0, 1.0, squares, lengths, tile)
        tile *= (0.5 / self.widths.astype(np.float64) ** 2).astype(X.dtype)
        kernel_values.exponentials(1.0, tile)
        if self.coef is None:
            return tile
        with one_order(tile.size):
            return (tile @ self.coef + self.intercept).astype(X.dtype, copy=False)


class _RBFNetwork(LimitedEstimator):
    """The base of both networks: centres, widths and output weights; subclasses prepare the targets."""

    _needs_rows: ClassVar[str] = "it chooses its centres among all rows"

    n_centres: int = parameter(
        Integer(1), default=10, kw_only=False, doc="How many bumps; at least as many as rows puts one at each row."
    )
    centres: Any = parameter(Array() | Nothing(), default=None, doc="The centres; None means those that k-means finds.")
    width: Any = parameter(
        Choice("nearest", "spread") | Real(0, math.inf, "neither"),
        default="nearest",
        doc="s: the distance to the nearest other centre, the spread of the rows of a cluster, or one number for all.",
    )
    alpha: float = parameter(Real(0), default=0.0, doc="The penalty of output weights.")
    fit_intercept: bool = parameter(Boolean(), default=True, doc="Whether to fit b.")
    random_state: Any = parameter(Seed(), default=None, doc="Seed of k-means.")

    _documents = {"max_time": "Seconds after which k-means ends with what it has."}

    _check_exceptions: ClassVar[dict[str, str]] = Estimator._check_exceptions | {
        "check_sample_weight_equivalence_on_dense_data": (
            "k-means draws its first centres by row: weights and repetitions agree in distribution"
        )
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": "k-means starts from rows drawn by index, so that centres differ for rows in another order",
        "memory": "the activations of all rows are held for the closed form, and forecast before they are",
    }
    _stored: ClassVar[dict[str, Stored]] = {
        "centres_": floats("centres, columns"),
        "widths_": floats("centres"),
        "coef_": floats("outputs, centres"),
        "intercept_": floats("outputs"),
    }
    _depends_on_units = ("columns",)

    def _solve(self, source: Source, targets: np.ndarray, unlabelled: Any, known: dict[str, Any]) -> Outcome:
        """Train both stages and store; `known` are attributes that do not depend on the training."""
        rows, extra = source.whole(), None
        if unlabelled is not None:
            extra = check_rows(self, unlabelled, reset=False)
        outcome = self._drive(
            lambda start: self._solver(rows, extra, source.weight, targets),
            source,
            fitted=partial(_list_attributes, source.host_dtype),
            attributes=known,
        )
        # A closed form is complete after its one step, even if a watch asked to stop there.
        if outcome.interrupt is None:
            outcome.converged, outcome.reason, self.converged_ = True, "converged", True
        return outcome

    def _solver(self, rows: np.ndarray, extra: Any, weight: Any, targets: np.ndarray) -> Solver:
        centres, widths = yield Dense(lambda: self._fit_hidden_layer(rows, extra, weight))
        cure = "lower n_centres"
        require_memory(
            type(self).__name__, 32.0 * len(rows) * len(centres), f"activations of {len(centres)} centres", cure
        )
        state, objective, left = yield Dense(lambda: self._fit_outputs(rows, weight, targets, centres, widths))
        certificate = Certificate.of("gradient norm", left, _TOLERANCE, _STATEMENT)
        yield Step(objective, state, certificate)
        return Solution(state, True, certificate)

    def _fit_hidden_layer(self, rows: np.ndarray, extra: Any, weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """Find centres by k-means, and widths, without targets; `extra` are rows that have none. This is stage one."""
        every = rows if extra is None else np.concatenate([rows, extra.astype(rows.dtype, copy=False)])
        if weight is not None and extra is not None:
            weight = np.concatenate([weight, np.ones(len(extra))])
        seen = every if weight is None else every[weight > 0]
        if self.centres is not None:
            centres = np.asarray(self.centres, dtype=np.float64)
            if centres.ndim != 2 or centres.shape[1] != rows.shape[1] or len(centres) == 0:
                name, width = type(self).__name__, rows.shape[1]
                raise DataError(f"{name}: centres must be rows of {width} columns; got shape {centres.shape}.")
        elif self.n_centres >= len(seen):
            centres = seen.astype(np.float64)
        else:
            seed = int(seed_sequence(self.random_state).generate_state(1)[0])
            model = KMeans(self.n_centres, n_init=1, random_state=seed, max_time=self.max_time, n_jobs=self.n_jobs)
            centres = model.fit(every, sample_weight=weight).cluster_centers_.astype(np.float64)
        share = np.ones(len(seen)) if weight is None else weight[weight > 0]
        return centres, self._compute_widths(seen.astype(np.float64), share, centres)

    def _compute_widths(self, rows: np.ndarray, share: np.ndarray, centres: np.ndarray) -> np.ndarray:
        """Return the width of each centre, as the parameter `width` asks; `share` are the weights of the rows."""
        if not isinstance(self.width, str):
            return np.full(len(centres), float(self.width))
        # All pairs of up to 2000 centres are 32 MB of float64; beyond, the widths follow from the spread of the rows.
        gaps = np.linalg.norm(centres[:, None] - centres[None], axis=2) if len(centres) <= 2000 else None
        spread = np.average((rows - np.average(rows, axis=0, weights=share)) ** 2, axis=0, weights=share).sum()
        # Equal rows have no spread but rounding: any width does, and one of their size overflows nowhere.
        size, largest = float(np.sqrt(spread)), float(np.abs(rows).max())
        size = size if size > _ROUNDING * largest else largest or 1.0
        if gaps is None or len(centres) == 1:
            # M balls of this radius fill a region of the size of the rows.
            nearest = np.full(len(centres), size / len(centres) ** (1.0 / rows.shape[1]))
        else:
            np.fill_diagonal(gaps, np.inf)
            # Equal centres have no distance to measure a width by.
            gaps[gaps == 0] = np.inf
            nearest = gaps.min(axis=1)
            nearest = np.where(np.isfinite(nearest), nearest, size)
        if self.width == "nearest":
            return nearest
        labels = np.array([int(((row - centres) ** 2).sum(axis=1).argmin()) for row in rows])
        sums = np.bincount(labels, share * ((rows - centres[labels]) ** 2).sum(axis=1), len(centres))
        within = np.sqrt(sums / np.maximum(np.bincount(labels, share, len(centres)), np.finfo(np.float64).tiny))
        # A cluster of one row, or of equal rows, has no spread.
        return np.where(within > 0, within, nearest)

    def _fit_outputs(
        self, rows: Any, weight: Any, targets: Any, centres: Any, widths: Any
    ) -> tuple[NetworkState, float, float]:
        """Fit the output weights by ridge regression on the activations, of least norm if `alpha` is zero. Stage two.

        Returns the state, the objective, and the norm of the gradient over those of activations and targets.
        """
        active = Activations(centres, widths).of_rows(rows.astype(np.float64, copy=False))
        share = np.ones(len(active)) if weight is None else weight
        mean, middle = np.zeros(active.shape[1]), np.zeros(targets.shape[1])
        if self.fit_intercept:
            mean, middle = share @ active / share.sum(), share @ targets / share.sum()
        roots = np.sqrt(share)[:, None]
        active, right = roots * (active - mean), roots * (targets - middle)
        # With activations U S V', the weights are V (S / (S^2 + alpha)) U' y; directions of rounding are left out.
        left, values, turned = np.linalg.svd(active, full_matrices=False)
        # The usual bound on the error of singular values, as in numpy.linalg.matrix_rank.
        kept = values > max(active.shape) * np.finfo(np.float64).eps * values.max(initial=0.0)
        damped = np.where(kept, values / np.where(kept, values**2 + self.alpha, 1.0), 0.0)
        coef = turned.T @ (damped[:, None] * (left.T @ right))
        rest = right - active @ coef
        gradient = active.T @ rest - self.alpha * coef
        size = max(float(np.linalg.norm(active) * np.linalg.norm(right)), np.finfo(np.float64).tiny)
        state = NetworkState(centres, widths, coef, middle - mean @ coef)
        return state, float((rest**2).sum() + self.alpha * (coef**2).sum()), float(np.linalg.norm(gradient) / size)

    def activations(self, X: Any) -> np.ndarray:
        """Return the activations of the hidden layer, of shape (m, n_centres)."""
        return open_new_rows(self, X).map(Activations(self.centres_, self.widths_))

    def _scores(self, X: Any) -> np.ndarray:
        if (rows := few_rows(self, X)) is not None:
            return Activations(self.centres_, self.widths_, self.coef_.T, self.intercept_).of_rows(rows)
        source = open_new_rows(self, X)
        return source.map(Activations(self.centres_, self.widths_, self.coef_.T, self.intercept_))


def _list_attributes(dtype: Any, state: NetworkState) -> dict[str, Any]:
    """Return the fitted attributes of a `state` in `dtype`."""
    arrays = {
        "centres_": state.centres,
        "widths_": state.widths,
        "coef_": state.coef.T,
        "intercept_": state.intercept,
    }
    return {name: np.ascontiguousarray(value).astype(dtype) for name, value in arrays.items()}


_DOC = """

    The output is a sum of bumps, :math:`f(x) = \\sum_j c_j \\exp(-|x - z_j|^2 / (2 s_j^2)) + b`. Stage one places the
    centres z by k-means and takes the widths s from their distances: no labels are needed, and rows without labels
    help. Stage two finds the output weights c in closed form: least squares with the penalty alpha |c|^2.

    Attributes
    ----------
    centres_ : ndarray of shape (n_centres, d)
    widths_ : ndarray of shape (n_centres,)
    coef_ : ndarray of shape (n_outputs, n_centres)
        The output weights c.
    intercept_ : ndarray of shape (n_outputs,)
    history_, converged_, n_iter_, certificate_, n_features_in_, feature_names_in_
        As every estimator has them; the certificate is the ``"gradient norm"`` of stage two.

    Notes
    -----
    Costs n d M for k-means' rounds and n M^2 for the output weights, with M centres; memory 32 n M bytes. Distances
    know no units: scale the columns first. How many centres fill a space grows exponentially with its dimension. Rows
    in memory, dense.

    References
    ----------
    J. Moody and C. Darken, Fast learning in networks of locally-tuned processing units, 1989.
"""


class RBFNetworkRegressor(MultiOutputMixin, RegressorMixin, _RBFNetwork):
    __doc__ = (
        "Regression by a network of radial basis functions, trained in two stages."
        + _DOC
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernel_approximation import RBFNetworkRegressor
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> RBFNetworkRegressor(8, random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99
    True
    """
    )

    _stored: ClassVar[dict[str, Stored]] = {"_flat": flags()}

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, unlabelled: Any = None) -> "RBFNetworkRegressor":
        """Fit the network.

        Parameters
        ----------
        unlabelled : array-like of shape (m, d), default=None
            Rows without targets, for the centres.
        """
        source = self._open(X, y, sample_weight, targets="numbers")
        targets = np.asarray(source.y, dtype=np.float64).reshape(len(source.y), -1)
        outcome = self._solve(source, targets, unlabelled, {"_flat": source.target_shape == ()})
        self._conclude(outcome)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction for each row, of shape (m,) or (m, n_targets)."""
        scores = self._scores(X)
        return scores[:, 0] if self._flat else scores


class RBFNetworkClassifier(ClassifierMixin, _RBFNetwork):
    __doc__ = (
        "Classification by a network of radial basis functions, trained in two stages: the largest output wins."
        + _DOC
        + """
    Examples
    --------
    >>> from mercer.kernel_approximation import RBFNetworkClassifier
    >>> from sklearn.datasets import make_circles
    >>> X, ring = make_circles(200, factor=0.3, noise=0.1, random_state=0)
    >>> RBFNetworkClassifier(12, random_state=0).fit(X, ring).score(X, ring)
    1.0
    """
    )

    _check_structure = check_scores

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, unlabelled: Any = None) -> "RBFNetworkClassifier":
        """Fit the network.

        Parameters
        ----------
        unlabelled : array-like of shape (m, d), default=None
            Rows without labels, for the centres.
        """
        source = self._open(X, y, sample_weight, targets="labels")
        check_labels(source.y)
        classes = np.unique(source.y if source.weight is None else source.y[source.weight > 0])
        if len(classes) < 2:
            raise DataError(
                f"{type(self).__name__}: at least 2 classes are needed, but the data contains only one class: "
                f"{classes[0]!r}. Add rows of another."
            )
        targets = 2.0 * (source.y[:, None] == classes[None]) - 1.0
        # With two classes the outputs would be each other's negatives: one is enough.
        targets = targets[:, 1:] if len(classes) == 2 else targets
        outcome = self._solve(source, targets, unlabelled, {"classes_": classes})
        self._conclude(outcome)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the output for the second of two classes, or for each class, of shape (m,) or (m, n_classes)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of the largest output of each row, of shape (m,)."""
        scores = self._scores(X)
        codes = (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_[codes]

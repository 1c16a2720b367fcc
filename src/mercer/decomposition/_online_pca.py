"""Principal components one row at a time: the rules of Hebb, Oja and Sanger."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import LimitedEstimator, fitting, seed_sequence
from mercer._base.linear_map import CentredMap
from mercer._base.parameter import Boolean, Choice, Integer, Real, Seed, attribute, parameter
from mercer._native.factors import online_axes
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import Source
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError

_RULES = {"hebb": 0, "oja": 1, "sanger": 2}
# Rows that one native call follows: some milliseconds, so that Ctrl-C is answered.
_CHUNK = 4096
_CERTIFICATE = Certificate.none("The rows are still being followed.")
# The largest residual of principal axes: about a tenth of a radian where variances differ by half.
_SETTLED = 0.05
_STATEMENT = (
    "Largest |C w - (w . C w) w| of an axis of length one, as a share of the largest w . C w, with C the covariance of "
    "all rows; for Oja's rule of what the space of the axes leaves. Zero for principal axes."
)


@plain
@dataclass(frozen=True, eq=False)
class OnlineAxes:
    """Running mean, axes (k, d), and the number of rows seen."""

    mean: Array
    axes: Array
    n_seen: int


class OnlinePCA(CentredMap, LimitedEstimator):
    r"""Principal components learnt one row at a time, by the rules of linear neurons.

    With the score y = w . x of a centred row x and the rate :math:`\varepsilon`, one step adds to the axis w

    .. math:: \Delta w = \varepsilon\, y\, x \ \text{(Hebb)}, \qquad
              \Delta w = \varepsilon\, y\, (x - y w) \ \text{(Oja)}.

    Hebb's rule makes on average :math:`\varepsilon C w`: the direction tends to the first principal component and the
    length grows without bound, unless it is normalised. Oja's rule ends at length one. For several axes Oja's rule
    finds their space, and Sanger's the components themselves in order: axis i learns from what axes 1 to i leave.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Axes, of about unit length but for Hebb's rule.
    mean_ : ndarray of shape (n_features,)
        Running mean.
    norms_ : ndarray of shape (n_components,)
        Lengths of the axes.
    n_samples_seen_ : int
    history_ : dict of ndarray
        The mean length of the axes (``objective``) and the rows seen, after each 4096 rows.

    Notes
    -----
    O(d k) a row in native code: 20 000 rows of 3 columns take about 2 ms. The rate must be well below 2 over the
    variance of the rows, or the axes diverge, which is an error. Scale columns, or lower the rate.

    References
    ----------
    Oja (1982), A simplified neuron model as a principal component analyzer. Sanger (1989), Optimal unsupervised
    learning in a single-layer linear feedforward neural network.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import OnlinePCA
    >>> X = np.random.default_rng(0).normal(size=(20_000, 3)) * [2.0, 1.0, 0.5]
    >>> model = OnlinePCA(rule="oja", learning_rate=0.002, random_state=0).fit(X)
    >>> bool(abs(model.components_[0, 0]) > 0.99), bool(abs(model.norms_[0] - 1) < 0.01)
    (True, True)
    """

    _needs_rows: ClassVar[str] = "it visits rows one by one, in its own order"

    n_components: int = parameter(Integer(1), default=1, kw_only=False, doc="How many axes.")
    rule: str = parameter(
        Choice("oja", "hebb", "sanger"),
        default="sanger",
        doc="The learning rule; for one axis Oja's and Sanger's are the same.",
    )
    learning_rate: Any = parameter(
        Choice("auto") | Real(0, closed="neither"),
        default="auto",
        doc="The rate of the first step. ``'auto'`` is :math:`1 / (v (t + 5 d))` at row t of d columns, with v their "
        "mean variance: it suits rows in any unit, and falls, so that the axes settle. A number follows rows that "
        "drift.",
    )
    decay: float = parameter(
        Real(0),
        default=0.0,
        doc="Rows after which the rate has halved: rate / (1 + t / decay); 0 keeps it constant, which follows data "
        "that drift.",
    )
    normalize: bool = parameter(Boolean(), default=False, doc="Whether axes are brought to length one after each step.")
    centre: bool = parameter(
        Boolean(),
        default=True,
        doc="Whether a running mean is taken off: that of all rows, or with a constant rate one that forgets.",
    )
    n_epochs: int = parameter(Integer(1), default=1, doc="Passes of ``fit`` over the rows.")
    random_state: Any = parameter(Seed(), default=None, doc="Of the first axes.")

    _documents = {
        "n_jobs": "Threads of ``transform``; steps follow one another. Never changes a result.",
    }

    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": "each row moves the axes in turn, so that their order shows"
    }
    _objective_moves: ClassVar[str | None] = None
    mean_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": floats("components, columns"),
        "mean_": floats("columns"),
        "norms_": floats("components"),
    }
    _depends_on_units = ("columns",)

    @fitting
    def fit(self, X: Any, y: Any = None) -> "OnlinePCA":
        """Forget what was seen, and follow the rows of `X` in their order."""
        source = self._open(X)
        first = self._first_axes(source)
        fitted = partial(self._attributes_of, dtype=source.host_dtype)
        steps = self.n_epochs * -(-source.n_rows // _CHUNK)
        outcome = self._drive(partial(self._solve, source, first), source, fitted=fitted, max_steps=steps)
        self._conclude(outcome, "raise n_epochs, or use PCA")
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any = None) -> "OnlinePCA":
        """Follow more rows."""
        seen = "components_" in vars(self)
        source = self._open(X, reset=not seen)
        if seen:
            mean, axes = self.mean_.astype(np.float64), self.components_.astype(np.float64)
            state = OnlineAxes(mean, axes, self.n_samples_seen_)
        else:
            state = self._first_axes(source)
        state = self._follow(source.whole(), state)
        source.release()
        for name, value in self._attributes_of(state, source.host_dtype).items():
            setattr(self, name, value)
        return self

    def _first_axes(self, source: Source) -> OnlineAxes:
        d = source.n_features
        if self.n_components > d:
            raise DataError(
                f"OnlinePCA: n_components must be at most the number of columns, {d}; got {self.n_components}. Lower "
                f"it."
            )
        random = np.random.default_rng(seed_sequence(self.random_state).spawn(1)[0])
        axes = np.linalg.qr(random.standard_normal((d, self.n_components)))[0].T
        return OnlineAxes(np.zeros(d), np.ascontiguousarray(axes), 0)

    def _solve(self, source: Source, first: OnlineAxes, start: OnlineAxes | None) -> Solver:
        state: OnlineAxes = first if start is None else start
        X, n_rows = source.whole(), source.n_rows
        while state.n_seen < self.n_epochs * n_rows:
            begin = state.n_seen % n_rows
            state = self._follow(X[begin : min(begin + _CHUNK, n_rows)], state)
            length = float(np.linalg.norm(state.axes, axis=1).mean())
            yield Step(length, state, _CERTIFICATE, {"rows": float(state.n_seen)})
        certificate = self._certify(X, state)
        return Solution(state, True, certificate, "" if certificate.satisfied else "max_iter")

    def _follow(self, X: Array, state: OnlineAxes) -> OnlineAxes:
        """Return the state after the rows of `X`."""
        rows = np.ascontiguousarray(X, dtype=np.float64)
        mean, axes = state.mean.copy(), state.axes.copy()
        numbers = state.n_seen + np.arange(len(rows), dtype=np.float64)
        rates = self._choose_rates(rows, numbers)
        mean_rates = np.zeros(len(rows))
        if self.centre:
            mean_rates = 1.0 / (numbers + 1.0)
            # A mean of all rows would lag behind data that drift.
            if not self.decay and self.learning_rate != "auto":
                mean_rates = np.maximum(mean_rates, min(self.learning_rate, 1.0) / 10.0)
        scratch = np.empty(len(axes)), np.empty(len(mean))
        online_axes.follow_rows(rows, rates, mean_rates, _RULES[self.rule], self.normalize, mean, axes, *scratch)
        if not np.isfinite(axes).all() or (self.rule != "hebb" and (axes**2).sum() > 1e6 * len(axes)):
            raise DataError(
                f"OnlinePCA: the axes diverged within {state.n_seen + len(rows)} rows; learning_rate must be well "
                f"below 2 over the variance of the rows, and is {self.learning_rate}. Use learning_rate='auto', scale "
                f"the columns, or set normalize=True."
            )
        return OnlineAxes(mean, axes, state.n_seen + len(rows))

    def _certify(self, X: Array, state: OnlineAxes) -> Certificate:
        """Return how far the axes are from principal axes of all rows."""
        lengths = np.linalg.norm(state.axes, axis=1, keepdims=True)
        axes = state.axes / np.where(lengths > 0, lengths, 1.0)
        if self.rule == "oja":
            axes = np.linalg.qr(axes.T)[0].T
        centre = np.mean(X, axis=0, dtype=np.float64) if self.centre else 0.0
        products = np.zeros(axes.T.shape)
        for begin in range(0, len(X), _CHUNK):
            rows = X[begin : begin + _CHUNK] - centre
            products += rows.T @ (rows @ axes.T)
        within = axes @ products
        held = axes.T @ within if self.rule == "oja" else axes.T * np.diagonal(within)
        largest = float(np.diagonal(within).max(initial=0.0))
        residual = float(np.linalg.norm(products - held, axis=0).max(initial=0.0))
        return Certificate.of("residual", residual / largest if largest > 0 else 0.0, _SETTLED, _STATEMENT)

    def _choose_rates(self, rows: Array, numbers: Array) -> Array:
        """Return the rate of the step at each row; `numbers` counts the rows before."""
        if self.learning_rate == "auto":
            d = rows.shape[1]
            centre = rows.mean(axis=0) if self.centre else 0.0
            variance = float(np.mean(np.square(rows - centre))) or 1.0
            # A step multiplies the error along an axis of variance l by 1 - rate l: with 1 / (v t) gaps of a variance
            # of v / 2 and more lead to errors of 1 / t. The first rates are low enough for rows five times as long.
            return 1.0 / (variance * (numbers + 5.0 * d))
        # A rate that falls as 1 / (1 + t / decay) lets the axes converge; a constant one follows drifts.
        constant = np.full(len(rows), float(self.learning_rate))
        return constant / (1.0 + numbers / self.decay) if self.decay else constant

    def _attributes_of(self, state: OnlineAxes, dtype: Any) -> dict[str, Any]:
        return {
            "components_": state.axes.astype(dtype),
            "mean_": state.mean.astype(dtype),
            "norms_": np.linalg.norm(state.axes, axis=1),
            "n_samples_seen_": state.n_seen,
        }

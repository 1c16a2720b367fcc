"""Nonnegative matrix factorisation from batches of rows."""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.random import SeedSequence

from mercer._base import fitting, seed_sequence
from mercer._base.linear_map import MethodOnBlock
from mercer._base.parameter import Boolean, Integer, Nothing, Real, Seed, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Map, Solution, Solver, Step
from mercer._solver.relay import answer_requests
from mercer._source import Block, Source
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, integers, part
from mercer._types import Array
from mercer.decomposition._nonnegative.divergence import EPSILON, measure_divergence, parts_in_columns, parts_in_rows
from mercer.decomposition._nonnegative.factor_model import FactorModel
from mercer.decomposition._nonnegative.multiplicative import (
    Measure,
    clear_small,
    divide_parts,
    exponent,
    solve_rows_multiplicatively,
)
from mercer.decomposition._nonnegative.problem import Extent, Penalties
from mercer.decomposition._nonnegative.start import find_start, resolve_count

_CERTIFICATE = Certificate.none(
    "Batches update the parts by running sums that forget; nothing bounds how far they are from those of all rows."
)


@plain
@dataclass(frozen=True, eq=False)
class RunningFactors:
    """Factors, the running parts of the gradient in H, and what the rule to stop follows.

    ``W`` is None after ``partial_fit``; ``cost`` is the smoothed cost, ``least`` the lowest so far, and ``waits`` how
    many batches have not lowered it.
    """

    W: Array
    T: Array
    numerator: Array
    denominator: Array
    step: int = 0
    cost: float = np.nan
    least: float = np.inf
    waits: int = 0
    stopped: bool = False
    divergence: float = np.nan


class MiniBatchNMF(FactorModel):
    r"""Nonnegative matrix factorisation from batches: the objective of :class:`NMF`, in memory for one batch.

    Each batch updates its weights W by multiplicative steps, and then the parts H by running sums of both parts of
    their gradient, in which older batches fade by ``forget_factor``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        H, the parts.
    n_components_ : int
    reconstruction_err_ : float
        Root of twice the divergence of all rows from the factors of ``fit``.
    n_steps_ : int
        Batches so far.
    history_ : dict of ndarray
        The cost of each batch per row (``objective``), which batches of unequal rows may raise.

    Notes
    -----
    O(b d k) a batch of b rows. ``partial_fit`` keeps k x d numbers, and takes batches as they arrive.

    References
    ----------
    Lefevre, Bach and Fevotte (2011), Online algorithms for nonnegative matrix factorization with the Itakura-Saito
    divergence.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import MiniBatchNMF
    >>> X = np.abs(np.random.default_rng(0).normal(size=(500, 3))) @ np.eye(3, 6)
    >>> model = MiniBatchNMF(3, batch_size=100, random_state=0).fit(X)
    >>> bool(model.reconstruction_err_ < 0.1 * np.linalg.norm(X))
    True
    """

    batch_size: int = parameter(Integer(1), default=1024, after="init", doc="Rows in a batch of ``fit``.")
    max_no_improvement: int | None = parameter(
        Integer(1) | Nothing(),
        default=10,
        after="tol",
        doc="The fit stops after this number of batches that do not lower the smoothed cost.",
    )
    forget_factor: float = parameter(
        Real(0, 1), default=0.7, after="l1_ratio", doc="What is left of the running sums after one pass over all rows."
    )
    fresh_restarts: bool = parameter(
        Boolean(),
        default=False,
        doc="Whether the weights of a batch are solved for from the start at each visit, not improved by one update.",
    )
    fresh_restarts_max_iter: int = parameter(Integer(1), default=30, doc="Most updates of such a solution.")
    transform_max_iter: int | None = parameter(
        Integer(1) | Nothing(), default=None, doc="Most updates of ``transform``; None for ``max_iter``."
    )
    random_state: Any = parameter(Seed(), default=None, doc="Of the start.")

    _documents = {
        "init": "The start, as in :class:`NMF`.",
        "beta_loss": "The divergence, by name or by its beta.",
        "tol": "The fit stops when a batch moves H by no more than this share of its length; 0 switches the rule off.",
        "max_iter": "Most passes over the rows.",
        "verbose": "Whether to print a line for each batch.",
        "n_jobs": "Threads of ``transform``; batches follow one another. Never changes a result.",
    }

    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": "batches are consecutive rows, and each moves the parts, so that their order shows"
    }
    # The cost of a batch is that of its own rows.
    _objective_moves: ClassVar[str | None] = None

    _stored: ClassVar[dict[str, Stored]] = {"n_steps_": integers(low=0), "_running_": part("RunningFactors")}
    _depends_on_units = ("columns", "scale", "place")

    @fitting
    @one_blas_thread()
    def partial_fit(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> "MiniBatchNMF":
        """Take `X` as one more batch.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows without negative entries.
        W : array-like of shape (n_samples, n_components), default=None
            The start with ``init="custom"``, of the first call.
        H : array-like of shape (n_components, n_features), default=None
            The start with ``init="custom"``, of the first call.
        """
        seen = "components_" in vars(self)
        source = self._open(X, accept_sparse="csr", reset=not seen)
        seed, extent = seed_sequence(self.random_state), source.reduce(Extent())
        state: RunningFactors
        if seen:
            sums = self._running_
            T = np.ascontiguousarray(self.components_.T, dtype=np.float64)
            state = RunningFactors(None, T, sums.numerator, sums.denominator, self.n_steps_)
        else:
            requests = self._start(source, (W, H), seed, extent)
            state = answer_requests(requests, source)
        state, _ = self._take(source.whole(), replace(state, W=None), slice(None), source.n_rows)
        source.release()
        for name, value in self._attributes_of(state, source.host_dtype, 1).items():
            setattr(self, name, value)
        return self

    def _learn(self, X: Any, W: Any, H: Any) -> None:
        source = self._open(X, accept_sparse="csr")
        seed = seed_sequence(self.random_state)
        size = min(int(self.batch_size), source.n_rows)
        n_batches = -(-source.n_rows // size)
        fitted = partial(self._attributes_of, dtype=source.host_dtype, n_batches=n_batches)
        solve = partial(self._solve, source, (W, H), seed)
        outcome = self._drive(solve, source, fitted=fitted, max_steps=self.max_iter * n_batches)
        self.n_iter_ = -(-outcome.state.step // n_batches)
        self._conclude(outcome)

    def _start(self, source: Source, given: tuple[Any, Any], seed: SeedSequence, extent: Any) -> Any:
        """Return the first state; a generator of requests."""
        size = float(source.n_rows) * source.n_features
        Extent.check(extent, "MiniBatchNMF", self._beta, size)
        count = resolve_count(self.n_components, given[1] if self.init == "custom" else None, source.n_features)
        factors = yield from find_start(source, self.init, count, extent.total / size, seed, given)
        # Sums as if one pass had left H as it is.
        return RunningFactors(factors.W, factors.T, factors.T.copy(), np.ones_like(factors.T))

    def _solve(
        self, source: Source, given: tuple[Any, Any], seed: SeedSequence, start: RunningFactors | None
    ) -> Solver:
        state: RunningFactors
        if start is None:
            extent = yield Extent()
            state = yield from self._start(source, given, seed, extent)
        else:
            state = start
        X, n_rows, size = source.whole(), source.n_rows, min(int(self.batch_size), source.n_rows)
        n_batches = -(-n_rows // size)
        while not state.stopped and state.step < self.max_iter * n_batches:
            # Batches in the order of the rows, again and again.
            first = (state.step % n_batches) * size
            batch = slice(first, min(first + size, n_rows))
            state, cost = self._take(X[batch], state, batch, n_rows)
            yield Step(cost, state, _CERTIFICATE, {"smoothed_cost": state.cost})
        penalties = Penalties.of(self, n_rows, source.n_features)
        W = state.W
        if self.fresh_restarts:
            W = yield Map(MethodOnBlock(self._with_parts(state), "_scores"))
        divergence = max((yield Measure(W, state.T, self._beta, penalties)).divergence, 0.0)
        reason = "converged" if state.stopped else "max_iter" if self.tol > 0 else "iterations"
        return Solution(replace(state, W=W, divergence=divergence), state.stopped, _CERTIFICATE, reason)

    def _with_parts(self, state: RunningFactors) -> "MiniBatchNMF":
        """Return an estimator with the parts of a state, for the weights of rows."""
        other = type(self)(**self.get_params())
        other.components_, other.n_features_in_ = state.T.T, len(state.T)
        return other

    def _take(self, X: Any, state: RunningFactors, batch: slice, n_rows: int) -> tuple[RunningFactors, float]:
        """Update the weights of one batch and then the parts; return the state and the cost per row before."""
        beta, gamma, T = self._beta, exponent(self._beta), state.T
        penalties = Penalties.of(self, X.shape[0], X.shape[1])
        if state.W is None or self.fresh_restarts:
            W = self._solve_rows(X, T, self.fresh_restarts_max_iter)
        else:
            minus, plus = parts_in_rows(X, state.W[batch], T, beta)
            W = divide_parts(minus, plus, state.W[batch], penalties.l1_rows, penalties.l2_rows, gamma)
        W = clear_small(W, beta < 1)
        cost = (measure_divergence(X, W, T, beta) + penalties.value(W, T)) / X.shape[0]
        numerator, denominator = self._forget(X, W, state, penalties, X.shape[0] / n_rows)
        ratio = numerator / denominator
        better = clear_small(ratio if gamma == 1 else ratio**gamma, beta <= 1)
        # A batch of zeros says nothing of the parts and leaves them: that is no rest.
        moved = _measure_length(better - T) / (_measure_length(better) or 1.0) if W.any() else np.inf
        if state.W is not None:
            # In place: a copy for each batch would cost as much as a pass over the rows.
            state.W[batch] = W
        sums: dict[str, Any] = {"T": better, "numerator": numerator, "denominator": denominator, "step": state.step + 1}
        sums |= self._follow(state, cost, min(X.shape[0] / (n_rows + 1), 1.0), moved)
        return replace(state, **sums), cost

    def _forget(
        self, X: Any, W: Array, state: RunningFactors, penalties: Penalties, share: float
    ) -> tuple[Array, Array]:
        """Return the running sums with one more batch, which is `share` of all rows."""
        beta, gamma, T = self._beta, exponent(self._beta), state.T
        minus, plus = parts_in_columns(X, W, T, beta)
        plus = (T @ plus if beta == 2 else plus) + penalties.l1_parts + penalties.l2_parts * T
        kept = self.forget_factor**share
        # MM steps are geometric in H: the sums hold H^(1 / gamma).
        numerator = kept * state.numerator + minus * (T if gamma == 1 else T ** (1.0 / gamma))
        denominator = kept * state.denominator + plus
        return numerator, denominator if denominator.all() else np.where(denominator == 0, EPSILON, denominator)

    def _follow(self, state: RunningFactors, cost: float, share: float, moved: float) -> dict[str, Any]:
        """Return the smoothed cost, and stopped if H rests or the cost no longer falls, as fields of the next state."""
        # The first batch is judged by the start, which no batch has made.
        if state.step == 0:
            return {}
        smoothed = cost if math.isnan(state.cost) else state.cost * (1 - share) + cost * share
        waits = 0 if smoothed < state.least else state.waits + 1
        rests = self.tol > 0 and moved <= self.tol
        idle = self.max_no_improvement is not None and waits >= self.max_no_improvement
        stopped = bool(rests or idle)
        return {"cost": smoothed, "least": min(state.least, smoothed), "waits": waits, "stopped": stopped}

    def _solve_rows(self, X: Any, T: Array, max_iter: int) -> Array:
        """Return the weights of rows for fixed parts, from equal weights."""
        penalties = Penalties.of(self, X.shape[0], X.shape[1])
        return solve_rows_multiplicatively(X, T, self._beta, penalties, self.tol, max_iter)

    def _attributes_of(self, state: RunningFactors, dtype: Any, n_batches: int) -> dict[str, Any]:
        attributes = {
            "components_": np.ascontiguousarray(state.T.T, dtype=dtype),
            "n_components_": state.T.shape[1],
            "n_steps_": state.step,
            "_running_": replace(state, W=None, T=None),
        }
        if not np.isnan(state.divergence):
            attributes["reconstruction_err_"] = float(np.sqrt(2.0 * state.divergence))
        return attributes

    def _scores(self, block: Block) -> Array:
        T = np.ascontiguousarray(self.components_.T, dtype=np.float64)
        return self._solve_rows(block.X, T, self.transform_max_iter or self.max_iter).astype(block.X.dtype)


def _measure_length(factor: Array) -> float:
    """Return the root of the sum of squares."""
    return math.sqrt(float(np.vdot(factor, factor)))

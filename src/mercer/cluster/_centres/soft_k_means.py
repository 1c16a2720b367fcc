"""Soft k-means: every row belongs to every centre a little, and ever less to far ones as the temperature falls."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting, open_new_rows, seed_sequence
from mercer._base.parameter import Integer, Nothing, Real, Seed, parameter
from mercer._plain import plain
from mercer._solver import Solution, Solver, Step
from mercer._solver.centres.lloyd import certify_fixed_point, measure_shift
from mercer._source import Block
from mercer._source.namespace import to_numpy
from mercer._statistic import Moments
from mercer._statistic.expectation import Expectation, ExpectedSums, compute_responsibilities
from mercer._stored import Stored, floats, integers, numbers
from mercer._types import Array
from mercer.cluster._centres.centre_model import CentreModel
from mercer.cluster._centres.init_rules import check_enough_rows

# Annealing begins at this fraction of the inverse temperature at which the first centre splits.
_BEGIN = 0.5
# By default it ends at this multiple of that inverse temperature, where memberships are almost hard.
_END = 200.0
# Before each level centres are moved at random by this fraction of the rows' spread; centres closer than ten times that
# count as one.
_NUDGE = 1e-4


@plain
@dataclass(frozen=True)
class SoftState:
    """The progress of annealing: level, iteration, centres, and the results of the levels before."""

    level: int
    iteration: int
    centres: Array
    critical: float
    betas: Array
    costs: Array
    counts: Array
    stopped: bool
    dtype: str


@dataclass(frozen=True, eq=False)
class Softness:
    """Scores and sums at one inverse temperature `beta`, about the mean `centre` of the rows."""

    beta: float
    centre: Array
    scatter: float

    def expectation(self, centres: Array) -> Expectation:
        """Return the E step: memberships proportional to exp(-beta |x - c|^2), without the factor common to all c."""
        steps = centres - self.centre
        # -beta |x - c|^2 = 2 beta x . c - beta |c|^2 plus a term without c: scores linear in x.
        theta = np.column_stack([-self.beta * np.einsum("ij,ij->i", steps, steps), 2.0 * self.beta * steps])
        return Expectation(theta, self.centre, "linear")

    def move_to_means(self, sums: ExpectedSums, centres: Array) -> Array:
        """Return the M step: each centre at the mean of the rows weighted by its memberships; kept if it has none."""
        counts = sums.table[:, :1]
        return np.where(counts > 0, self.centre + sums.table[:, 1:] / np.where(counts > 0, counts, 1.0), centres)

    def cost(self, sums: ExpectedSums, centres: Array) -> float:
        """Return the mean over rows of sum_q m_iq |x_i - c_q|^2."""
        steps = centres - self.centre
        lengths = np.einsum("ij,ij->i", steps, steps) @ sums.table[:, 0]
        # sum m |x - c|^2 = sum |x|^2 + sum_q n_q |c_q|^2 - 2 sum_q c_q . s_q, about the mean of the rows.
        return float(self.scatter + lengths - 2.0 * np.sum(steps * sums.table[:, 1:])) / sums.weight

    def free_energy(self, sums: ExpectedSums) -> float:
        """Return F = -1 / beta times the mean of log sum_q exp(-beta |x - c_q|^2), which every iteration lowers."""
        return (self.scatter - sums.bound / self.beta) / sums.weight


def count_distinct(centres: Array, reach: float) -> int:
    """Return the number of centres that are farther than `reach` from all centres counted before them."""
    kept: list[Array] = []
    for centre in centres:
        if all(np.linalg.norm(centre - other) > reach for other in kept):
            kept.append(centre)
    return len(kept)


@dataclass(frozen=True)
class Cooling:
    """The solver and its settings; parameters as in ``SoftKMeans``."""

    k: int
    beta: float | None
    n_levels: int
    max_iter: int
    tol: float
    seed: np.random.SeedSequence
    dtype: str

    def solve(self, state: SoftState | None = None) -> Solver:
        """Anneal from the beginning or from `state`."""
        sums = yield Moments()
        centre, covariance = np.asarray(sums.mean), sums.scatter / sums.weight
        # The schedule begins near the first critical temperature, below which all centres coincide.
        betas, scale = self.schedule(covariance), float(np.sqrt(np.trace(covariance))) or 1.0
        tolerance = self.tol * float(np.mean(np.diagonal(covariance)))
        if state is None:
            # All centres begin at the mean.
            first = np.broadcast_to(centre, (self.k, len(centre))).copy()
            nothing = np.empty(0)
            state = SoftState(0, 0, first, critical_beta(covariance), nothing, nothing, nothing, False, self.dtype)
        shift = np.inf
        while state.level < len(betas):
            model = Softness(float(betas[state.level]), centre, float(np.trace(sums.scatter)))
            state = yield from self._settle(model, state, tolerance, scale)
            # One more pass measures the cost at the settled centres, and how far they are from a fixed point.
            last = yield model.expectation(state.centres)
            shift = measure_shift(model.move_to_means(last, state.centres), state.centres)
            state = replace(
                state,
                level=state.level + 1,
                iteration=0,
                betas=np.append(state.betas, model.beta),
                costs=np.append(state.costs, model.cost(last, state.centres)),
                counts=np.append(state.counts, count_distinct(state.centres, 10.0 * _NUDGE * scale)),
            )
        return Solution(state, bool(shift <= tolerance), certify_fixed_point(shift, tolerance))

    def schedule(self, covariance: Array) -> Array:
        """Return the inverse temperatures of all levels, in geometric progression."""
        critical = critical_beta(covariance)
        end = _END * critical if self.beta is None else self.beta
        if self.n_levels == 1 or end <= _BEGIN * critical:
            return np.array([end])
        return np.geomspace(_BEGIN * critical, end, self.n_levels)

    def _settle(self, model: Softness, state: SoftState, tolerance: float, scale: float) -> Any:
        """Iterate at one temperature, from centres moved apart a little: equal centres would stay equal for ever."""
        if state.iteration == 0:
            generator = np.random.default_rng(np.random.SeedSequence(self.seed.entropy, spawn_key=(state.level,)))
            # Tiny steps, in units of the spread: enough to break the symmetry where a centre can split.
            nudge = generator.standard_normal(state.centres.shape) * (_NUDGE * scale / state.centres.shape[1] ** 0.5)
            state = replace(state, centres=state.centres + nudge, stopped=False)
        while not state.stopped and state.iteration < self.max_iter:
            sums = yield model.expectation(state.centres)
            centres = model.move_to_means(sums, state.centres)
            shift = measure_shift(centres, state.centres)
            state = replace(state, centres=centres, iteration=state.iteration + 1, stopped=bool(shift <= tolerance))
            extra = {"beta": model.beta, "shift": float(np.sqrt(shift))}
            yield Step(model.free_energy(sums), state, certify_fixed_point(shift, tolerance), extra)
        return state


def critical_beta(covariance: Array) -> float:
    """Return the inverse temperature 1 / (2 lambda) at which a single centre splits; lambda is the largest variance."""
    largest = float(np.linalg.eigvalsh(covariance)[-1])
    return 0.5 / largest if largest > 0 else 1.0


@dataclass(frozen=True, eq=False)
class _Shares:
    """The membership of each row of a block in each centre, (n, k)."""

    expectation: Expectation

    def __call__(self, block: Block) -> Array:
        shares, _ = compute_responsibilities(self.expectation.scores(block), False, block.xp)
        return block.xp.astype(shares, block.X.dtype, copy=False)


class SoftKMeans(CentreModel):
    r"""Soft k-means, annealed.

    At the inverse temperature :math:`\beta` every row belongs to every centre in the proportion

    .. math:: m_{iq} \propto \exp(-\beta \lVert x_i - \mu_q \rVert^2), \qquad
              \mu_q = \sum_i w_i m_{iq} x_i \,/ \sum_i w_i m_{iq},

    which minimises the free energy :math:`-\beta^{-1} \sum_i w_i \log \sum_q \exp(-\beta \lVert x_i - \mu_q \rVert^2)`
    over centres (``cluster_centers_``): expectation maximisation for round components of one size and share. When
    :math:`\beta` is small all centres are at the mean; the first split comes at :math:`\beta = 1 / (2 \lambda)`, with
    :math:`\lambda` the largest variance of the rows in any direction; at its end it is k-means.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d)
    labels_ : ndarray of shape (n,), int32
        The nearest centre of each row.
    inertia_ : float
        The sum of squared distances to nearest centres.
    betas_, costs_, n_distinct_ : ndarrays of shape (n_levels,)
        The inverse temperature of each level, the mean expected squared distance at its end, and how many different
        centres there were.
    critical_beta_ : float
        Where the first split is.
    n_iter_ : int
        Iterations of all levels.
    history_ : dict of ndarray
        Per iteration: ``objective`` (the free energy, a row), ``beta``, ``shift``, ``seconds``.
    converged_ : bool
        Whether the last level met `tol`.
    certificate_ : Certificate
        ``"fixed point"``: the summed squared moves that one more iteration at the last temperature would make.

    Notes
    -----
    An iteration is one pass of O(n k d) operations; memory is O(k d) above the rows. The result hardly depends on where
    it began, since it begins with one cluster. A weight stands for repetitions.

    References
    ----------
    K. Rose, E. Gurewitz and G. Fox, Statistical mechanics and phase transitions in clustering, 1990.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import SoftKMeans
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> model = SoftKMeans(n_clusters=2, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.round(3).ravel().tolist())
    [0.5, 10.5]
    >>> model.n_distinct_[[0, -1]].tolist()
    [1, 2]
    """

    n_clusters: int = parameter(Integer(1), default=8, kw_only=False, doc="The number of centres, k.")
    beta: float | None = parameter(
        Real(0, closed="right") | Nothing(),
        default=None,
        doc="The inverse temperature to end at; None means 200 times that of the first split, all but hard.",
    )
    n_levels: int = parameter(
        Integer(1), default=30, doc="Temperatures on the way, from above the first split; 1 goes to `beta` at once."
    )
    max_iter: int = parameter(Integer(1), default=200, doc="Most iterations at one temperature.")
    tol: float = parameter(
        Real(0),
        default=1e-6,
        doc="A level ends when the squared moves of all centres sum to at most `tol` times the mean variance of the "
        "columns.",
    )
    random_state: Any = parameter(
        Seed(), default=None, after="verbose", doc="Seed of the small moves that let equal centres part."
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "cluster_centers_": numbers("clusters, columns"),
        "labels_": integers("rows"),
        "critical_beta_": floats(),
        "betas_": floats("stages"),
        "costs_": floats("stages"),
        "n_distinct_": integers("stages", low=0),
    }
    # The free energy falls at each temperature, and rises from one to the next.
    _objective_moves: ClassVar[str | None] = None
    _takes_sparse = False

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "SoftKMeans":
        """Find the centres."""
        source = self._open(X, None, sample_weight)
        check_enough_rows(self, source.n_rows)
        seed = np.random.SeedSequence(seed_sequence(self.random_state).generate_state(4).tolist())
        dtype = source.dtype_name
        cooling = Cooling(self.n_clusters, self.beta, self.n_levels, self.max_iter, self.tol, seed, dtype)
        outcome = self._drive(cooling.solve, source, max_steps=int(self.n_levels) * self.max_iter)
        self._store_labels(source, outcome.state.centres.astype(dtype))
        self._conclude(outcome, cure="raise max_iter or tol")
        return self

    def _fitted(self, state: SoftState) -> dict[str, Any]:
        return {
            "cluster_centers_": state.centres.astype(state.dtype),
            "critical_beta_": state.critical,
            "betas_": state.betas,
            "costs_": state.costs,
            "n_distinct_": state.counts.astype(np.int64),
        }

    def memberships(self, X: Any, beta: float | None = None) -> Array:
        """Return the share of each centre in each row, in proportion to exp(-beta distance^2).

        Parameters
        ----------
        X : array-like of shape (n, d), or rows in any other place
        beta : float or None, default=None
            The inverse temperature; None means that of the fit's end.

        Returns
        -------
        shares : array of shape (n, k)
        """
        source = open_new_rows(self, X)
        centres = np.asarray(to_numpy(self.cluster_centers_), dtype=np.float64)
        beta = float(to_numpy(self.betas_)[-1]) if beta is None else float(beta)
        return source.map(source.send(_Shares(Softness(beta, centres.mean(axis=0), 0.0).expectation(centres))))

"""Mini-batch and online k-means."""

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting, seed_sequence
from mercer._base.parameter import Array, Boolean, Choice, Function, Integer, Nothing, Real, Seed, parameter
from mercer._solver import Step
from mercer._solver.centres.assignment import Assignment
from mercer._solver.centres.centres import Centres
from mercer._solver.centres.first_centres import column_moments
from mercer._solver.centres.row_draw import RowDraw, WeightedRows
from mercer._solver.relay import answer_requests
from mercer._solver.restarts import child_seed
from mercer._source import ArraySource, Source
from mercer._stored import Stored, integers, numbers, part
from mercer.cluster._centres.centre_model import CentreModel
from mercer.cluster._centres.init_rules import check_enough_rows, first_centres, number_of_starts, read_centres
from mercer.cluster._centres.mini_batch import BatchDraw, MiniBatch, MiniBatchState
from mercer.errors import ParameterError

_DRAWN = "batches are drawn at random in proportion to the weights: weights are repetitions in distribution"


class MiniBatchKMeans(CentreModel):
    r"""k-means over batches of rows, and online.

    Approaches the optimum of :class:`KMeans`, :math:`\min_\mu \sum_i w_i \min_q \lVert x_i - \mu_q \rVert^2`, at a
    fraction of the cost. For each batch, every row moves its nearest centre (the winner) by

    .. math:: \mu_q \leftarrow \mu_q + \frac{1}{n_q} (x - \mu_q)

    where :math:`n_q` counts the rows that centre q has won, so that each centre is the mean of all its wins. With
    ``batch_size=1``, or rows given one by one to :meth:`partial_fit`, this is online k-means. A `learning_rate`
    :math:`\epsilon_0` takes the place of :math:`1 / n_q`: in batch t = 0, 1, ... it is
    :math:`\epsilon_0 (1 + t)^{-a}` with a = `learning_rate_decay`.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d)
    labels_ : ndarray of shape (n,), int32
        With `compute_labels`: the nearest centre of each row; among equals the lowest.
    inertia_ : float
        With `compute_labels` the objective at the end, else the smoothed cost of the batches times the total weight.
    n_iter_ : int
        Passes over the data that the batches add up to.
    n_steps_ : int
        Batches.
    history_ : dict of ndarray
        Per batch: ``objective`` (cost per row before the step), ``smoothed``, ``seconds``.
    converged_ : bool
        Whether a stopping rule was met; also True when all rules are switched off.
    certificate_ : Certificate
        The statement that there is none.

    Notes
    -----
    A batch costs b k d for its b rows. Memory is k d numbers and a batch. The means are kept in float64.

    References
    ----------
    D. Sculley, Web-scale k-means clustering, 2010. J. MacQueen, Some methods for classification, 1967.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import MiniBatchKMeans
    >>> model = MiniBatchKMeans(2, init=np.array([[0.0], [9.0]]), n_init=1)
    >>> for x in ([1.0], [3.0], [10.0]):
    ...     model = model.partial_fit([x])
    >>> model.cluster_centers_.ravel().tolist()
    [2.0, 10.0]
    """

    n_clusters: int = parameter(Integer(1), default=8, kw_only=False, doc="The number of centres, k.")
    init: str | Callable[..., Any] | Any = parameter(
        Choice("k-means++", "random", "uniform", "mean") | Function() | Array(),
        default="k-means++",
        doc="The first centres, as in :class:`KMeans`, found from `init_size` drawn rows.",
    )
    max_iter: int = parameter(
        Integer(1), default=100, doc="Most passes: as many batches are drawn as hold ``max_iter`` times the rows."
    )
    batch_size: int = parameter(Integer(1), default=1024, doc="Rows in a batch, drawn in proportion to their weights.")
    compute_labels: bool = parameter(
        Boolean(), default=True, after="verbose", doc="Whether to label all rows at the end, which takes one pass."
    )
    random_state: Any = parameter(Seed(), default=None, doc="Seed of the first centres and of the batches.")
    tol: float = parameter(
        Real(0),
        default=0.0,
        doc="End when a batch's squared moves of all centres sum to at most `tol` times the mean variance of the "
        "columns; 0 switches this rule off.",
    )
    max_no_improvement: int | None = parameter(
        Integer(0) | Nothing(),
        default=10,
        doc="End after this number of batches without a new least smoothed cost; None switches this rule off.",
    )
    init_size: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        doc="Rows drawn for the first centres; None means three times the batch size, or three times k if that is "
        "more.",
    )
    n_init: str | int = parameter(
        Choice("auto") | Integer(1),
        default="auto",
        doc="First centres tried; the best on `init_size` other rows are used. ``'auto'`` is 1 for k-means++ and "
        "for given centres, else 3.",
    )
    reassignment_ratio: float = parameter(
        Real(0),
        default=0.01,
        doc="A centre that has won less than this share of what the winningest centre has is put on a random row.",
    )
    learning_rate: str | float = parameter(
        Choice("mean") | Real(0, 1, "right"),
        default="mean",
        doc="'mean': :math:`1 / n_q`. A number: the rate of the first batch. A constant rate forgets old rows and "
        "follows data that drift; one that falls comes to rest.",
    )
    learning_rate_decay: float = parameter(
        Real(0),
        default=0.0,
        doc="How fast the rate falls, a: 0 keeps it, and between 1/2 and 1 it falls slowly enough to reach every "
        "place and fast enough to settle (Robbins and Monro). For a number as `learning_rate`.",
    )

    _objective_moves = None
    _stored: ClassVar[dict[str, Stored]] = {
        "cluster_centers_": numbers("clusters, columns"),
        "labels_": integers("rows"),
        "n_steps_": integers(low=0),
        "_state": part("MiniBatchState"),
    }
    _law_exceptions: ClassVar[dict[str, str]] = {"weights": _DRAWN}
    _check_exceptions: ClassVar[dict[str, str]] = CentreModel._check_exceptions | {
        "check_sample_weight_equivalence_on_dense_data": _DRAWN,
        "check_sample_weight_equivalence_on_sparse_data": _DRAWN,
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "MiniBatchKMeans":
        """Find the centres from batches drawn from `X`."""
        source = self._open(X, None, sample_weight, accept_sparse="csr")
        check_enough_rows(self, source.n_rows)
        solver = self._solver(source, min(int(self.batch_size), source.n_rows))
        outcome = self._drive(solver.solve, source, max_steps=solver.n_steps, attributes={"n_iter_": 0, "n_steps_": 0})
        self._state = outcome.state
        self.n_steps_ = outcome.state.step
        # Passes over the rows, as scikit-learn counts.
        self.n_iter_ = -(-self.n_steps_ * solver.batch_size // source.n_rows)
        if self.compute_labels:
            self._store_labels(source, self.cluster_centers_)
        else:
            cost = outcome.state.mean_cost if np.isnan(outcome.state.smoothed) else outcome.state.smoothed
            self.inertia_ = cost * source.total_weight()
        self._conclude(outcome, cure="raise max_iter, tol or max_no_improvement")
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "MiniBatchKMeans":
        """Take one step with `X` as the batch; the first call also finds the first centres in it.

        Parameters
        ----------
        sample_weight : array-like of shape (n,), default=None
            Enter the running means as repetitions.
        """
        begun = hasattr(self, "_state")
        kept = {"dtype": self.cluster_centers_.dtype} if begun else {}
        source = self._open(X, None, sample_weight, accept_sparse="csr", reset=not begun, **kept)
        solver = self._solver(source, source.n_rows, begun=begun)
        if begun:
            state = self._state
        else:
            seed = solver.seed.generate_state(8)
            state = MiniBatchState.begin(seed, solver.start(child_seed(seed, 0)))
        # A stream of its own for each step: calls that are saved and continued draw the same numbers.
        generator = np.random.default_rng(child_seed(state.seed, state.step + 1))
        self._state = answer_requests(solver.step(state, generator, None), source)
        self.cluster_centers_ = self._state.model_centres()
        self.n_steps_ = self._state.step
        if self.compute_labels:
            self._store_labels(source, self.cluster_centers_)
        return self

    def _solver(self, source: Source, batch_size: int, begun: bool = False) -> MiniBatch:
        rate = None if isinstance(self.learning_rate, str) else self.learning_rate
        if rate is None and self.learning_rate_decay > 0:
            raise ParameterError(
                f"MiniBatchKMeans: learning_rate_decay is for a number as learning_rate; got "
                f"{self.learning_rate_decay} with 'mean', which falls as 1 / n_q."
            )
        tolerance = 0.0
        if self.tol > 0:
            _, variance = answer_requests(column_moments(), source)
            # tol is relative to the mean variance of the columns.
            tolerance = self.tol * float(np.mean(variance))
        return MiniBatch(
            start=self._starter(source, batch_size) if not begun else None,
            draw=BatchDraw(source, batch_size),
            batch_size=batch_size,
            n_steps=max(1, self.max_iter * source.n_rows // batch_size),
            tolerance=tolerance,
            max_no_improvement=self.max_no_improvement,
            reassignment_ratio=self.reassignment_ratio,
            seed=seed_sequence(self.random_state),
            rate=rate,
            decay=self.learning_rate_decay,
        )

    def _starter(self, source: Source, batch_size: int) -> Callable[[np.random.SeedSequence], Any]:
        """Return a function from a seed to the best of ``n_init`` sets of first centres, judged on a fresh sample."""
        n_init = number_of_starts(self, otherwise=3)
        size = self._sample_size(source.n_rows, batch_size)
        given = read_centres(self, source)
        if given is not None:
            return lambda _: given
        check_enough_rows(self, source.n_rows)
        draw = RowDraw(source) if source.random_access else None

        def sample(seed: np.random.SeedSequence) -> Source:
            generator = np.random.default_rng(seed)
            if size == source.n_rows:
                return source
            if draw is None:
                return ArraySource(WeightedRows(generator.random(size)).answer(source)[1], threads=source.threads)
            return source.part(draw.rows(generator, size))

        def start(seed: np.random.SeedSequence) -> Any:
            # One seed for the sample that judges, then two per start: of its sample and of its draw.
            judge, *seeds = seed.spawn(1 + 2 * n_init)
            tried = []
            for sample_seed, draw_seed in zip(seeds[::2], seeds[1::2]):
                part = sample(sample_seed)
                tried.append(answer_requests(first_centres(self, part, None, draw_seed), part))
            if n_init == 1:
                return tried[0]
            part = sample(judge)
            return min(tried, key=lambda centres: part.reduce(Assignment(Centres(centres))).cost)

        return start

    def _sample_size(self, n_rows: int, batch_size: int) -> int:
        k, size = self.n_clusters, self.init_size
        if size is None:
            # Three batches, or three rows for each cluster where the batches are
            # smaller than that: at least k rows in any case.
            size = 3 * batch_size if 3 * batch_size >= k else 3 * k
        elif size < k:
            warnings.warn(
                f"MiniBatchKMeans: init_size={size} should be larger than n_clusters={k}. Setting it to "
                "min(3*n_clusters, n_samples).",
                RuntimeWarning,
                stacklevel=4,
            )
            size = 3 * k
        return min(size, n_rows)

    def _fitted(self, state: MiniBatchState) -> dict[str, Any]:
        return {"cluster_centers_": state.model_centres()}

    def _describe_step(self, number: int, step: Step) -> str:
        state = step.state
        line = f"MiniBatchKMeans: Minibatch step {state.step}: mean batch inertia {step.objective:.6g}"
        if state.step > 1:
            line += f", smoothed {state.smoothed:.6g}"
        if not state.stopped:
            return line
        tired = self.max_no_improvement is not None and state.stale >= self.max_no_improvement
        return f"{line}\nConverged ({'lack of improvement in inertia' if tired else 'small centers change'})"

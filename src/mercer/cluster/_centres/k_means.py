"""k-means clustering by Lloyd's algorithm."""

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._base import fitting, seed_sequence
from mercer._base.parameter import Array, Boolean, Choice, Function, Integer, Seed, parameter
from mercer._solver import Step
from mercer._solver.centres.assignment import Memory
from mercer._solver.centres.first_centres import column_moments
from mercer._solver.centres.lloyd import Lloyd
from mercer._solver.restarts import Restarts, keep_history_of
from mercer._source import Source
from mercer._stored import Stored, integers, numbers
from mercer.cluster._centres.centre_model import CentreModel
from mercer.cluster._centres.init_rules import check_enough_rows, first_centres, number_of_starts, read_centres

_DRAWN = "k-means++ draws its first centres: weights are repetitions in distribution, and exactly once these are given"


class KMeans(CentreModel):
    r"""k-means clustering.

    Finds centres :math:`\mu_1 \dots \mu_k` (``cluster_centers_``) that minimise the inertia

    .. math:: E = \sum_i w_i \min_q \lVert x_i - \mu_q \rVert^2

    by Lloyd's algorithm: give each row to its nearest centre, move each centre to the mean of its rows, repeat. Each
    iteration lowers :math:`E` until nothing changes, which is a local optimum; restarts and good first centres find
    better ones.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d)
    labels_ : ndarray of shape (n,), int32
        The nearest centre of each row; among equals the lowest.
    inertia_ : float
        E at the end.
    n_iter_ : int
        Iterations of the run that was kept.
    history_ : dict of ndarray
        Of the run that was kept, per iteration: ``objective`` (E of the centres it began with), ``seconds`` since the
        start of the fit, ``shift`` (by which the centres moved), ``restart`` (which run it was).
    converged_ : bool
        Whether the kept run met `tol`.
    certificate_ : Certificate
        ``"fixed point"``: the summed squared moves that one more iteration would make. Zero proves a local optimum.

    Notes
    -----
    An iteration costs at most n k d multiplications, less where bounds apply; memory is 20 bytes a row and some k d
    numbers a thread, never n k. A centre that loses all its rows moves to the row farthest from its own centre. Sparse
    rows stay sparse. A weight stands for repetitions: exactly, given the first centres; in distribution, when they are
    drawn.

    References
    ----------
    S. Lloyd, Least squares quantization in PCM, 1982. D. Arthur and S. Vassilvitskii, k-means++, 2007. G. Hamerly,
    Making k-means even faster, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import KMeans
    >>> X = np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 0.0], [10.0, 2.0], [10.0, 4.0], [10.0, 0.0]])
    >>> model = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> float(model.inertia_)
    16.0
    >>> float(model.certificate_.value)
    0.0
    """

    n_clusters: int = parameter(Integer(1), default=8, kw_only=False, doc="The number of centres, k.")
    init: str | Callable[..., Any] | Any = parameter(
        Choice("k-means++", "random", "uniform", "mean") | Function() | Array(),
        default="k-means++",
        doc="The first centres: ``'k-means++'`` draws rows far from one another (greedy, with 2 + log k trials a "
        "centre), ``'random'`` draws rows at different positions, ``'uniform'`` positions in the bounding box, "
        "``'mean'`` normal positions with the data's mean and spread. A callable is called as ``init(X, "
        "n_clusters, random_state=...)``; an array of shape (k, d) is used as it is.",
    )
    n_init: str | int = parameter(
        Choice("auto") | Integer(1),
        default="auto",
        doc="Runs with different first centres; the best run is kept. ``'auto'`` is 1 for k-means++ and for given "
        "centres, else 10.",
    )
    random_state: Any = parameter(Seed(), default=None, after="verbose", doc="Seed of the first centres.")
    copy_x: bool = parameter(
        Boolean(), default=True, doc="Taken for compatibility; the input is neither copied nor changed."
    )
    algorithm: str = parameter(
        Choice("lloyd", "elkan"),
        default="lloyd",
        doc="Both give the same result to the last bit. ``'lloyd'`` uses one bound per row to skip rows whose "
        "centre cannot have changed, whenever that pays; ``'elkan'`` does so in every iteration.",
    )

    _documents = {
        "max_iter": "Most iterations of one run.",
        "tol": (
            "A run ends when the squared moves of all centres sum to at most `tol` times the mean variance of the "
            "columns."
        ),
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "cluster_centers_": numbers("clusters, columns"),
        "labels_": integers("rows"),
    }

    _check_exceptions: ClassVar[dict[str, str]] = CentreModel._check_exceptions | {
        "check_sample_weight_equivalence_on_dense_data": _DRAWN,
        "check_sample_weight_equivalence_on_sparse_data": _DRAWN,
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KMeans":
        """Find the centres."""
        source = self._open(X, None, sample_weight, accept_sparse="csr")
        check_enough_rows(self, source.n_rows)
        n_init = number_of_starts(self, otherwise=10)
        memory = Memory.of(source, always=self.algorithm == "elkan")
        given = read_centres(self, source)
        lloyd = Lloyd(
            start=lambda seed: first_centres(self, source, given, seed),
            moments=column_moments,
            n_init=n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            memory=memory,
            seed=seed_sequence(self.random_state),
        )
        outcome = self._drive(lloyd.solve, source, max_steps=n_init * self.max_iter)
        self._store(outcome.state, source, memory)
        self._conclude(outcome, cure="raise max_iter or tol")
        return self

    def _fitted(self, state: Restarts) -> dict[str, Any]:
        return {"cluster_centers_": state.choose()[0].centres}

    def _describe_step(self, number: int, step: Step) -> str:
        return describe_run("KMeans", step)

    def _store(self, state: Restarts, source: Source, memory: Memory) -> None:
        """Set the attributes of the best run, and warn if some of its clusters are empty."""
        run, restart = state.choose()
        self.n_iter_ = run.iteration
        self.history_ = keep_history_of(restart, self.history_)
        sizes = self._store_labels(source, run.centres, memory)
        distinct = int(np.count_nonzero(sizes))
        if distinct < self.n_clusters:
            warnings.warn(
                f"KMeans: Number of distinct clusters ({distinct}) found smaller than n_clusters "
                f"({self.n_clusters}). Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=4,
            )


def describe_run(subject: str, step: Step) -> str:
    """Return the lines that ``verbose`` prints about an iteration of a run."""
    run, shift = step.state.run, step.extra["shift"]
    name = f"{subject}: run {step.state.restart}"
    line = f"{name}: Iteration {run.iteration - 1}, inertia {step.objective:.6g}"
    if run.iteration == 1:
        line = f"{name}: Initialization complete\n{line}"
    if not run.stopped:
        return line
    how = "strict convergence" if shift == 0 else f"center shift {shift:.3g} within tolerance"
    return f"{line}\n{subject}: converged: {how}"

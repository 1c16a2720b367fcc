"""Densities, responsibilities, labels, scores and information criteria of every fitted mixture."""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, LimitedEstimator, few_rows, open_new_rows
from mercer._base.interface import DensityMixin
from mercer._base.joint_scores import choose_classes
from mercer._base.parameter import Boolean, Choice, Integer, Real, Seed, attribute, parameter
from mercer._base.randomness import seed_sequence
from mercer._solver import Step
from mercer._solver.restarts import Restarts, keep_history_of
from mercer._source import Block, Source
from mercer._source.block import DenseBlock
from mercer._source.memory import require_memory
from mercer._source.placement import Placement
from mercer._source.threads import one_blas_thread
from mercer._statistic import Statistic, Sums
from mercer._statistic.expectation import compute_responsibilities
from mercer._stored import Stored, floats, members
from mercer._types import Array
from mercer.errors import DataError, ParameterError

DRAWN = "the first components are drawn: weights are repetitions in distribution, and exactly once these are given"
# Rows whose products with components a BLAS computes on one thread by itself.
_SMALL_PRODUCT = 256
# Stands for a seed that was not given: then the mixture's own is used.
OWN_SEED: Any = type("OwnSeed", (), {"__repr__": lambda self: "the mixture's own"})()


@dataclass(frozen=True, eq=False)
class _RowValues:
    """A value per row of a block, or one per row and component.

    ``density`` gives scores: log weight + log density of each component at each row.
    """

    density: Any
    what: str
    k: int

    def __call__(self, block: Any) -> Array:
        if block.is_sparse:
            return self.of(block)
        parts = [self.of(part) for part in block.parts(max(1, block.tile_size // (4 * self.k + block.X.shape[1])))]
        return parts[0] if len(parts) == 1 else block.xp.concat(parts)

    def of(self, block: Block) -> Array:
        """Return the values of a few rows at once."""
        xp, scores = block.xp, self.density.scores(block)
        if self.what == "label":
            # The largest log joint is also the largest posterior: the row's density divides all of them alike.
            return choose_classes(scores)
        if self.what == "log joint":
            return xp.astype(scores, block.X.dtype, copy=False)
        shares, densities = compute_responsibilities(scores, False, xp)
        return xp.astype(shares if self.what == "share" else densities, block.X.dtype, copy=False)


@dataclass(frozen=True)
class DensitySums(Sums):
    """Weighted sums over rows of the log density and of the entropy of the responsibilities, and the weight."""

    log_density: float
    entropy: float
    weight: float

    @property
    def mean(self) -> float:
        """The mean log density."""
        return self.log_density / self.weight


@dataclass(frozen=True, eq=False)
class Densities(Statistic):
    """Sums of the log density of the rows, and of the entropy of their responsibilities."""

    density: Any

    def of(self, block: Block) -> DensitySums:
        xp = block.xp
        shares, densities = compute_responsibilities(self.density.scores(block), False, xp)
        # 0 log 0 counts as 0.
        logs = xp.log(xp.where(shares > 0, shares, xp.ones_like(shares)))
        entropy = -xp.sum(shares * logs, axis=1)
        log_density, spread = (float(xp.sum(block.weigh(values))) for values in (densities, entropy))
        return DensitySums(log_density, spread, block.total_weight())


class MixtureModel(DensityMixin, LimitedEstimator):
    """A density that is a weighted sum of component densities."""

    n_components: int = parameter(Integer(1), default=1, kw_only=False, doc="The number of components, k.")
    tol: float = parameter(Real(0), default=1e-3)
    max_iter: int = parameter(Integer(0), default=100, doc="Most iterations of one run.")
    n_init: int = parameter(Integer(1), default=1)
    init_params: str = parameter(
        Choice("kmeans", "k-means++", "random", "random_from_data"),
        default="kmeans",
        doc="The first components: those of the clusters of k-means, of the rows nearest to each of k rows drawn "
        "far from one another or at random, or of rows shared out at random.",
    )
    random_state: Any = parameter(Seed(), default=None, doc="Seed of the first components and of ``sample``.")
    verbose: int = parameter(Integer(0) | Boolean(), default=0)
    verbose_interval: int = parameter(Integer(1), default=10, doc="Iterations between two lines.")
    assignment: str = parameter(Choice("soft", "hard"), default="soft")

    _places = ("memory", "file", "stream", "dask", "device")
    _objective_moves: ClassVar[str | None] = "up"
    _check_exceptions: ClassVar[dict[str, str]] = Estimator._check_exceptions | {
        "check_sample_weight_equivalence_on_dense_data": DRAWN
    }
    # What the objective is, for the lines that are printed.
    _objective_name: ClassVar[str] = "log-likelihood"
    # Whether sparse rows are taken.
    _sparse: ClassVar[Any] = False
    weights_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "lower_bounds_": members(floats()),
        "lower_bound_": floats(),
    }

    def _density(self) -> Any:
        """Return the statistic whose ``scores`` gives log weight + log density, from the fitted attributes."""
        raise NotImplementedError  # each mixture defines its own

    def _n_parameters(self) -> int:
        """Return the number of free parameters."""
        raise NotImplementedError  # each mixture defines its own

    def _values(self, X: Any, what: str) -> Array:
        if (rows := few_rows(self, X)) is not None and hasattr(self, "weights_"):
            # Products of more rows would use the threads of the BLAS, and their bits would depend on their number.
            with one_blas_thread() if len(rows) > _SMALL_PRODUCT else nullcontext():
                return _RowValues(self._density(), what, self.n_components).of(DenseBlock(rows, 0))
        check_is_fitted(self)
        source = self._rows(X)
        # Answers by row and component are held at once; labels and densities are one number a row.
        if what in ("share", "log joint") and source.place in ("memory", "file") and source.known_rows is not None:
            size = source.n_rows * self.n_components * source.host_dtype.itemsize
            purpose = f"the {source.n_rows} x {self.n_components} values"
            require_memory(type(self).__name__, size, purpose, "give fewer rows at a time")
        return source.map(source.send(_RowValues(self._density(), what, self.n_components)))

    def _rows(self, X: Any) -> Any:
        return open_new_rows(self, X, accept_sparse=self._sparse, logarithms=True)

    def predict(self, X: Any) -> Array:
        """Return the most probable component of each row.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        return self._values(X, "label")

    def predict_proba(self, X: Any) -> Array:
        """Return the responsibility of each component for each row.

        Returns
        -------
        resp : array of shape (n_samples, n_components)
            Each row sums to one.
        """
        return self._values(X, "share")

    def score_samples(self, X: Any) -> Array:
        """Return the log density of each row."""
        return self._values(X, "density")

    def logpdf(self, X: Any) -> Array:
        """Return what :meth:`score_samples` does, under the name that densities have."""
        return self.score_samples(X)

    def sample(self, n_samples: int = 1, random_state: Any = OWN_SEED) -> Any:
        """Draw rows: a component by its share, then a row of it.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : None, int, RandomState or Generator, default=that of the mixture
            The seed. Where it is given, rows alone are returned, as every density does; without it, rows and their
            components, as scikit-learn does.

        Returns
        -------
        X : array of shape (n_samples, n_features)
            With the mixture's own seed component by component, else in random order.
        y : array of shape (n_samples,)
            Their components; only without `random_state`.
        """
        own = random_state is OWN_SEED
        check_is_fitted(self)
        # A density that is asked for no rows, as a member of another mixture may be, gives none.
        if not own and n_samples == 0:
            return np.empty((0, self.n_features_in_))
        self._check_sample(n_samples)
        generator = np.random.default_rng(seed_sequence(self.random_state if own else random_state))
        X, labels = self._draw(n_samples, generator)
        if not own:
            return np.asarray(X)[generator.permutation(n_samples)]
        placement = Placement.of(self.weights_)
        return placement.put(X), placement.put(labels)

    def _draw(self, n: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return `n` rows, component by component, and their components."""
        raise NotImplementedError  # each mixture defines its own

    def log_joint(self, X: Any) -> Array:
        """Return the log of share times density of each component at each row: log p(x, z = k).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or rows in any other place

        Returns
        -------
        log_joint : array of shape (n_samples, n_components)
        """
        return self._values(X, "log joint")

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to `X` and return the most probable component of each row."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log density of the rows."""
        return self._sums(X, sample_weight).mean

    def _sums(self, X: Any, sample_weight: Any = None) -> DensitySums:
        check_is_fitted(self)
        missing = self.__sklearn_tags__().input_tags.allow_nan
        options = {"accept_sparse": self._sparse, "ensure_all_finite": not missing}
        source = self._open(X, None, sample_weight, reset=False, **options)
        # Only models that say so in their tags take NaN, which then marks a missing entry.
        if missing:
            source.allow_missing()
        try:
            return source.reduce(Densities(self._density()))
        finally:
            source.release()

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Return the Bayesian information criterion on `X`: minus twice the log-likelihood plus p log n.

        p is the number of free parameters and n the total weight; the lower the better.
        """
        sums = self._sums(X, sample_weight)
        return -2.0 * sums.log_density + self._n_parameters() * float(np.log(sums.weight))

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Return the Akaike information criterion on `X`: minus twice the log-likelihood plus twice p."""
        return -2.0 * self._sums(X, sample_weight).log_density + 2.0 * self._n_parameters()

    def icl(self, X: Any, sample_weight: Any = None) -> float:
        """Return the integrated completed likelihood on `X`: the BIC plus twice the entropy of the responsibilities.

        It prefers components that tell rows apart (Biernacki, Celeux and Govaert, 2000).
        """
        sums = self._sums(X, sample_weight)
        return -2.0 * (sums.log_density - sums.entropy) + self._n_parameters() * float(np.log(sums.weight))

    def _describe_step(self, number: int, step: Step) -> str:
        run = step.state.run
        if not run.stopped and run.iteration % self.verbose_interval:
            return ""
        name = f"{type(self).__name__}: run {step.state.restart}"
        line = f"{name}: iteration {run.iteration}, {self._objective_name} {step.objective:.9g}"
        line += f", change {step.extra['change']:.3g}" if self.verbose > 1 else ""
        return f"{line}\n{name}: converged" if run.stopped else line

    def _check_sample(self, n_samples: Any) -> None:
        check_is_fitted(self)
        if not Integer(1).accepts(n_samples):
            raise ParameterError(
                f"{type(self).__name__}: Invalid value for 'n_samples': it must be at least 1; got {n_samples!r}."
            )

    def _check_enough_rows(self, source: Source) -> None:
        if source.n_rows < self.n_components:
            raise DataError(
                f"{type(self).__name__}: Expected n_samples >= n_components but got n_components = "
                f"{self.n_components}, n_samples = {source.n_rows}. Lower n_components."
            )

    def _store(self, state: Restarts) -> None:
        """Set the attributes of the best run."""
        run, restart = state.choose()
        self.n_iter_ = run.iteration
        self.history_ = keep_history_of(restart, self.history_)
        self.lower_bounds_ = self.history_["objective"].tolist()
        self.lower_bound_ = float(run.objective)

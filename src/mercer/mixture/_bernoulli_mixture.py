"""Bernoulli mixtures, fitted by expectation maximisation."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting, seed_sequence
from mercer._base.parameter import Nothing, Real, parameter
from mercer._plain import plain
from mercer._solver.expectation_maximisation import ExpectationMaximisation
from mercer._solver.restarts import Restarts
from mercer._source import Block
from mercer._source.namespace import to_numpy
from mercer._statistic import Statistic, Sums
from mercer._statistic.expectation import Expectation, ExpectedSums, compute_responsibilities
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError
from mercer.mixture._mixture_model import DRAWN, MixtureModel
from mercer.mixture._starts import first_centres, nearest_scores, random_sums


def binary_block(block: Block, threshold: float | None) -> Block:
    """Return a block of zeros and ones, in the type of the rows; sparse rows keep the entries they store."""
    if threshold is None:
        return block
    xp = block.xp
    if block.is_sparse:
        # Stored entries become zeros or ones; those not stored are zeros, below any threshold allowed.
        X = block.X.copy()
        X.data = (X.data > threshold).astype(X.data.dtype)
    else:
        X = xp.astype(threshold < block.X, block.X.dtype)
    return type(block)(X, block.start, block.y, block.weight, xp, block.wide)


@dataclass(frozen=True, eq=False)
class Binarised(Statistic):
    """Another statistic, of the rows as zeros and ones; they are converted one block at a time."""

    statistic: Any
    threshold: float | None

    def of(self, block: Block) -> Any:
        return self.statistic.of(binary_block(block, self.threshold))

    def on(self, block: Block) -> Any:
        return self.statistic.on(binary_block(block, self.threshold))

    def on_run(self, block: Block, unit: int) -> Any:
        return self.statistic.on_run(binary_block(block, self.threshold), unit)

    def scores(self, block: Block) -> Array:
        """Return the score of each row for each component, (n, k)."""
        return self.statistic.scores(binary_block(block, self.threshold))


@dataclass(frozen=True, eq=False)
class BinariesByCentre(Statistic):
    """Counts of rows and ones of the rows given to each centre, by the largest score of the rows as they are."""

    theta: Array
    threshold: float | None

    def of(self, block: Block) -> ExpectedSums:
        xp = block.xp
        scores = block.matmul(self.theta[:, 1:].T) + self.theta[:, 0][None, :]
        heavy = block.weigh(compute_responsibilities(scores, True, xp)[0])
        ones = binary_block(block, self.threshold).transpose_matmul(heavy).T
        return ExpectedSums(xp.concat([xp.sum(heavy, axis=0)[:, None], ones], axis=1), 0.0)


@dataclass(frozen=True)
class BinarySums(Sums):
    """The number of values that are neither zero nor one, and the weight of the rows."""

    n_other: int
    weight: float


@dataclass(frozen=True)
class BinaryCheck(Statistic):
    """The number of values that are neither zero nor one."""

    def of(self, block: Block) -> BinarySums:
        xp = np if block.is_sparse else block.xp
        values = block.X.data if block.is_sparse else block.X
        other = xp.logical_and(values != 0, values != 1)
        return BinarySums(int(xp.sum(xp.astype(other, xp.int64))), block.total_weight())


_NO_CLASSES = "the check looks for the classes of whatever has predict_proba; a mixture has components instead"


@plain
@dataclass(frozen=True)
class BernoulliComponents:
    """Weights of the components, (k,), and the probability of a one in each column, (k, d)."""

    weights: Array
    probabilities: Array

    def natural(self) -> Array:
        """Return theta, (k, d + 1), with theta [1, x] = log weight + log p(x | component): the natural parameters."""
        # Probabilities of exactly zero or one would have infinite logarithms.
        p = np.clip(self.probabilities, np.finfo(np.float64).tiny, 1.0 - np.finfo(np.float64).eps)
        zeros = np.log1p(-p)
        # log p(x) = sum_j log(1 - p_j) + x_j log(p_j / (1 - p_j)).
        return np.column_stack([np.log(self.weights) + zeros.sum(axis=1), np.log(p) - zeros])

    def log_prior(self, alpha: float) -> float:
        """Return the log density of independent Beta(1 + alpha, 1 + alpha) priors, up to a constant."""
        p = np.clip(self.probabilities, np.finfo(np.float64).tiny, 1.0 - np.finfo(np.float64).eps)
        return alpha * float(np.sum(np.log(p) + np.log1p(-p)))


@dataclass(frozen=True)
class BernoulliModel:
    """A Bernoulli mixture for the EM engine; `alpha` ones and zeros are added to the counts."""

    alpha: float
    weight: float
    hard: bool
    threshold: float | None

    def expectation(self, components: BernoulliComponents) -> Binarised:
        """Return the request of the E step: responsibilities and the sums of [1, x] weighted by them."""
        return Binarised(Expectation(components.natural(), None, "linear", self.hard), self.threshold)

    def objective(self, expected: ExpectedSums, components: BernoulliComponents) -> float:
        """Return the log-likelihood plus the log prior, per unit of weight."""
        return (expected.bound + components.log_prior(self.alpha)) / self.weight

    def maximisation(self, expected: ExpectedSums, components: BernoulliComponents) -> BernoulliComponents:
        """Return the M step: weights n_k / n, and probabilities (ones + alpha) / (n_k + 2 alpha)."""
        counts = expected.table[:, 0]
        # Positive, so that the logarithm stays finite.
        weights = np.maximum(counts / counts.sum(), np.finfo(np.float64).tiny)
        totals = counts[:, None] + 2.0 * self.alpha
        ones = np.clip(expected.table[:, 1:] + self.alpha, 0.0, totals)
        p = np.where(totals > 0, ones / np.where(totals > 0, totals, 1.0), components.probabilities)
        return BernoulliComponents(weights, p)

    def gain(self, expected: ExpectedSums, components: BernoulliComponents, better: BernoulliComponents) -> float:
        """Return the rise of the expected complete-data objective from `parameters` to `better`, per unit of weight."""
        gain = float(np.sum((better.natural() - components.natural()) * expected.table))
        return (gain + better.log_prior(self.alpha) - components.log_prior(self.alpha)) / self.weight

    def slack(self, components: BernoulliComponents, better: BernoulliComponents) -> float:
        """Return zero: the M step is exact."""
        return 0.0


class BernoulliMixture(MixtureModel):
    r"""Bernoulli mixture, for rows of zeros and ones.

    Finds shares :math:`\tau_k` (``weights_``) and probabilities :math:`p_{kj}` (``probabilities_``) that maximise

    .. math:: \sum_i w_i \log \sum_k \tau_k \prod_j p_{kj}^{x_{ij}} (1 - p_{kj})^{1 - x_{ij}}
              + \alpha \sum_{kj} \log p_{kj} (1 - p_{kj})

    by expectation maximisation: columns are independent within a component (latent classes). The second term is the log
    of a Beta prior, which keeps probabilities away from zero and one; the objective never falls.

    Attributes
    ----------
    weights_, probabilities_ : arrays of shape (k,), (k, d)
    converged_ : bool
        Whether the kept run met `tol`.
    n_iter_ : int
        Its iterations.
    lower_bound_ : float
        The objective of the fitted components, per unit of weight.
    history_ : dict of ndarray
        Of the run that was kept, per iteration: ``objective``, ``change``, ``seconds``, ``restart``.
    certificate_ : Certificate
        ``"likelihood ascent"``: what one more iteration is certain to add to the objective.

    Notes
    -----
    An iteration is one pass of O(n k d) operations; memory is O(k d) above the rows. Sparse rows stay sparse; every
    place will do. A weight stands for repetitions, given the first components.

    References
    ----------
    P. Lazarsfeld and N. Henry, Latent structure analysis, 1968. C. Bishop, Pattern recognition and machine learning,
    2006, section 9.3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mixture import BernoulliMixture
    >>> X = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1]])
    >>> model = BernoulliMixture(n_components=2, alpha=0.0, random_state=0).fit(X)
    >>> sorted(model.probabilities_[:, 2].round(3).tolist())
    [0.333, 1.0]
    """

    alpha: float = parameter(
        Real(0), default=0.01, doc="Ones and zeros added to those counted in each column of each component."
    )
    binarize: float | None = parameter(
        Real() | Nothing(),
        default=0.0,
        doc="Values above it count as ones, others as zeros; None for rows that hold zeros and ones alone.",
    )

    _documents = {
        "tol": "A run ends when the objective, per unit of weight, changes by less.",
        "n_init": "Runs from different first components; the best run is kept.",
        "verbose": "Whether to print the objective; above 1 also its change.",
        "assignment": "Hard EM gives each row to its most probable component alone.",
    }

    _sparse = "csr"
    _check_exceptions: ClassVar[dict[str, str]] = MixtureModel._check_exceptions | {
        "check_sample_weight_equivalence_on_sparse_data": DRAWN,
        "check_estimator_sparse_array": _NO_CLASSES,
        "check_estimator_sparse_matrix": _NO_CLASSES,
    }
    _stored: ClassVar[dict[str, Stored]] = {
        "weights_": floats("components"),
        "probabilities_": floats("components, columns"),
    }
    _takes_sparse = True
    _depends_on_units = ("columns", "place")

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "BernoulliMixture":
        """Find the components.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or rows in any other place
            Zeros and ones.
        """
        source = self._open(X, None, sample_weight, accept_sparse="csr")
        self._check_enough_rows(source)
        # Sparse rows do not store their zeros; a negative threshold would make a one of each.
        if source.is_sparse and (self.binarize or 0.0) < 0:
            raise DataError(
                f"{type(self).__name__}: binarize must not be below 0 for sparse rows, whose zeros would become ones; "
                f"got {self.binarize!r}. Make the rows dense."
            )
        engine = ExpectationMaximisation(
            prepare=self._prepare,
            start=self._start,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            seed=seed_sequence(self.random_state),
            subject=type(self).__name__,
        )
        fitted = partial(self._attributes_of_best, dtype=source.host_dtype)
        outcome = self._drive(engine.solve, source, fitted=fitted, max_steps=self.n_init * self.max_iter)
        self._store(outcome.state)
        self._conclude(outcome, cure="try other first components, or raise max_iter or tol")
        return self

    def _prepare(self) -> Any:
        """Request a check that the rows are binary; return the model. A generator of requests."""
        check = yield BinaryCheck()
        if self.binarize is None and check.n_other:
            raise DataError(
                f"{type(self).__name__}: X must hold zeros and ones alone; {check.n_other} values are neither. Set "
                f"binarize to a threshold."
            )
        return BernoulliModel(float(self.alpha), float(check.weight), self.assignment == "hard", self.binarize)

    def _start(self, model: BernoulliModel, seed: np.random.SeedSequence) -> Any:
        """Find first components, smoothed by one pseudo-row, since EM never leaves a probability of zero."""
        k = self.n_components
        if self.init_params == "random":
            sums = yield Binarised(random_sums(k, seed, None, "linear"), model.threshold)
        else:
            centres = yield from first_centres(self.init_params, k, seed)
            sums = yield BinariesByCentre(nearest_scores(centres, 0.0, centres.shape[1] + 1), model.threshold)
        counts = sums.table[:, 0]
        # One pseudo-row for each component, half of it ones in every column.
        weights = (counts + 1.0) / (counts.sum() + k)
        return BernoulliComponents(weights, (sums.table[:, 1:] + 0.5) / (counts[:, None] + 1.0))

    def _attributes_of_best(self, state: Restarts, dtype: np.dtype[Any]) -> dict[str, Any]:
        """Return the fitted attributes of the best run so far, as arrays of `dtype`."""
        components = state.choose()[0].parameters
        return {
            "weights_": components.weights.astype(dtype),
            "probabilities_": components.probabilities.astype(dtype),
        }

    def _density(self) -> Binarised:
        parts = (to_numpy(part) for part in (self.weights_, self.probabilities_))
        weights, probabilities = (np.asarray(part, dtype=np.float64) for part in parts)
        theta = BernoulliComponents(weights, probabilities).natural()
        return Binarised(Expectation(theta, None, "linear"), self.binarize)

    def _n_parameters(self) -> int:
        k, d = self.probabilities_.shape
        return k * d + k - 1

    def parameters(self) -> dict[str, Any]:
        """Return the shares of the components and their probabilities of ones."""
        return {"weights": self.weights_, "probabilities": self.probabilities_}

    def _draw(self, n: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        weights, p = np.asarray(to_numpy(self.weights_), dtype=np.float64), to_numpy(self.probabilities_)
        labels = np.repeat(np.arange(len(weights)), generator.multinomial(n, weights / weights.sum()))
        return (generator.random((n, p.shape[1])) < p[labels]).astype(p.dtype), labels

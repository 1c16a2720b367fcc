"""Latent Dirichlet allocation: topics in rows of counts, by variational Bayes over all rows or batches of them."""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.random import SeedSequence

from mercer._base import LimitedEstimator, few_rows, fitting, open_new_rows, seed_sequence
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.later import map_later
from mercer._base.linear_map import MethodOnBlock
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, Seed, attribute, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import Block, Source, open_source, place_of
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, floats, integers
from mercer._types import Array
from mercer.decomposition._topics.bound import (
    RowRule,
    TopicFactors,
    TopicPass,
    TopicSums,
    expect_logarithms,
    infer,
    measure_divergence,
)
from mercer.errors import DataError

# Shape of the gamma distribution with mean one from which the first parameters of the topics are drawn.
_START_SHAPE = 100.0
_STATEMENT = (
    "How much the last pass moved the perplexity of the rows, exp(-bound / counts). The bound in history_ is below the "
    "log-likelihood; other starts may end higher."
)
_BATCHES = Certificate.none(
    "Batches move the topics by steps that shrink; nothing bounds how far they are from those of all rows."
)


@plain
@dataclass(frozen=True, eq=False)
class TopicState:
    """Parameters of the topics (k, d), the batches and passes so far, the last perplexity and how much it moved."""

    topics: Array
    n_batches: int = 1
    step: int = 0
    perplexity: float = np.nan
    change: float = np.inf


class LatentDirichletAllocation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LimitedEstimator):
    r"""Latent Dirichlet allocation: rows of counts as mixtures of topics, which are distributions over the columns.

    Row i draws shares :math:`\theta_i` of topics from a symmetric Dirichlet distribution, and each of its counts a
    topic j from :math:`\theta_i` and a column from :math:`\beta_j`, which has a symmetric Dirichlet prior itself.
    Variational Bayes fits Dirichlet distributions with parameters :math:`\gamma_i` of the rows and :math:`\lambda_j` of
    the topics so that the bound on the log-likelihood,

    .. math:: \sum_{iw} c_{iw} \log \sum_j e^{E[\log\theta_{ij}] + E[\log\beta_{jw}]}
              - \sum_i KL(\gamma_i) - \sum_j KL(\lambda_j),

    is largest, with KL the divergence from the prior.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        :math:`\lambda`: pseudo-counts of the columns in each topic; divided by their sums, the topics' distributions.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        :math:`\exp E[\log \beta]`.
    doc_topic_prior_, topic_word_prior_ : float
        Parameters of the priors.
    n_batch_iter_ : int
        Updates of the topics, plus one.
    bound_ : float
        Perplexity of the rows: exp(-bound / counts).
    history_ : dict of ndarray
        The bound (``objective``), pass by pass, and the perplexity; with batches the bound of each batch, scaled to
        all rows.
    certificate_ : Certificate
        How much the last pass moved the perplexity, against `perp_tol`. Batches have none.

    Notes
    -----
    O(k) for each stored count and update of its row, in native code on all threads; some n_features x k numbers of
    memory for each block of rows at work. A pass infers each row anew: the bound can fall where that ends at another
    local optimum of a row, which is rare. ``'batch'`` takes rows in memory, files, streams that can be read again, and
    Dask; ``partial_fit`` takes batches as they arrive.

    References
    ----------
    Blei, Ng and Jordan (2003), Latent Dirichlet allocation. Hoffman, Blei and Bach (2010), Online learning for latent
    Dirichlet allocation.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import LatentDirichletAllocation
    >>> X = np.array([[4, 5, 0, 0], [6, 3, 0, 1], [0, 0, 5, 4], [0, 1, 7, 3]])
    >>> model = LatentDirichletAllocation(2, max_iter=50, random_state=0).fit(X)
    >>> shares = model.transform(X)
    >>> bool((shares[:2].argmax(axis=1) != shares[2:].argmax(axis=1)).all()), shares.sum(axis=1).round(6).tolist()
    (True, [1.0, 1.0, 1.0, 1.0])

    See Also
    --------
    NMF : Parts of rows without a distribution.
    """

    n_components: int = parameter(Integer(1), default=10, kw_only=False, doc="How many topics.")
    doc_topic_prior: float | None = parameter(
        Real(0, closed="neither") | Nothing(),
        default=None,
        doc="Parameter of the prior of a row's shares; None is ``1 / n_components``.",
    )
    topic_word_prior: float | None = parameter(
        Real(0, closed="neither") | Nothing(),
        default=None,
        doc="Parameter of the prior of the topics; None is ``1 / n_components``.",
    )
    learning_method: str = parameter(
        Choice("batch", "online"),
        default="batch",
        doc="Whether topics are updated after all rows, or after each batch.",
    )
    learning_decay: float = parameter(
        Real(0, 1), default=0.7, doc="Batch t moves the topics by (learning_offset + t) to the power of minus this."
    )
    learning_offset: float = parameter(
        Real(1, closed="left"), default=10.0, doc="Makes the steps of the first batches smaller."
    )
    max_iter: int = parameter(Integer(0), default=10, doc="Most passes over the rows.")
    batch_size: int = parameter(Integer(1), default=128, doc="Rows in a batch of ``'online'``.")
    evaluate_every: int = parameter(
        Integer(),
        default=-1,
        doc="Passes after which the perplexity is compared with `perp_tol`; zero and below never end a fit early.",
    )
    total_samples: float = parameter(
        Real(0, closed="neither"), default=1e6, doc="How many rows ``partial_fit`` will see in all."
    )
    perp_tol: float = parameter(
        Real(0, closed="left"), default=1e-1, doc="The fit has converged when a pass lowers the perplexity by less."
    )
    mean_change_tol: float = parameter(
        Real(0, closed="left"), default=1e-3, doc="The mean move of a row's parameters at which it is inferred."
    )
    max_doc_update_iter: int = parameter(Integer(0), default=100, doc="Most updates of a row in a pass.")
    verbose: int = parameter(Integer(0) | Boolean(), default=0)
    random_state: Any = parameter(Seed(), default=None, doc="Of the first topics.")

    components_: Any = attribute()
    exp_dirichlet_component_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": floats("components, columns"),
        "exp_dirichlet_component_": floats("components, columns"),
        "doc_topic_prior_": floats(),
        "topic_word_prior_": floats(),
        "n_batch_iter_": integers(low=1),
        "bound_": floats(),
    }
    _takes_sparse = True
    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    # Batches follow their own rows, and rows may end at another local optimum.
    _objective_moves: ClassVar[str | None] = None
    _depends_on_units = ("columns", "scale", "place")

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "LatentDirichletAllocation":
        """Find the topics of `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts, or other numbers that are not negative.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each row counts.
        """
        source = self._open(X, None, sample_weight, accept_sparse="csr")
        seed = seed_sequence(self.random_state)
        fitted = partial(self._attributes_of, dtype=source.host_dtype)
        n_batches, online = 1, self.learning_method == "online"
        if online:
            self._needs_memory(source, "learning_method='online'", "use partial_fit, or learning_method='batch'")
            n_batches = -(-source.n_rows // self.batch_size)
        solve = partial(self._follow_batches if online else self._pass, source, seed)
        outcome = self._drive(solve, source, fitted=fitted, max_steps=self.max_iter * n_batches)
        self.n_iter_ = outcome.state.step // n_batches
        self._conclude(outcome, "raise max_iter or perp_tol")
        return self

    @fitting
    @one_blas_thread()
    def partial_fit(self, X: Any, y: Any = None) -> "LatentDirichletAllocation":
        """Take `X` as one more batch, or several of ``batch_size`` rows."""
        seen = "components_" in vars(self)
        source = self._open(X, accept_sparse="csr", reset=not seen)
        rows = source.whole()
        if seen:
            state = TopicState(self.components_.astype(np.float64), self.n_batch_iter_)
        else:
            state = self._first(seed_sequence(self.random_state), source.n_features)
        for first in range(0, source.n_rows, self.batch_size):
            state, _ = self._take(rows[first : first + self.batch_size], None, state, float(self.total_samples))
        source.release()
        for name, value in self._attributes_of(state, source.host_dtype).items():
            setattr(self, name, value)
        return self

    def transform(self, X: Any, *, normalize: bool = True) -> Array:
        """Infer the shares of topics in rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts.
        normalize : bool, default=True
            Whether shares sum to one; otherwise they are the parameters of their Dirichlet distributions.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Shares. Of rows in files and streams an object that an estimator takes in their stead.
        """
        name = "_scores" if normalize else "_infer_new"
        if (rows := few_rows(self, X)) is not None:
            return getattr(self, name)(open_source(rows).block(0))
        if (place := place_of(X)) in ("file", "stream"):
            return map_later(self, X, place, lambda model: MethodOnBlock.of(model, name), sparse=True)
        return open_new_rows(self, X, accept_sparse="csr").map(MethodOnBlock.of(self, name))

    def fit_transform(self, X: Any, y: Any = None, *, normalize: bool = True) -> Array:
        """Find the topics of `X`, and return their shares in its rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts.
        normalize : bool, default=True
            As for ``transform``.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Shares.
        """
        return self.fit(X, y).transform(X, normalize=normalize)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the variational bound on the log-likelihood of rows."""
        return self._measure(X)[0]

    def perplexity(self, X: Any, sub_sampling: bool = False) -> float:
        """Return exp(-bound / counts) of rows: low where the model foresees them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts.
        sub_sampling : bool, default=False
            Whether the rows stand for `total_samples` rows.

        Returns
        -------
        float
            The perplexity.
        """
        bound, part, total = self._measure(X, float(self.total_samples) if sub_sampling else None)
        return _find_perplexity(bound, total * part)

    def _measure(self, X: Any, stands_for: float | None = None) -> tuple[float, float, float]:
        """Return the bound of rows that may stand for more, how many each stands for, and their counts."""
        source = open_new_rows(self, X, accept_sparse="csr")
        topics = self.components_.astype(np.float64)
        expected = expect_logarithms(topics)
        sums = _check(source.reduce(TopicPass(TopicFactors.of(expected), self._rule(), collects=False)))
        part = 1.0 if stands_for is None else stands_for / source.n_rows
        bound = sums.bound * part - float(measure_divergence(topics, self.topic_word_prior_, expected).sum())
        return bound, part, sums.total

    def _rule(self) -> RowRule:
        return RowRule(self._prior(self.doc_topic_prior), self.max_doc_update_iter, float(self.mean_change_tol))

    def _prior(self, given: float | None) -> float:
        return 1.0 / self.n_components if given is None else float(given)

    def _first(self, seed: SeedSequence, n_features: int) -> TopicState:
        random = np.random.default_rng(seed.spawn(1)[0])
        topics = random.gamma(_START_SHAPE, 1.0 / _START_SHAPE, (self.n_components, n_features))
        return TopicState(topics)

    def _pass(self, source: Source, seed: SeedSequence, start: TopicState | None) -> Solver[TopicState]:
        """Infer all rows and then the topics, pass by pass."""
        state = self._first(seed, source.n_features) if start is None else start
        rule, eta, tol = self._rule(), self._prior(self.topic_word_prior), float(self.perp_tol)
        stopped = False
        while state.step < self.max_iter and not stopped:
            state, bound = yield from self._update(state, rule, eta, collects=True)
            yield Step(bound, state, _certify(state, tol), {"perplexity": state.perplexity})
            stopped = self.evaluate_every > 0 and state.step % self.evaluate_every == 0 and state.change <= tol
        # The perplexity of the last topics: each pass measures that of the topics before it.
        state, _ = yield from self._update(state, rule, eta, collects=False)
        certificate = _certify(state, tol)
        reason = "converged" if certificate.satisfied else "max_iter" if self.evaluate_every > 0 else "iterations"
        return Solution(state, bool(certificate.satisfied), certificate, reason)

    def _update(self, state: TopicState, rule: RowRule, eta: float, collects: bool) -> Any:
        """Return the state after a pass over all rows, and the bound before; a generator of requests.

        The topics move to those that are best for the rows, if the pass `collects` what they need.
        """
        expected = expect_logarithms(state.topics)
        factors = TopicFactors.of(expected)
        sums = _check((yield TopicPass(factors, rule, collects)))
        bound = sums.bound - float(measure_divergence(state.topics, eta, expected).sum())
        perplexity = _find_perplexity(bound, sums.total)
        # Before the first pass there is no perplexity to compare with.
        change = math.inf if math.isnan(state.perplexity) else abs(state.perplexity - perplexity)
        state = replace(state, perplexity=perplexity, change=change)
        if collects:
            topics = eta + np.ascontiguousarray((sums.counts * factors.factors).T)
            state = replace(state, topics=topics, n_batches=state.n_batches + 1, step=state.step + 1)
        return state, bound

    def _follow_batches(self, source: Source, seed: SeedSequence, start: TopicState | None) -> Solver[TopicState]:
        """Update the topics after each batch of rows, in their order."""
        state = self._first(seed, source.n_features) if start is None else start
        X, size, n_rows = source.whole(), self.batch_size, source.total_weight()
        n_batches = -(-source.n_rows // size)
        rule, eta, tol = self._rule(), self._prior(self.topic_word_prior), float(self.perp_tol)
        stopped = False
        while state.step < self.max_iter * n_batches and not stopped:
            first = state.step % n_batches * size
            weight = None if source.weight is None else source.weight[first : first + size]
            state, bound = self._take(X[first : first + size], weight, state, n_rows)
            passes, rest = divmod(state.step, n_batches)
            if self.evaluate_every > 0 and not rest and not passes % self.evaluate_every:
                state, _ = yield from self._update(state, rule, eta, collects=False)
                stopped = state.change <= tol
            yield Step(bound, state, _BATCHES, {"perplexity": state.perplexity})
        if not stopped:
            state, _ = yield from self._update(state, rule, eta, collects=False)
        reason = "converged" if stopped else "max_iter" if self.evaluate_every > 0 else "iterations"
        return Solution(state, stopped, _BATCHES, reason)

    def _take(self, X: Any, weight: Any, state: TopicState, n_rows: float) -> tuple[TopicState, float]:
        """Return the state after one more batch, and the bound before, scaled to all rows."""
        eta, expected = self._prior(self.topic_word_prior), expect_logarithms(state.topics)
        factors = TopicFactors.of(expected)
        sums = _check(infer(X, weight, factors, self._rule(), True)[0])
        rate = (self.learning_offset + state.n_batches) ** -self.learning_decay
        part = n_rows / sums.weight if sums.weight > 0 else 0.0
        topics = (1 - rate) * state.topics + rate * (eta + part * (sums.counts * factors.factors).T)
        bound = part * sums.bound - float(measure_divergence(state.topics, eta, expected).sum())
        return replace(state, topics=topics, n_batches=state.n_batches + 1, step=state.step + 1), bound

    def _attributes_of(self, state: TopicState, dtype: Any) -> dict[str, Any]:
        attributes = {
            "components_": state.topics.astype(dtype),
            "exp_dirichlet_component_": np.exp(expect_logarithms(state.topics)).astype(dtype),
            "doc_topic_prior_": self._prior(self.doc_topic_prior),
            "topic_word_prior_": self._prior(self.topic_word_prior),
            "n_batch_iter_": state.n_batches,
        }
        return attributes if math.isnan(state.perplexity) else attributes | {"bound_": state.perplexity}

    def _infer_new(self, block: Block) -> Array:
        """Return the parameters of the rows of a block."""
        topics = TopicFactors.of(expect_logarithms(self.components_.astype(np.float64)))
        sums, gamma = infer(block.X, None, topics, self._rule(), False)
        _check(sums)
        return gamma.astype(block.X.dtype, copy=False)

    def _scores(self, block: Block) -> Array:
        parameters = self._infer_new(block)
        return parameters / parameters.sum(axis=1, keepdims=True)

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _check(sums: TopicSums) -> TopicSums:
    """Return the sums of a pass; raise if a row had a negative entry."""
    if sums.negative:
        raise DataError(
            f"Negative values in data passed to LatentDirichletAllocation (input X): counts cannot be negative; "
            f"{sums.negative:.0f} entries of a pass are. Shift or clip the rows, or use PCA."
        )
    return sums


def _certify(state: TopicState, tol: float) -> Certificate:
    return Certificate.of("perplexity change", state.change, tol, _STATEMENT)


def _find_perplexity(bound: float, total: float) -> float:
    """Return exp(-bound / counts); 1 for rows without counts, which every model foresees."""
    # exp(709) is the largest number: beyond it the perplexity says no more.
    return math.exp(min(-bound / total, 709.0)) if total > 0 else 1.0

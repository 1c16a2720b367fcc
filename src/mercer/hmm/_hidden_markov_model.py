"""Hidden Markov models with emissions of any kind: learning by EM, and what a fitted model can do.

``partial_fit`` takes a step of stepwise EM. The M step is a function of expected counts alone. So they are averaged
over the batches, per step, with weights that forget the first batches, whose counts were taken under poor parameters
(Cappe and Moulines, 2009):

    S_t = (1 - g_t) S_(t-1) + g_t s_t,   g_t = t^-0.6,   s_t = expected counts of batch t / its number of steps.

The M step takes S_t times the number of steps so far, so that priors count as they do in ``fit``.
"""

import os
import time
import warnings
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._base import LimitedEstimator, few_rows, fitting, seed_sequence
from mercer._base.interface import DensityMixin
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Integer, Real, Seed, Text, attribute, parameter
from mercer._plain import plain
from mercer._solver.expectation_maximisation import CollapseError, ExpectationMaximisation
from mercer._solver.relay import answer_requests, return_at_once
from mercer._solver.restarts import Restarts, child_seed, keep_history_of
from mercer._solver.step import Certificate, Step
from mercer._source import Source, place_of
from mercer._source.memory import require_memory
from mercer._source.namespace import namespace_of, to_numpy
from mercer._source.placement import Placement
from mercer._stored import Stored, floats, integers, part
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.hmm._chain import Chain, ImpossibleSequenceError, count_lanes
from mercer.hmm._emission import check_columns
from mercer.hmm._online import StateFilter
from mercer.hmm._passes import BestPaths, ChainSums, Probabilities, run_pass
from mercer.hmm._sequences import (
    Piece,
    Plan,
    find_group_lengths,
    join_sequences,
    plan_pieces,
    read_group_lengths,
    read_lengths,
    read_weights,
)
from mercer.hmm._starts import check_probabilities, draw_rows, find_stationary, make_mask
from mercer.hmm._training import ChainParameters, ChainTraining, CountedStates, Priors, find_dead, open_pass, read_rows

ROWS_ARE_ORDERED = "the rows of a sequence are steps in time: their order is part of the data"
_ONE_START = np.zeros(1, dtype=np.intp)
# The share of batch t is t to minus this power: above one half, so that noise averages out, and below one, so that the
# first parameters are forgotten (Cappe and Moulines, 2009).
_FORGETTING = 0.6
# The chains of fitted models, so that short sequences are decoded without preparing the arrays anew.
_CHAINS: WeakKeyDictionary[Any, tuple[Any, Chain]] = WeakKeyDictionary()


@dataclass(frozen=True)
class _Opened:
    """New sequences: their plan, the function that reads rows, the threads, the type of rows, the function that gives
    results the form that the rows have, and the pass over the rows where they are on a device.
    """

    plan: Plan
    read: Any
    threads: int
    dtype: Any
    deliver: Any
    there: Any = None


def _return_same(values: Array) -> Array:
    """Return results of rows in memory or on a device as they are."""
    return values


@plain
@dataclass(frozen=True, eq=False)
class ChainBatches:
    """What is kept of the batches: average counts per step, about the means of the fitted emission; steps so far."""

    average: ChainSums
    weight: float


def _check_learns_in_parts(model: Any) -> bool:
    """Return whether counts say all that the M step needs; raise with the cure if it needs the rows."""
    if not model._learns_in_parts:
        name = type(model).__name__
        raise AttributeError(
            f"{name}: partial_fit needs densities that are functions of sums. Call fit with all sequences."
        )
    return True


class HiddenMarkovModel(DensityMixin, LimitedEstimator):
    """A hidden Markov model with emissions of some kind."""

    # Users set probabilities and emissions by hand; each pass checks them.
    _checks_assigned: ClassVar[bool] = True
    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": ROWS_ARE_ORDERED,
        "rows alone": "a state is decoded from the whole sequence, not from its step alone",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "log_likelihood_": floats(),
        "dead_states_": integers("*", low=0, below="states"),
        "_batches": part("ChainBatches"),
        "n_batches_seen_": integers(low=0),
    }

    n_components: int = parameter(Integer(1), default=1, kw_only=False, doc="The number of states.")
    startprob_prior: Any = parameter(
        Real(1) | ArrayRule(),
        default=1.0,
        doc="Dirichlet parameters of the first state; its excess over 1 counts as observed sequences.",
    )
    transmat_prior: Any = parameter(
        Real(1) | ArrayRule(),
        default=1.0,
        doc="Dirichlet parameters of the transitions; the excess over 1 counts as observed transitions.",
    )
    topology: Any = parameter(
        Choice("ergodic", "left-right", "banded") | ArrayRule(),
        default="ergodic",
        doc="The allowed transitions: all; to the same or the next state, beginning with the first; to the same or "
        "a neighbouring state; or those where an array of shape (n_components, n_components) is not zero. Other "
        "transitions stay zero.",
    )
    training: str = parameter(
        Choice("baum-welch", "viterbi"),
        default="baum-welch",
        doc="Expected counts, or the counts of the best path (hard EM).",
    )
    algorithm: str = parameter(
        Choice("viterbi", "map"),
        default="viterbi",
        doc="What ``predict`` and ``decode`` return: the best path, or the most probable state of each step.",
    )
    n_iter: int = parameter(Integer(0), default=100, doc="Most iterations of one run.")
    tol: float = parameter(Real(0), default=1e-2, doc="A run ends when the log-likelihood changes by less.")
    n_init: int = parameter(Integer(1), default=1, doc="Runs from different first parameters; the likeliest is kept.")
    params: str = parameter(Text(), default="ste")
    init_params: str = parameter(
        Text(), default="ste", doc="What begins by itself. The rest must be set before ``fit``."
    )
    random_state: Any = parameter(Seed(), default=None, doc="Seed of first parameters and of ``sample``.")
    verbose: int = parameter(Integer(0) | Boolean(), default=False, doc="Whether to print the log-likelihood.")

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _objective_moves: ClassVar[str | None] = "up"
    # A list of arrays is a list of sequences here, not of blocks of rows.
    _lists_are_sequences: ClassVar[bool] = True
    # Whether ``partial_fit`` can be: counts say all that the M step needs.
    _learns_in_parts: ClassVar[bool] = True
    # The letters of ``params``: s and t, and those of the emissions.
    _letters: ClassVar[str] = "st"
    # The fitted arrays of the emissions; empty where they are not arrays.
    _emission_names: ClassVar[tuple[str, ...]] = ()
    # Whether emissions have hidden variables of their own, besides the states.
    _hides_more: ClassVar[bool] = False
    # Whether the M step is the exact maximum, so that the engine may assert that the likelihood does not fall.
    _exact: ClassVar[bool] = True
    startprob_: Array = attribute()
    transmat_: Array = attribute()
    _takes_gaps = True

    # What each kind of emission defines.

    def _emission(self) -> Any:
        """Return the emission that the fitted attributes describe."""
        raise NotImplementedError

    def _first_emission(self, rows: Array, seed: np.random.SeedSequence) -> Any:
        """Return a first emission, from some of the rows."""
        raise NotImplementedError

    def _emission_prior(self) -> Any:
        """Return the prior of the emission."""
        raise NotImplementedError

    def _emission_attributes(self, emission: Any, dtype: Any) -> dict[str, Any]:
        """Return the fitted attributes of an emission."""
        raise NotImplementedError

    def _encode(self, X: Any, reset: bool) -> Any:
        """Return rows as numbers."""
        return X

    @fitting
    def fit(
        self,
        X: Any,
        y: Any = None,
        lengths: Any = None,
        *,
        sequence_weight: Any = None,
        groups: Any = None,
        states: Any = None,
    ) -> Any:
        """Learn the parameters from sequences.

        Parameters
        ----------
        X : array-like of shape (n_steps, n_features), a list of such arrays, a file, or an array on a device
            Sequences, one after the other. Gaussian, categorical and Poisson states take torch and CuPy arrays. A row
            of NaN is a missing step.
        y : ignored
            Except that integers which sum to the number of rows are read as `lengths`, which hmmlearn has in second
            place.
        lengths : array-like of int, default=None
            The length of each sequence; None means one sequence.
        sequence_weight : array-like of shape (n_sequences,), default=None
            A weight stands for repetitions of a whole sequence.
        groups : array-like of shape (n_steps,) or str, default=None
            In place of `lengths`: which sequence each row belongs to, or the name of the column that says so in a
            frame or in a Parquet, Arrow or CSV file.
        states : array-like of int of shape (n_steps,), default=None
            The states, where they are known: parameters are then relative frequencies, without iteration.
        """
        source, plan = self._open_sequences(X, y, lengths, groups, sequence_weight, reset=True)
        self._check_letters()
        # The batches of partial_fit before are forgotten.
        for name in ("_batches", "n_batches_seen_"):
            self.__dict__.pop(name, None)
        # The mask of allowed transitions: zeros stay zero through EM.
        seed, mask = seed_sequence(self.random_state), make_mask(type(self).__name__, self.topology, self.n_components)
        training = self._prepare_training(plan, source)
        fitted = partial(self._attributes_of_best, dtype=source.host_dtype)
        start = partial(self._start, source, mask)
        if states is not None:
            self._count(training, start, source, self._read_states(states, source.n_rows), seed)
            return self
        engine = ExpectationMaximisation(
            prepare=lambda: return_at_once(training),
            start=start,
            n_init=self.n_init,
            max_iter=self.n_iter,
            tol=self.tol,
            seed=seed,
            subject=type(self).__name__,
        )
        outcome = self._drive(engine.solve, source, fitted=fitted, max_steps=self.n_init * self.n_iter)
        run, restart = outcome.state.choose()
        self.n_iter_ = run.iteration
        self.history_ = keep_history_of(restart, self.history_)
        self.log_likelihood_ = float(run.objective)
        self._report_dead(training, run.parameters, source)
        self._conclude(outcome, cure="raise n_iter or tol, or try n_init > 1")
        return self

    def _open_sequences(
        self, X: Any, second: Any, lengths: Any, groups: Any, sequence_weight: Any, reset: bool
    ) -> tuple[Source, Plan]:
        """Open the rows, and plan the pieces of their sequences."""
        subject = type(self).__name__
        column = groups if isinstance(groups, str) and _is_table_file(X) else None
        if isinstance(groups, str) and column is None:
            X, groups = _take_column(subject, X, groups)
        X, joined = join_sequences(subject, X)
        given = [
            name for name, value in (("a list", joined), ("lengths", lengths), ("groups", groups)) if value is not None
        ]
        if len(given) > 1:
            raise DataError(f"{subject}: sequences must be given in one way; got {' and '.join(given)}. Leave one out.")
        # A column that is named in the place of targets is no feature.
        source = self._open(self._encode(X, reset), column, None, reset=reset, ensure_all_finite=False)
        source.keep_missing()
        lengths = joined if lengths is None else lengths
        lengths, groups, second = map(to_numpy, (lengths, groups, second))
        if column is not None:
            lengths = read_group_lengths(subject, X, column, (source.feature_names or [])[:1])
        elif groups is not None:
            lengths = find_group_lengths(subject, groups)
        if lengths is None and not given and _are_lengths(second, source.n_rows):
            lengths = second
        elif second is not None and np.size(second) != source.n_rows:
            raise DataError(
                f"{subject}: `y` must have a value for each of the {source.n_rows} rows, which are ignored, or be "
                f"lengths that sum to their number; got {np.size(second)} values. Pass lengths=..."
            )
        lengths = read_lengths(subject, lengths, source.n_rows)
        weight = read_weights(subject, to_numpy(sequence_weight), lengths)
        return source, plan_pieces(lengths, weight, count_lanes(self.n_components), source.n_features)

    def _check_letters(self) -> None:
        for name in ("params", "init_params"):
            if unknown := set(getattr(self, name)) - set(self._letters):
                raise ParameterError(
                    f"{type(self).__name__}: {name} must consist of letters of {self._letters!r}; got "
                    f"{''.join(sorted(unknown))!r} in {getattr(self, name)!r}."
                )

    def _prepare_training(self, plan: Plan, source: Source) -> ChainTraining:
        k, subject = self.n_components, type(self).__name__
        start = read_prior(subject, "startprob_prior", self.startprob_prior, (k,))
        transitions = read_prior(subject, "transmat_prior", self.transmat_prior, (k, k))
        # Sums in float32, on a device without float64, may fall by their rounding.
        exact = self._exact and not source.placement.is_narrow
        priors = Priors(start, transitions, self._emission_prior())
        return ChainTraining(plan, self.params, priors, subject, self.training == "viterbi", exact)

    def _start(self, source: Source, mask: Array, training: Any, seed: np.random.SeedSequence) -> Any:
        """Return first parameters: those that the user has set, and others from the rows; a generator of requests."""
        k, subject = self.n_components, type(self).__name__
        generator = np.random.default_rng(seed)
        first_run = seed.spawn_key[-1:] in ((), (0,))
        initial = np.full(k, 1.0 / k)
        if not isinstance(self.topology, str) or self.topology == "ergodic":
            initial = initial if first_run else generator.dirichlet(np.ones(k))
        elif self.topology == "left-right":
            initial = np.eye(k)[0]
        # Equal transitions would start at independent steps, a point that EM leaves slowly: states begin by lasting.
        # Further runs draw their transitions.
        transition = mask * (1.0 + k * np.eye(k) if first_run else generator.dirichlet(np.ones(k), k))
        transition = transition / transition.sum(axis=1, keepdims=True)
        if "s" not in self.init_params:
            initial = check_probabilities(subject, "startprob_", self._get_given("startprob_", "s"), (k,))
        if "t" not in self.init_params:
            transition = check_probabilities(subject, "transmat_", self._get_given("transmat_", "t"), (k, k)) * mask
            # What the topology forbids is spread over the rest of the row.
            totals = transition.sum(axis=1, keepdims=True)
            transition = check_probabilities(subject, "transmat_", transition / np.where(totals > 0, totals, 1), (k, k))
        rows = None
        if set(self.init_params) & set(self._letters) - set("st"):
            rows = yield from draw_rows(source, generator, subject)
        emission = self._first_emission(rows, seed)
        check_columns(subject, emission, source.n_features)
        try:
            emission.log_prior(training.priors.emission)
        except ValueError as error:
            raise ParameterError(
                f"{subject}: a prior of the emissions does not have the shape of the parameters that it belongs to "
                f"({error}). Give a number, or an array of the shape of the fitted attribute."
            ) from error
        return ChainParameters(initial, transition, emission)

    def _get_given(self, name: str, letter: str) -> Any:
        """Return a fitted attribute that the user has set before ``fit``."""
        if name not in vars(self):
            raise DataError(
                f"{type(self).__name__}: init_params={self.init_params!r} leaves out {letter!r}, so that {name} must "
                f"be set before fit. Set it, or add {letter!r} to init_params."
            )
        return to_numpy(vars(self)[name])

    def _read_states(self, states: Any, n_rows: int) -> Array:
        states = np.asarray(to_numpy(states))
        fits = states.shape == (n_rows,) and states.dtype.kind in "iu"
        if not fits or states.min() < 0 or states.max() >= self.n_components:
            got = f"{states.dtype} of shape {states.shape}"
            if fits:
                got = f"values from {states.min()} to {states.max()}"
            raise DataError(
                f"{type(self).__name__}: `states` must hold an integer from 0 to {self.n_components - 1} for each of "
                f"the {n_rows} rows; got {got}. Set n_components to the number of states, and leave out unknown steps."
            )
        return states.astype(np.intp)

    def _count(self, training: ChainTraining, start: Any, source: Source, states: Array, seed: Any) -> None:
        """Set the parameters of known states: relative frequencies, and emissions fitted to the rows of each state."""
        begun = time.perf_counter()

        def solve() -> Any:
            # The first parameters fix the form of the emission; the counts replace their values.
            parameters, before = (yield from start(training, seed)), -np.inf
            # Relative frequencies need one pass; the components of mixtures are hidden even where states are known.
            for _ in range(max(1, self.n_iter) if self._hides_more else 1):
                counts = yield CountedStates(parameters, training.plan, states)
                parameters = training.maximisation(counts, parameters)
                if counts.log_likelihood - before < self.tol:
                    break
                before = counts.log_likelihood
            return parameters, counts

        parameters, counts = answer_requests(solve(), source)
        for name, value in self._attributes(parameters, source.host_dtype).items():
            setattr(self, name, value)
        expected = training.expectation(parameters).answer(source)
        self.log_likelihood_ = float(training.objective(expected, parameters))
        self.n_iter_, self.converged_ = 1, True
        self.history_ = {"step": np.zeros(1, np.int64), "objective": np.array([self.log_likelihood_])}
        self.history_["seconds"] = np.array([time.perf_counter() - begun])
        self.certificate_ = Certificate.of("closed form", 0.0, 0.0, "Relative frequencies maximise the likelihood.")
        self.dead_states_ = find_dead(counts)
        source.release()

    def _attributes_of_best(self, state: Restarts, dtype: Any) -> dict[str, Any]:
        return self._attributes(state.choose()[0].parameters, dtype)

    def _attributes(self, parameters: ChainParameters, dtype: Any) -> dict[str, Any]:
        """Return the fitted attributes of some parameters."""
        chain = {"startprob_": parameters.initial.astype(dtype), "transmat_": parameters.transition.astype(dtype)}
        return chain | self._emission_attributes(parameters.emission, dtype)

    def _report_dead(self, training: ChainTraining, parameters: ChainParameters, source: Source) -> None:
        """Set ``dead_states_``, and warn if there are any."""
        self.dead_states_ = np.empty(0, dtype=np.intp)
        # No state lost all its steps in any iteration: no pass is needed.
        if not training.died:
            return
        self.dead_states_ = find_dead(training.expectation(parameters).answer(source))
        if len(self.dead_states_):
            warnings.warn(
                f"{type(self).__name__}: state {self.dead_states_[0]} died in training (of {len(self.dead_states_)} in "
                f"dead_states_): it explains no step any longer and keeps its last parameters. Lower n_components, "
                f"raise the priors, or try n_init > 1.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _describe_step(self, number: int, step: Step) -> str:
        run, name = step.state.run, type(self).__name__
        return (
            f"{name}: run {step.state.restart}, iteration {run.iteration}, log-likelihood {step.objective:.9g}, change "
            f"{step.extra['change']:.3g}"
        )

    @available_if(_check_learns_in_parts)
    @fitting
    def partial_fit(
        self, X: Any, y: Any = None, lengths: Any = None, *, sequence_weight: Any = None, groups: Any = None
    ) -> Any:
        """Take one step of stepwise EM with `X` as the batch.

        The expected counts of the batch are averaged with those of the batches before, per step; the t-th batch counts
        t^-0.6 (Cappe and Moulines, 2009). The first batch finds first parameters as ``fit`` does, or goes on from those
        of an earlier ``fit``, whose rows are forgotten. A sequence must not be cut in two by batches. Give batches of
        some hundred steps or more; pass over them several times where they are few.

        Parameters
        ----------
        X : array-like of shape (n_steps, n_features), a list of such arrays, a file, or an array on a device
            Whole sequences, one after the other.
        y : ignored
            Except that integers which sum to the number of rows are read as `lengths`.
        lengths : array-like of int, default=None
        sequence_weight : array-like of shape (n_sequences,), default=None
        groups : array-like of shape (n_steps,) or str, default=None

        Returns
        -------
        self
            With the batches so far in ``n_batches_seen_``.
        """
        begun = "n_features_in_" in vars(self) and "transmat_" in vars(self)
        source, plan = self._open_sequences(X, y, lengths, groups, sequence_weight, reset=not begun)
        self._check_letters()
        training = self._prepare_training(plan, source)
        number = int(vars(self).get("n_batches_seen_", 0)) + 1
        dtype = to_numpy(self.transmat_).dtype if begun else source.host_dtype
        try:
            before = self._earlier() if begun else self._find_start(training, source)
            expected = training.expectation(before).answer(source)
            batches = self._blend_batches(expected, plan.total_weight, number)
            # The average per step times all steps so far, so that priors count as in one fit.
            sums = batches.average.scale(batches.weight)
            parameters = training.maximisation(sums, before)
        except CollapseError as error:
            raise DataError(
                f"{type(self).__name__}: component {error.component} collapsed at batch {number}. {error.cure}"
            ) from error
        finally:
            source.release()
        for name, value in self._attributes(parameters, dtype).items():
            setattr(self, name, value)
        # Moments are kept about the means as they are stored, which may be rounded to float32.
        moved = batches.average.emission.recentre(before.emission, self._emission())
        self._batches = ChainBatches(replace(batches.average, emission=moved), batches.weight)
        self.n_batches_seen_, self.dead_states_ = number, find_dead(sums)
        return self

    def _blend_batches(self, expected: ChainSums, weight: float, number: int) -> ChainBatches:
        """Return the counts of all batches, this one included."""
        average, earlier = expected.scale(1.0 / weight), vars(self).get("_batches")
        if earlier is None:
            return ChainBatches(average, weight)
        share = number**-_FORGETTING
        return ChainBatches(earlier.average.scale(1.0 - share) + average.scale(share), earlier.weight + weight)

    def _earlier(self) -> ChainParameters:
        """Return the fitted parameters to go on from."""
        k, subject = self.n_components, type(self).__name__
        initial = check_probabilities(subject, "startprob_", to_numpy(self.startprob_), (k,))
        transition = check_probabilities(subject, "transmat_", to_numpy(self.transmat_), (k, k))
        return ChainParameters(initial, transition, self._emission())

    def _find_start(self, training: ChainTraining, source: Source) -> ChainParameters:
        """Return first parameters, from the first batch."""
        mask = make_mask(type(self).__name__, self.topology, self.n_components)
        # The seed of the first run of ``fit``.
        seed = child_seed(seed_sequence(self.random_state).generate_state(8), 0)
        return answer_requests(self._start(source, mask, training, seed), source)

    def _chain(self) -> Chain:
        """Return the fitted chain, kept from the last call while no fitted array has changed."""
        check_is_fitted(self, "transmat_")
        values = [to_numpy(vars(self).get(name)) for name in ("startprob_", "transmat_", *self._emission_names)]
        # The bytes of all fitted arrays: a user may set them at any time.
        key = (*(np.asarray(value).tobytes() for value in values), self.n_components, self._emission_form())
        kept = _CHAINS.get(self)
        if kept is not None and kept[0] == key and self._emission_names:
            return kept[1]
        k, subject = self.n_components, type(self).__name__
        initial = check_probabilities(subject, "startprob_", to_numpy(self.startprob_), (k,))
        transition = check_probabilities(subject, "transmat_", to_numpy(self.transmat_), (k, k))
        chain = Chain(initial, transition, self._emission())
        _CHAINS[self] = (key, chain)
        return chain

    def _emission_form(self) -> Any:
        """Return the parameters besides the fitted arrays on which the emission depends."""
        return getattr(self, "covariance_type", None)

    def _read(self, chain: Chain, X: Any, second: Any, lengths: Any, groups: Any) -> _Opened:
        """Open new sequences."""
        if second is None and lengths is None and groups is None:
            rows = few_rows(self, X)
            # A few rows of one sequence are read without opening a source, which would cost more than the pass.
            if rows is not None and "categories_" not in vars(self):
                n = len(rows)
                check_columns(type(self).__name__, chain.emission, rows.shape[1])
                plan = Plan(np.array([n]), None, [Piece(0, n, _ONE_START, 0, n, slice(0, 1))], [])
                return _Opened(plan, lambda first, stop: rows[first:stop], 1, rows.dtype, _return_same)
        # A model whose parameters were set by hand has not seen columns yet.
        source, plan = self._open_sequences(X, second, lengths, groups, None, reset="n_features_in_" not in vars(self))
        check_columns(type(self).__name__, chain.emission, source.n_features)
        if source.place == "device":
            there = open_pass(chain, plan, source, type(self).__name__)
            return _Opened(plan, None, 1, source.host_dtype, _return_same, there)
        return _Opened(plan, read_rows(source), source.threads, source.host_dtype, source.deliver)

    def decode(
        self, X: Any, lengths: Any = None, algorithm: str | None = None, *, groups: Any = None
    ) -> tuple[float, Array]:
        """Return the log probability of the decoded states and the states.

        Parameters
        ----------
        X : array-like of shape (n_steps, n_features), or a list of such arrays
        lengths : array-like of int, default=None
        algorithm : {"viterbi", "map"}, default=None
            The best path as a whole, or the most probable state of each step; None takes the parameter of the model.
        groups : array-like or str, default=None

        Returns
        -------
        log_prob : float
            With ``"viterbi"``, log p(steps, path); with ``"map"``, the sum over steps of the probability of the state,
            as in hmmlearn.
        states : array of int of shape (n_steps,)
        """
        algorithm = self.algorithm if algorithm is None else algorithm
        if algorithm not in ("viterbi", "map"):
            raise ParameterError(
                f"{type(self).__name__}: algorithm must be one of 'viterbi', 'map'; got {algorithm!r}."
            )
        if algorithm == "map":
            table, deliver = self._tabulate(X, lengths, groups, "smooth")
            xp = namespace_of(table)
            return float(xp.sum(xp.max(table, axis=1))), deliver(xp.argmax(table, axis=1))
        chain = self._chain()
        new = self._read(chain, X, None, lengths, groups)
        if new.there is not None:
            return new.there.find_paths()
        path = np.empty(new.plan.n_rows, dtype=np.intp)
        total = run_pass(BestPaths(chain, new.plan, new.read, type(self).__name__, "path", path), new.threads)
        return float(total), new.deliver(path)

    def predict(self, X: Any, lengths: Any = None, *, groups: Any = None) -> Array:
        """Return the decoded state of each step; see ``decode``."""
        return self.decode(X, lengths, groups=groups)[1]

    def _tabulate(self, X: Any, lengths: Any, groups: Any, want: str) -> tuple[Array, Any]:
        """Return the filtered or smoothed probabilities, or the densities, of all steps, and how to deliver them."""
        chain = self._chain()
        new = self._read(chain, X, None, lengths, groups)
        if new.there is not None:
            return new.there.tabulate(want), new.deliver
        plan, dtype = new.plan, new.dtype
        size = plan.n_rows * chain.n_states * dtype.itemsize
        purpose = f"the {plan.n_rows} x {chain.n_states} probabilities"
        require_memory(type(self).__name__, size, purpose, "give fewer sequences at a time")
        out = np.empty(plan.n_rows if want == "density" else (plan.n_rows, chain.n_states), dtype=dtype)
        run_pass(Probabilities(chain, plan, new.read, type(self).__name__, want, out), new.threads)
        return out, new.deliver

    def _deliver_table(self, X: Any, lengths: Any, groups: Any, want: str) -> Any:
        table, deliver = self._tabulate(X, lengths, groups, want)
        return deliver(table)

    def predict_proba(self, X: Any, lengths: Any = None, *, groups: Any = None) -> Array:
        """Return the probability of each state at each step given all steps of its sequence.

        Parameters
        ----------
        X : array-like of shape (n_steps, n_features), or a list of such arrays
        lengths : array-like of int, default=None
        groups : array-like or str, default=None

        Returns
        -------
        probabilities : array of shape (n_steps, n_components)
            Each row sums to one.
        """
        return self._deliver_table(X, lengths, groups, "smooth")

    def smooth(self, X: Any, lengths: Any = None, *, groups: Any = None) -> Array:
        """Return the smoothed probabilities: another name of ``predict_proba``."""
        return self.predict_proba(X, lengths, groups=groups)

    def filter(self, X: Any, lengths: Any = None, *, groups: Any = None) -> Array:
        """Return the probability of each state at each step given the steps up to it; see ``predict_proba``."""
        return self._deliver_table(X, lengths, groups, "filter")

    def score_samples(self, X: Any, lengths: Any = None, *, groups: Any = None) -> Array:
        """Return the log density of each step given the steps before it; over a sequence they sum to ``score``.

        hmmlearn returns the log-likelihood and the smoothed probabilities here: ``score`` and ``predict_proba``.
        """
        return self._deliver_table(X, lengths, groups, "density")

    def score(self, X: Any, y: Any = None, lengths: Any = None, *, groups: Any = None) -> float:
        """Return the log-likelihood of the sequences, summed over all steps; minus infinity if they are impossible.

        Parameters
        ----------
        X : array-like of shape (n_steps, n_features), or a list of such arrays
        y : ignored
            Except that integers which sum to the number of rows are read as `lengths`.
        lengths : array-like of int, default=None
        groups : array-like or str, default=None
        """
        chain = self._chain()
        new = self._read(chain, X, y, lengths, groups)
        try:
            if new.there is not None:
                return new.there.tabulate("score")
            return float(run_pass(Probabilities(chain, new.plan, new.read, type(self).__name__, "score"), new.threads))
        except ImpossibleSequenceError:
            return -np.inf

    def start_filter(self) -> StateFilter:
        """Return a filter that takes one step at a time, for data that arrive one by one."""
        return StateFilter(self._chain(), type(self).__name__)

    def sample(self, n_samples: int = 1, random_state: Any = None, currstate: int | None = None) -> tuple[Array, Array]:
        """Draw a sequence.

        Parameters
        ----------
        n_samples : int, default=1
            The number of steps.
        random_state : None, int, RandomState or Generator, default=None
            None takes the parameter of the model.
        currstate : int, default=None
            The first state; None draws it.

        Returns
        -------
        X : array of shape (n_samples, n_features)
        states : array of int of shape (n_samples,)
        """
        chain = self._chain()
        if not Integer(1).accepts(n_samples):
            raise ParameterError(f"{type(self).__name__}: n_samples must be an integer in [1, inf); got {n_samples!r}.")
        if currstate is not None and not Integer(0, chain.n_states - 1).accepts(currstate):
            raise ParameterError(
                f"{type(self).__name__}: currstate must be an integer in [0, {chain.n_states - 1}]; got {currstate!r}."
            )
        seed = self.random_state if random_state is None else random_state
        generator = np.random.default_rng(seed_sequence(seed))
        states = _draw_states(chain, int(n_samples), generator, currstate)
        put = Placement.of(self.transmat_).put
        return put(self._decode_symbols(chain.emission.draw(states, generator))), put(states)

    def _decode_symbols(self, X: Array) -> Array:
        """Return drawn rows in the terms of the user."""
        return X

    def get_stationary_distribution(self) -> Array:
        """Return the share of time that the chain spends in each state in the long run."""
        return Placement.of(self.transmat_).put(find_stationary(type(self).__name__, self._chain().transition))

    def count_parameters(self) -> int:
        """Return the number of free parameters: those of first states, transitions that are not zero, emissions."""
        chain = self._chain()
        free = int((chain.initial > 0).sum() - 1 + (chain.transition > 0).sum() - chain.n_states)
        return free + chain.emission.count_parameters()

    def aic(self, X: Any, lengths: Any = None, *, groups: Any = None) -> float:
        """Return Akaike's information criterion on `X`: minus twice the log-likelihood plus twice the parameters."""
        return -2.0 * self.score(X, lengths=lengths, groups=groups) + 2.0 * self.count_parameters()

    def bic(self, X: Any, lengths: Any = None, *, groups: Any = None) -> float:
        """Return the Bayesian information criterion on `X`: the number of steps takes the place of that of rows."""
        plan = self._read(self._chain(), X, None, lengths, groups).plan
        score = self.score(X, lengths=lengths, groups=groups)
        return -2.0 * score + self.count_parameters() * float(np.log(plan.n_rows))


def _draw_states(chain: Chain, n: int, generator: np.random.Generator, first: int | None) -> Array:
    """Draw a path: the place of a uniform number among the cumulated probabilities of a row is the next state."""
    rows = np.cumsum(chain.transition, axis=1)
    # Rounding must not leave the last cumulated probability below one.
    rows /= rows[:, -1:]
    cumulated, start = rows.tolist(), np.cumsum(chain.initial / chain.initial.sum()).tolist()
    # Python's bisect on lists is faster here than NumPy on single numbers.
    uniform = generator.random(n).tolist()
    last = chain.n_states - 1
    state = min(bisect_right(start, uniform[0]), last) if first is None else int(first)
    states = [state]
    for value in uniform[1:]:
        state = min(bisect_right(cumulated[state], value), last)
        states.append(state)
    return np.array(states, dtype=np.intp)


def _are_lengths(value: Any, n_rows: int) -> bool:
    """Return whether a second argument is hmmlearn's `lengths`: fewer integers than rows, which sum to their number."""
    if value is None or np.ndim(value) != 1 or not 0 < len(value) < n_rows:
        return False
    value = np.asarray(value)
    return value.dtype.kind in "iu" and int(value.sum()) == n_rows


def _is_table_file(X: Any) -> bool:
    """Return whether rows are a table in files, or an Arrow dataset or scanner, and not a frame or a NumPy file."""
    if hasattr(X, "columns") or place_of(X) != "file":
        return False
    return not (isinstance(X, str | os.PathLike) and os.fspath(X).endswith((".npy", ".npz")))


def _take_column(subject: str, X: Any, name: str) -> tuple[Any, Array]:
    """Return a frame without the column `name`, and the column."""
    if not hasattr(X, "columns"):
        raise DataError(
            f"{subject}: groups={name!r} names a column, which needs a data frame or a table in a file; got "
            f"{type(X).__name__}. Pass an array with an entry for each row."
        )
    import narwhals

    frame = narwhals.from_native(X, eager_only=True)
    if name not in frame.columns:
        raise DataError(
            f"{subject}: the frame has no column {name!r}; its columns are {', '.join(map(str, frame.columns))}."
        )
    return frame.drop(name).to_native(), frame[name].to_numpy()


def read_prior(subject: str, name: str, value: Any, shape: tuple[int, ...] | None) -> Array:
    """Return Dirichlet parameters as an array; they must be at least one, so that a maximum exists."""
    prior = np.asarray(value, dtype=np.float64)
    try:
        prior = prior if shape is None else np.broadcast_to(prior, shape)
    except ValueError:
        raise ParameterError(
            f"{subject}: {name} must be a number or an array of shape {shape}; got shape {prior.shape}."
        ) from None
    if not np.all(prior >= 1.0):
        raise ParameterError(
            f"{subject}: {name} must be at least 1 everywhere; got {prior.min():g}. Forbid transitions by `topology`."
        )
    return prior

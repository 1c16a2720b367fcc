"""How every hidden Markov model is fitted: open the sequences, choose a start, drive the EM engine, store."""

import os
import time
import warnings
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._base import LimitedEstimator, fitting, seed_sequence
from mercer._base.interface import DensityMixin
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Integer, Real, Seed, Text, attribute, parameter
from mercer._solver.expectation_maximisation import ExpectationMaximisation
from mercer._solver.relay import answer_requests, return_at_once
from mercer._solver.restarts import Restarts, keep_history_of
from mercer._solver.step import Certificate, Step
from mercer._source import Source, place_of
from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.hmm._chain import count_lanes
from mercer.hmm._emission import check_columns
from mercer.hmm._sequences import (
    Plan,
    find_group_lengths,
    join_sequences,
    plan_pieces,
    read_group_lengths,
    read_lengths,
    read_weights,
)
from mercer.hmm._starts import check_probabilities, draw_rows
from mercer.hmm._topology import make_mask
from mercer.hmm._training import ChainParameters, ChainTraining, CountedStates, Priors, find_dead

ROWS_ARE_ORDERED = "the rows of a sequence are steps in time: their order is part of the data"


class ChainFitting(DensityMixin, LimitedEstimator):
    """The fitting half of a hidden Markov model; :class:`~mercer.hmm._hidden_markov_model.HiddenMarkovModel` adds what
    a fitted one can do.
    """

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

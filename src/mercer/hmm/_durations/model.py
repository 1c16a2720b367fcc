"""The estimator: a hidden semi-Markov model."""

import itertools
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mercer._base import LimitedEstimator, fitting, seed_sequence
from mercer._base.interface import DensityMixin
from mercer._base.parameter import (
    Boolean,
    Choice,
    HasFit,
    Integer,
    Nothing,
    Real,
    Rule,
    Seed,
    check_parameters,
    parameter,
)
from mercer._solver.expectation_maximisation import ExpectationMaximisation
from mercer._solver.relay import return_at_once
from mercer._solver.restarts import Restarts, keep_history_of
from mercer._solver.step import Step
from mercer._source import Source
from mercer._stored import Stored, flags, floats, integers, part
from mercer._types import Array
from mercer.errors import DataError, ModelFileError
from mercer.hmm._durations.distributions import KINDS, StateDurations, first_durations
from mercer.hmm._durations.training import SegmentPasses, SemiMarkovParameters, SemiMarkovTraining
from mercer.hmm._emission import check_columns
from mercer.hmm._gaussian_hmm import GaussianHMM
from mercer.hmm._hidden_markov_model import ROWS_ARE_ORDERED, HiddenMarkovModel
from mercer.hmm._sequences import join_sequences, read_lengths
from mercer.hmm._starts import draw_rows


@dataclass(frozen=True)
class Segment:
    """A run of steps in one state: from step `start` to before step `stop`, counted in the rows given."""

    start: int
    stop: int
    state: int


class SemiMarkovHMM(DensityMixin, LimitedEstimator):
    """A hidden semi-Markov model: hidden states with explicit durations.

    In a hidden Markov model the time that a state lasts has a geometric distribution, whatever the data say. Here a
    segment of state i lasts d steps with probability p_i(d); then another state follows with probability a_ij, a_ii =
    0. The steps of a segment are independent given its state. The last segment of a sequence may go on after its end.

    Attributes
    ----------
    startprob_, transmat_ : arrays of shape (K,), (K, K)
        Of first segments, and from segment to segment; the diagonal is zero.
    duration_parameters_ : array of shape (K, p)
        The stay probability of 'geometric', the mean of d - 1 of 'poisson', mean and size of 'negative binomial', or
        the table.
    duration_means_ : array of shape (K,)
        The mean number of steps that each state lasts.
    emission_ : estimator
        The model given as `emission` with its fitted emissions, such as ``emission_.means_``.
    log_likelihood_ : float

    Notes
    -----
    A pass costs O(n (K^2 + K D)) for n steps, in logarithms.

    References
    ----------
    S.-Z. Yu, Hidden semi-Markov models, Artificial Intelligence 174, 2010.

    Examples
    --------
    Two levels that last six steps each:

    >>> import numpy as np
    >>> from mercer.hmm import SemiMarkovHMM
    >>> random = np.random.default_rng(0)
    >>> X = (np.tile(np.repeat([0.0, 4.0], 6), 30) + random.normal(size=360))[:, None]
    >>> model = SemiMarkovHMM(2, max_duration=20, random_state=0).fit(X)
    >>> model.duration_means_.round(1)
    array([6., 6.])
    """

    _needs_rows: ClassVar[str] = "it passes along whole sequences, forwards and backwards"

    n_components: int = parameter(Integer(1), default=2, kw_only=False, doc="K, the number of states.")
    emission: Any = parameter(
        HasFit() | Nothing(),
        default=None,
        doc="What states emit: a model of this family, whose settings, priors and kind of emission are used "
        "(GaussianHMM, PoissonHMM, CategoricalHMM, DensityHMM...). None means GaussianHMM().",
    )
    durations: str = parameter(
        Choice(*KINDS),
        default="poisson",
        doc="The distribution of d - 1, or a free table of probabilities up to `max_duration`. With 'geometric' and "
        "no `max_duration` the model is a hidden Markov model.",
    )
    max_duration: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        doc="D, the longest duration; None means the longest sequence of the fit, and cuts nothing off. One state "
        "alone has no longest duration, because no other can follow it.",
    )
    n_iter: int = parameter(Integer(0), default=100, doc="The most EM iterations of a run.")
    tol: float = parameter(Real(0), default=1e-2, doc="A run ends when the log-likelihood changes by less.")
    n_init: int = parameter(Integer(1), default=1, doc="Runs from other first emissions; the best is kept.")
    random_state: Any = parameter(Seed(), default=None)
    verbose: int = parameter(Integer(0) | Boolean(), default=0)

    _documents = {
        "n_jobs": "Threads over sequences. Results do not depend on it.",
    }

    _objective_moves: ClassVar[str | None] = "up"
    _lists_are_sequences: ClassVar[bool] = True
    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": ROWS_ARE_ORDERED,
        "rows alone": "a state is decoded from the whole sequence, not from its step alone",
        "memory": "the passes keep several numbers for each step and state",
    }
    _stored: ClassVar[dict[str, Stored]] = {
        "startprob_": floats("states"),
        "transmat_": floats("states, states"),
        "duration_means_": floats("states"),
        "duration_parameters_": floats("states, parameters"),
        "duration_size_": integers(low=0),
        "duration_is_cut_": flags(),
        "emission_": part("BaseEstimator"),
        "log_likelihood_": floats(),
    }
    _takes_gaps = True
    _depends_on_units = ("columns", "scale")

    def _check_structure(self) -> None:
        state = vars(self)
        if "emission_" in state and "startprob_" in state:
            # Native code reads as many columns and states of the emissions as the model has.
            own = state.get("n_features_in_"), len(self.startprob_)
            theirs = tuple(vars(self.emission_).get(name) for name in ("n_features_in_", "n_components"))
            if own != theirs:
                raise ModelFileError(
                    f"{type(self).__name__}.emission_ must have the (columns, states) {own} of the model; the file's "
                    f"has {theirs}. Fit the model again."
                )
        # Tables of all durations are made for each answer.
        size, most = vars(self).get("duration_size_", 0), self.max_duration
        if vars(self).get("duration_is_cut_") and most is not None and size > most:
            raise ModelFileError(
                f"{type(self).__name__}.duration_size_ must be at most max_duration = {most}; the file has {size}. "
                f"Save the model again."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.emission is not None:
            tags.input_tags = self.emission.__sklearn_tags__().input_tags
        return tags

    @fitting
    def fit(self, X: Any, y: Any = None, lengths: Any = None) -> "SemiMarkovHMM":
        """Learn the parameters from sequences.

        Parameters
        ----------
        X : array-like of shape (n_steps, n_features), or a list of such arrays
            Sequences, one after the other. A row of NaN is a missing step.
        lengths : array-like of int, default=None
            The length of each sequence; None means one.
        """
        inner = self._make_inner()
        source, sequences = self._open_steps(inner, X, lengths, reset=True)
        longest = max(len(part) for part in sequences)
        # After the only state none can follow: it lasts to the end of every sequence.
        most = None if self.n_components == 1 else self.max_duration
        size = longest if most is None else min(most, longest)
        # Durations longer than the longest sequence are never seen.
        durations = first_durations(self.durations, self.n_components, size, size < longest)
        training = SemiMarkovTraining(
            sequences, inner._letters, inner._emission_prior(), type(self).__name__, inner._exact
        )
        engine = ExpectationMaximisation(
            prepare=lambda: return_at_once(training),
            start=partial(self._start, source, inner, durations),
            n_init=self.n_init,
            max_iter=self.n_iter,
            tol=self.tol,
            seed=seed_sequence(self.random_state),
            subject=type(self).__name__,
        )
        fitted = partial(self._attributes_of_best, inner=inner, dtype=source.host_dtype)
        outcome = self._drive(engine.solve, source, fitted=fitted, max_steps=self.n_init * self.n_iter)
        run, restart = outcome.state.choose()
        self.n_iter_ = run.iteration
        self.history_ = keep_history_of(restart, self.history_)
        self.log_likelihood_ = float(run.objective)
        self._conclude(outcome, cure="raise n_iter or tol, or try n_init > 1")
        return self

    def _make_inner(self) -> HiddenMarkovModel:
        """Return an unfitted copy of the model whose emissions are used."""
        given = GaussianHMM() if self.emission is None else self.emission
        if not isinstance(given, HiddenMarkovModel):
            raise DataError(
                f"{type(self).__name__}: emission must be a hidden Markov model of mercer.hmm; got "
                f"{type(given).__name__}. Wrap a density in DensityHMM."
            )
        return clone(given).set_params(n_components=self.n_components)

    def _open_steps(self, inner: HiddenMarkovModel, X: Any, lengths: Any, reset: bool) -> tuple[Source, list[Array]]:
        """Open rows, and cut them into sequences."""
        subject = type(self).__name__
        X, joined = join_sequences(subject, X)
        if joined is not None and lengths is not None:
            raise DataError(f"{subject}: sequences must be given in one way; got a list and lengths. Leave one out.")
        source = self._open(inner._encode(X, reset), None, None, reset=reset, ensure_all_finite=False)
        source.allow_missing()
        counts = read_lengths(subject, joined if lengths is None else lengths, source.n_rows)
        rows, stops = np.ascontiguousarray(source.whole(), dtype=np.float64), np.cumsum(counts)
        return source, [rows[stop - count : stop] for count, stop in zip(counts, stops, strict=True)]

    def _start(
        self, source: Source, inner: HiddenMarkovModel, durations: StateDurations, training: Any, seed: Any
    ) -> Any:
        """Return first parameters; a generator of requests."""
        k = self.n_components
        rows = yield from draw_rows(source, np.random.default_rng(seed), type(self).__name__)
        transition = (1.0 - np.eye(k)) / max(1, k - 1)
        emission = inner._first_emission(rows, seed)
        check_columns(type(self).__name__, emission, source.n_features)
        return SemiMarkovParameters(np.full(k, 1.0 / k), transition, durations, emission)

    def _attributes_of_best(self, state: Restarts, inner: HiddenMarkovModel, dtype: Any) -> dict[str, Any]:
        parameters = state.choose()[0].parameters
        # Each state of the solver has a model of its own: what a watch was given must not change later.
        model = clone(inner)
        vars(model).update({name: value for name, value in vars(inner).items() if name.endswith("_")})
        vars(model).update(inner._emission_attributes(parameters.emission, dtype))
        model.n_features_in_ = self.n_features_in_
        return {
            "startprob_": parameters.initial.astype(dtype),
            "transmat_": parameters.transition.astype(dtype),
            "duration_parameters_": parameters.durations.parameters.astype(dtype),
            "duration_means_": parameters.durations.means().astype(dtype),
            "duration_size_": parameters.durations.size,
            "duration_is_cut_": parameters.durations.truncated,
            "emission_": model,
        }

    def _describe_step(self, number: int, step: Step) -> str:
        return f"{type(self).__name__}: iteration {number + 1}, log-likelihood {step.objective:.9g}"

    def _prepare_passes(self, longest: int) -> SegmentPasses:
        """Return the passes of the fitted model, with tables for sequences of a length."""
        size = self.duration_size_ if self.duration_is_cut_ else longest
        parameters = np.asarray(self.duration_parameters_, dtype=np.float64)
        durations = StateDurations(self.durations, parameters, size, self.duration_is_cut_)
        initial, transition = (np.asarray(part, dtype=np.float64) for part in (self.startprob_, self.transmat_))
        fitted = SemiMarkovParameters(initial, transition, durations, self.emission_._emission())
        return SegmentPasses(fitted, type(self).__name__)

    def _read(self, X: Any, lengths: Any) -> tuple[SegmentPasses, list[Array], Any]:
        check_is_fitted(self, "transmat_")
        source, sequences = self._open_steps(self.emission_, X, lengths, reset=False)
        return self._prepare_passes(max(map(len, sequences))), sequences, source.host_dtype

    def decode(self, X: Any, lengths: Any = None) -> tuple[float, Array]:
        """Return the log probability of the best segmentation, and the state of each step.

        Parameters
        ----------
        X : array-like of shape (n_steps, n_features), or a list of such arrays
        lengths : array-like of int, default=None

        Returns
        -------
        log_prob : float
        states : array of int of shape (n_steps,)
        """
        passes, sequences, _ = self._read(X, lengths)
        parts = [passes.decode(part) for part in sequences]
        return sum(best for best, _ in parts), np.concatenate([path for _, path in parts])

    def predict(self, X: Any, lengths: Any = None) -> Array:
        """Return the state of each step in the best segmentation; see :meth:`decode`."""
        return self.decode(X, lengths)[1]

    def find_segments(self, X: Any, lengths: Any = None) -> list[Segment]:
        """Return the segments of the best segmentation of all sequences, in order."""
        passes, sequences, _ = self._read(X, lengths)
        segments, offset = [], 0
        for sequence in sequences:
            path = passes.decode(sequence)[1]
            cuts = [0, *(np.flatnonzero(np.diff(path)) + 1).tolist(), len(path)]
            segments += [Segment(offset + a, offset + b, int(path[a])) for a, b in itertools.pairwise(cuts)]
            offset += len(sequence)
        return segments

    def predict_proba(self, X: Any, lengths: Any = None) -> Array:
        """Return the probability of each state at each step given all steps of its sequence; rows sum to one."""
        passes, sequences, dtype = self._read(X, lengths)
        parts = [passes.smooth(part, number)[1] for number, part in enumerate(sequences)]
        return np.concatenate(parts, dtype=dtype)

    def score(self, X: Any, y: Any = None, lengths: Any = None) -> float:
        """Compute the log-likelihood of sequences."""
        passes, sequences, _ = self._read(X, lengths)
        return float(sum(passes.smooth(part, number)[0].log_likelihood for number, part in enumerate(sequences)))

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> tuple[Array, Array]:
        """Draw a sequence.

        Parameters
        ----------
        n_samples : int, default=1
            The number of steps.
        random_state : int, Generator, RandomState or None, default=None
            None takes the parameter of the model.

        Returns
        -------
        X : array of shape (n_samples, n_features)
        states : array of int of shape (n_samples,)
        """
        rules: dict[str, Rule] = {"n_samples": Integer(1), "random_state": Seed()}
        check_parameters(type(self).__name__, rules, {"n_samples": n_samples, "random_state": random_state})
        check_is_fitted(self, "transmat_")
        random = np.random.default_rng(seed_sequence(self.random_state if random_state is None else random_state))
        p, states = self._prepare_passes(n_samples).parameters, np.empty(n_samples, dtype=np.intp)
        start, state = 0, int(random.choice(len(p.initial), p=p.initial / p.initial.sum()))
        while start < n_samples:
            stop = start + p.durations.draw(state, random)
            states[start:stop] = state
            start, row = stop, p.transition[state]
            state = int(random.choice(len(row), p=row / row.sum())) if row.any() else state
        return p.emission.draw(states, random), states

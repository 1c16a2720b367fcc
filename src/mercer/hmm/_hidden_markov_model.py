"""What every fitted hidden Markov model can do: decode, score, smooth, filter, sample, and be compared with others."""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import few_rows, seed_sequence
from mercer._base.parameter import Integer
from mercer._source.memory import require_memory
from mercer._source.namespace import namespace_of, to_numpy
from mercer._source.placement import Placement
from mercer._stored import Stored, floats, integers
from mercer._types import Array
from mercer.errors import ParameterError
from mercer.hmm._chain import Chain, ImpossibleSequenceError
from mercer.hmm._emission import check_columns
from mercer.hmm._fitting import ROWS_ARE_ORDERED
from mercer.hmm._online import StateFilter
from mercer.hmm._passes import BestPaths, Probabilities, run_pass
from mercer.hmm._sequences import Piece, Plan
from mercer.hmm._starts import check_probabilities
from mercer.hmm._stepwise import StepwiseFitting
from mercer.hmm._topology import find_stationary
from mercer.hmm._training import open_pass, read_rows

_ONE_START = np.zeros(1, dtype=np.intp)
# Most steps that skip the opening of a source, which takes longer than to decode them.
_FEW_STEPS = 2048
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


class HiddenMarkovModel(StepwiseFitting):
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
    }

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
            if rows is not None and len(rows) <= _FEW_STEPS and "categories_" not in vars(self):
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

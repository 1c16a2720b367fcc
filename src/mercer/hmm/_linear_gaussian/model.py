"""The estimator: a linear-Gaussian state-space model."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import assert_all_finite, check_is_fitted

from mercer._base import Estimator, few_rows, fitting, seed_sequence
from mercer._base.interface import DensityMixin
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import (
    Boolean,
    Choice,
    Integer,
    Nothing,
    Real,
    Rule,
    Seed,
    attribute,
    check_parameters,
    parameter,
)
from mercer._solver.expectation_maximisation import ExpectationMaximisation
from mercer._solver.relay import return_at_once
from mercer._solver.restarts import Restarts
from mercer._solver.step import Step
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError
from mercer.hmm._linear_gaussian.parameters import (
    NAMES,
    StateSpaceParameters,
    describe_autoregression,
    describe_structure,
)
from mercer.hmm._linear_gaussian.passes import filter_sequence, forecast_states, smooth_sequence
from mercer.hmm._linear_gaussian.rows import cut_sequences, read_controls, read_sequences
from mercer.hmm._linear_gaussian.training import StateSpaceTraining, first_parameters, read_parameters

_ORDERED = "the rows of a sequence are steps in time: their order is part of the data"
_MATRIX = Nothing() | Real() | ArrayRule()
_FORM = Choice("full", "diag")


@dataclass(frozen=True, eq=False)
class StateEstimates:
    """The distribution of the state at each step: Gaussian, with a mean and a covariance.

    Attributes
    ----------
    means : ndarray of shape (n_steps, n_components)
    covariances : ndarray of shape (n_steps, n_components, n_components)
    log_likelihood : float
        Of all sequences.
    """

    means: Array
    covariances: Array
    log_likelihood: float


class LinearGaussianModel(DensityMixin, Estimator):
    """A linear-Gaussian state-space model: Kalman filter, smoother, forecasts, and learning by EM.

    A hidden state x_t of k numbers moves linearly and is seen through a linear map, both with Gaussian noise; u_t are
    known controls:

        x_1 ~ N(m, P),    x_(t+1) = A x_t + B u_t + N(0, Q),    y_t = C x_t + D u_t + N(0, R).

    Attributes
    ----------
    transition_, observation_, transition_noise_, observation_noise_, start_mean_, start_covariance_ : ndarray
    control_, observation_control_ : ndarray
        Without columns where there are no controls.
    log_likelihood_ : float
        Of the rows of the fit.
    n_features_in_ : int
        d.

    Notes
    -----
    Entries of X that are NaN are missing; they are marginalised exactly. A step costs O(k^3 + d^3 + k^2 d), and O(k^2 +
    k d + d^2) once the covariance has converged and nothing is missing: less than a microsecond for k = 2. Covariances
    are updated in Joseph's form and stay positive semi-definite. A fit keeps O(k^2) numbers for each step of the
    longest sequence. The states are known up to a change of basis only.

    References
    ----------
    Kalman (1960), A new approach to linear filtering and prediction problems; Rauch, Tung and Striebel (1965); Shumway
    and Stoffer (1982), An approach to time series smoothing and forecasting using the EM algorithm.

    Examples
    --------
    A random walk seen with noise, with gaps:

    >>> import numpy as np
    >>> from mercer.hmm import LinearGaussianModel
    >>> random = np.random.default_rng(0)
    >>> level = np.cumsum(random.normal(scale=0.5, size=300))
    >>> y = (level + random.normal(size=300))[:, None]
    >>> y[100:110] = np.nan
    >>> model = LinearGaussianModel(transition=1.0, observation=1.0).fit(y)
    >>> bool(abs(model.observation_noise_[0, 0] - 1.0) < 0.3)
    True
    >>> mean, covariance = model.predict(y, horizon=3, return_cov=True)
    >>> bool(np.all(np.diff(covariance[:, 0, 0]) > 0))
    True
    """

    _needs_rows: ClassVar[str] = "it passes along whole sequences, forwards and backwards"

    n_components: int = parameter(Integer(1), default=1, kw_only=False, doc="k, the dimension of the state.")
    transition: Any = parameter(
        _MATRIX, default=None, doc="A, of shape (k, k). A number stands for that multiple of the identity, also below."
    )
    observation: Any = parameter(_MATRIX, default=None, doc="C, of shape (d, k).")
    transition_noise: Any = parameter(_MATRIX, default=None, doc="Q, of shape (k, k).")
    observation_noise: Any = parameter(_MATRIX, default=None, doc="R, of shape (d, d).")
    start_mean: Any = parameter(_MATRIX, default=None, doc="m, of shape (k,).")
    start_covariance: Any = parameter(_MATRIX, default=None, doc="P, of shape (k, k).")
    control: Any = parameter(
        _MATRIX, default=None, doc="B, of shape (k, p), where ``fit`` is given controls of p columns."
    )
    observation_control: Any = parameter(_MATRIX, default=None, doc="D, of shape (d, p).")
    learn: Any = parameter(
        Choice("missing", "all") | ArrayRule("entries"),
        default="missing",
        doc="What `fit` learns: the parameters that are None, all of them from the given ones on, or those named. "
        "The start covariance is learned from several sequences only, unless it is named: one first state has "
        "no variance.",
    )
    transition_noise_type: str = parameter(
        _FORM, default="full", doc="The form of a learned Q. A variance that is given as zero stays zero."
    )
    observation_noise_type: str = parameter(_FORM, default="full", doc="The form of a learned R.")
    reg_covar: float = parameter(Real(0), default=1e-6, doc="Added to the diagonal of learned covariances.")
    max_iter: int = parameter(Integer(0), default=100, doc="The most EM iterations.")
    tol: float = parameter(Real(0), default=1e-5, doc="EM ends when the log-likelihood per step changes by less.")
    random_state: Any = parameter(Seed(), default=None, doc="For :meth:`sample`; the fit draws nothing.")
    verbose: int = parameter(Integer(0) | Boolean(), default=0)
    max_time: float | None = parameter(Real(0) | Nothing(), default=None)
    n_jobs: int | None = parameter(
        Integer() | Nothing(),
        default=None,
        doc="Threads, for several sequences or for the chunks of a long one. Results do not depend on it.",
    )

    _objective_moves: ClassVar[str | None] = "up"
    # A list of arrays is a list of sequences, not of blocks of rows.
    _lists_are_sequences: ClassVar[bool] = True
    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": _ORDERED,
        "rows alone": "a step is predicted from the steps before it",
        "memory": "the smoother keeps a covariance of the state for each step of a sequence",
    }
    _check_exceptions: ClassVar[dict[str, str]] = Estimator._check_exceptions | {
        "check_methods_subset_invariance": "a step is predicted from the steps before it",
        "check_methods_sample_order_invariance": _ORDERED,
    }
    _stored: ClassVar[dict[str, Stored]] = {
        "transition_": floats("states, states"),
        "observation_": floats("columns, states"),
        "transition_noise_": floats("states, states"),
        "observation_noise_": floats("columns, columns"),
        "start_mean_": floats("states"),
        "start_covariance_": floats("states, states"),
        "control_": floats("states, controls"),
        "observation_control_": floats("columns, controls"),
        "log_likelihood_": floats(),
    }
    _takes_gaps = True
    _depends_on_units = ("columns", "scale", "place", "target")

    transition_: Array = attribute()
    observation_: Array = attribute()
    transition_noise_: Array = attribute()
    observation_noise_: Array = attribute()
    start_mean_: Array = attribute()
    start_covariance_: Array = attribute()
    control_: Array = attribute()
    observation_control_: Array = attribute()

    @classmethod
    def local_level(cls, **options: Any) -> "LinearGaussianModel":
        """Return a random walk seen with noise; its forecasts are those of exponential smoothing."""
        return cls(1, **({"transition": 1.0, "observation": 1.0} | options))

    @classmethod
    def local_trend(cls, **options: Any) -> "LinearGaussianModel":
        """Return a level that grows by a slope, both random walks, seen with noise."""
        return cls(2, **(describe_structure(trend=True, period=0) | options))

    @classmethod
    def seasonal(cls, period: int, *, trend: bool = False, **options: Any) -> "LinearGaussianModel":
        """Return a level, on request with a slope, plus a season whose `period` values sum to noise."""
        check_parameters(
            "LinearGaussianModel", {"period": Integer(2), "trend": Boolean()}, {"period": period, "trend": trend}
        )
        structure = describe_structure(trend=trend, period=period)
        return cls(len(structure["transition"]), **(structure | options))

    @classmethod
    def autoregressive(cls, order: int, **options: Any) -> "LinearGaussianModel":
        """Return an autoregression, x_t = sum_j a_j x_(t-j) + noise; it is seen without noise unless options say so."""
        check_parameters("LinearGaussianModel", {"order": Integer(1)}, {"order": order})
        return cls(order, **(describe_autoregression(order) | options))

    @fitting
    def fit(self, X: Any, y: Any = None, lengths: Any = None, *, controls: Any = None) -> "LinearGaussianModel":
        """Learn parameters from one or several sequences.

        Parameters
        ----------
        X : array-like of shape (n_steps, n_features), or a list of such arrays
            Sequences, one after the other; NaN where an entry is missing.
        lengths : array-like of int, default=None
            The length of each sequence; None means one.
        controls : array-like of shape (n_steps, n_controls), or a list of such arrays, default=None
            u_t, known at every step.
        """
        X, lengths = read_sequences(type(self).__name__, X, lengths)
        source = self._open(X, None, None, ensure_all_finite=False)
        rows = self._take_rows(source)
        self._refuse_empty_columns(rows)
        sequences = cut_sequences(type(self).__name__, rows, lengths, controls)
        learned, diagonal = self._read_learned(len(sequences))
        training = StateSpaceTraining(sequences, learned, diagonal, self.reg_covar, type(self).__name__)
        start = self._find_start(sequences)
        engine = ExpectationMaximisation(
            prepare=lambda: return_at_once(training),
            start=lambda model, seed: return_at_once(start),
            n_init=1,
            max_iter=self.max_iter if learned else 0,
            tol=self.tol,
            seed=seed_sequence(0),
            subject=type(self).__name__,
        )
        fitted = partial(self._attributes_of_best, dtype=source.host_dtype)
        outcome = self._drive(engine.solve, source, fitted=fitted, max_steps=self.max_iter)
        run = outcome.state.choose()[0]
        self.n_iter_ = run.iteration
        self.log_likelihood_ = float(training.expectation(run.parameters).answer(source).log_likelihood)
        if not learned:
            # Nothing was learned, hence nothing can fail to converge.
            self.converged_ = True
            return self
        self._conclude(outcome, cure="raise max_iter or tol, or give some parameters")
        return self

    def _read_learned(self, n_sequences: int) -> tuple[set[str], set[str]]:
        """Return the names of the parameters to learn, and of the noises that stay diagonal."""
        subject = type(self).__name__
        given = {name for name in NAMES if getattr(self, name) is not None}
        if isinstance(self.learn, str):
            learned = set(NAMES) - given if self.learn == "missing" else set(NAMES)
            # One sequence has one first state: its covariance cannot be learnt.
            learned -= set() if n_sequences > 1 else {"start_covariance"}
        else:
            learned = {str(name) for name in self.learn}
            if unknown := learned - set(NAMES):
                raise DataError(
                    f"{subject}: learn must name parameters; got {sorted(unknown)}. They are {', '.join(NAMES)}."
                )
        diagonal = {name for name in NAMES[2:4] if getattr(self, f"{name}_type") == "diag"}
        return learned, diagonal

    def _find_start(self, sequences: list[tuple[Array, Array]]) -> StateSpaceParameters:
        """Return the first parameters: given ones, and others from the rows."""
        d, p = sequences[0][0].shape[1], sequences[0][1].shape[1]
        values = {name: getattr(self, name) for name in NAMES}
        k = int(self.n_components)
        require_memory(type(self).__name__, 64.0 * k * k, f"matrices of {k} states", "lower n_components")
        given = read_parameters(type(self).__name__, values, k, d, p)
        return first_parameters(sequences, given, k)

    def _attributes_of_best(self, state: Restarts, dtype: Any) -> dict[str, Any]:
        parameters = state.choose()[0].parameters
        return {f"{name}_": np.asarray(getattr(parameters, name), dtype=dtype) for name in NAMES}

    def _describe_step(self, number: int, step: Step) -> str:
        return f"{type(self).__name__}: iteration {number + 1}, log-likelihood per step {step.objective:.9g}"

    def _refuse_empty_columns(self, rows: Array) -> None:
        """Raise if nothing is known of a column."""
        empty = np.flatnonzero(np.all(np.isnan(rows), axis=0))
        if len(empty):
            raise DataError(f"{type(self).__name__}: column {empty[0]} is NaN at every step. Leave it out.")

    def _collect_parameters(self) -> StateSpaceParameters:
        check_is_fitted(self, "transition_")
        parts = (np.ascontiguousarray(vars(self)[f"{name}_"], dtype=np.float64) for name in NAMES)
        return StateSpaceParameters(*parts)

    def _take_rows(self, source: Source) -> Array:
        """Return the rows as numbers of double precision; NaN is a missing entry, infinity an error."""
        rows = np.ascontiguousarray(source.whole(), dtype=np.float64)
        assert_all_finite(rows, allow_nan=True, estimator_name=type(self).__name__, input_name="X")
        return rows

    def _read(self, X: Any, lengths: Any, controls: Any) -> tuple[list[tuple[Array, Array]], Any]:
        """Return new sequences with their controls, and the type of their numbers."""
        check_is_fitted(self, "transition_")
        subject = type(self).__name__
        # A few rows without gaps skip the opening of a source, which takes longer than to filter them.
        few = few_rows(self, X) if lengths is None else None
        if few is not None:
            rows = few.astype(np.float64)
            return cut_sequences(subject, rows, None, controls, self.control_.shape[1]), few.dtype
        X, lengths = read_sequences(subject, X, lengths)
        source = self._open(X, None, None, reset=False, ensure_all_finite=False)
        rows = self._take_rows(source)
        return cut_sequences(subject, rows, lengths, controls, self.control_.shape[1]), source.host_dtype

    def filter(self, X: Any, lengths: Any = None, *, controls: Any = None) -> StateEstimates:
        """Estimate the state at each step from the steps up to it.

        Parameters
        ----------
        X : array-like of shape (n_steps, n_features), or a list of such arrays
        lengths : array-like of int, default=None
        controls : array-like of shape (n_steps, n_controls), or a list of such arrays, default=None

        Returns
        -------
        StateEstimates
        """
        p, subject, threads = self._collect_parameters(), type(self).__name__, self._threads()
        sequences, dtype = self._read(X, lengths, controls)
        parts = [filter_sequence(subject, p, Y, U, threads) for Y, U in sequences]
        return StateEstimates(
            np.concatenate([part.means[1] for part in parts], dtype=dtype),
            np.concatenate([part.covariances[1] for part in parts], dtype=dtype),
            float(sum(part.scores.sum() for part in parts)),
        )

    def smooth(self, X: Any, lengths: Any = None, *, controls: Any = None) -> StateEstimates:
        """Estimate the state at each step from all steps of its sequence; see :meth:`filter`."""
        p, subject, threads = self._collect_parameters(), type(self).__name__, self._threads()
        sequences, dtype = self._read(X, lengths, controls)
        filtered = [filter_sequence(subject, p, Y, U, threads) for Y, U in sequences]
        parts = [smooth_sequence(subject, p, part, threads) for part in filtered]
        return StateEstimates(
            np.concatenate([part.means for part in parts], dtype=dtype),
            np.concatenate([part.covariances for part in parts], dtype=dtype),
            float(sum(part.scores.sum() for part in filtered)),
        )

    def score_samples(self, X: Any, lengths: Any = None, *, controls: Any = None) -> Array:
        """Compute the log density of each step given the steps before it; shape (n_steps,)."""
        p, subject, threads = self._collect_parameters(), type(self).__name__, self._threads()
        sequences, dtype = self._read(X, lengths, controls)
        return np.concatenate([filter_sequence(subject, p, Y, U, threads).scores for Y, U in sequences], dtype=dtype)

    def score(self, X: Any, y: Any = None, lengths: Any = None, *, controls: Any = None) -> float:
        """Compute the log-likelihood of sequences, summed over all steps."""
        p, subject, threads = self._collect_parameters(), type(self).__name__, self._threads()
        sequences, _ = self._read(X, lengths, controls)
        return float(sum(filter_sequence(subject, p, Y, U, threads).scores.sum() for Y, U in sequences))

    def predict(
        self,
        X: Any,
        horizon: int | None = None,
        *,
        controls: Any = None,
        future_controls: Any = None,
        return_cov: bool = False,
    ) -> Any:
        """Predict each step of a sequence from the steps before it, or forecast the steps after its end.

        Parameters
        ----------
        X : array-like of shape (n_steps, n_features)
            One sequence.
        horizon : int or None, default=None
            The number of steps to forecast after the last; None predicts each row of X from the rows before it.
        controls : array-like of shape (n_steps, n_controls), default=None
        future_controls : array-like of shape (horizon, n_controls), default=None
            u_t of the steps to forecast.
        return_cov : bool, default=False
            Whether to return the covariance of each prediction too.

        Returns
        -------
        means : ndarray of shape (n_steps or horizon, n_features)
        covariances : ndarray of shape (n_steps or horizon, n_features, n_features)
            With `return_cov`: of the observations themselves, with their noise.
        """
        rules: dict[str, Rule] = {"horizon": Integer(1) | Nothing(), "return_cov": Boolean()}
        check_parameters(type(self).__name__, rules, {"horizon": horizon, "return_cov": return_cov})
        p, subject = self._collect_parameters(), type(self).__name__
        ((Y, U), *others), dtype = self._read(X, None, controls)
        if others:
            raise DataError(f"{subject}: predict takes one sequence; got {1 + len(others)}. Call it once for each.")
        filtered = filter_sequence(subject, p, Y, U, self._threads())
        means, covariances = filtered.means[0], filtered.covariances[0]
        if horizon is not None:
            U = read_controls(subject, "future_controls", future_controls, horizon, p.control.shape[1])
            means, covariances = forecast_states(p, filtered.after, U)
        seen = (means @ p.observation.T + U @ p.observation_control.T).astype(dtype)
        if not return_cov:
            return seen
        # Cov(y) = C P C^T + R.
        spread = np.einsum("ij,tjk,lk->til", p.observation, covariances, p.observation) + p.observation_noise
        return seen, spread.astype(dtype)

    def sample(self, n_samples: int = 1, *, controls: Any = None, random_state: Any = None) -> tuple[Array, Array]:
        """Draw a sequence.

        Parameters
        ----------
        n_samples : int, default=1
            The number of steps.
        controls : array-like of shape (n_samples, n_controls), default=None
        random_state : int, Generator, RandomState or None, default=None
            None takes the parameter of the model.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        states : ndarray of shape (n_samples, n_components)
        """
        rules: dict[str, Rule] = {"n_samples": Integer(1), "random_state": Seed()}
        check_parameters(type(self).__name__, rules, {"n_samples": n_samples, "random_state": random_state})
        p = self._collect_parameters()
        U = read_controls(type(self).__name__, "controls", controls, n_samples, p.control.shape[1])
        random = np.random.default_rng(seed_sequence(self.random_state if random_state is None else random_state))
        # Noise of covariance Q from standard normals by its square root.
        moves = random.normal(size=(n_samples, p.n_states)) @ _root(p.transition_noise).T + U @ p.control.T
        noise = random.normal(size=(n_samples, len(p.observation_noise))) @ _root(p.observation_noise).T
        states = np.empty((n_samples, p.n_states))
        states[0] = p.start_mean + _root(p.start_covariance) @ random.normal(size=p.n_states)
        for step in range(1, n_samples):
            states[step] = p.transition @ states[step - 1] + moves[step - 1]
        return states @ p.observation.T + U @ p.observation_control.T + noise, states


def _root(covariance: Array) -> Array:
    """Return a matrix whose product with its transpose is the covariance, which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0.0))

"""What estimators by stochastic gradients share: the descent, its first state, held-out rows and its end."""

import math
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._base import Estimator, LimitedEstimator, seed_sequence
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, Seed, attribute, parameter
from mercer._objective import find_loss
from mercer._solver import Outcome
from mercer._source import Source
from mercer._source.namespace import is_sparse_matrix
from mercer._stored import Stored, floats, part
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.linear_model._solvers.stochastic.stochastic_gradient import (
    Descent,
    StochasticState,
    find_squared_norms,
    stochastic_gradient,
)

_CLASSES_TO_T = r"""classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, d) or (n_classes, d)
        w; one row for two classes, whose score speaks for the second.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        b.
    n_iter_ : int
        Epochs; with several classes, those of the slowest.
    t_ : float
        Number of the next step: one more than the rows visited."""

_CONVERGED_TO_FEATURE_NAMES = r"""converged_ : bool
        Whether the stopping rule was met; also True after `max_iter` epochs without a rule.
    certificate_ : Certificate
        The statement that there is none: :class:`GeneralizedLinearEstimator` minimises the same objective with a
        duality gap.
    n_features_in_, feature_names_in_
        Number and names of the columns seen by ``fit``."""

# The texts by the names that the docstrings of the classes use: a range of parameters or attributes.
SHARED = {
    "classes_to_t": _CLASSES_TO_T,
    "converged_to_feature_names": _CONVERGED_TO_FEATURE_NAMES,
}


# Held-out rows scored at a time, which bounds the memory of their copy.
_TILE = 4096
_SCHEDULES = {"constant": 0, "adaptive": 0, "optimal": 1, "invscaling": 2, "pa1": 3, "pa2": 4}
_VISITED = "rows are visited one by one, in a random order: weights are repetitions in expectation, not step for step"


def draw_held_out(estimator: Any, source: Source, labels: bool) -> tuple[Array, Array]:
    """Draw the rows to learn from, in rising order, and the rows to judge by, stratified by class."""
    from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

    seed = estimator.random_state
    if isinstance(seed, np.random.Generator):
        seed = int(seed.integers(2**31))
    kind = StratifiedShuffleSplit if labels else ShuffleSplit
    split = kind(test_size=estimator.validation_fraction, random_state=seed)
    training, held_out = next(split.split(np.zeros((source.n_rows, 1)), source.y))
    if source.weight is not None and not np.any(source.weight[held_out] > 0):
        raise DataError(
            f"{type(estimator).__name__}: The sample weights for validation set are all zero, consider using a "
            f"different random state; got random_state={estimator.random_state!r}."
        )
    return np.sort(training), np.sort(held_out)


@dataclass(frozen=True, eq=False)
class ValidationScore:
    """A request: for each score's parameters the accuracy of its sign, or R^2, on the held-out rows."""

    rows: Array
    labels: bool
    average: int
    state: Any = None

    def answer(self, source: Source) -> Array:
        X = source.whole()
        coef, intercept = self.state.choose_model(self.average)
        y = np.asarray(source.y, dtype=np.float64)[self.rows]
        weight = np.ones(len(y)) if source.weight is None else source.weight[self.rows]
        scores = np.concatenate(
            [X[self.rows[first : first + _TILE]] @ coef.T + intercept for first in range(0, len(y), _TILE)]
        )
        if self.labels:
            numbers = np.arange(len(coef)) if len(coef) > 1 else np.ones(1)
            right = (scores > 0) == (y[:, None] == numbers[None, :])
            return weight @ right / weight.sum()
        mean = weight @ y / weight.sum()
        total = weight @ (y - mean) ** 2
        return 1.0 - weight @ (y[:, None] - scores) ** 2 / (total if total > 0 else 1.0)


class StochasticModel(LimitedEstimator):
    """A linear model of one or several scores, fitted by stochastic gradient steps."""

    penalty: str | None = parameter(
        Choice("l2", "l1", "elasticnet") | Nothing(),
        default="l2",
        doc="The penalty on w: alpha |w|_2^2 / 2, alpha |w|_1, or their mixture by `l1_ratio`.",
    )
    alpha: float = parameter(
        Real(0, math.inf, "left"),
        default=0.0001,
        doc='Strength of the penalty, and scale of the rates of ``learning_rate="optimal"``.',
    )
    l1_ratio: float | None = parameter(
        Real(0, 1) | Nothing(), default=0.15, doc="Share of the l1 penalty in 'elasticnet'."
    )
    fit_intercept: bool = parameter(
        Boolean(), default=True, doc="Whether to learn b, which is never penalised; otherwise it is zero."
    )
    max_iter: int = parameter(Integer(1), default=1000, doc="The most epochs: passes over the rows.")
    tol: float | None = parameter(
        Real(0, math.inf, "left") | Nothing(),
        default=1e-3,
        doc="An epoch counts as no progress if its objective is not below the best one by `tol`; None switches this "
        "rule off.",
    )
    shuffle: bool = parameter(Boolean(), default=True, doc="Whether each epoch draws a new order of the rows.")
    verbose: int = parameter(Integer(0) | Boolean(), default=0, doc="Whether to print a line per epoch.")
    random_state: Any = parameter(Seed(), default=None, doc="Seed of the orders and of the held-out rows.")
    eta0: float = parameter(
        Real(0, math.inf, "neither"),
        default=0.01,
        doc="The first learning rate, where it does not follow from `alpha`.",
    )
    early_stopping: bool = parameter(
        Boolean(),
        default=False,
        doc="Whether to hold rows out, and to watch the score on them instead of the objective. Rows in memory only.",
    )
    validation_fraction: float = parameter(
        Real(0, 1, "neither"), default=0.1, doc="Share of the rows that is held out."
    )
    n_iter_no_change: int = parameter(
        Integer(1), default=5, doc="The number of epochs without progress after which the fit ends."
    )
    warm_start: bool = parameter(Boolean(), default=False, doc="Whether ``fit`` starts from the last solution.")

    _documents = {
        "n_jobs": "Threads over classes; results do not depend on it.",
    }

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _objective_moves = None
    _law_exceptions: ClassVar[dict[str, str]] = {
        "weights": _VISITED,
        "row order": "each step starts from where the last one ended, so the answer depends on who comes first",
    }
    _check_exceptions: ClassVar[dict[str, str]] = Estimator._check_exceptions | {
        "check_sample_weight_equivalence_on_dense_data": _VISITED,
        "check_sample_weight_equivalence_on_sparse_data": _VISITED,
    }
    loss: Any = attribute()
    learning_rate: str = attribute()
    power_t: float = attribute(0.5)
    epsilon: float = attribute(0.1)
    average: Any = attribute(False)
    batch_size: int = attribute(1)
    coef_: Any = attribute()
    intercept_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "t_": floats(),
        "_state": part("StochasticState"),
    }

    def _check_together(self, by_batches: bool = False) -> None:
        """Raise ParameterError where parameters do not go together."""
        name, wrong = type(self).__name__, ""
        aggressive = self.learning_rate in ("pa1", "pa2")
        partner = "hinge" if hasattr(self, "class_weight") else "epsilon_insensitive"
        if by_batches and self.early_stopping:
            wrong = "early_stopping should be False with partial_fit, which sees a batch once; got True"
        elif self.learning_rate == "optimal" and self._strength() == 0:
            wrong = "alpha must be > 0 since learning_rate is 'optimal', whose rates are 1 / (alpha t); got 0"
        elif aggressive and self.loss != partner:
            wrong = f"learning_rate={self.learning_rate!r} only works with loss={partner!r}; got {self.loss!r}"
        elif aggressive and self.batch_size > 1:
            wrong = f"learning_rate={self.learning_rate!r} takes rows one by one; got batch_size={self.batch_size}"
        elif self.penalty == "elasticnet" and self.l1_ratio is None:
            wrong = "l1_ratio must be set when penalty is 'elasticnet'; got None"
        if wrong:
            raise ParameterError(f"{name}: {wrong}.")
        if self.power_t < 0:
            warnings.warn(
                f"{name}: Negative values for `power_t` are deprecated in scikit-learn 1.8 and will raise an error in "
                f"1.10; got {self.power_t}. Use values in the range [0.0, inf) instead.",
                FutureWarning,
                stacklevel=6,
            )

    def _descent(self, labels: bool, source: Source) -> Descent:
        """Return the steps that the parameters ask for, on these rows."""
        ratio = {"l1": 1.0, "elasticnet": self.l1_ratio or 0.0}.get(str(self.penalty), 0.0)
        strength = 0.0 if self.penalty is None else self._strength()
        optimal = self.learning_rate == "optimal"
        training = judge = None
        if self.early_stopping:
            self._needs_memory(source, "early_stopping=True", "use the callback mercer.watch.EarlyStopping")
            training, held_out = draw_held_out(self, source, labels)
            judge = ValidationScore(held_out, labels, self._averaging())
        return Descent(
            loss=find_loss(self.loss, delta=float(self.epsilon), epsilon=float(self.epsilon)),
            labels=labels,
            l1=strength * ratio,
            l2=strength * (1.0 - ratio),
            fit_intercept=self.fit_intercept,
            schedule=_SCHEDULES[self.learning_rate],
            rate=self._strength() if optimal else float(self.eta0),
            power=float(self.power_t),
            # Bottou's rule: the first rate is the typical size of a coefficient, alpha^(-1/4).
            origin=self._strength() ** -0.75 if optimal else 0.0,
            adaptive=self.learning_rate == "adaptive",
            average=self._averaging(),
            batch_size=int(self.batch_size),
            shuffle=bool(self.shuffle),
            tol=self.tol,
            n_iter_no_change=int(self.n_iter_no_change),
            judge=judge,
            training=training,
        )

    def _strength(self) -> float:
        """Return the strength of the penalty, which also scales the rates of the schedule "optimal"."""
        return float(self.alpha)

    def _averaging(self) -> int:
        """Return the step from which parameters are averaged; 0 for never. True counts as 1."""
        return int(self.average)

    def _begin(
        self, descent: Descent, n_scores: int, n_features: int, coef_init: Any, intercept_init: Any
    ) -> StochasticState:
        """Return the state before the first epoch: zeros, the given coefficients, or the last solution."""
        if self.warm_start and hasattr(self, "coef_"):
            last = self.coef_.toarray() if is_sparse_matrix(self.coef_) else self.coef_
            coef_init = last if coef_init is None else coef_init
            intercept_init = self.intercept_ if intercept_init is None else intercept_init
        coef = self._read_given("coef_init", coef_init, (n_scores, n_features))
        intercept = self._read_given("intercept_init", intercept_init, (n_scores,))
        seed = tuple(seed_sequence(self.random_state).generate_state(4).tolist())
        return StochasticState.begin(coef, intercept, descent, seed)

    def _read_given(self, what: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
        if value is None:
            return np.zeros(shape)
        array = np.asarray(value, dtype=np.float64)
        single = shape[0] == 1 and array.size == math.prod(shape) and array.ndim <= len(shape)
        if array.shape != shape and not single:
            raise DataError(
                f"{type(self).__name__}: Provided {what} does not match dataset; expected shape {shape}, got "
                f"{array.shape}. Give one of that shape, or set warm_start=False."
            )
        return array.reshape(shape).copy()

    def _learn(
        self, descent: Descent, start: StochasticState, last_epoch: int, source: Source, attributes: dict[str, Any]
    ) -> Outcome:
        """Run the epochs and store the fitted attributes."""
        name, watched = type(self).__name__, self._is_watched()
        outcome = self._drive(
            lambda state: stochastic_gradient(descent, start if state is None else state, last_epoch, name, watched),
            source,
            fitted=partial(self._read_state, dtype=source.host_dtype),
            max_steps=last_epoch - start.epochs,
            attributes=attributes,
        )
        self._state = outcome.state
        if outcome.reason == "diverged":
            self._warn_of_divergence(source, descent)
        return outcome

    def _warn_of_divergence(self, source: Source, descent: Descent) -> None:
        longest = float(np.max(source.map(find_squared_norms)))
        # Along the longest row, steps of a squared loss are stable below 2 / curvature; half of that is safe.
        # A loss whose curvature nothing bounds is taken to have that of the squared one.
        curvature = descent.loss.smoothness if math.isfinite(descent.loss.smoothness) else 1.0
        rate = 1.0 / (curvature * (longest + float(self.fit_intercept)))
        warnings.warn(
            f"{type(self).__name__}: the losses grow without end with eta0={self.eta0:g}: the learning rate is too "
            f"large for rows of squared norm {longest:.3g}. Scale the columns, or try eta0={rate:.1g}.",
            ConvergenceWarning,
            stacklevel=6,
        )

    def _read_state(self, state: StochasticState, dtype: np.dtype) -> dict[str, Any]:
        """Return coefficients (k, d) and intercepts (k,) in the precision of the rows, and the number of steps."""
        coef, intercept = state.choose_model(self._averaging())
        with np.errstate(all="ignore"):
            model = {"coef_": coef.astype(dtype), "intercept_": intercept.astype(dtype)}
        return model | {"t_": float(state.t.max())}

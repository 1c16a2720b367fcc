"""What both perceptrons share: from their parameters to a plan, its first state, the fit and the predictions."""

import math
import warnings
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import column_or_1d

from mercer._base import Estimator, LimitedEstimator, few_rows, open_new_rows, seed_sequence
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Instance, Integer, Nothing, Real, Seed, parameter
from mercer._solver import Outcome
from mercer._source import Block, Source, open_source
from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.errors import DataError, ParameterError, UnsupportedError
from mercer.neural_network._layers.dense import TableEmbedding
from mercer.neural_network._layers.initialisers import INITIALISERS
from mercer.neural_network._layers.losses import OutputLoss
from mercer.neural_network._perceptron.column_coding import ColumnCoding, encode_frame, learn_coding
from mercer.neural_network._perceptron.epoch import SharedPasses
from mercer.neural_network._perceptron.labels import KnownLabels, is_multilabel
from mercer.neural_network._perceptron.plan import Plan
from mercer.neural_network._perceptron.scores import Outputs, ValidationScore, find_outputs, place_weights
from mercer.neural_network._perceptron.solver import Rules, descend_in_epochs, descend_on_all_rows
from mercer.neural_network._perceptron.state import PERCEPTRON, PerceptronState, check_chain
from mercer.optim import LBFGS, Adam, AdamW, ConjugateGradient, GradientDescent, Momentum, Nesterov, RMSprop, Rprop


def draw_held_out(model: Any, source: Source, stratified: bool) -> tuple[np.ndarray, np.ndarray]:
    """Draw the rows to learn from and the rows to judge by; one label for each row may stratify them."""
    seed = model.random_state
    if isinstance(seed, np.random.Generator):
        seed = int(seed.integers(2**31))
    y = to_numpy(source.y)
    kind = StratifiedShuffleSplit if stratified and y.ndim == 1 else ShuffleSplit
    split = kind(test_size=model.validation_fraction, random_state=seed)
    try:
        training, held_out = next(split.split(np.zeros((source.n_rows, 1)), y))
    except ValueError as error:
        raise DataError(f"{type(model).__name__}: early_stopping cannot split the rows: {error}") from error
    if len(held_out) < 2:
        raise DataError(
            f"{type(model).__name__}: The validation set is too small. Increase 'validation_fraction' or the size "
            f"of your dataset; it has {len(held_out)} rows, and at least 2 are needed."
        )
    # Sorted: the order of visits comes from the epochs alone.
    return np.sort(training), np.sort(held_out)


_BY_BATCHES = (Adam, AdamW, GradientDescent, Momentum, Nesterov, RMSprop)
_BY_ALL_ROWS = (LBFGS, ConjugateGradient, Rprop)
# Rows of a batch where batch_size is "auto", as in scikit-learn.
_BATCH = 200

_VISITED = "rows are visited in batches, in a random order: weights are repetitions in expectation, not step for step"


def is_stochastic(model: Any) -> bool:
    """Return True where a model takes batches; raise AttributeError where its solver needs all rows."""
    if model._takes_all_rows():
        raise AttributeError(
            f"partial_fit is only available for stochastic optimizers. {model.solver} is not stochastic."
        )
    return True


class PerceptronModel(LimitedEstimator):
    """A multilayer perceptron."""

    solver: Any = parameter(
        Choice("lbfgs", "sgd", "adam") | Instance(*_BY_BATCHES, *_BY_ALL_ROWS),
        default="adam",
        doc='"adam" and "sgd" take steps on batches; "lbfgs" uses all rows in each step and suits small data. A '
        "method of ``mercer.optim`` brings its own learning rate and schedule.",
    )
    alpha: float = parameter(Real(0), default=0.0001, doc="Strength of the penalty on the weights.")
    batch_size: Any = parameter(
        Choice("auto") | Integer(1),
        default="auto",
        doc='Rows in a batch; "auto" is the smaller of 200 and the number of rows. Where rows are read block by '
        "block, from files, streams and Dask chunks, a batch ends where its block ends.",
    )
    learning_rate: str = parameter(
        Choice("constant", "invscaling", "adaptive"),
        default="constant",
        doc='Of "sgd": constant; divided by t^power_t after t rows; or divided by five whenever the loss stops '
        "falling.",
    )
    learning_rate_init: float = parameter(
        Real(0, math.inf, "neither"), default=0.001, doc='The first learning rate of "sgd" and "adam".'
    )
    power_t: float = parameter(Real(0), default=0.5, doc='The exponent of "invscaling".')
    max_iter: int = parameter(Integer(1), default=200, doc="The most epochs, or steps of methods that use all rows.")
    shuffle: bool = parameter(
        Boolean(),
        default=True,
        doc="Whether each epoch visits the rows in a new order. Files and streams are shuffled within their blocks.",
    )
    random_state: Any = parameter(
        Seed(), default=None, doc="The seed of the first weights, the orders, dropout and the rows held out."
    )
    tol: float = parameter(
        Real(0),
        default=1e-4,
        doc="The fit ends when the loss (or the validation score) has not improved by `tol` for more than "
        "`n_iter_no_change` epochs; methods that use all rows end when no entry of the gradient exceeds it.",
    )
    verbose: Any = parameter(Integer(0) | Boolean(), default=False, doc="Whether to print a line for each epoch.")
    warm_start: bool = parameter(Boolean(), default=False, doc="Whether ``fit`` goes on from the last weights.")
    momentum: float = parameter(Real(0, 1), default=0.9, doc='Of "sgd".')
    nesterovs_momentum: bool = parameter(Boolean(), default=True, doc='Of "sgd": whether the gradient is taken ahead.')
    early_stopping: bool = parameter(
        Boolean(),
        default=False,
        doc="Whether to hold rows out, watch the score on them, and keep the weights with the best one.",
    )
    validation_fraction: float = parameter(
        Real(0, 1, "left"), default=0.1, doc="The share of the rows that is held out."
    )
    beta_1: float = parameter(
        Real(0, 1, "left"), default=0.9, doc='Of "adam": the share of the mean of the gradients that is kept.'
    )
    beta_2: float = parameter(
        Real(0, 1, "left"), default=0.999, doc='Of "adam": the share of the mean of their squares that is kept.'
    )
    epsilon: float = parameter(Real(0, math.inf, "neither"), default=1e-8, doc='Of "adam": keeps the division finite.')
    n_iter_no_change: float = parameter(
        Integer(1) | Real(1), default=10, doc="Epochs without improvement that are allowed."
    )
    max_fun: int = parameter(Integer(1), default=15000, doc="The most evaluations of methods that use all rows.")
    dropout: float = parameter(
        Real(0, 1, "left"), default=0.0, doc="The probability that a hidden unit is dropped in a step."
    )
    batch_norm: bool = parameter(
        Boolean(),
        default=False,
        doc="Whether the hidden layers are normalised over each batch. ``coefs_`` and ``intercepts_`` then hold the "
        "network that predicts, with the running means and variances folded in.",
    )
    penalty_power: float = parameter(
        Real(0, math.inf, "neither"),
        default=2.0,
        doc="The exponent q of the penalty: 2 is weight decay, 1 the lasso's.",
    )
    initialiser: str = parameter(
        Choice(*INITIALISERS), default="sklearn", doc="The law of the first weights; biases start at zero."
    )
    clip_norm: float | None = parameter(
        Real(0, math.inf, "neither") | Nothing(),
        default=None,
        doc="The greatest Euclidean norm of a batch's gradient; longer ones are shortened to it.",
    )
    clip_value: float | None = parameter(
        Real(0, math.inf, "neither") | Nothing(),
        default=None,
        doc="The greatest size of an entry of a batch's gradient, after `clip_norm`; larger ones are cut to it.",
    )
    warm_up: int = parameter(Integer(0), default=0, doc="Steps in which the learning rate rises linearly to its value.")
    average_from: int | None = parameter(
        Integer(0) | Nothing(),
        default=None,
        doc="After this many epochs the weights at the end of each are averaged, and the model predicts with the "
        "average.",
    )
    categorical_features: Any = parameter(
        Choice("from_dtype") | ArrayRule("entries") | Nothing(),
        default=None,
        doc="Columns of categories: names, indices or a mask; ``'from_dtype'`` takes the columns of a frame that "
        "hold texts or categories. Columns of an array hold codes 0, 1, ... Each category gets a vector that is "
        "learnt. Gaps (NaN) are then allowed in all columns: a category of their own, or the mean with a mark.",
    )

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _objective_moves = None
    _law_exceptions: ClassVar[dict[str, str]] = {
        "weights": _VISITED,
        "row order": "each step starts from where the last one ended, so the answer depends on the order of the rows",
    }
    _stored, _check_structure = PERCEPTRON, check_chain
    _takes_sparse = True

    @property
    def _check_exceptions(self) -> dict[str, str]:  # type: ignore[override]
        if not self.dropout and not self.batch_norm:
            return Estimator._check_exceptions
        reason = "dropout draws for each row of a batch, and batch norm counts rows: repeated rows are other batches"
        names = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
        return Estimator._check_exceptions | dict.fromkeys(names, reason)

    def _check_together(self) -> None:
        """Raise ParameterError where parameters do not go together."""
        name = type(self).__name__
        whole = self._takes_all_rows()
        wrong = ""
        # L-BFGS compares values of one function along a line; random masks would change the function between them.
        if whole and (self.dropout > 0 or self.batch_norm):
            wrong = f"solver={self.solver!r} needs one objective in all steps; use 'adam' with dropout or batch_norm"
        elif whole and self.early_stopping:
            wrong = f"early_stopping needs epochs, which solver={self.solver!r} does not have; use 'adam' or 'sgd'"
        elif self.average_from is not None and (self.batch_norm or self.early_stopping or whole):
            wrong = "average_from averages the weights of epochs without batch_norm, early_stopping and lbfgs"
        if wrong:
            raise UnsupportedError(f"{name}: {wrong}.")
        if self.batch_norm and self.batch_size == 1:
            raise ParameterError(
                f"{name}: batch_norm=True needs batches of at least 2 rows, since one row has no variance; got "
                f"batch_size=1. Raise batch_size, or set batch_norm=False."
            )
        sizes = self._hidden_sizes()
        if any(size < 1 for size in sizes):
            raise ParameterError(f"{name}: hidden_layer_sizes must be > 0, got {self.hidden_layer_sizes}.")

    def _hidden_sizes(self) -> tuple[int, ...]:
        sizes = self.hidden_layer_sizes
        return (int(sizes),) if np.ndim(sizes) == 0 else tuple(int(size) for size in sizes)

    def _takes_all_rows(self) -> bool:
        return self.solver == "lbfgs" or isinstance(self.solver, _BY_ALL_ROWS)

    def _open_training(self, X: Any, y: Any, sample_weight: Any, targets: str, reset: bool) -> tuple[Source, Any]:
        """Open the rows; return them, and how their categories and gaps are coded, or None."""
        name, special = type(self).__name__, self.categorical_features is not None
        known = None if reset else vars(self).get("input_coding_")
        X, table = encode_frame(name, X, self.categorical_features, known) if special else (X, None)
        options: dict[str, Any] = {"targets": targets, "accept_sparse": not special and "csr", "reset": reset}
        options["ensure_all_finite"] = not special
        if targets == "labels":
            options["multi_output"] = True
        if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        source = self._open(X, y, sample_weight, **options)
        if not special:
            return source, None
        self._needs_memory(source, "categorical_features", "code the columns first")
        coding = known or learn_coding(name, source.whole(), self.categorical_features, table)
        if coding is None:
            return source, None
        rows = coding.apply(source.whole())
        return open_source(rows, source.y, source.weight, source.threads), coding

    def _check_partial(self) -> bool:
        """Raise if parameters forbid a fit by parts; return whether this part is the first."""
        self._check_together()
        if self.early_stopping:
            raise ParameterError(
                f"{type(self).__name__}: partial_fit does not support early_stopping=True; it sees a batch once."
            )
        return not hasattr(self, "_state")

    def _open_validation(
        self, X: Any, y: Any, weight: Any, targets: str, coding: Any, classes: np.ndarray | None = None
    ) -> Any:
        """Return the user's rows for early stopping, coded like the rows of the fit."""
        if X is None and y is None:
            return None
        name = type(self).__name__
        if X is None or y is None or not self.early_stopping:
            raise DataError(
                f"{name}: X_val and y_val go together, and need early_stopping=True; give both, and set it."
            )
        options: dict[str, Any] = {"reset": False, "ensure_all_finite": coding is None}
        options |= {} if classes is None else {"multi_output": True}
        X = X if coding is None else coding.read(X, name)
        source = self._open(X, y, weight, targets=targets, accept_sparse=coding is None and "csr", **options)
        rows = source.whole() if coding is None else coding.apply(source.whole())
        if classes is not None and not is_multilabel(source):
            # Class weights belong to the training loss; the rows that judge are not weighed by class.
            source = source.relabel(KnownLabels(classes, None))
        return rows, source.y, source.weight

    def _take_epochs(
        self,
        source: Source,
        coding: ColumnCoding | None,
        n_outputs: int,
        loss: OutputLoss,
        known: dict[str, Any],
        validation: Any,
        is_part: bool,
    ) -> Outcome[PerceptronState]:
        """Run a fit, or one epoch of it; `known` are the attributes that the outputs belong to."""
        goes_on = hasattr(self, "_state") if is_part else self.warm_start
        plan = self._plan(source, n_outputs, loss, coding, goes_on)
        shared = SharedPasses(plan)
        rules = self._make_rules(plan, source, shared, validation, partial(read_embeddings, plan))
        # A later part goes on with the optimiser's moments; the count for early stopping begins anew.
        start = self._state.restart() if is_part and goes_on else self._begin(plan, source, goes_on)
        last = start.epochs + (1 if is_part else self.max_iter)
        return self._learn(plan, start, last, source, rules, shared, self._describe_outputs(plan, coding) | known)

    def _plan(
        self, source: Source, n_outputs: int, loss: OutputLoss, coding: ColumnCoding | None, goes_on: bool
    ) -> Plan:
        """Return what is minimised and how, on these rows; a fit that goes on keeps pruned weights at zero."""
        batch = self.batch_size
        n = source.known_rows
        if batch == "auto":
            batch = _BATCH if n is None else min(_BATCH, n)
        elif n is not None and batch > n:
            warnings.warn(
                f"{type(self).__name__}: Got `batch_size` less than 1 or larger than sample size. It is going to be "
                f"clipped. batch_size={batch} becomes {n}, the number of rows.",
                UserWarning,
                stacklevel=8,
            )
            batch = n
        embedding = None
        if coding is not None and len(coding.columns):
            columns, sizes = (tuple(int(v) for v in values) for values in (coding.columns, coding.sizes))
            embedding = TableEmbedding(columns, sizes, coding.widths)
        method = self.solver
        first = self.beta_1 if method == "adam" else self.momentum
        mask = vars(self).get("_mask") if goes_on else None
        return Plan(
            n_features=source.n_features,
            hidden=self._hidden_sizes(),
            n_outputs=n_outputs,
            activation=self.activation,
            loss=loss,
            alpha=float(self.alpha),
            power=float(self.penalty_power),
            dropout=float(self.dropout),
            batch_norm=bool(self.batch_norm),
            initialiser=self.initialiser,
            embedding=embedding,
            method=method,
            rules=(float(first), float(self.beta_2), float(self.epsilon)),
            nesterov=bool(self.nesterovs_momentum),
            batch_size=int(batch),
            shuffle=bool(self.shuffle),
            clip_norm=self.clip_norm,
            clip_value=self.clip_value,
            warm_up=int(self.warm_up),
            average_from=self.average_from,
            mask=mask,
        )

    def _begin(self, plan: Plan, source: Source, go_on: bool) -> PerceptronState:
        """Return the state before the first epoch: random weights, or the last ones."""
        dtype = source.host_dtype
        earlier = vars(self).get("_state") if go_on else None
        # A warm start goes on only if the network has the same shape.
        if earlier is not None and earlier.theta.shape == (plan.network.n_weights,):
            theta, _ = earlier.choose_model()
            start = earlier.restart(self.learning_rate_init, keep_scores=True)
            carried = self._carry(plan, theta)
            return PerceptronState(
                theta.astype(dtype, copy=False),
                carried,
                earlier.choose_model()[1],
                start.seed,
                start.rate,
                epochs=start.epochs,
                losses=start.losses,
                scores=start.scores,
                best_loss=start.best_loss,
            )
        root = seed_sequence(self.random_state)
        seed = tuple(root.generate_state(4).tolist())
        theta, statistics = plan.network.initialise(seed[0], dtype)
        return PerceptronState(theta, self._carry(plan, theta), statistics, seed, float(self.learning_rate_init))

    def _carry(self, plan: Plan, theta: Array) -> tuple[Array, ...]:
        if self._takes_all_rows():
            return ()
        if isinstance(plan.method, str):
            return tuple(np.zeros_like(theta) for _ in range(plan.n_carried))
        return plan.method.carry(theta)

    def _make_rules(
        self, plan: Plan, source: Source, shared: SharedPasses, validation: tuple[Any, Any, Any] | None, model: Any
    ) -> Rules:
        """Return the stopping rule; rows that judge are taken out of the training rows."""
        judge = None
        if self.early_stopping:
            rows = None
            if validation is None:
                self._needs_device_or_memory(source)
                stratified = hasattr(self, "class_weight")
                shared.training, rows = draw_held_out(self, source, stratified)

            def judge(state: PerceptronState) -> ValidationScore:
                theta = state.theta
                coefs, intercepts = plan.fold(theta, state.statistics)
                given = source if validation is None else validation[0]
                like = given.whole() if validation is None else given
                # A probe with the fitted arrays of this state predicts as the estimator would.
                probe = SimpleNamespace(
                    coefs_=place_weights(coefs, like),
                    intercepts_=place_weights(intercepts, like),
                    activation=self.activation,
                    **model(theta),
                )
                return ValidationScore(rows, validation, lambda X: self._decide(find_outputs(probe, X)), self._score)

        return Rules(
            float(self.tol),
            float(self.n_iter_no_change),
            self.learning_rate if self.solver == "sgd" else "constant",
            float(self.learning_rate_init),
            float(self.power_t),
            judge,
            keep_best=self.early_stopping,
        )

    def _needs_device_or_memory(self, source: Source) -> None:
        if source.place != "device":
            self._needs_memory(source, "early_stopping=True", "give X_val and y_val")

    def _learn(
        self,
        plan: Plan,
        start: PerceptronState,
        last_epoch: int,
        source: Source,
        rules: Rules,
        shared: SharedPasses,
        attributes: dict[str, Any],
    ) -> Outcome:
        """Run the fit and store the fitted attributes."""
        if self._takes_all_rows():
            self._needs_memory(source, f"solver={self.solver!r}", "use solver='adam'")
            method = LBFGS() if self.solver == "lbfgs" else self.solver
            limits = (last_epoch, self.max_fun, float(self.tol))

            def solve(state: PerceptronState | None) -> Any:
                return descend_on_all_rows(shared, method, start if state is None else state, limits)

        else:

            def solve(state: PerceptronState | None) -> Any:
                epochs = (start.epochs, last_epoch)
                return descend_in_epochs(shared, start if state is None else state, epochs, rules)

        try:
            outcome = self._drive(
                solve,
                source,
                fitted=partial(self._read_state, plan=plan),
                max_steps=last_epoch - start.epochs,
                attributes=attributes,
            )
        finally:
            shared.close()
        # What a method over all rows remembers serves checkpoints; models do not carry it along.
        self._state = replace(outcome.state, inner=None, evaluations=0)
        if plan.mask is None:
            # A new fit has all its weights.
            vars(self).pop("_mask", None)
        if outcome.reason == "diverged":
            warnings.warn(
                f"{type(self).__name__}: the loss grew without end at epoch {outcome.n_steps + 1}, and the weights of "
                f"epoch {outcome.n_steps} were kept. Scale the columns and the targets, or lower learning_rate_init "
                f"(now {self.learning_rate_init:g}), for instance to {0.1 * self.learning_rate_init:g}.",
                ConvergenceWarning,
                stacklevel=8,
            )
        return outcome

    def _read_state(self, state: PerceptronState, plan: Plan) -> dict[str, Any]:
        """Return the fitted attributes that a state stands for."""
        theta, statistics = state.choose_model()
        coefs, intercepts = plan.fold(theta, statistics)
        model: dict[str, Any] = {"coefs_": coefs, "intercepts_": intercepts, "t_": state.seen}
        model["loss_curve_"] = list(state.losses)
        model["loss_"] = state.losses[-1] if state.losses else math.nan
        model["best_loss_"] = None if self.early_stopping else state.best_loss
        model["validation_scores_"] = list(state.scores) if self.early_stopping else None
        model["best_validation_score_"] = max(state.scores, default=None) if self.early_stopping else None
        return model | read_embeddings(plan, theta)

    def _describe_outputs(self, plan: Plan, coding: ColumnCoding | None) -> dict[str, Any]:
        """Return the attributes that do not depend on the state."""
        return {
            "n_layers_": len(plan.hidden) + 2,
            "n_outputs_": plan.n_outputs,
            "out_activation_": self._name_output(plan),
            "input_coding_": coding,
        }

    def _name_output(self, plan: Plan) -> str:
        raise NotImplementedError  # both perceptrons define their own

    def _decide(self, outputs: Array) -> Array:
        raise NotImplementedError  # both perceptrons define their own

    def _score(self, y: Array, predicted: Array, weight: Array | None) -> float:
        raise NotImplementedError  # both perceptrons define their own

    def _map(self, X: Any, finish: Any) -> Array:
        """Return what `finish` makes of the outputs for each row."""
        coding = vars(self).get("input_coding_")
        if coding is None and (rows := few_rows(self, X)) is not None:
            return finish(find_outputs(self, rows))
        if coding is None:
            source = open_new_rows(self, X, accept_sparse="csr")
            return source.map(Outputs(self, _keep, finish))
        source = open_new_rows(self, coding.read(X, type(self).__name__), ensure_all_finite=False)
        return source.map(Outputs(self, coding.apply, finish))

    def _score_elsewhere(self, X: Any, y: Any, sample_weight: Any, finish: Any, targets: str) -> float:
        """Return the score on rows that are not in NumPy arrays."""
        source = self._open(X, y, sample_weight, targets=targets, reset=False, accept_sparse="csr")
        predicted, given = source.map(Outputs(self, _keep, finish)), source.map(_take_targets)
        weight = None if not source.has_weight else source.map(_take_weights)
        return float(self._score(given, predicted, weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self._takes_all_rows():
            tags.array_api_support = False
        tags.input_tags.sparse = self.categorical_features is None
        tags.input_tags.allow_nan = self.categorical_features is not None
        return tags


def _keep(X: Any) -> Any:
    return X


def _take_targets(block: Block) -> Array:
    return block.y


def _take_weights(block: Block) -> Array:
    return block.weight


def read_embeddings(plan: Plan, theta: Array) -> dict[str, Any]:
    """Return the vectors of the categories as fitted attributes."""
    if plan.embedding is None:
        return {}
    own = next(iter(plan.network.split(theta).values()))
    columns = plan.embedding.columns
    return {"embeddings_": [own[f"W{column}"].copy() for column in columns], "categorical_columns_": np.array(columns)}

"""Recurrent networks for sequences: one label or number for each sequence, or for each step."""

from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting
from mercer._base.model_placement import check_placement
from mercer._base.opening import check_place
from mercer._base.parameter import Choice, Integer, Nothing, Real, Rule
from mercer._base.validation import check_labels, check_rows, check_rows_and_targets, check_weight
from mercer._solver import Solver
from mercer._source import open_source, place_of
from mercer._types import Array
from mercer.errors import DataError
from mercer.neural_network._layers.dense import Dense
from mercer.neural_network._layers.losses import OutputLoss, read_loss
from mercer.neural_network._layers.network import Network
from mercer.neural_network._layers.normalisation import Dropout
from mercer.neural_network._layers.recurrence import GatedRecurrent, SimpleRecurrent
from mercer.neural_network._relatives.network_model import WHOLE_ROWS, NetworkModel, find_penalised
from mercer.neural_network._relatives.recurrent_text import DESCRIBED
from mercer.neural_network._relatives.sequences import PaddedSequences, pad_sequences
from mercer.neural_network._relatives.supervised import Supervised
from mercer.neural_network._relatives.training import TrainingState, train

__all__ = ["RecurrentClassifier", "RecurrentRegressor"]

# Sequences whose outputs are computed at a time.
_TOGETHER = 1024


class _Recurrent(NetworkModel):
    """What both estimators share: reading of sequences, the network, training, outputs."""

    _parameters: ClassVar[dict[str, Rule]] = {
        "n_units": Integer(1),
        "cell": Choice("simple", "gated"),
        "n_layers": Integer(1),
        "dropout": Real(0, 1, closed="left"),
        "max_norm": Real(0, closed="neither") | Nothing(),
        **NetworkModel._training,
    }

    _law_exceptions: ClassVar[dict[str, str]] = {
        **NetworkModel._law_exceptions,
        "three dimensions": "an array of three dimensions holds sequences of vectors",
    }

    n_units: int
    cell: str
    n_layers: int
    dropout: float
    max_norm: float | None
    alpha: float
    weights_: Array
    n_steps_features_: int
    by_step_: bool

    def __init__(
        self,
        n_units: int = 32,
        *,
        cell: str = "gated",
        n_layers: int = 1,
        dropout: float = 0.0,
        max_norm: float | None = 1.0,
        alpha: float = 0.0,
        learning_rate_init: float = 0.005,
        batch_size: int = 32,
        max_iter: int = 100,
        tol: float = 0.0001,
        n_iter_no_change: int = 10,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        verbose: bool = False,
        max_time: float | None = None,
    ) -> None:
        self.n_units = n_units
        self.cell = cell
        self.n_layers = n_layers
        self.dropout = dropout
        self.max_norm = max_norm
        self.alpha = alpha
        self.learning_rate_init = learning_rate_init
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose
        self.max_time = max_time

    @property
    def _max_norm(self) -> float | None:  # type: ignore[override]
        return self.max_norm

    def _read(self, X: Any, lengths: Any, reset: bool) -> PaddedSequences:
        """Check the values of X by scikit-learn's rules, and read them as sequences."""
        if isinstance(X, np.ndarray) and X.ndim == 3:
            flat = X.reshape(-1, X.shape[2])
            rows = check_rows(self, flat, reset=reset).reshape(X.shape)
        else:
            rows = check_rows(self, X, reset=reset)
        return pad_sequences(type(self).__name__, rows, lengths)

    def _learn(
        self,
        sequences: PaddedSequences,
        targets: Array,
        weight: Array,
        loss: OutputLoss,
        known: dict[str, Any],
    ) -> None:
        """Train a network on targets (n, ...) or, for each step, (n, time, ...)."""
        by_step = known["by_step_"]
        network = self._build(sequences, known["_n_outputs"], by_step)
        seed = self._seed()
        theta, statistics = network.initialise(seed[0], sequences.values.dtype)
        first = TrainingState.begin(theta, statistics, seed)
        penalised = find_penalised(network).astype(theta.dtype)
        if by_step and sequences.mask is not None:
            weight = sequences.mask if weight is None else sequences.mask * weight[:, None]
        inputs = sequences.name_inputs()

        def make_task(_: Any) -> Supervised:
            return Supervised(network, inputs, targets, weight, loss, self.alpha, penalised)

        def solve(start: TrainingState | None) -> Solver[TrainingState]:
            return train(self._schedule(), make_task, WHOLE_ROWS, start or first)

        known = known | {"n_steps_features_": sequences.values.shape[2]}
        flat = np.ascontiguousarray(sequences.values.reshape(len(sequences.values), -1))
        source = open_source(flat, known.pop("_given"), None, 1)
        outcome = self._drive(solve, source, max_steps=self.max_iter, attributes=known)
        self._finish(outcome)

    def _fitted(self, state: TrainingState) -> dict[str, Any]:
        return {"weights_": state.choose_weights()[0]}

    def _build(self, sequences: PaddedSequences, n_outputs: int, by_step: bool) -> Network:
        _, time, d = sequences.values.shape
        layer = GatedRecurrent if self.cell == "gated" else SimpleRecurrent
        graph: dict[str, tuple[Any, ...]] = {}
        last = "input"
        for number in range(self.n_layers):
            all_steps = by_step or number < self.n_layers - 1
            masked = () if sequences.mask is None else ("mask",)
            graph[f"recurrent {number}"] = (layer(self.n_units, return_sequences=all_steps), last, *masked)
            last = f"recurrent {number}"
            if self.dropout:
                graph[f"dropout {number}"] = (Dropout(self.dropout), last)
                last = f"dropout {number}"
        graph["output"] = (Dense(n_outputs), last)
        shapes: dict[str, tuple[int, ...]] = {"input": (time, d)}
        return Network(graph, shapes if sequences.mask is None else shapes | {"mask": (time,)}, output="output")

    def _compute(self, X: Any, lengths: Any) -> tuple[Array, PaddedSequences]:
        """Return the outputs (n, k), or (n, time, k) for each step, and the sequences."""
        check_is_fitted(self)
        check_placement(self, X)
        sequences = self._read(X, lengths, False)
        if sequences.values.shape[2] != self.n_steps_features_:
            message = (
                f"{type(self).__name__}: a step must have {self.n_steps_features_} values, as those that were learnt; "
                f"got {sequences.values.shape[2]}. Give sequences with the columns of the fit."
            )
            raise DataError(message)
        network = self._build(sequences, self._n_outputs, self.by_step_)
        parts = []
        for start in range(0, len(sequences.values), _TOGETHER):
            piece = slice(start, start + _TOGETHER)
            dtype = self.weights_.dtype
            inputs = {name: values[piece].astype(dtype) for name, values in sequences.name_inputs().items()}
            parts.append(network.forward(self.weights_, inputs, {}).output)
        return np.concatenate(parts), sequences

    def _place_targets(self, y: Any, sequences: PaddedSequences) -> tuple[Array, bool]:
        """Return the targets as (n, ...) or (n, time, ...), and whether each step has one."""
        name, values = type(self).__name__, np.asarray(y)
        n, n_steps = len(sequences.lengths), int(sequences.lengths.sum())
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if len(values) == n and (values.ndim == 1 or values.shape[1] != sequences.values.shape[1]):
            return values, False
        if values.shape[:2] == sequences.values.shape[:2]:
            return values, True
        if sequences.stacked and len(values) == n_steps:
            return sequences.pad(values), True
        message = (
            f"{name}: y must have one entry for each of {n} sequences, or for each of their {n_steps} steps; got shape "
            f"{values.shape}."
        )
        raise DataError(message)


class RecurrentClassifier(ClassifierMixin, _Recurrent):
    __doc__ = DESCRIBED.format(
        name="RecurrentClassifier",
        what="classifies sequences, or the steps of sequences",
        loss="log loss of softmax outputs",
        own="classes_ : ndarray of shape (n_classes,)\n    ",
        example="""Which of two signs did the first step have? The network must remember it over five steps.

    >>> import numpy as np
    >>> from mercer.neural_network import RecurrentClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 6, 1))
    >>> y = np.where(X[:, 0, 0] > 0, "up", "down")
    >>> model = RecurrentClassifier(8, learning_rate_init=0.02, max_iter=30, tol=0.0, random_state=0)
    >>> bool(model.fit(X[:150], y[:150]).score(X[150:], y[150:]) > 0.8)
    True""",
    )

    @fitting
    def fit(self, X: Any, y: Any, lengths: Any = None, sample_weight: Any = None) -> "RecurrentClassifier":
        """Learn labels of sequences or of steps.

        Parameters
        ----------
        X : array-like of shape (n_sequences, time, n_features), (n_sequences, time) or (n_steps, n_features)
            Sequences; the last form with `lengths`.
        y : array-like of shape (n_sequences,), (n_sequences, time) or (n_steps,)
            A label for each sequence, or for each step.
        lengths : array-like of shape (n_sequences,) or None, default=None
            How many steps each sequence has.
        sample_weight : array-like of shape (n_sequences,) or None, default=None
            How often each sequence counts.

        Returns
        -------
        RecurrentClassifier
            The fitted estimator.
        """
        sequences, given, weight = _read_pair(self, X, y, lengths, sample_weight)
        targets, by_step = self._place_targets(given, sequences)
        check_labels(sequences.join(targets) if by_step else targets)
        classes = np.unique(sequences.join(targets) if by_step else targets)
        # Padding has the class of no step, but weight zero: any code will do.
        codes = np.minimum(np.searchsorted(classes, targets), len(classes) - 1)
        n_outputs = max(2, len(classes))
        known = {
            "classes_": classes,
            "by_step_": by_step,
            "_n_outputs": n_outputs,
            "_given": given if not by_step else None,
        }
        self._learn(sequences, codes, weight, read_loss("log_loss", n_outputs), known)
        return self

    def predict_proba(self, X: Any, lengths: Any = None) -> Array:
        """Compute the probabilities of the classes.

        Parameters
        ----------
        X, lengths
            Sequences, as in :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_sequences, n_classes), (n_sequences, time, n_classes) or (n_steps, n_classes)
            The last form for labels of steps with `lengths` and stacked rows.
        """
        outputs, sequences = self._compute(X, lengths)
        chances = (
            softmax(outputs, axis=-1) if len(self.classes_) > 1 else np.ones((*outputs.shape[:-1], 1), outputs.dtype)
        )
        return sequences.join(chances) if self.by_step_ and sequences.stacked else chances

    def predict(self, X: Any, lengths: Any = None) -> Array:
        """Return the most probable class of each sequence, or of each step.

        Parameters
        ----------
        X, lengths
            Sequences, as in :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_sequences,), (n_sequences, time) or (n_steps,)
        """
        chances = self.predict_proba(X, lengths)
        return self.classes_[chances.argmax(axis=-1)]


class RecurrentRegressor(RegressorMixin, _Recurrent):
    __doc__ = DESCRIBED.format(
        name="RecurrentRegressor",
        what="predicts a number for each sequence, or for each of its steps",
        loss="squared error",
        own="y_mean_, y_scale_ : float\n        Mean and deviation of the targets.\n    ",
        example="""The sum of a sequence:

    >>> import numpy as np
    >>> from mercer.neural_network import RecurrentRegressor
    >>> X = np.random.default_rng(0).normal(size=(300, 5, 1))
    >>> y = X.sum(axis=(1, 2))
    >>> model = RecurrentRegressor(16, learning_rate_init=0.02, max_iter=40, random_state=0)
    >>> bool(model.fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.9)
    True""",
    )

    @fitting
    def fit(self, X: Any, y: Any, lengths: Any = None, sample_weight: Any = None) -> "RecurrentRegressor":
        """Learn numbers of sequences or of steps.

        Parameters
        ----------
        X : array-like of shape (n_sequences, time, n_features), (n_sequences, time) or (n_steps, n_features)
            Sequences; the last form with `lengths`.
        y : array-like of shape (n_sequences,), (n_sequences, time) or (n_steps,)
            A number for each sequence, or for each step.
        lengths : array-like of shape (n_sequences,) or None, default=None
            How many steps each sequence has.
        sample_weight : array-like of shape (n_sequences,) or None, default=None
            How often each sequence counts.

        Returns
        -------
        RecurrentRegressor
            The fitted estimator.
        """
        sequences, given, weight = _read_pair(self, X, y, lengths, sample_weight, numbers=True)
        targets, by_step = self._place_targets(given, sequences)
        # Targets of mean 0 and deviation 1 suit the first weights and the steps.
        values = np.asarray(sequences.join(targets) if by_step else targets, dtype=np.float64)
        if values.ndim != 1:
            message = (
                f"RecurrentRegressor: y must have one number for each sequence or step; got shape {values.shape}. Fit "
                f"one model for each column."
            )
            raise DataError(message)
        share = np.ones(len(sequences.lengths)) if weight is None else weight
        share = np.repeat(share, sequences.lengths) if by_step else share
        mean = float(np.average(values, weights=share))
        scale = float(np.sqrt(np.average((values - mean) ** 2, weights=share))) or 1.0
        targets = ((targets - mean) / scale).astype(sequences.values.dtype)
        known: dict[str, Any] = {"by_step_": by_step, "_n_outputs": 1, "y_mean_": mean, "y_scale_": scale}
        known["_given"] = None if by_step else given
        self._learn(sequences, targets, weight, read_loss("squared_error", 1), known)
        return self

    def predict(self, X: Any, lengths: Any = None) -> Array:
        """Return the number of each sequence, or of each step.

        Parameters
        ----------
        X, lengths
            Sequences, as in :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_sequences,), (n_sequences, time) or (n_steps,)
        """
        outputs, sequences = self._compute(X, lengths)
        values = outputs[..., 0] * outputs.dtype.type(self.y_scale_) + outputs.dtype.type(self.y_mean_)
        return sequences.join(values) if self.by_step_ and sequences.stacked else values


def _read_pair(
    model: _Recurrent, X: Any, y: Any, lengths: Any, sample_weight: Any, numbers: bool = False
) -> tuple[PaddedSequences, Array, Array]:
    """Read sequences, targets and weights of a fit."""

    if (place := place_of(X, y)) != "memory":
        check_place(model, place)
    plain = not (isinstance(X, np.ndarray) and X.ndim == 3) and lengths is None
    targets = np.asarray(y)
    if plain and (targets.ndim < 2 or targets.shape[-1] == 1):
        # One sequence in each row: scikit-learn's own checks of rows and targets apply.
        rows, given = check_rows_and_targets(model, X, y, **({"y_numeric": True} if numbers else {}))
        sequences = pad_sequences(type(model).__name__, rows, None)
    else:
        if y is None:
            message = f"{type(model).__name__}: requires y to be passed, but the target y is None."
            raise DataError(message)
        sequences, given = model._read(X, lengths, True), targets
    return sequences, given, check_weight(model, sample_weight, len(sequences.lengths))

"""What both recurrent estimators share: reading of sequences, the network, training, outputs."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base.model_placement import check_placement
from mercer._base.parameter import Choice, Integer, Nothing, Real, attribute, parameter
from mercer._base.validation import check_rows_and_targets, check_weight
from mercer._source import Block, Source, open_place, open_source, place_of
from mercer._source.namespace import namespace_of, to_numpy
from mercer._source.placement import is_on_device
from mercer._stored import Stored, flags, integers
from mercer._types import Array
from mercer.errors import DataError, ModelFileError
from mercer.neural_network._layers.dense import Dense
from mercer.neural_network._layers.layer import as_like
from mercer.neural_network._layers.losses import OutputLoss
from mercer.neural_network._layers.network import Network
from mercer.neural_network._layers.normalisation import Dropout
from mercer.neural_network._layers.recurrence import LSTM, GatedRecurrent, SimpleRecurrent
from mercer.neural_network._relatives.network_model import NetworkModel, NetworkOutputs, Validation
from mercer.neural_network._relatives.sequences import PaddedSequences, SequenceRows, join_listed, pad_sequences
from mercer.neural_network._relatives.supervised import Supervised

DESCRIBED = r"""A recurrent network that {what}.

    A layer reads one step after the other and keeps a state, :math:`h_t = \tanh(x_t W + h_{{t-1}} U + b)`, or the
    state of a gated unit, which learns when to keep and when to replace it. Its last state, or its state at every step,
    feeds a dense layer. The {loss} is minimised, with gradients by backpropagation through time.

    Attributes
    ----------
    {own}weights_ : ndarray of shape (n_weights,)
        The weights of all layers.
    by_step_ : bool
        Whether each step has a target, or each sequence.
    n_steps_features_ : int
        Values in one step.

    Notes
    -----
    X is an array (n_sequences, time, n_features); or a list of arrays (time, n_features) of several lengths; or rows of
    all sequences below each other with `lengths`, as in :mod:`mercer.hmm`; or, without `lengths`, one sequence of
    numbers in each row. Targets with one entry for each sequence are of sequences, those with one entry for each step
    are of steps. Sequences of several lengths are padded, and a padded step passes the state on. A pass takes
    O(steps x units x (units + features)) time.

    References
    ----------
    Elman (1990), Finding structure in time; Werbos (1990), Backpropagation through time; Hochreiter and Schmidhuber
    (1997), Long short-term memory; Cho et al. (2014), Learning phrase representations using RNN encoder-decoder.

    Examples
    --------
    {example}
    """


# Sequences whose outputs are computed at a time.
_TOGETHER = 1024
_CELLS = {"simple": SimpleRecurrent, "gru": GatedRecurrent, "lstm": LSTM}


@dataclass(frozen=True, eq=False)
class GivenSequences:
    """Sequences of a fit.

    ``source`` has a row for each sequence. ``layout`` says how a row is read, ``targets`` are those that the user gave,
    (n, ...) or (n, time, ...) if ``by_step``, on the host, and None where only the source has them. ``sequences`` is
    None for rows that are not in memory or on a device.
    """

    source: Source
    layout: SequenceRows
    targets: Any
    by_step: bool
    sequences: PaddedSequences | None

    def list_targets(self) -> Any:
        """Return the targets of all sequences, or of all steps that exist."""
        if self.sequences is None or not self.by_step:
            return self.targets
        return self.sequences.join(self.targets)

    def relabel(self, targets: np.ndarray) -> Source:
        """Return the source with other targets, (n, ...) or (n, time)."""
        source = self.source
        placed = as_like(targets, source.whole()) if source.place == "device" else targets
        return _open_flat(source.whole(), placed, source.weight, source)


def _open_flat(rows: Array, targets: Any, weight: Any, like: Source) -> Source:
    if is_on_device(rows):
        options: dict[str, Any] = {"subject": like.subject, "targets": "numbers", "threads": like.threads}
        return open_place("device", rows, targets, weight, **options)
    return open_source(rows, targets, weight, like.threads)


class RecurrentModel(NetworkModel):
    """A recurrent network with a dense output layer."""

    n_units: int = parameter(Integer(1), default=32, kw_only=False, doc="Units of the state.")
    cell: str = parameter(
        Choice(*_CELLS),
        default="gru",
        doc="The recurrence: simple (Elman), gated (GRU) or long short-term memory (LSTM). Gradients of the simple one "
        "vanish or grow as powers of U.",
    )
    n_layers: int = parameter(Integer(1, 1000), default=1, doc="Recurrent layers on top of each other.")
    learning_rate_init: float = parameter(Real(0, closed="neither"), default=0.005, after="learning_rate")
    batch_size: int = parameter(Integer(1), default=32, doc="Sequences in a batch.")
    max_iter: int = parameter(Integer(1), default=100, doc="Most passes over the sequences.")
    clip_norm: float | None = parameter(Real(0, closed="neither") | Nothing(), default=1.0, after="validation_fraction")

    _documents = {"dropout": "Share of the states that are dropped on their way to the next layer, in training."}

    _law_exceptions: ClassVar[dict[str, str]] = {
        **NetworkModel._law_exceptions,
        "three dimensions": "an array of three dimensions holds sequences of vectors",
    }

    n_steps_features_: int = attribute()
    by_step_: bool = attribute()
    _n_outputs: int = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "by_step_": flags(),
        "n_steps_features_": integers(low=1),
        "_n_outputs": integers(low=1),
    }

    def _read(self, X: Any, lengths: Any, reset: bool) -> PaddedSequences:
        """Check the values of X, and read them as sequences."""
        shape = tuple(X.shape) if isinstance(X, np.ndarray) or is_on_device(X) else ()
        if len(shape) == 3 and 0 in shape:
            raise DataError(
                f"{type(self).__name__}: X must hold sequences of at least one step and one column; got shape {shape}. "
                f"Drop empty sequences."
            )
        # Checks of rows are for matrices: steps of all sequences are laid one below the other, and put back after.
        flat = namespace_of(X).reshape(X, (shape[0] * shape[1], shape[2])) if len(shape) == 3 else X
        source = self._open(flat, reset=reset)
        source.check_finite()
        rows = source.whole()
        rows = namespace_of(rows).reshape(rows, shape) if len(shape) == 3 else rows
        return pad_sequences(type(self).__name__, rows, lengths)

    def _open_sequences(
        self, X: Any, y: Any, lengths: Any, sample_weight: Any, *, kind: str, reset: bool = True
    ) -> GivenSequences:
        """Open sequences, targets and weights; `kind` is "labels" or "numbers"."""
        name = type(self).__name__
        # A list of matrices with targets beside it holds sequences; without, it holds blocks of rows and targets.
        if y is not None and isinstance(X, list | tuple):
            X, lengths, y = *join_listed(name, X, lengths), _join_targets(y)
        place = place_of(X, y)
        if y is None and place in ("memory", "device"):
            raise DataError(
                f"{name}: requires y to be passed, but the target y is None. Give a target for each sequence."
            )
        if place not in ("memory", "device"):
            if lengths is not None:
                raise DataError(
                    f"{name}: lengths need sequences in memory; got rows in {place}. Load them, or drop lengths."
                )
            source = self._open(X, y, sample_weight, targets=kind, reset=reset)
            return GivenSequences(source, SequenceRows(source.n_features, 1, False), None, False, None)
        targets = to_numpy(y) if is_on_device(y) else np.asarray(y)
        plain = place == "memory" and not (isinstance(X, np.ndarray) and X.ndim == 3) and lengths is None
        if plain and (targets.ndim < 2 or targets.shape[-1] == 1):
            # One sequence in each row: scikit-learn's own checks of rows and targets apply.
            numeric = {"y_numeric": True} if kind == "numbers" else {}
            rows, targets = check_rows_and_targets(self, X, y, reset=reset, **numeric)
            sequences = pad_sequences(name, rows, None)
        else:
            sequences = self._read(X, lengths, reset)
        weight = to_numpy(sample_weight) if is_on_device(sample_weight) else sample_weight
        weight = check_weight(self, weight, len(sequences.lengths))
        targets, by_step = read_targets(name, targets, sequences)
        rows = sequences.flatten()
        placed = None if weight is None else as_like(weight, rows) if is_on_device(rows) else weight
        source = (
            open_place("device", rows, None, placed, subject=name, targets=None, threads=self._threads())
            if is_on_device(rows)
            else open_source(np.ascontiguousarray(rows), None, weight, self._threads())
        )
        return GivenSequences(source, sequences.layout, targets, by_step, sequences)

    def _make_task(self, layout: SequenceRows, by_step: bool, loss: OutputLoss, known: dict[str, Any]) -> Supervised:
        network = self._build(layout, known["_n_outputs"], by_step)
        return Supervised(network, layout, loss, self.alpha, by_step, known.get("_factors"))

    def _learn(
        self,
        given: GivenSequences,
        source: Source,
        loss: OutputLoss,
        known: dict[str, Any],
        judged: tuple[GivenSequences, Source] | None,
        is_part: bool,
    ) -> None:
        """Train a network on targets (n, ...) or, for each step, (n, time, ...)."""
        if judged is not None and judged[0].by_step != given.by_step:
            raise DataError(
                f"{type(self).__name__}: y and y_val must both have a target for each sequence, or for each step."
            )
        if (self.warm_start or is_part) and vars(self).get("by_step_", given.by_step) != given.by_step:
            raise DataError(
                f"{type(self).__name__}: targets must be of {'steps' if self.by_step_ else 'sequences'}, as in the "
                f"last fit. Set warm_start=False, or make a new estimator."
            )
        task = self._make_task(given.layout, given.by_step, loss, known)
        validation: Validation | None = None
        judge = None
        if judged is not None:
            validation = (judged[1].whole(), judged[1].y, judged[1].weight)
            # Sequences that judge may have another length, so their network has other shapes and the same weights.
            judge = self._make_task(judged[0].layout, given.by_step, loss, known)
        known = {name: value for name, value in known.items() if name != "_factors"}
        known = known | {"n_steps_features_": given.layout.width, "by_step_": given.by_step}
        self._train(task, source, validation=validation, attributes=known, is_part=is_part, judge_task=judge)

    def _check_structure(self) -> None:
        # Each layer has weights: what a file says of their number is bounded by its size.
        if "weights_" in vars(self) and self.n_layers > len(self.weights_):
            raise ModelFileError(
                f"{type(self).__name__}.weights_ must hold numbers for n_layers = {self.n_layers} layers; the file's "
                f"holds {len(self.weights_)} numbers."
            )

    def _build(self, layout: SequenceRows, n_outputs: int, by_step: bool) -> Network:
        return _build_network(self.cell, self.n_units, self.n_layers, self.dropout, layout, n_outputs, by_step)

    def _join_sequences(self, X: Any, lengths: Any) -> tuple[Any, Any]:
        """Return the sequences of a list as rows with lengths, unless its matrices are blocks of longer rows."""
        is_list = isinstance(X, list | tuple)
        if is_list and any(getattr(part, "shape", ())[1:] != (self.n_steps_features_,) for part in X):
            return X, lengths
        return join_listed(type(self).__name__, X, lengths)

    def _map(self, X: Any, lengths: Any, finish: Any) -> Array:
        """Return what `finish` makes of the outputs (n, k), or (n, time, k) for each step."""
        check_is_fitted(self)
        X, lengths = self._join_sequences(X, lengths)
        check_placement(self, X)
        elsewhere = place_of(X) not in ("memory", "device")
        if elsewhere:
            source = self._open(X, reset=False)
            # Rows elsewhere are one sequence each, with one number a step.
            sequences, layout = None, SequenceRows(source.n_features, 1, False)
        else:
            sequences = self._read(X, lengths, False)
            source, layout = self._wrap(sequences.flatten()), sequences.layout
        if layout.width != self.n_steps_features_:
            raise DataError(
                f"{type(self).__name__}: a step must have {self.n_steps_features_} values, as those that were learnt; "
                f"got {layout.width}. Give sequences with the columns of the fit."
            )
        network = self._build(layout, self._n_outputs, self.by_step_)
        outputs = NetworkOutputs(network, self.weights_, self._statistics, layout, finish, _TOGETHER)
        values = source.map(outputs)
        joins = sequences is not None and self.by_step_ and sequences.stacked
        return sequences.join(values) if joins and sequences is not None else values

    def _compare(self, metric: Any, X: Any, y: Any, sample_weight: Any, lengths: Any) -> float:
        """Return what a metric of scikit-learn says of predictions: of sequences, or of all steps that exist."""
        check_is_fitted(self)
        if isinstance(X, list | tuple):
            X, lengths, y = *self._join_sequences(X, lengths), _join_targets(y)
        predicted, given = to_numpy(self.predict(X, lengths)), np.asarray(to_numpy(y))
        weight = None if sample_weight is None else np.asarray(to_numpy(sample_weight), dtype=np.float64)
        if self.by_step_:
            n_steps = predicted.shape[1] if predicted.ndim == 2 else 0
            counts = np.full(len(predicted), n_steps) if lengths is None else np.asarray(lengths)
            if predicted.ndim == 2:
                # Steps after the end of a sequence are padding and do not count.
                exists = np.arange(n_steps) < counts[:, None]
                predicted, given = predicted[exists], np.reshape(given, predicted.shape)[exists]
            weight = None if weight is None else np.repeat(weight, counts)
        return float(metric(given, predicted, sample_weight=weight))

    def predict(self, X: Any, lengths: Any = None) -> Array:
        """Predict the target of each sequence, or of each step."""
        raise NotImplementedError  # both estimators define their own

    def _wrap(self, rows: Array) -> Source:
        if is_on_device(rows):
            return open_place("device", rows, None, None, subject=type(self).__name__, targets=None, threads=1)
        return open_source(np.ascontiguousarray(rows), threads=self._threads())


@lru_cache(maxsize=64)
def _build_network(
    cell: str, n_units: int, n_layers: int, dropout: float, layout: SequenceRows, n_outputs: int, by_step: bool
) -> Network:
    """Return recurrent layers on top of each other, then a dense layer; weights do not depend on the time."""
    graph: dict[str, tuple[Any, ...]] = {}
    last, masked = "input", ("mask",) if layout.masked else ()
    for number in range(n_layers):
        # Every recurrent layer but the last hands on all steps.
        all_steps = by_step or number < n_layers - 1
        graph[f"recurrent {number}"] = (_CELLS[cell](n_units, return_sequences=all_steps), last, *masked)
        last = f"recurrent {number}"
        if dropout:
            graph[f"dropout {number}"] = (Dropout(dropout), last)
            last = f"dropout {number}"
    graph["output"] = (Dense(n_outputs), last)
    shapes: dict[str, tuple[int, ...]] = {"input": (layout.time, layout.width)}
    return Network(graph, shapes | {"mask": (layout.time,)} if layout.masked else shapes, output="output")


def _join_targets(y: Any) -> Any:
    """Return a list of arrays, the targets of the steps of each sequence, as one array; anything else as it is."""
    if isinstance(y, list | tuple) and y and all(np.ndim(targets) == 1 for targets in y):
        # Steps below each other, as join_listed lays those of the sequences.
        return np.concatenate([np.asarray(targets) for targets in y])
    return y


def read_targets(name: str, y: np.ndarray, sequences: PaddedSequences) -> tuple[np.ndarray, bool]:
    """Return the targets as (n, ...) or (n, time, ...), and whether each step has one."""
    n, n_steps, time = len(sequences.lengths), int(sequences.lengths.sum()), sequences.values.shape[1]
    values = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    # One target for each sequence, unless the second axis is that of time.
    if values.ndim > 0 and len(values) == n and (values.ndim == 1 or values.shape[1] != time):
        return values, False
    if values.shape[:2] == (n, time):
        return values, True
    if sequences.stacked and values.ndim > 0 and len(values) == n_steps:
        return sequences.pad(values), True
    raise DataError(
        f"{name}: y must have one entry for each of {n} sequences, or for each of their {n_steps} steps; got shape "
        f"{values.shape}. Give a target for each sequence or step."
    )


def take_targets(block: Block) -> tuple[Array, Array]:
    """Return the targets and the weights of a block."""
    return block.y, block.weight

"""Recurrent networks that predict labels or numbers: one for each sequence, or for each step."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.class_weight import compute_class_weight

from mercer._base import fitting
from mercer._base.parameter import Choice, Instance, Nothing, parameter
from mercer._base.scoring import ClassifierMixin, RegressorMixin
from mercer._base.validation import check_labels
from mercer._source import Block, Source
from mercer._source.namespace import to_numpy
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError
from mercer.neural_network._layers.losses import read_loss
from mercer.neural_network._perceptron.labels import KnownLabels, label_rows, read_factors
from mercer.neural_network._relatives.recurrent_model import DESCRIBED, GivenSequences, RecurrentModel, take_targets
from mercer.neural_network._relatives.supervised import Chances, ClassNames


class RecurrentRegressor(RegressorMixin, RecurrentModel):
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

    _stored: ClassVar[dict[str, Stored]] = {"y_mean_": floats(" | *"), "y_scale_": floats(" | *")}
    _depends_on_units = ("columns", "scale", "place")

    @fitting
    def fit(
        self,
        X: Any,
        y: Any = None,
        lengths: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        lengths_val: Any = None,
        sample_weight_val: Any = None,
    ) -> "RecurrentRegressor":
        """Learn numbers of sequences or of steps.

        Parameters
        ----------
        X : array-like of shape (n_sequences, time, n_features), (n_sequences, time) or (n_steps, n_features)
            Sequences; the last form with `lengths`. A list of arrays of shape (time, n_features) holds sequences of
            several lengths. A file, a stream or a Dask collection has a sequence of numbers in each row.
        y : array-like of shape (n_sequences,), (n_sequences, time) or (n_steps,)
            A number for each sequence, or for each step.
        lengths : array-like of shape (n_sequences,) or None, default=None
            How many steps each sequence has.
        sample_weight : array-like of shape (n_sequences,) or None, default=None
            How often each sequence counts.
        X_val, y_val, lengths_val, sample_weight_val : default=None
            Sequences that `early_stopping` judges by, in place of a part of `X`.
        """
        self._check_together(self.dropout > 0)
        given = self._open_sequences(X, y, lengths, sample_weight, kind="numbers")
        mean, scale = self._measure(given)
        judged = None
        if self._check_validation(X_val, y_val):
            other = self._open_sequences(X_val, y_val, lengths_val, sample_weight_val, kind="numbers", reset=False)
            judged = other, _standardise(other, mean, scale)
        known = {"_n_outputs": 1, "y_mean_": mean, "y_scale_": scale}
        self._learn(given, _standardise(given, mean, scale), read_loss("squared_error", 1), known, judged, False)
        return self

    @fitting
    def partial_fit(
        self, X: Any, y: Any = None, lengths: Any = None, sample_weight: Any = None
    ) -> "RecurrentRegressor":
        """Take one epoch over some sequences, from where the last call or ``fit`` ended.

        Parameters
        ----------
        X, y, lengths, sample_weight
            Sequences, targets and weights, as in :meth:`fit`; the longest sequence may differ from call to call.
        """
        first = self._check_partial()
        given = self._open_sequences(X, y, lengths, sample_weight, kind="numbers", reset=first)
        # The first part decides the units of the targets.
        mean, scale = self._measure(given) if first else (self.y_mean_, self.y_scale_)
        known = {"_n_outputs": 1, "y_mean_": mean, "y_scale_": scale}
        self._learn(given, _standardise(given, mean, scale), read_loss("squared_error", 1), known, None, True)
        return self

    def _measure(self, given: GivenSequences) -> tuple[float, float]:
        """Return the mean and the deviation of the targets: standardised ones suit the first weights and the steps."""
        # A warm start keeps the scale of the targets to which the weights belong.
        if self.warm_start and hasattr(self, "y_mean_"):
            return self.y_mean_, self.y_scale_
        source = given.source
        if given.targets is None:
            parts: list[tuple[Any, Any]] = []
            source.each(take_targets, parts.append)
            values = np.concatenate([np.asarray(own, dtype=np.float64) for own, _ in parts])
            share = np.concatenate([weight for _, weight in parts]) if source.has_weight else np.ones(len(values))
        else:
            values = np.asarray(given.list_targets(), dtype=np.float64)
            share = np.ones(source.n_rows) if source.weight is None else to_numpy(source.weight)
            if given.by_step and given.sequences is not None:
                # A step has the weight of its sequence.
                share = np.repeat(share, given.sequences.lengths)
        if values.ndim != 1:
            raise DataError(
                f"RecurrentRegressor: y must have one number for each sequence or step; got shape {values.shape}. Fit "
                f"one model for each column."
            )
        mean = float(np.average(values, weights=share))
        # Constant targets have a deviation of zero; one is used instead.
        return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=share))) or 1.0

    def _labels(self, source: Source, given: dict[str, Any]) -> Any:
        return None if source.y is None else to_numpy(source.y) * given["y_scale_"] + given["y_mean_"]

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
        # Plain numbers keep the precision and the device of the outputs.
        return self._map(X, lengths, _first_output) * float(self.y_scale_) + float(self.y_mean_)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, lengths: Any = None) -> float:
        """Return the coefficient of determination, over sequences or over all steps that exist.

        Parameters
        ----------
        X, lengths
            Sequences, as in :meth:`fit`.
        y : array-like of shape (n_sequences,), (n_sequences, time) or (n_steps,)
        sample_weight : array-like of shape (n_sequences,), default=None
        """
        return self._compare(r2_score, X, y, sample_weight, lengths)


def _first_output(outputs: Array) -> Array:
    return outputs[..., 0]


@dataclass(frozen=True, eq=False)
class _Standardised:
    """A labelling: targets minus their mean, over their deviation, block by block."""

    mean: float
    scale: float
    by_class: ClassVar[None] = None

    def on(self, block: Block) -> Block:
        y = (block.y - self.mean) / self.scale
        return type(block)(block.X, block.start, y, block.weight, block.xp, block.wide)


def _standardise(given: GivenSequences, mean: float, scale: float) -> Source:
    """Return the sequences with targets of mean 0 and deviation 1."""
    if given.targets is None:
        return given.source.relabel(_Standardised(mean, scale))
    return given.relabel((given.targets - mean) / scale)


class RecurrentClassifier(ClassifierMixin, RecurrentModel):
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
    class_weight: Any = parameter(
        Choice("balanced") | Instance(dict) | Nothing(),
        default=None,
        after="dropout",
        doc='Factors of the weights of the sequences, or steps, of each class; "balanced" makes them inverse to the '
        "class frequencies.",
    )

    @fitting
    def fit(
        self,
        X: Any,
        y: Any = None,
        lengths: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        lengths_val: Any = None,
        sample_weight_val: Any = None,
    ) -> "RecurrentClassifier":
        """Learn labels of sequences or of steps.

        Parameters
        ----------
        X : array-like of shape (n_sequences, time, n_features), (n_sequences, time) or (n_steps, n_features)
            Sequences; the last form with `lengths`. A list of arrays of shape (time, n_features) holds sequences of
            several lengths. A file, a stream or a Dask collection has a sequence of numbers in each row.
        y : array-like of shape (n_sequences,), (n_sequences, time) or (n_steps,)
            A label for each sequence, or for each step.
        lengths : array-like of shape (n_sequences,) or None, default=None
            How many steps each sequence has.
        sample_weight : array-like of shape (n_sequences,) or None, default=None
            How often each sequence counts.
        X_val, y_val, lengths_val, sample_weight_val : default=None
            Sequences that `early_stopping` judges by, in place of a part of `X`.
        """
        self._check_together(self.dropout > 0)
        given = self._open_sequences(X, y, lengths, sample_weight, kind="labels")
        classes, source = self._number_labels(given, None)
        if self.warm_start and hasattr(self, "classes_") and not np.array_equal(classes, to_numpy(self.classes_)):
            raise DataError(
                f"RecurrentClassifier: warm_start needs the classes of the last fit, {self.classes_}; got {classes}. "
                f"Set warm_start=False, or pass sequences of the same classes."
            )
        judged = None
        if self._check_validation(X_val, y_val):
            other = self._open_sequences(X_val, y_val, lengths_val, sample_weight_val, kind="labels", reset=False)
            judged = other, self._number_labels(other, classes)[1]
        self._learn_classes(given, source, classes, judged, False)
        return self

    @fitting
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, lengths: Any = None, sample_weight: Any = None
    ) -> "RecurrentClassifier":
        """Take one epoch over some sequences, from where the last call or ``fit`` ended.

        Parameters
        ----------
        X, y, lengths, sample_weight
            Sequences, targets and weights, as in :meth:`fit`; the longest sequence may differ from call to call.
        """
        first = self._check_partial()
        given = self._open_sequences(X, y, lengths, sample_weight, kind="labels", reset=first)
        if first and classes is None:
            raise DataError("RecurrentClassifier: classes must be passed on the first call to partial_fit; got None.")
        known = np.unique(classes) if first else to_numpy(self.classes_)
        self._learn_classes(given, self._number_labels(given, known)[1], known, None, True)
        return self

    def _learn_classes(
        self, given: GivenSequences, source: Source, classes: np.ndarray, judged: Any, is_part: bool
    ) -> None:
        # One class still has two outputs, because softmax over one would be constant.
        n_outputs = max(2, len(classes))
        known: dict[str, Any] = {"classes_": classes, "_n_outputs": n_outputs}
        if given.targets is not None and self.class_weight is not None:
            labels = given.list_targets()
            # Balanced weights need the shares of all labels, which a part of the rows does not show.
            known["_factors"] = (
                read_factors(self, classes)
                if is_part
                else compute_class_weight(self.class_weight, classes=classes, y=labels)
            )
        self._learn(given, source, read_loss("log_loss", n_outputs), known, judged, is_part)

    def _number_labels(self, given: GivenSequences, classes: np.ndarray | None) -> tuple[np.ndarray, Source]:
        """Return the classes, and the sequences with the numbers of their classes; those of `classes` if given."""
        if given.targets is None:
            if classes is None:
                return label_rows(self, given.source)
            return classes, given.source.relabel(KnownLabels(classes, read_factors(self, classes)))
        labels = given.list_targets()
        check_labels(labels)
        known = np.unique(labels) if classes is None else classes
        # Padding has the class of no step, but weight zero: any code will do.
        codes = np.minimum(np.searchsorted(known, given.targets), len(known) - 1)
        if classes is not None:
            strange = labels[known[np.minimum(np.searchsorted(known, labels), len(known) - 1)] != labels]
            if len(strange):
                raise DataError(
                    f"RecurrentClassifier: labels must be among the known classes {known}; got {strange[0]!r}. Name "
                    f"all classes in the first call."
                )
        return known, given.relabel(codes.astype(np.float64))

    def _labels(self, source: Source, given: dict[str, Any]) -> Any:
        return None if source.y is None else given["classes_"][to_numpy(source.y).astype(np.int64)]

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
        return self._map(X, lengths, Chances(self.classes_.shape[0]))

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
        return self._map(X, lengths, ClassNames(self.classes_))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, lengths: Any = None) -> float:
        """Return the accuracy, over sequences or over all steps that exist.

        Parameters
        ----------
        X, lengths
            Sequences, as in :meth:`fit`.
        y : array-like of shape (n_sequences,), (n_sequences, time) or (n_steps,)
        sample_weight : array-like of shape (n_sequences,), default=None
        """
        return self._compare(accuracy_score, X, y, sample_weight, lengths)

"""What C- and nu-classifiers share: classes, decisions, probabilities."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from mercer._base.parameter import Boolean, Choice, Instance, Nothing, Rule, Seed
from mercer._source.namespace import to_numpy
from mercer._source.placement import is_on_device
from mercer.errors import DataError, ParameterError
from mercer.svm._class_machines import ClassLayout, balanced_weights, vote_scores, votes
from mercer.svm._dual.joint_machine import JointMachine, JointState
from mercer.svm._dual.machines import MachineState
from mercer.svm._kernel_machine import KERNEL_RULES, KernelMachine, Opened
from mercer.svm._probability import Calibration, calibrate

__all__ = ["CLASSIFIER_RULES", "MachineClassifier"]

Array = Any
CLASSIFIER_RULES: dict[str, Rule] = {
    **KERNEL_RULES,
    "probability": Boolean() | Choice("deprecated"),
    "class_weight": Choice("balanced") | Instance(dict) | Nothing(),
    "decision_function_shape": Choice("ovo", "ovr"),
    "break_ties": Boolean(),
    "random_state": Seed(),
}


def _knows_probabilities(machine: Any) -> bool:
    if machine.probability in (False, "deprecated"):
        message = "predict_proba is not available when probability=False"
        raise AttributeError(message)
    return True


class MachineClassifier(ClassifierMixin, KernelMachine):
    """A classifier made of binary machines."""

    # The machine being solved, its layout and its rows, while a fit is under way.
    _under_way: Any
    classes_: Array
    dual_coef_: Array
    intercept_: Array
    n_support_: Array

    def _programs(self, opened: Opened, layout: ClassLayout, boxes: Array) -> list[Any]:
        """The dual program of each machine; `boxes` are C times weights, by row of the source."""
        raise NotImplementedError  # each classifier has its own

    def _scale(self, program: Any, b: Array, slope: Array) -> tuple[Array, float]:
        """The coefficients and the intercept of a solved machine."""
        return b, -float(program.offsets(b, slope)[0])

    def _learn(self, X: Any, y: Any, sample_weight: Any, scheme: str, box: float) -> None:
        """Fit all machines; `box` is the weight of a row of weight one."""
        opened = self._opened(X, y, sample_weight, "labels")
        check_classification_targets(to_numpy(opened.source.y))
        classes, numbers = np.unique(opened.y, return_inverse=True)
        if len(classes) < 2:
            message = (
                f"{type(self).__name__}: The number of classes has to be greater than one; got {len(classes)} class "
                f"among the rows of positive weight: {classes[0]!r}. Add rows of another."
            )
            raise DataError(message)
        by_class = balanced_weights(self, self.class_weight, classes, numbers, opened.weight)  # type: ignore[attr-defined]
        boxes = np.zeros(opened.source.n_rows)
        known = self._known_coefficients(opened, classes)
        boxes[opened.used] = box * opened.weight * by_class[numbers]
        counted = boxes[opened.used] > 0
        layout = ClassLayout(tuple(opened.used[counted & (numbers == k)] for k in range(len(classes))), scheme)
        if scheme == "joint":
            outcome = self._learn_jointly(opened, layout, boxes, classes, by_class)
            self._finish(outcome, outcome.state.steps.astype(np.int32))
            return
        programs = self._programs(opened, layout, boxes)
        if known is not None:
            programs = [
                replace(one, start=begin) for one, begin in zip(programs, layout.starts(known, programs), strict=True)
            ]
        machines = self._machines(programs, opened.gram)
        self._under_way = (machines, layout, opened)
        found = {"classes_": classes, "class_weight_": by_class, "solver_used_": self.solver}  # type: ignore[attr-defined]
        outcome = self._drive(machines.solve, opened.source, attributes=found)
        self.__dict__.pop("_calibration", None)
        if self.probability is True:  # type: ignore[attr-defined]
            self._calibration = calibrate(self, X, y, sample_weight)
        self._finish(outcome, outcome.state.steps.astype(np.int32))

    def _learn_jointly(self, opened: Opened, layout: ClassLayout, boxes: Array, classes: Array, by_class: Array) -> Any:
        """Fit one machine for all classes."""
        rows = np.concatenate(layout.members)
        own = np.repeat(np.arange(len(classes)), [len(one) for one in layout.members])
        settings = self._settings()
        given = (opened.gram, rows, own, boxes[rows], len(classes), settings.tol, settings.max_iter, settings.subject)
        machine = JointMachine(*given)
        self._under_way = (machine, layout, opened)
        found = {"classes_": classes, "class_weight_": by_class, "solver_used_": "joint"}
        return self._drive(machine.solve, opened.source, attributes=found)

    def _fitted_jointly(self, state: JointState) -> dict[str, Any]:
        """Coefficients by class; of two classes the difference, which is one machine."""
        machine, layout, opened = self._under_way
        table = state.coefficients.T
        table = table[1:] - table[:1] if layout.n_classes == 2 else table
        used = np.flatnonzero(np.any(table != 0, axis=0))
        ends = np.cumsum([0, *(len(one) for one in layout.members)])
        return {
            **self._supported(opened, machine.rows[used]),
            "n_support_": np.diff(np.searchsorted(used, ends)).astype(np.int32),
            "_fitted_rows": opened.source.n_rows,
            "dual_coef_": self._stored(opened, table[:, used]),
            "intercept_": np.zeros(len(table), dtype=self._precision),
        }

    def _known_coefficients(self, opened: Opened, classes: Array) -> Array | None:
        """The last fit's coefficients by row (heights, n), if they are wanted and are of these rows and classes."""
        if not getattr(self, "warm_start", False) or "dual_coef_" not in vars(self):
            return None
        if self._fitted_rows != opened.source.n_rows or not np.array_equal(to_numpy(self.classes_), classes):
            message = (
                f"{type(self).__name__}: warm_start needs the rows of the last fit; got {opened.source.n_rows} rows "
                f"of classes {classes.tolist()}. Set warm_start=False to start afresh."
            )
            raise DataError(message)
        table = np.zeros((self.dual_coef_.shape[0], opened.source.n_rows))
        table[:, to_numpy(self.support_)] = self._coefficients
        return table

    def _fitted(self, state: MachineState) -> dict[str, Any]:
        if isinstance(state, JointState):
            return self._fitted_jointly(state)
        machines, layout, opened = self._under_way
        solved, intercepts = [], []
        for program, b, slope in machines.parts(state):
            coefficients, intercept = self._scale(program, b, slope)
            solved.append((program, coefficients))
            intercepts.append(intercept)
        support, counts, dual_coef = layout.coefficients(solved)
        return {
            **self._supported(opened, support),
            "n_support_": counts,
            "_fitted_rows": opened.source.n_rows,
            "dual_coef_": self._stored(opened, dual_coef),
            "intercept_": np.array(intercepts, dtype=self._precision),
        }

    def _labels(self, source: Any, given: dict[str, Any]) -> Any:
        return source.y

    @property
    def _n_classes(self) -> int:
        return int(self.classes_.shape[0])

    @property
    def _is_one_against_one(self) -> bool:
        return self._n_classes == 2 or self.dual_coef_.shape[0] == self._n_classes - 1

    def _groups(self) -> tuple[Any, Array]:
        groups = ClassLayout.groups(self._coefficients, to_numpy(self.n_support_), self._is_one_against_one)
        return groups, -to_numpy(self.intercept_)

    def decision_function(self, X: Any) -> Array:
        """Return the scores of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or kernel values of shape (m, n)

        Returns
        -------
        ndarray of shape (m,), (m, n_classes) or (m, n_classes * (n_classes - 1) / 2)
            For two classes one score, positive for the second. Else, by `decision_function_shape`, one score a class
            ("ovr") or one a pair of classes ("ovo"), positive for the first.
        """
        scores = self._scores(X)
        if self._n_classes == 2:
            scores = scores[:, 0]
        elif self._is_one_against_one and self.decision_function_shape == "ovr":  # type: ignore[attr-defined]
            scores = vote_scores(scores, self._n_classes)
        return self._returned(X, scores)

    def predict(self, X: Any) -> Array:
        """Return the class of each row: that of most votes, among equals the first unless `break_ties`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or kernel values of shape (m, n)

        Returns
        -------
        ndarray of shape (m,)
            Labels out of ``classes_``.
        """
        if self.break_ties and self.decision_function_shape == "ovo":  # type: ignore[attr-defined]
            message = (
                f"{type(self).__name__}: break_ties must be False when decision_function_shape is 'ovo'; got True. "
                f"Use decision_function_shape='ovr'."
            )
            raise ParameterError(message)
        scores = self._scores(X)
        return self._returned(X, to_numpy(self.classes_)[self._chosen(scores)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose predicted class is their own.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or kernel values of shape (m, n)
        y : array-like of shape (m,)
        sample_weight : array-like of shape (m,), default=None

        Returns
        -------
        float
        """
        if not is_on_device(X):
            return super().score(X, y, sample_weight)
        source = self._open(X, y, sample_weight, targets="labels", reset=False)
        weight = None if source.weight is None else to_numpy(source.weight)
        return float(accuracy_score(to_numpy(source.y), to_numpy(self.predict(X)), sample_weight=weight))

    def _chosen(self, scores: Array) -> Array:
        """The number of the class of each row."""
        if self._n_classes == 2:
            return (scores[:, 0] > 0).astype(np.intp)
        if not self._is_one_against_one:
            return np.argmax(scores, axis=1)
        if self.break_ties:  # type: ignore[attr-defined]
            return np.argmax(vote_scores(scores, self._n_classes), axis=1)
        return np.argmax(votes(scores, self._n_classes), axis=1)

    @available_if(_knows_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class; the most probable one is that of `predict`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or kernel values of shape (m, n)

        Returns
        -------
        ndarray of shape (m, n_classes)
        """
        scores = self._scores(X)
        calibration: Calibration | None = vars(self).get("_calibration")
        if calibration is None:
            message = (
                f"{type(self).__name__}: predict_proba is not available when fitted with probability=False. Fit again."
            )
            raise NotFittedError(message)
        found = calibration.probabilities(scores, self._n_classes, self._is_one_against_one)
        chosen = self._chosen(scores)
        best = np.argmax(found, axis=1)
        # Votes and probabilities rarely differ on the first; where they do, the two classes change places.
        rows = np.arange(len(found))
        found[rows, chosen], found[rows, best] = found[rows, best], found[rows, chosen]
        return self._returned(X, found)

    @available_if(_knows_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or kernel values of shape (m, n)

        Returns
        -------
        ndarray of shape (m, n_classes)
        """
        with np.errstate(divide="ignore"):
            return self._returned(X, np.log(to_numpy(self.predict_proba(X))))

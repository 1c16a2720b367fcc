"""What C- and nu-classifiers share: the drive of their machines, decisions and probabilities."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from mercer._base.parameter import Boolean, Choice, Instance, Nothing, Seed, attribute, parameter
from mercer._base.scoring import ClassifierMixin
from mercer._solver import Outcome
from mercer._source.namespace import to_numpy
from mercer._source.placement import Placement, is_on_device
from mercer._stored import Stored, floats, integers, part, size
from mercer._types import Array
from mercer.errors import ModelFileError, ParameterError
from mercer.svm._class_fit import ClassProblem, Reading, read_machines
from mercer.svm._class_machines import ClassLayout, compute_vote_scores, count_votes
from mercer.svm._dual.program import DualProgram
from mercer.svm._kernel_machine import SHRINKING, KernelMachine
from mercer.svm._opening import OpenedRows
from mercer.svm._probability import Calibration
from mercer.svm._scores import Group


def _knows_probabilities(machine: Any) -> bool:
    if machine.probability in (False, "deprecated"):
        raise AttributeError("predict_proba is not available when probability=False")
    return True


class MachineClassifier(ClassifierMixin, KernelMachine):
    """A classifier made of binary machines, or of one machine for all classes."""

    shrinking: bool = parameter(
        Boolean(),
        default=True,
        after="coef0",
        doc=SHRINKING,
    )
    probability: Any = parameter(
        Boolean() | Choice("deprecated"),
        default="deprecated",
        doc="Whether to calibrate probabilities, by five more fits. They agree with `predict`.",
    )
    class_weight: Any = parameter(
        Choice("balanced") | Instance(dict) | Nothing(),
        default=None,
        after="cache_size",
        doc="Factors of `C` by class.",
    )
    decision_function_shape: str = parameter(
        Choice("ovo", "ovr"),
        default="ovr",
        after="max_iter",
        doc='Whether there is a score for each class ("ovr") or for each pair of classes ("ovo").',
    )
    break_ties: bool = parameter(
        Boolean(), default=False, doc="Whether ties between votes are broken by the sums of scores."
    )
    random_state: Any = parameter(Seed(), default=None)

    classes_: Array = attribute()
    n_support_: Array = attribute()
    _calibration: Calibration | None = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "class_weight_": floats("classes"),
        "n_support_": integers("classes", low=0),
        "_fitted_rows": size("rows"),
        "_calibration": part("Calibration", "none"),
        "intercept_": floats("pairs"),
    }

    def _check_structure(self) -> None:
        super()._check_structure()
        if "intercept_" in vars(self) and len(self.intercept_) != len(self.classes_) * (len(self.classes_) - 1) // 2:
            raise ModelFileError(
                f"{type(self).__name__}.intercept_ must have a number for each pair of classes; the file has others."
            )
        if "n_support_" in vars(self) and np.sum(self.n_support_, dtype=np.int64) != len(self.support_):
            # Predictions cut the coefficients into classes by these numbers, and would loop over what they promise.
            raise ModelFileError(
                f"{type(self).__name__}.n_support_ must sum to the {len(self.support_)} support vectors; the file's "
                f"sums to {np.sum(self.n_support_, dtype=np.int64)}."
            )

    def _solve_programs(
        self, opened: OpenedRows, problem: ClassProblem, programs: list[DualProgram], read: Reading
    ) -> Outcome:
        """Solve the program of each machine and store the attributes; `read` finds a machine's decision function."""
        machines = self._make_machines(programs, opened, self._make_settings())
        fitted = partial(read_machines, opened, problem.layout, machines, read)
        outcome = self._solve(opened, machines, fitted, problem.list_attributes(self.solver))
        self.n_iter_ = outcome.state.steps.astype(np.int32)
        return outcome

    @property
    def _n_classes(self) -> int:
        return int(self.classes_.shape[0])

    @property
    def _is_one_against_one(self) -> bool:
        return self._n_classes == 2 or self.dual_coef_.shape[0] == self._n_classes - 1

    def _list_groups(self) -> tuple[tuple[Group, ...], Array]:
        groups = ClassLayout.list_groups(self._coefficients, to_numpy(self.n_support_), self._is_one_against_one)
        return groups, -to_numpy(self.intercept_)

    def decision_function(self, X: Any) -> Array:
        """Return the scores of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or kernel values of shape (m, n)

        Returns
        -------
        ndarray of shape (m,), (m, n_classes) or (m, n_classes * (n_classes - 1) / 2)
            For two classes one score, positive for the second. Else, by `decision_function_shape`, one score for each
            class ("ovr") or for each pair of classes ("ovo"), positive for the first.
        """
        scores = self._scores(X)
        if self._n_classes == 2:
            scores = scores[:, 0]
        elif self._is_one_against_one and self.decision_function_shape == "ovr":
            scores = compute_vote_scores(scores, self._n_classes)
        return Placement.of(X).put(scores)

    def predict(self, X: Any) -> Array:
        """Return the class of each row: the one with most votes, of several the first unless `break_ties`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or kernel values of shape (m, n)
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ParameterError(
                f"{type(self).__name__}: break_ties must be False when decision_function_shape is 'ovo'; got True. "
                f"Use decision_function_shape='ovr'."
            )
        scores = self._scores(X)
        return Placement.of(X).put(to_numpy(self.classes_)[self._choose_classes(scores)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose predicted class is their own.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or kernel values of shape (m, n)
        """
        from sklearn.metrics import accuracy_score

        if is_on_device(X):
            return self._score_on_device(accuracy_score, X, y, sample_weight, "labels")
        return super().score(X, y, sample_weight)

    def _choose_classes(self, scores: Array) -> Array:
        """Return the index in ``classes_`` of the class of each row."""
        # With two classes a positive score is for the second, and zero for the first.
        if self._n_classes == 2:
            return (scores[:, 0] > 0).astype(np.intp)
        if not self._is_one_against_one:
            return np.argmax(scores, axis=1)
        if self.break_ties:
            return np.argmax(compute_vote_scores(scores, self._n_classes), axis=1)
        return np.argmax(count_votes(scores, self._n_classes), axis=1)

    @available_if(_knows_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class; the most probable class is the one that `predict` returns.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or kernel values of shape (m, n)
        """
        scores = self._scores(X)
        # Models saved without a calibration have no such attribute.
        calibration = vars(self).get("_calibration")
        if calibration is None:
            raise NotFittedError(
                f"{type(self).__name__}: predict_proba is not available when fitted with probability=False. Fit again."
            )
        probabilities = calibration.compute_probabilities(scores, self._n_classes, self._is_one_against_one)
        chosen = self._choose_classes(scores)
        best = np.argmax(probabilities, axis=1)
        # The class of most votes is rarely not the most probable one; then the two classes swap their probabilities.
        rows = np.arange(len(probabilities))
        swapped = probabilities[rows, best], probabilities[rows, chosen]
        probabilities[rows, chosen], probabilities[rows, best] = swapped
        return Placement.of(X).put(probabilities)

    @available_if(_knows_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or kernel values of shape (m, n)
        """
        with np.errstate(divide="ignore"):
            return Placement.of(X).put(np.log(to_numpy(self.predict_proba(X))))

"""What machines with one set of coefficients share: regression and one class."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from mercer._source.namespace import to_numpy
from mercer._source.placement import is_on_device
from mercer.errors import DataError
from mercer.svm._dual.machines import MachineState
from mercer.svm._dual.program import DualProgram
from mercer.svm._kernel_machine import KernelMachine, Opened
from mercer.svm._scores import Group

__all__ = ["RegressionMachine", "SingleMachine", "checked_numbers"]

Array = Any


class SingleMachine(KernelMachine):
    """One machine, whose coefficients are sums over the program's where a row has two."""

    dual_coef_: Array
    intercept_: Array

    def _solve_one(self, opened: Opened, program: DualProgram, **known: Any) -> Any:
        """Drive the solver of one program, and store."""
        machines = self._machines((program,), opened.gram)
        self._under_way = (machines, opened)
        used = {"solver_used_": self.solver}  # type: ignore[attr-defined]
        return self._drive(machines.solve, opened.source, attributes=used | known)

    def _intercept(self, program: DualProgram, b: Array, slope: Array) -> float:
        return -float(np.mean(program.offsets(b, slope)))

    def _fitted(self, state: MachineState) -> dict[str, Any]:
        machines, opened = self._under_way
        program, b, slope = next(machines.parts(state))
        whole = np.zeros(opened.source.n_rows)
        np.add.at(whole, program.rows, b)
        support = np.flatnonzero(whole)
        return {
            **self._supported(opened, support),
            "n_support_": np.array([len(support)], dtype=np.int32),
            "dual_coef_": self._stored(opened, whole[None, support]),
            "intercept_": np.array([self._intercept(program, b, slope)], dtype=self._precision),
        }

    def _groups(self) -> tuple[tuple[Group, ...], Array]:
        coefficients = self._coefficients.T
        return (Group(slice(0, len(coefficients)), coefficients, np.arange(1)),), -to_numpy(self.intercept_)


class RegressionMachine(RegressorMixin, SingleMachine):
    """One machine that predicts numbers."""

    def predict(self, X: Any) -> Array:
        """Return f of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or kernel values of shape (m, n)

        Returns
        -------
        ndarray of shape (m,)
        """
        return self._returned(X, self._scores(X)[:, 0])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination of the predictions.

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
        source = self._open(X, y, sample_weight, targets="numbers", reset=False)
        weight = None if source.weight is None else to_numpy(source.weight)
        return float(r2_score(to_numpy(source.y), to_numpy(self.predict(X)), sample_weight=weight))


def checked_numbers(subject: Any, y: Array) -> Array:
    """Targets as one column of float64."""
    if y.ndim != 1:
        message = f"{type(subject).__name__}: y must have one target a row; got shape {y.shape}. Fit one machine each."
        raise DataError(message)
    return np.asarray(y, dtype=np.float64)

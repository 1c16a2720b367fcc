"""What machines with one set of coefficients share: regression and one class."""

from typing import Any, ClassVar

import numpy as np

from mercer._solver.dual_machines import MachineState
from mercer._solver.dual_program import DualProgram
from mercer.errors import DataError
from mercer.svm._kernel_machine import KernelMachine, Opened
from mercer.svm._scores import Group

__all__ = ["SingleMachine", "checked_numbers"]

Array = Any


class SingleMachine(KernelMachine):
    """One machine, whose coefficients are sums over the program's where a row has two."""

    _places: ClassVar[tuple[str, ...]] = ("memory",)
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
        return (Group(slice(0, len(coefficients)), coefficients, np.arange(1)),), -self.intercept_


def checked_numbers(subject: Any, y: Array) -> Array:
    """Targets as one column of float64."""
    if y.ndim != 1:
        message = f"{type(subject).__name__}: y must have one target a row; got shape {y.shape}. Fit one machine each."
        raise DataError(message)
    return np.asarray(y, dtype=np.float64)

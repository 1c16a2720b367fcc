"""What machines with one set of coefficients share: regression and one class."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base.scoring import RegressorMixin
from mercer._solver import Outcome
from mercer._source.namespace import to_numpy
from mercer._source.placement import Placement, is_on_device
from mercer._stored import Stored, floats, integers
from mercer._types import Array
from mercer.errors import DataError
from mercer.svm._dual.block_descent import Settings
from mercer.svm._dual.machines import DualMachines, MachineState
from mercer.svm._dual.program import DualProgram
from mercer.svm._kernel_machine import KernelMachine
from mercer.svm._opening import OpenedRows
from mercer.svm._scores import Group, MatrixScores, RowScores

# From a solved program, its coefficients and slopes to fitted attributes that only one kind of machine has.
Reading = Callable[[DualProgram, Array, Array], dict[str, Any]]


class SingleMachine(KernelMachine):
    """An estimator with one machine; where a row has two coefficients in the program, their sum is stored."""

    _stored: ClassVar[dict[str, Stored]] = {
        "n_support_": integers("1", low=0),
        "intercept_": floats("1"),
        "dual_coef_": floats("1, support", sparse=True),
    }

    def _solve_program(
        self,
        opened: OpenedRows,
        program: DualProgram,
        *,
        read: Reading | None = None,
        settings: Settings | None = None,
        known: dict[str, Any] | None = None,
    ) -> Outcome:
        """Solve the machine's program and store the attributes.

        Parameters
        ----------
        opened : OpenedRows
        program : DualProgram
        read : callable or None
            Finds attributes besides those of every machine.
        settings : Settings or None
            How to solve; None to follow the parameters.
        known : dict or None
            Fitted attributes that do not depend on the solver.
        """
        machines = self._make_machines([program], opened, settings or self._make_settings())
        fitted = partial(_read_machine, opened, machines, read)
        outcome = self._solve(opened, machines, fitted, {"solver_used_": self.solver} | (known or {}))
        self.n_iter_ = int(outcome.state.steps[0])
        return outcome

    def _sum_fit_rows(self, opened: OpenedRows) -> Array:
        """Return sum_j b_j k(x_j, x) of the rows of the fit that have a weight, with the bits of later scores."""
        source, (groups, _) = opened.source, self._list_groups()
        bare = groups, np.zeros(1, dtype=opened.dtype)
        if opened.rows is None:
            return MatrixScores(self.support_, *bare).of(source.whole(), source.threads)[opened.used, 0]
        if source.place == "device":
            offset = float(to_numpy(self.intercept_)[0])
            scores = to_numpy(source.map(source.send(self._make_device_scores())))
            return scores[opened.used, 0] - offset
        scorer = RowScores(self._kernel, self._kernel.prepare(self.support_vectors_), *bare)
        return scorer.of(opened.rows, source.threads)[opened.used, 0]

    def _list_groups(self) -> tuple[tuple[Group, ...], Array]:
        coefficients = self._coefficients.T
        return (Group(slice(0, len(coefficients)), coefficients, np.arange(1)),), -to_numpy(self.intercept_)


def _read_machine(
    opened: OpenedRows, machines: DualMachines, read: Reading | None, state: MachineState
) -> dict[str, Any]:
    """Return the fitted attributes at the `state` of the solver `machines`."""
    program, b, slope = next(machines.parts(state))
    # A row of nu-regression has a coefficient above and one below the tube; f needs their sum.
    whole = np.bincount(program.rows, weights=b, minlength=opened.source.n_rows)
    support = np.flatnonzero(whole)
    return {
        **opened.list_support(support),
        "n_support_": np.array([len(support)], dtype=np.int32),
        "dual_coef_": opened.store_coefficients(whole[None, support]),
        "intercept_": np.array([-compute_offset(program, b, slope)], dtype=opened.dtype),
        **({} if read is None else read(program, b, slope)),
    }


def compute_offset(program: DualProgram, b: Array, slope: Array) -> float:
    """Return c of the decision function sum_i b_i k(x_i, x) - c: the mean over the groups of coefficients."""
    offsets = program.offsets(b, slope)
    return float(offsets.sum() / len(offsets))


class RegressionMachine(RegressorMixin, SingleMachine):
    """One machine that predicts a numeric target."""

    _depends_on_units = ("columns", "place", "target")

    def predict(self, X: Any) -> Array:
        """Return f of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or kernel values of shape (m, n)
        """
        return Placement.of(X).put(self._scores(X)[:, 0])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination of the predictions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or kernel values of shape (m, n)
        """
        from sklearn.metrics import r2_score

        if is_on_device(X):
            return self._score_on_device(r2_score, X, y, sample_weight, "numbers")
        return super().score(X, y, sample_weight)


def read_targets(machine: Any, y: Array) -> Array:
    """Return the targets `y` in float64; raise if a row has more than one."""
    if y.ndim != 1:
        raise DataError(
            f"{type(machine).__name__}: y must have one target a row; got shape {y.shape}. Fit one machine each."
        )
    return np.asarray(y, dtype=np.float64)

"""The steps of a classifier's fit between opened rows and fitted attributes.

:func:`prepare_classes` sorts the rows by class, the estimator makes a dual program of each machine, a solver solves
them, and :func:`read_machines` or :func:`read_joint_machine` turns the solver's state into attributes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from mercer._base.validation import check_labels
from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.errors import DataError
from mercer.svm._class_machines import ClassLayout, balance_classes
from mercer.svm._dual.block_descent import Settings
from mercer.svm._dual.joint_machine import JointMachine, JointState
from mercer.svm._dual.machines import DualMachines, MachineState
from mercer.svm._dual.program import DualProgram
from mercer.svm._opening import OpenedRows
from mercer.svm._starts import read_earlier_coefficients, scale_into_bounds

# From a solved program, its coefficients and slopes to the coefficients and the intercept of its decision function.
Reading = Callable[[DualProgram, Array, Array], tuple[Array, float]]


@dataclass(frozen=True, eq=False)
class ClassProblem:
    """The classes of the rows and the upper bounds of their coefficients.

    Attributes
    ----------
    classes : ndarray of shape (k,)
        The labels, sorted.
    class_weight : ndarray of shape (k,)
        The factor of C of each class.
    layout : ClassLayout
        The rows of each class, and the classes of each machine.
    bounds : ndarray of shape (n,)
        C times the row's weight times its class's factor, for each row of the source; zero for rows that do not count.
    """

    classes: Array
    class_weight: Array
    layout: ClassLayout
    bounds: Array

    def list_attributes(self, solver: str) -> dict[str, Any]:
        """Return the fitted attributes that are known before the `solver` of that name runs."""
        return {"classes_": self.classes, "class_weight_": self.class_weight, "solver_used_": solver}


def prepare_classes(machine: Any, opened: OpenedRows, C: float, scheme: str) -> ClassProblem:
    """Sort the opened rows by class and compute their upper bounds; `C` is the bound of a row of weight one.

    `scheme` is "ovo" (a machine for each pair of classes), "ovr" (one for each class) or "joint" (one for all).
    """
    check_labels(to_numpy(opened.source.y))
    classes, codes = np.unique(opened.y, return_inverse=True)
    if len(classes) < 2:
        raise DataError(
            f"{type(machine).__name__}: The number of classes has to be greater than one; got {len(classes)} class "
            f"among the rows of positive weight: {classes[0]!r}. Add rows of another."
        )
    class_weight = balance_classes(machine, classes, codes, opened.weight)
    bounds = np.zeros(opened.source.n_rows)
    # A row's box ends at C times its weight times the factor of its class.
    bounds[opened.used] = C * opened.weight * class_weight[codes]
    # A class weight of zero takes the rows of its class out of all machines.
    counted = bounds[opened.used] > 0
    members = tuple(opened.used[counted & (codes == k)] for k in range(len(classes)))
    return ClassProblem(classes, class_weight, ClassLayout(members, scheme), bounds)


def read_earlier_fit(machine: Any, problem: ClassProblem) -> Array | None:
    """Return the coefficients of the last fit by row, or None without one; raise if it was to other rows or classes."""
    if "dual_coef_" not in vars(machine):
        return None
    n_rows = len(problem.bounds)
    if machine._fitted_rows != n_rows or not np.array_equal(to_numpy(machine.classes_), problem.classes):
        raise DataError(
            f"{type(machine).__name__}: warm_start needs the rows of the last fit; got {n_rows} rows of classes "
            f"{problem.classes.tolist()}. Set warm_start=False to start afresh."
        )
    return read_earlier_coefficients(machine, n_rows)


def start_programs(programs: list[DualProgram], layout: ClassLayout, earlier: Array) -> list[DualProgram]:
    """Return the programs with the coefficients of an earlier fit, scaled into their bounds, as starts."""
    starts = layout.select_coefficients(earlier, programs)
    return [
        replace(program, start=scale_into_bounds(b, program.lower, program.upper))
        for program, b in zip(programs, starts, strict=True)
    ]


def read_machines(
    opened: OpenedRows, layout: ClassLayout, machines: DualMachines, read: Reading, state: MachineState
) -> dict[str, Any]:
    """Return the fitted attributes at the `state` of the solver `machines`."""
    solved, intercepts = [], []
    for program, b, slope in machines.parts(state):
        coefficients, intercept = read(program, b, slope)
        solved.append(coefficients)
        intercepts.append(intercept)
    rows, table = layout.arrange_coefficients(solved)
    return _list_attributes(opened, layout, (rows, table, intercepts), "C")


def make_joint_machine(opened: OpenedRows, problem: ClassProblem, settings: Settings) -> JointMachine:
    """Return the solver of the one machine for all classes."""
    layout = problem.layout
    rows, n_classes = np.concatenate(layout.members), len(problem.classes)
    # The rows are sorted by class, so their own classes are runs.
    own = np.repeat(np.arange(n_classes), [len(members) for members in layout.members])
    limits = (settings.tol, settings.max_iter, settings.subject)
    return JointMachine(opened.gram, rows, own, problem.bounds[rows], n_classes, *limits)


def read_joint_machine(
    opened: OpenedRows, layout: ClassLayout, machine: JointMachine, state: JointState
) -> dict[str, Any]:
    """Return the fitted attributes at the `state` of the solver `machine`.

    Coefficients are by class. Of two classes only the difference of the two scores matters, which is one machine.
    """
    table = state.coefficients.T
    table = table[1:] - table[:1] if layout.n_classes == 2 else table
    return _list_attributes(opened, layout, (machine.rows, table, [0.0] * len(table)), "F")


def _list_attributes(
    opened: OpenedRows, layout: ClassLayout, solved: tuple[Array, Array, list[float]], order: Literal["C", "F"]
) -> dict[str, Any]:
    """Return the fitted attributes of solved machines.

    `solved` holds the rows sorted by class, their coefficients of shape (heights, n), and the intercepts. `order` is
    the memory order of ``dual_coef_``: the last bits of scores depend on it.
    """
    rows, table, intercepts = solved
    # A row is a support vector if any machine gives it a coefficient.
    used = np.flatnonzero(np.any(table != 0, axis=0))
    # Rows are sorted by class, so that support vectors of a class are a range of `used`.
    ends = np.cumsum([0, *(len(members) for members in layout.members)])
    return {
        **opened.list_support(rows[used]),
        "n_support_": np.diff(np.searchsorted(used, ends)).astype(np.int32),
        "_fitted_rows": opened.source.n_rows,
        "dual_coef_": opened.store_coefficients(np.asarray(table[:, used], order=order)),
        "intercept_": np.array(intercepts, dtype=opened.dtype),
    }

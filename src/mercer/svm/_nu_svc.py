"""nu-support vector classification."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.parameter import Real, parameter
from mercer._solver import Outcome, Solution, Solver
from mercer._types import Array
from mercer.errors import DataError
from mercer.svm._class_fit import ClassProblem, prepare_classes, read_machines
from mercer.svm._classifier import MachineClassifier
from mercer.svm._dual.machines import DualMachines, MachineState, copy_state
from mercer.svm._dual.program import DualProgram
from mercer.svm._kernel_machine import CURE
from mercer.svm._opening import OpenedRows, open_kernel_rows
from mercer.svm._probability import calibrate
from mercer.svm._starts import fill_bounds, scale_bounds

# The largest duality gap, as a share of |w|^2 / 2, at which a margin is known well enough to divide by it: w is then
# off by a seventh of its length at most, and by far less where tol is met.
_KNOWN = 1e-2
# Rounding of |w|^2 / 2, as a share of the largest k(x, x) times the squared sum of absolute coefficients: with less
# than that the reduced hulls of the two classes meet, as far as float64 can tell.
_MEET = 2.0**-50


class NuSVC(MachineClassifier):
    r"""Support vector classification whose parameter is a share of rows.

    For two classes minimises

    .. math:: \tfrac12 \|w\|^2 - \nu \rho + \tfrac1n \sum_i s_i \xi_i, \qquad
        y_i (w \cdot \Phi(x_i) + b) \ge \rho - \xi_i, \quad \xi_i, \rho \ge 0,

    with s the weights of the rows and n their sum. At most a share `nu` of the rows is on the wrong side of its margin,
    and at least that share are support vectors. Coefficients are divided by :math:`\rho`, so that margins are at
    scores of one, as with :class:`SVC`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, classes_, class_weight_, fit_status_
        As in :class:`SVC`.
    n_iter_, shape_fit_, solver_used_, history_, converged_, certificate_, n_features_in_, feature_names_in_
        As in :class:`SVC`.

    Notes
    -----
    The dual keeps the sum of the coefficients of each class, so that pairs of rows are of one class. Cost and memory
    are those of :class:`SVC`. Exact up to `tol`. Rows are in memory, where sparse ones stay sparse, or on a device.

    Where two classes overlap and `nu` is too large for a margin between them, the optimum is w = 0: a warning names
    `nu`, all scores of that pair of classes are zero, and it has no support vectors.

    References
    ----------
    B. Schoelkopf et al., New support vector algorithms, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.svm import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> round(NuSVC(nu=0.1).fit(X, y).score(X, y), 2)
    0.99
    """

    nu: float = parameter(
        Real(0, 1, closed="right"), default=0.5, doc="The share, at most twice the share of the smaller class."
    )

    _documents = {
        "kernel": "As in :class:`SVC`, like the parameters below.",
        "tol": (
            "The largest violation of the optimality conditions by a pair of rows; less where the margin would not be "
            "known to a hundredth."
        ),
    }

    _stalled_cure = "the margin is not known to a hundredth: scale the columns, lower nu, or use SVC"
    _check_exceptions: ClassVar[dict[str, str]] = {
        **MachineClassifier._check_exceptions,
        "check_class_weight_classifiers": "classes weighted ten million to one leave no nu of that size feasible",
    }

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "NuSVC":
        """Fit the machines.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or kernel values of shape (n, n)
        """
        opened = open_kernel_rows(self, X, y, sample_weight, "labels")
        problem = prepare_classes(self, opened, 1.0, "ovo")
        programs = self._list_programs(problem)
        outcome = self._solve_margins(opened, problem, programs)
        self._calibration = calibrate(self, X, y, sample_weight) if self.probability is True else None
        self._conclude(outcome, CURE)
        return self

    def _solve_margins(self, opened: OpenedRows, problem: ClassProblem, programs: list[DualProgram]) -> Outcome:
        """Solve the programs until their margins are known, and say which have none."""
        machines = MarginMachines(self._make_machines(programs, opened, self._make_settings()))
        read = partial(_read_machine, opened.gram.largest)
        fitted = partial(read_machines, opened, problem.layout, machines.machines, read)
        outcome = self._solve(opened, machines, fitted, problem.list_attributes(self.solver))
        self.n_iter_ = outcome.state.steps.astype(np.int32)
        solved = zip(problem.layout.pairs, machines.machines.parts(outcome.state), strict=True)
        flat = [pair for pair, part in solved if _is_zero(opened.gram.largest, *part)]
        if flat:
            named = ", ".join(f"{problem.classes[i]} and {problem.classes[j]}" for i, j in flat[:3])
            more = f", and {len(flat) - 3} other pairs," if len(flat) > 3 else ""
            warnings.warn(
                f"NuSVC: nu={self.nu!r} leaves no margin, since the classes {named}{more} overlap: the optimum is w "
                f"= 0 and all their scores are zero. Lower nu, or use SVC.",
                UserWarning,
                stacklevel=4,
            )
        return outcome

    def _list_programs(self, problem: ClassProblem) -> list[DualProgram]:
        """Return the dual program of each machine: no linear term, and nu n / 2 as the sum of each class."""
        layout, programs = problem.layout, []
        # The margin takes a common factor of all bounds out of the coefficients again.
        bounds = scale_bounds(problem.bounds)
        for machine, (rows, sign) in enumerate(layout.list_sides()):
            i, j = layout.pairs[machine]
            box, first = bounds[rows], len(layout.members[i])
            # Both classes have the same sum, since y' b = 0, and together at least nu n.
            half = 0.5 * self.nu * box.sum()
            # The factor allows for the rounding of the sums.
            if min(box[:first].sum(), box[first:].sum()) < half * (1 - 1e-12):
                most = 2.0 * min(box[:first].sum(), box[first:].sum()) / box.sum()
                raise DataError(
                    f"NuSVC: specified nu is infeasible: nu must be at most {most:.3g} for classes {i} and {j}, twice "
                    f"the share of the smaller; got {self.nu!r}."
                )
            start = sign * np.concatenate([fill_bounds(box[:first], half), fill_bounds(box[first:], half)])
            lower, upper = np.where(sign > 0, 0.0, -box), np.where(sign > 0, box, 0.0)
            shared = layout.name_families(machine)
            programs.append(DualProgram(rows, np.zeros(len(rows)), lower, upper, start, split=first, **shared))
        return programs


@dataclass(frozen=True, eq=False)
class MarginMachines:
    """A solver that goes on below the tolerance until the margin of every machine is known, or known to be zero.

    `tol` is in the unit of kernel values and says nothing about a margin of its size, by which a machine is divided.
    """

    machines: DualMachines

    def solve(self, state: MachineState | None = None) -> Solver:
        """Solve all programs from their starts, or from a state of an earlier run."""
        machines = self.machines
        solution: Solution = yield from machines.solve(state)
        while solution.converged and (unknown := list(self._list_unknown(solution.state))):
            before = solution.state
            # A violation bounds the gap times the sum of all boxes.
            goal = min(_KNOWN * value / self.machines.programs[k].widths for k, value in unknown)
            machines = replace(machines, settings=replace(machines.settings, tol=min(goal, machines.settings.tol)))
            state = copy_state(before)
            state.settled[[k for k, _ in unknown]] = False
            solution = yield from machines.solve(state)
            if np.array_equal(solution.state.coefficients, before.coefficients):
                # Rounding ends the descent before the margin is known.
                return replace(solution, converged=False, reason="stalled")
        return solution

    def _list_unknown(self, state: MachineState) -> Iterator[tuple[int, float]]:
        """Yield each program whose margin is not known, and its |w|^2 / 2."""
        for k, (program, b, slope) in enumerate(self.machines.parts(state)):
            value = program.objective(b, slope)
            known = program.gap(b, slope) <= _KNOWN * value or _is_zero(self.machines.gram.largest, program, b, slope)
            # Kernels that are not positive semi-definite have negative values too, and no such bound.
            if value > 0 and not known:
                yield k, value


def _is_zero(largest: float, program: DualProgram, b: Array, slope: Array) -> bool:
    """Return whether |w| is zero to rounding; `largest` is the largest k(x, x)."""
    return abs(program.objective(b, slope)) <= _MEET * largest * float(np.abs(b).sum()) ** 2


def _read_machine(largest: float, program: DualProgram, b: Array, slope: Array) -> tuple[Array, float]:
    """Return the coefficients and the intercept of a solved machine, divided by its margin rho; zeros without one."""
    if _is_zero(largest, program, b, slope):
        return np.zeros_like(b), 0.0
    margin, middle = _find_margin(program, b, slope)
    margin = margin if margin > 0 else 1.0
    return b / margin, -middle / margin


def _find_margin(program: DualProgram, b: Array, slope: Array) -> tuple[float, float]:
    """Return the margin rho and the offset c of a solved machine."""
    first, second = program.offsets(b, slope)
    # The class whose coefficients are positive has its margin at rho + c, the other at c - rho.
    return 0.5 * abs(first - second), 0.5 * (first + second)

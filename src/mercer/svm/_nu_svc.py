"""nu-support vector classification."""

from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.parameter import Real, parameter
from mercer._solver import Outcome
from mercer._types import Array
from mercer.errors import DataError
from mercer.svm._class_fit import ClassProblem, prepare_classes
from mercer.svm._classifier import MachineClassifier
from mercer.svm._dual.program import DualProgram
from mercer.svm._kernel_machine import CURE
from mercer.svm._opening import open_kernel_rows
from mercer.svm._probability import calibrate
from mercer.svm._starts import fill_bounds, scale_bounds


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
    }

    _stalled_cure = (
        "the margin is within tol: lower tol, and if that does not help, the classes overlap: lower nu, or use SVC"
    )
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
        outcome = self._solve_programs(opened, problem, programs, _read_machine)
        self._check_margins(programs, outcome)
        self._calibration = calibrate(self, X, y, sample_weight) if self.probability is True else None
        self._conclude(outcome, CURE)
        return self

    def _check_margins(self, programs: list[DualProgram], outcome: Outcome) -> None:
        """Say that the fit has not converged where a margin, by which a machine is divided, is within the tolerance."""
        first = 0
        for program in programs:
            place = slice(first, first + len(program))
            first = place.stop
            b, slope = outcome.state.coefficients[place], outcome.state.slopes[place]
            if outcome.converged and _find_margin(program, b, slope)[0] <= max(self.tol, program.violation(b, slope)):
                outcome.converged, outcome.reason, self.converged_ = False, "stalled", False

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


def _read_machine(program: DualProgram, b: Array, slope: Array) -> tuple[Array, float]:
    """Return the coefficients and the intercept of a solved machine, divided by its margin rho."""
    margin, middle = _find_margin(program, b, slope)
    margin = margin if margin > 0 else 1.0
    return b / margin, -middle / margin


def _find_margin(program: DualProgram, b: Array, slope: Array) -> tuple[float, float]:
    """Return the margin rho and the offset c of a solved machine."""
    first, second = program.offsets(b, slope)
    # The class whose coefficients are positive has its margin at rho + c, the other at c - rho.
    return 0.5 * abs(first - second), 0.5 * (first + second)

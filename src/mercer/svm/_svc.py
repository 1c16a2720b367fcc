"""C-support vector classification."""

from functools import partial
from typing import Any

import numpy as np

from mercer._base import fitting
from mercer._base.parameter import Boolean, Choice, Real, parameter
from mercer._solver import Outcome
from mercer._types import Array
from mercer.errors import UnsupportedError
from mercer.svm._class_fit import (
    ClassProblem,
    make_joint_machine,
    prepare_classes,
    read_earlier_fit,
    read_joint_machine,
    start_programs,
)
from mercer.svm._classifier import MachineClassifier
from mercer.svm._dual.program import DualProgram
from mercer.svm._kernel_machine import CURE
from mercer.svm._opening import OpenedRows, open_kernel_rows
from mercer.svm._probability import calibrate


class SVC(MachineClassifier):
    r"""Support vector classification: the widest margin in the feature space of a kernel.

    For two classes, y in {-1, 1}, minimises over w and b

    .. math:: \tfrac12 \|w\|^2 + \sum_i C_i \xi_i, \qquad y_i (w \cdot \Phi(x_i) + b) \ge 1 - \xi_i, \quad \xi_i \ge 0,

    with C_i = `C` times the row's weights, through its dual over the signed coefficients :math:`\beta_i = y_i \alpha_i`
    (``dual_coef_``); :math:`f(x) = \sum_i \beta_i k(x_i, x) + b`. With more classes, each pair or class has a machine.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,), int32
        The indices of the support vectors, sorted by class.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, d)
    n_support_ : ndarray of shape (n_classes,), int32
    dual_coef_ : ndarray of shape (n_classes - 1, n_support), or (n_classes, n_support) one against the rest
        Signed coefficients, in LIBSVM's layout.
    intercept_ : ndarray of shape (n_machines,)
    coef_ : ndarray of shape (n_machines, d)
        For the linear kernel only.
    classes_, class_weight_ : ndarray of shape (n_classes,)
    fit_status_ : int
        0 if the machines are solved, else 1.
    n_iter_ : ndarray of shape (n_machines,)
        Pair steps.
    shape_fit_ : tuple
    solver_used_ : str
    history_ : dict of ndarray
        By step: ``objective`` (dual, to be minimised), ``violation``, ``gap``, ``n_support``, ``pair_steps``.
    converged_, certificate_
        The certificate is the duality gap, summed over machines.

    Notes
    -----
    Machines of up to 2048 rows have their kernel matrix whole and run side by side; larger ones go in blocks of 1280
    rows or more, up to all whose coefficients are free: the kernel matrix of a block has three quarters of `cache_size`
    at most, and kernel rows are kept in what it leaves. On a device blocks are of 8192 rows, and kernel rows are made
    whenever they are needed. Kernel values are float32 while that cannot be seen at `tol`, else float64. Time is about
    n times the support vectors times d, memory `cache_size` and a copy of the rows. Exact up to `tol`. Rows are in
    memory, where sparse ones stay sparse, or on a device.

    References
    ----------
    C. Cortes and V. Vapnik, Support-vector networks, 1995. R.-E. Fan, P.-H. Chen and C.-J. Lin, Working set selection
    using second order information, 2005. T. Joachims, Making large-scale SVM learning practical, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.svm import SVC
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> model = SVC(C=10.0, gamma=1.0).fit(X, ["same", "same", "differ", "differ"])
    >>> model.predict([[0.9, 0.1]]).tolist(), bool(model.certificate_.satisfied)
    (['differ'], True)
    """

    C: float = parameter(
        Real(0, closed="right"),
        default=1.0,
        doc="The cost of a unit of slack. ``inf`` asks for a hard margin; if there is none, an error names the rows.",
    )
    loss: str = parameter(
        Choice("hinge", "squared_hinge"),
        default="hinge",
        after="random_state",
        doc="Whether slacks count as they are or squared; squares add 1 / (2 C_i) to the diagonal of the kernel "
        "matrix.",
    )
    C_scaling: str = parameter(
        Choice("sum", "mean"), default="sum", doc="Whether `C` multiplies the sum of slacks or their weighted mean."
    )
    multi_class: str = parameter(
        Choice("ovo", "ovr", "joint"),
        default="ovo",
        doc="One machine for each pair of classes, one for each class against the rest, or one for all of them, "
        "whose slack is how far any other class comes up to the row's own (Crammer and Singer); it has no "
        "intercept.",
    )
    warm_start: bool = parameter(
        Boolean(),
        default=False,
        after="solver",
        doc="Whether to start from the last fit's coefficients, scaled into the new bounds; rows must be the same.",
    )

    _documents = {
        "max_iter": "The largest number of pair steps of each machine; -1 for no limit.",
        "random_state": "Shuffles the folds of `probability`; nothing else is random.",
    }

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "SVC":
        """Fit the machines.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or kernel values of shape (n, n)
        sample_weight : array-like of shape (n,), default=None
            Factors of `C` by row: a weight of two is the row twice.
        """
        self._check_combination()
        opened = open_kernel_rows(self, X, y, sample_weight, "labels")
        problem = prepare_classes(self, opened, self.C, self.multi_class)
        earlier = read_earlier_fit(self, problem) if self.warm_start else None
        if self.multi_class == "joint":
            outcome = self._solve_jointly(opened, problem)
        else:
            programs = self._list_programs(opened, problem)
            programs = programs if earlier is None else start_programs(programs, problem.layout, earlier)
            outcome = self._solve_programs(opened, problem, programs, _read_machine)
        calibrated = self.probability is True and self.multi_class != "joint"
        self._calibration = calibrate(self, X, y, sample_weight) if calibrated else None
        self._conclude(outcome, CURE)
        return self

    def _check_combination(self) -> None:
        """Raise for combinations of parameters that have no solver."""
        if np.isinf(self.C) and (self.loss != "hinge" or self.C_scaling != "sum"):
            raise UnsupportedError(
                f"SVC: C=inf is a hard margin, for loss='hinge' and C_scaling='sum'; got {self.loss!r} and "
                f"{self.C_scaling!r}."
            )
        plain = self.loss == "hinge" and self.solver == "block" and self.C_scaling == "sum" and not np.isinf(self.C)
        if self.multi_class == "joint" and not plain:
            raise UnsupportedError(
                f"SVC: multi_class='joint' has a solver of its own, for loss='hinge', solver='block', C_scaling="
                f"'sum' and a finite C; got {self.loss!r}, {self.solver!r}, {self.C_scaling!r} and {self.C!r}."
            )

    def _solve_jointly(self, opened: OpenedRows, problem: ClassProblem) -> Outcome:
        """Solve the one machine for all classes and store the attributes."""
        machine = make_joint_machine(opened, problem, self._make_settings())
        fitted = partial(read_joint_machine, opened, problem.layout, machine)
        outcome = self._solve(opened, machine, fitted, problem.list_attributes("joint"))
        self.n_iter_ = outcome.state.steps.astype(np.int32)
        return outcome

    def _list_programs(self, opened: OpenedRows, problem: ClassProblem) -> list[DualProgram]:
        """Return the dual program of each machine: linear term -y, and y_i b_i in [0, C_i]."""
        scale = 1.0 if self.C_scaling == "sum" else 1.0 / opened.weight.sum()
        programs = []
        for machine, (rows, sign) in enumerate(problem.layout.list_sides()):
            box = problem.bounds[rows] * scale
            ridge = None
            if self.loss == "squared_hinge":
                # Squared slacks have no upper bound; their dual adds b_i^2 / (4 C_i) to the objective.
                ridge, box = 0.5 / box, np.full(len(rows), np.inf)
            lower, upper = np.where(sign > 0, 0.0, -box), np.where(sign > 0, box, 0.0)
            shared = problem.layout.name_families(machine)
            programs.append(DualProgram(rows, -sign, lower, upper, np.zeros(len(rows)), ridge=ridge, **shared))
        return programs


def _read_machine(program: DualProgram, b: Array, slope: Array) -> tuple[Array, float]:
    """Return the coefficients and the intercept of a solved machine."""
    return b, -float(program.offsets(b, slope)[0])

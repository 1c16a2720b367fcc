"""The joint machine of several classes: one program for all of them (Crammer and Singer, 2001).

    minimise  1/2 sum_m |w_m|^2 + sum_i C_i max over m of (1 - [m = y_i] + w_m . x_i - w_(y_i) . x_i)

through its dual, a coefficient for each row and class, see :mod:`mercer._native.dual.joint_descent`. There is no
intercept. The whole kernel matrix is in memory.
"""

from dataclasses import dataclass

import numpy as np

from mercer._native.dual import joint_descent as native
from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.step import Certificate, Solution, Step
from mercer._source.memory import require_memory
from mercer._types import Array
from mercer.svm._dual.gram_rows import Gram
from mercer.svm._dual.machines import limit_steps, raise_tolerance

# Entries of scores that one native call may change: some 50 ms.
_TOUCHED = 4e7


@plain
@dataclass(frozen=True, eq=False)
class JointState:
    """Coefficients and scores (n, k), steps taken, and whether the machine is solved."""

    coefficients: Array
    scores: Array
    steps: Array
    settled: bool


@dataclass(frozen=True, eq=False)
class JointMachine:
    """The solver: indices of rows, the class of each (`own`) and its upper bound (`box`)."""

    gram: Gram
    rows: Array
    own: Array
    box: Array
    n_classes: int
    tol: float
    max_iter: int | None
    subject: str

    def solve(self, state: JointState | None = None) -> Solver:
        """Solve the machine from zero, or from a state of an earlier run."""
        n, k = len(self.rows), self.n_classes
        purpose, cure = f"the {n} x {n} kernel matrix of a joint machine", "use one machine for each pair or class"
        require_memory(self.subject, 8.0 * n * n, purpose, cure)
        K = self.gram.make_square(self.rows, np.float64)
        if state is None:
            state = JointState(np.zeros((n, k)), np.zeros((n, k)), np.zeros(1, dtype=np.int64), False)
        # Weights of 1e15 leave violations that rounding keeps above `tol`: the bound does not depend on their scale.
        limit, largest = limit_steps(self.max_iter, n * k), float(np.abs(K.diagonal()).max(initial=0.0))
        while not state.settled and state.steps[0] < limit:
            A, scores, worst = state.coefficients.copy(), state.scores.copy(), np.empty(1)
            # The steps of one call, so that it lasts some 50 ms: a step touches n k scores.
            most = min(int(_TOUCHED / (n * k)) + 1, int(limit - state.steps[0]))
            tol = raise_tolerance(self.tol, A, largest)
            given = (K, self.box, self.own, tol, most)
            taken = native.descend_rows(*given, A, scores, np.empty((2, k)), worst)
            # Watches keep earlier states, so every state has arrays of its own.
            state = JointState(A, scores, state.steps + taken, bool(worst[0] <= tol))
            certificate = self.certify(state)
            extra = {"violation": float(worst[0]), "gap": certificate.value, "pair_steps": float(state.steps[0])}
            yield Step(self.objective(state), state, certificate, extra)
        return Solution(state, state.settled, self.certify(state))

    def objective(self, state: JointState) -> float:
        """Return the dual objective, which is minimised."""
        rows = np.arange(len(self.own))
        return float(0.5 * np.sum(state.coefficients * state.scores) - np.sum(state.coefficients[rows, self.own]))

    def certify(self, state: JointState) -> Certificate:
        """Return the duality gap: primal minus dual."""
        rows = np.arange(len(self.own))
        ahead = state.scores - state.scores[rows, self.own][:, None] + 1.0
        ahead[rows, self.own] = 0.0
        primal = 0.5 * np.sum(state.coefficients * state.scores) + np.sum(self.box * ahead.max(axis=1))
        statement = "The dual objective, and the penalised loss, are within this of their optimum: primal minus dual."
        gap = max(float(primal) + self.objective(state), 0.0)
        return Certificate.of("duality gap", gap, self.tol * float(np.sum(self.box)), statement)

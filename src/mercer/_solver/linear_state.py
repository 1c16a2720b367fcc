"""What solvers of linear least squares share: their state, objective and certificate.

All of them minimise, for each target column y_t with its own penalty alpha_t,

    sum_i w_i (y_it - b_t - x_i . c_t)^2 + alpha_t |c_t|^2.
"""

from dataclasses import dataclass

import numpy as np

from mercer._plain import plain
from mercer._solver.step import Certificate
from mercer._statistic import MomentSums
from mercer._types import Array

_GRADIENT = "Norm of X^T W r - alpha coef over |X| |y| (X and y centred), with r the residual: zero at the optimum."


@plain
@dataclass(frozen=True)
class LinearState:
    """A linear model: ``coef`` (features x targets), ``intercept``, and how it was found.

    ``singular`` holds the singular values of the (centred) rows and ``rank`` how many counted, where the method knows.
    """

    coef: Array
    intercept: Array
    method: str
    rank: int = -1
    singular: Array = None
    squares: Array = None


def quadratic_objective(moments: MomentSums, coef: Array, gradient: Array) -> float:
    """Return the objective |y|^2 - coef . (X^T y + gradient), where `gradient` is half its negative gradient."""
    return max(0.0, float(np.sum(moments.y_scatter) - np.sum(coef * (moments.cross + gradient))))


def gradient_certificate(gradient: Array, x_squares: float, y_squares: float, tolerance: float) -> Certificate:
    """Compare the gradient with |X| |y|, given the sums of squares of centred rows and targets."""
    scale = float(np.sqrt(x_squares * y_squares))
    size = float(np.linalg.norm(gradient))
    return Certificate.of("gradient norm", size / scale if scale else size, tolerance, _GRADIENT)

"""Models inside a formula that are neither weighted sums nor trees: what they need to score encoded rows."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Gaussians:
    """Scores ``constants[k] - |(x - means[k]) @ whiteners[k]|² / 2``: log densities of normal distributions."""

    means: np.ndarray  # (classes, columns)
    whiteners: list[np.ndarray]  # (columns, columns) each; their squares are the inverse covariances
    constants: np.ndarray


@dataclass(frozen=True)
class Kernel:
    """Scores ``weights @ exp(-gamma * |x - s|²)`` over the stored rows s; the formula's intercept is added."""

    rows: np.ndarray
    gamma: float
    weights: np.ndarray  # (outputs, rows)


@dataclass(frozen=True)
class Machines:
    """Support vector machines of pairs of classes, with probabilities.

    Each machine has the score ``f = kernel + shift``. Of two classes, a positive one is for the second, and the
    log-odds are ``f`` times the first of the `slopes` where f is positive, else times the second one. Of more classes,
    there is a machine for each pair, whose positive scores are for the first class of the pair; the score of a class is
    the sum of ``log sigmoid(± slopes[0] f)`` over its machines, times ``slopes[1]``. If another class has more votes,
    that class and the one of the highest score exchange their scores.
    """

    kernel: Kernel
    shifts: np.ndarray  # (machines,)
    slopes: tuple[float, float]
    n_classes: int


@dataclass(frozen=True)
class Layers:
    """A perceptron: products with weights, shifts, and an elementwise function after all layers but the last."""

    weights: list[np.ndarray]
    shifts: list[np.ndarray]
    function: str  # "relu", "tanh", "logistic" or "identity"


@dataclass(frozen=True)
class Neighbours:
    """The mean of `values` over the `count` stored rows nearest to x; with `inverse`, weighted by 1 / distance."""

    rows: np.ndarray
    values: np.ndarray  # (rows, outputs): indicators of the classes, or numbers
    count: int
    inverse: bool = False


@dataclass(frozen=True)
class Products:
    """Scores ``weights @ (x, x[i] * x[j], ...)`` with the products of pairs of columns behind the columns."""

    pairs: np.ndarray  # (products, 2)
    weights: np.ndarray  # (outputs, columns + products)


@dataclass(frozen=True)
class Curves:
    """Sums of a curve of each column, which is a cubic polynomial between each two knots and constant outside them.

    Piece i of a column adds ``c[0] u + c[1] u² + c[2] u³`` with ``u = clip(x, knots[i], knots[i + 1]) - knots[i]``.
    """

    knots: np.ndarray  # (knots, columns)
    coefficients: np.ndarray  # (pieces, powers, columns, outputs)

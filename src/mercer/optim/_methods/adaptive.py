"""Methods with a step of its own for each coordinate: RMSprop, Adam, AdamW and Rprop."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from mercer._base.parameter import Boolean, Real, Rule
from mercer._plain import plain
from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.errors import ParameterError
from mercer.optim._methods.descent import RATE, FirstOrder

_DECAY = Real(0, 1, closed="left")
_POSITIVE = Real(0, closed="neither")


@plain
@dataclass(frozen=True)
class RMSprop(FirstOrder):
    """RMSprop: s <- decay * s + (1 - decay) * g^2, x <- x - rate * g / (sqrt(s) + epsilon).

    Each coordinate is measured by the root mean square of its own gradients, so a rescaling of coordinates changes
    nothing once s is large beside epsilon.

    Parameters
    ----------
    learning_rate : float or callable, default=0.001
        A number, a :class:`~mercer.optim.Schedule`, or any function of the step t = 1, 2, ...
    decay : a number in [0, 1), default=0.9
        The share of the mean square that is kept.
    epsilon : float, default=1e-8
        Keeps the division finite.
    epsilon_inside : bool, default=False
        Divide by sqrt(s + epsilon) instead. The floor is then sqrt(epsilon), 1e-4 by default, which slows small
        gradients down.

    References
    ----------
    Tieleman and Hinton (2012), Lecture 6.5 of Neural Networks for Machine Learning.

    Examples
    --------
    >>> from mercer.optim import MaxIter, minimize
    >>> result = minimize(lambda x: x @ x, [1.0, -2.0], method="rmsprop", learning_rate=0.01, stop=MaxIter(400))
    >>> bool(result.value < 1e-3)
    True
    """

    learning_rate: float | Callable[[int], float] = 0.001
    decay: float = 0.9
    epsilon: float = 1e-8
    epsilon_inside: bool = False
    name: ClassVar[str] = "rmsprop"
    rules: ClassVar[dict[str, Rule]] = {
        "learning_rate": RATE,
        "decay": _DECAY,
        "epsilon": _POSITIVE,
        "epsilon_inside": Boolean(),
    }
    n_carried: ClassVar[int] = 1

    def move(self, x: Array, gradient: Array, carried: tuple[Array, ...], t: int) -> tuple[Array, tuple[Array, ...]]:
        xp = namespace_of(x)
        squares = self.decay * carried[0] + (1.0 - self.decay) * gradient**2
        # Papers differ in whether epsilon is inside the root; inside, sqrt(1e-8) = 1e-4 damps small gradients far more.
        root = xp.sqrt(squares + self.epsilon) if self.epsilon_inside else xp.sqrt(squares) + self.epsilon
        return x - self.rate(t) * gradient / root, (squares,)


@plain
@dataclass(frozen=True)
class Adam(FirstOrder):
    """Adam: means of gradients and of their squares, both corrected for their start at zero.

    m <- beta1 * m + (1 - beta1) * g and s <- beta2 * s + (1 - beta2) * g^2; with m' = m / (1 - beta1^t) and
    s' = s / (1 - beta2^t), x <- x - rate * m' / (sqrt(s') + epsilon). A step is about rate * sign(g) where gradients
    agree, and shrinks with their signal-to-noise ratio where they do not.

    Parameters
    ----------
    learning_rate : float or callable, default=0.001
        A number, a :class:`~mercer.optim.Schedule`, or any function of the step t = 1, 2, ...
    beta1, beta2 : a number in [0, 1), default=0.9 and 0.999
        The shares of the two means that are kept.
    epsilon : float, default=1e-8
        Keeps the division finite.

    References
    ----------
    Kingma and Ba (2015), Adam: a method for stochastic optimization.

    Examples
    --------
    >>> from mercer.optim import MaxIter, minimize
    >>> result = minimize(lambda x: x @ x, [1.0, -2.0], method="adam", learning_rate=0.1, stop=MaxIter(300))
    >>> bool(result.value < 1e-4)
    True
    """

    learning_rate: float | Callable[[int], float] = 0.001
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    name: ClassVar[str] = "adam"
    rules: ClassVar[dict[str, Rule]] = {
        "learning_rate": RATE,
        "beta1": _DECAY,
        "beta2": _DECAY,
        "epsilon": _POSITIVE,
    }
    n_carried: ClassVar[int] = 2

    def move(self, x: Array, gradient: Array, carried: tuple[Array, ...], t: int) -> tuple[Array, tuple[Array, ...]]:
        mean = self.beta1 * carried[0] + (1.0 - self.beta1) * gradient
        squares = self.beta2 * carried[1] + (1.0 - self.beta2) * gradient**2
        # Both averages start at zero, so after t steps they are too small by the factor 1 - beta^t.
        true_mean, true_squares = mean / (1.0 - self.beta1**t), squares / (1.0 - self.beta2**t)
        direction = true_mean / (namespace_of(x).sqrt(true_squares) + self.epsilon)
        return self._move_by(x, direction, self.rate(t)), (mean, squares)

    def _move_by(self, x: Array, direction: Array, rate: float) -> Array:
        return x - rate * direction


@plain
@dataclass(frozen=True)
class AdamW(Adam):
    """Adam with weight decay beside the gradient: x <- x - rate * (Adam's direction + weight_decay * x).

    A penalty inside the gradient would be divided by the root mean square like everything else, so that coordinates
    with large gradients would hardly be penalised; here all shrink alike.

    Parameters
    ----------
    learning_rate : float or callable, default=0.001
        A number, a :class:`~mercer.optim.Schedule`, or any function of the step t = 1, 2, ...
    beta1, beta2 : a number in [0, 1), default=0.9 and 0.999
        The shares of the two means that are kept.
    epsilon : float, default=1e-8
        Keeps the division finite.
    weight_decay : a number in [0, inf), default=0.01
        The shrinkage per unit of learning rate.

    References
    ----------
    Loshchilov and Hutter (2019), Decoupled weight decay regularization.

    Examples
    --------
    >>> from mercer.optim import AdamW, MaxIter, minimize
    >>> flat = minimize(lambda x: 0.0 * x.sum(), [1.0], method=AdamW(learning_rate=0.1), stop=MaxIter(2))
    >>> flat.x.round(6)
    array([0.998001])
    """

    weight_decay: float = 0.01
    name: ClassVar[str] = "adamw"
    rules: ClassVar[dict[str, Rule]] = {**Adam.rules, "weight_decay": Real(0)}

    def _move_by(self, x: Array, direction: Array, rate: float) -> Array:
        # Decay beside the adaptive division: inside it, parameters with large gradients would decay less.
        return x - rate * (direction + self.weight_decay * x)


@plain
@dataclass(frozen=True)
class Rprop(FirstOrder):
    """Resilient propagation: each coordinate moves by a length of its own against the sign of its derivative.

    The length grows by `growth` while the derivative keeps its sign and shrinks by `shrinkage` when it flips. Only
    signs are used, so the scale of the function does not matter; they must be those of the whole objective, not of
    batches.

    Parameters
    ----------
    learning_rate : float, default=0.1
        The first length, for every coordinate.
    growth : a number in (1, inf), default=1.2
        The factor while the sign stays.
    shrinkage : a number in (0, 1), default=0.5
        The factor when the sign flips.
    shortest, longest : float, default=1e-12 and 50
        The bounds on lengths.

    References
    ----------
    Riedmiller and Braun (1993), A direct adaptive method for faster backpropagation learning: the RPROP algorithm.

    Examples
    --------
    >>> from mercer.optim import minimize
    >>> minimize(lambda x: x @ x, [1.0, -2.0], grad=lambda x: 2 * x, method="rprop").converged
    True
    """

    learning_rate: float = 0.1
    growth: float = 1.2
    shrinkage: float = 0.5
    shortest: float = 1e-12
    longest: float = 50.0
    name: ClassVar[str] = "rprop"
    rules: ClassVar[dict[str, Rule]] = {
        "learning_rate": _POSITIVE,
        "growth": Real(1, closed="neither"),
        "shrinkage": Real(0, 1, closed="neither"),
        "shortest": _POSITIVE,
        "longest": _POSITIVE,
    }
    takes_batches: ClassVar[bool] = False

    def check(self) -> None:
        super().check()
        if not self.shortest <= self.learning_rate <= self.longest:
            raise ParameterError(
                f"Rprop: learning_rate must be in [shortest, longest] = [{self.shortest:g}, {self.longest:g}]; "
                f"got {self.learning_rate:g}."
            )

    def carry(self, x: Array) -> tuple[Array, ...]:
        # 0.0 * x keeps the library, type and device of x. Sign 0 at first leaves the first lengths unchanged.
        return 0.0 * x, 0.0 * x + self.learning_rate

    def move(self, x: Array, gradient: Array, carried: tuple[Array, ...], t: int) -> tuple[Array, tuple[Array, ...]]:
        xp = namespace_of(x)
        sign = xp.sign(gradient)
        # Equal signs: the step was too short, lengthen it. Opposite signs: it jumped over a minimum, shorten it.
        agreement = sign * carried[0]
        factor = xp.where(agreement > 0, self.growth, xp.where(agreement < 0, self.shrinkage, 1.0 + 0.0 * x))
        length = xp.clip(carried[1] * factor, self.shortest, self.longest)
        return x - sign * length, (sign, length)

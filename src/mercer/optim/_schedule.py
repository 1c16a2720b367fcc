"""Learning-rate schedules: the rate at step t = 1, 2, 3, ...

Robbins and Monro (1951): with noisy gradients a schedule must reach any distance, sum of rates infinite, and silence
the noise, sum of squared rates finite. Each schedule says which of the two it meets.
"""

from dataclasses import dataclass

from mercer._base.parameter import Integer, Real, Rule, check_parameters
from mercer._plain import plain

_POSITIVE = Real(0, closed="neither")
_SHARE = Real(0, 1, closed="neither")


class Schedule:
    """Base of schedules: call one with the number of the step, from one.

    Attributes
    ----------
    reaches_everywhere : bool
        Whether the rates sum to infinity.
    silences_noise : bool
        Whether the squared rates have a finite sum.
    """

    reaches_everywhere: bool = False
    silences_noise: bool = False

    def __call__(self, t: int) -> float:
        """Return the rate at step `t` = 1, 2, 3, ..."""
        raise NotImplementedError  # each schedule defines its own

    @property
    def satisfies_robbins_monro(self) -> bool:
        """Whether both conditions hold, so that noisy descent converges."""
        return self.reaches_everywhere and self.silences_noise

    def _check(self, **rules: Rule) -> None:
        check_parameters(type(self).__name__, rules, vars(self))


@plain
@dataclass(frozen=True)
class ConstantRate(Schedule):
    """The same rate always: noisy descent ends up hovering, with a variance in proportion to the rate.

    Parameters
    ----------
    rate : float
    """

    rate: float
    reaches_everywhere = True

    def __post_init__(self) -> None:
        self._check(rate=_POSITIVE)

    def __call__(self, t: int) -> float:
        return self.rate


@plain
@dataclass(frozen=True)
class PowerDecay(Schedule):
    """rate / t^exponent; exponent 1 is the schedule of running means, and (1/2, 1] meets Robbins and Monro.

    Parameters
    ----------
    rate : float
    exponent : float, default=1

    Examples
    --------
    >>> from mercer.optim import PowerDecay
    >>> PowerDecay(1.0, 0.6).satisfies_robbins_monro, PowerDecay(1.0, 0.5).satisfies_robbins_monro
    (True, False)
    """

    rate: float
    exponent: float = 1.0

    def __post_init__(self) -> None:
        self._check(rate=_POSITIVE, exponent=Real(0))

    @property
    def reaches_everywhere(self) -> bool:  # type: ignore[override]
        # sum 1/t^a diverges for a <= 1: the steps reach any distance.
        return self.exponent <= 1.0

    @property
    def silences_noise(self) -> bool:  # type: ignore[override]
        # sum 1/t^(2a) converges for a > 1/2: the noise added over all steps has finite variance.
        return self.exponent > 0.5

    def __call__(self, t: int) -> float:
        return self.rate / t**self.exponent


@plain
@dataclass(frozen=True)
class ExponentialDecay(Schedule):
    """rate * factor^(t - 1): the rates have a finite sum, so descent can stop short of the minimum.

    Parameters
    ----------
    rate : float
    factor : float, default=0.99
    """

    rate: float
    factor: float = 0.99
    silences_noise = True

    def __post_init__(self) -> None:
        self._check(rate=_POSITIVE, factor=_SHARE)

    def __call__(self, t: int) -> float:
        return self.rate * self.factor ** (t - 1)


@plain
@dataclass(frozen=True)
class StepDecay(Schedule):
    """rate * factor^floor((t - 1) / every): constant for a while, then smaller at once.

    Parameters
    ----------
    rate : float
    factor : float, default=0.5
    every : int, default=100
    """

    rate: float
    factor: float = 0.5
    every: int = 100
    silences_noise = True

    def __post_init__(self) -> None:
        self._check(rate=_POSITIVE, factor=_SHARE, every=Integer(1))

    def __call__(self, t: int) -> float:
        return self.rate * self.factor ** ((t - 1) // self.every)

"""The interface of a penalty: a function of coefficients (k, d), without intercepts, and its derivatives."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mercer._plain import plain


class Penalty:
    """A penalty on coefficients; subclasses are frozen dataclasses.

    A smooth penalty has a gradient and a curvature. Others have a proximal map. ``2 * penalty`` is twice as strong;
    ``first + second`` is the sum of two; at most one of them may have corners.
    """

    is_convex: ClassVar[bool] = True
    is_smooth: ClassVar[bool] = False
    # Whether the penalty is a sum over coefficients, so that each may have a step of its own in the proximal map.
    is_separable: ClassVar[bool] = False
    # Whether scaling a dual point down makes its conjugate finite, so that there is a duality gap.
    has_gap: ClassVar[bool] = True

    @property
    def elastic(self) -> Any:
        """The same penalty as an elastic net, if it is one; else None."""
        return None

    def value(self, w: np.ndarray) -> float:
        """Return the penalty at `w` (k, d); infinite where it is a constraint that `w` breaks."""
        raise NotImplementedError  # each penalty defines its own

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """Return the derivative of a smooth penalty."""
        raise NotImplementedError  # each smooth penalty defines its own

    def curvature(self, w: np.ndarray) -> np.ndarray:
        """Return the second derivative (d, d) of a smooth penalty by one row of coefficients (d,)."""
        raise NotImplementedError  # each smooth penalty defines its own

    def smoothness(self, n_features: int) -> float:
        """Return the largest second derivative of a smooth penalty in any direction."""
        raise NotImplementedError  # each smooth penalty defines its own

    def prox(self, w: np.ndarray, step: Any) -> np.ndarray:
        """Return argmin_u |u - w|^2 / (2 step) + penalty(u); separable penalties take a step for each column."""
        raise NotImplementedError  # each penalty with corners defines its own

    def conjugate(self, u: np.ndarray) -> float:
        """Return sup_w <u, w> - penalty(w)."""
        raise NotImplementedError  # each penalty with has_gap defines its own

    def dual_scale(self, u: np.ndarray) -> float:
        """Return the largest factor, at most one, that makes the conjugate at ``factor * u`` finite."""
        return 1.0

    def scaled(self, factor: float) -> "Penalty":
        """Return the penalty `factor` times as strong."""
        raise NotImplementedError  # each penalty defines its own

    def check(self, n_features: int) -> None:
        """Raise ``ValueError`` if the penalty cannot be used on `n_features` columns."""

    def __mul__(self, factor: float) -> "Penalty":
        return self.scaled(factor)

    __rmul__ = __mul__

    def __add__(self, other: "Penalty") -> "PenaltySum":
        return PenaltySum((*_parts(self), *_parts(other)))


class StrengthPenalty(Penalty):
    """A penalty with one strength that multiplies it."""

    strength: float

    def scaled(self, factor: float) -> Any:
        return replace(self, strength=self.strength * factor)  # type: ignore[type-var]


@plain
@dataclass(frozen=True, eq=False)
class PenaltySum(Penalty):
    """A sum of penalties, at most one with corners; made by ``first + second``.

    Parameters
    ----------
    parts : tuple of Penalty

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import L1, Smoothness
    >>> (L1() + 2 * Smoothness()).value(np.array([[1.0, 3.0]]))
    8.0
    """

    parts: tuple[Any, ...]
    has_gap: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if len(self._cornered) > 1:
            raise ValueError(
                f"PenaltySum: one part at most may have corners, for its proximal map; got "
                f"{', '.join(type(part).__name__ for part in self._cornered)}. Use one of them, or ElasticNetPenalty."
            )

    @property
    def smooth_parts(self) -> tuple[Any, ...]:
        """The parts with a gradient."""
        return tuple(part for part in self.parts if part.is_smooth)

    @property
    def _cornered(self) -> tuple[Any, ...]:
        return tuple(part for part in self.parts if not part.is_smooth)

    @property
    def cornered(self) -> Any:
        """The part with corners, or None."""
        return self._cornered[0] if self._cornered else None

    @property
    def is_smooth(self) -> bool:  # type: ignore[override]
        return not self._cornered

    @property
    def is_convex(self) -> bool:  # type: ignore[override]
        return all(part.is_convex for part in self.parts)

    @property
    def is_separable(self) -> bool:  # type: ignore[override]
        return all(part.is_separable for part in self._cornered)

    def value(self, w: np.ndarray) -> float:
        return sum(part.value(w) for part in self.parts)

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """Return the derivative of the smooth parts."""
        return sum((part.gradient(w) for part in self.smooth_parts), np.zeros_like(w))

    def curvature(self, w: np.ndarray) -> np.ndarray:
        """Return the second derivative of the smooth parts."""
        return sum((part.curvature(w) for part in self.smooth_parts), np.zeros((len(w), len(w))))

    def smoothness(self, n_features: int) -> float:
        return sum(part.smoothness(n_features) for part in self.smooth_parts)

    def prox(self, w: np.ndarray, step: Any) -> np.ndarray:
        """Return the proximal map of the part with corners."""
        return w if self.cornered is None else self.cornered.prox(w, step)

    def scaled(self, factor: float) -> "PenaltySum":
        return PenaltySum(tuple(part.scaled(factor) for part in self.parts))

    def check(self, n_features: int) -> None:
        for part in self.parts:
            part.check(n_features)


def _parts(penalty: Penalty) -> tuple[Penalty, ...]:
    return penalty.parts if isinstance(penalty, PenaltySum) else (penalty,)

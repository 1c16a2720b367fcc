"""Moments of power-transformed columns and of their derivatives, for the likelihood of Box-Cox and Yeo-Johnson."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._source import Block
from mercer._statistic.statistic import Statistic, Sums
from mercer._types import Array

# Below this power times logarithm (e^z - 1 - z) / z^2 loses more digits than four terms of its series leave out.
_SMALL = 1e-3


@plain
@dataclass(frozen=True, eq=False)
class Powers:
    """The power transform of each column, t = (e^{p w} - 1) / p with w = log(offset + s x) - c.

    ``sides`` is s, -1 for a column without positive values, and ``pivots`` is c. The other side, where offset + s x
    is below the offset, has the power 2 - p. ``offset`` is 1 for Yeo-Johnson and 0 for Box-Cox.
    """

    powers: Array
    sides: Array
    pivots: Array
    offset: float

    def split(self, rows: Array, index: int) -> tuple[Array, Array]:
        """Return the logarithms of the known values of a column: those of its own side, and of the other."""
        values = rows[:, index].astype(np.float64)
        values = values[~np.isnan(values)]
        if self.sides[index] < 0:
            values = -values
        with np.errstate(divide="ignore", invalid="ignore"):
            if not self.offset:
                return np.log(values) - self.pivots[index], values[:0]
            if not len(values) or values.min() >= 0:
                return np.log1p(values) - self.pivots[index], values[:0]
            there = values >= 0
            return np.log1p(values[there]) - self.pivots[index], np.log1p(-values[~there])


@plain
@dataclass(frozen=True, eq=False)
class LogSums(Sums):
    """Number and sum of the signed logarithms of each column."""

    counts: Array
    logs: Array


@dataclass(frozen=True, eq=False)
class LogMoments(Statistic):
    """Number and sum of s log(offset + s x) of each column, less the pivots."""

    powers: Powers

    def of(self, block: Block) -> LogSums:
        table = np.zeros((2, block.X.shape[1]))
        for index in range(block.X.shape[1]):
            own, other = self.powers.split(block.X, index)
            table[:, index] = len(own) + len(other), own.sum() - other.sum()
        return LogSums(*table)


@plain
@dataclass(frozen=True, eq=False)
class PowerSums:
    """Per column: counts, the means of t and its first two derivatives by the power, and their scatters.

    ``scatters`` are those of t with t, t', t'' and of t' with t'.
    """

    counts: Array
    means: Array
    scatters: Array

    def __add__(self, other: "PowerSums") -> "PowerSums":
        counts = self.counts + other.counts
        share = other.counts / np.maximum(counts, 1.0)
        step = other.means - self.means
        # Chan, Golub and LeVeque: no large sums of squares are subtracted.
        cross = self.counts * share * np.stack([step[0] * step[0], step[0] * step[1], step[0] * step[2], step[1] ** 2])
        return PowerSums(counts, self.means + share * step, self.scatters + other.scatters + cross)


@dataclass(frozen=True, eq=False)
class PowerMoments(Statistic):
    """Moments of the transformed columns and of their derivatives, for some powers."""

    powers: Powers

    def of(self, block: Block) -> PowerSums:
        width = block.X.shape[1]
        sums = PowerSums(np.zeros(width), np.zeros((3, width)), np.zeros((4, width)))
        with np.errstate(over="ignore", invalid="ignore"):
            for index in range(width):
                own, other = self.powers.split(block.X, index)
                sums.counts[index] = len(own) + len(other)
                if sums.counts[index]:
                    t = _derive(own, other, float(self.powers.powers[index]))
                    sums.means[:, index] = t.mean(axis=1)
                    t -= sums.means[:, index, None]
                    sums.scatters[:, index] = t[0] @ t[0], t[0] @ t[1], t[0] @ t[2], t[1] @ t[1]
        return sums


def _derive(own: Array, other: Array, power: float) -> Array:
    """Return t and its two derivatives by the power, of the logarithms of both sides."""
    result = np.empty((3, len(own) + len(other)))
    _expand(own, power, result[:, : len(own)])
    if len(other):
        rest = result[:, len(own) :]
        _expand(other, 2.0 - power, rest)
        # On the other side t is minus the function of 2 - p: the signs of its first derivative cancel.
        rest[::2] *= -1.0
    return result


def _expand(logs: Array, power: float, out: Array) -> None:
    """Write (e^{p w} - 1) / p and its two derivatives by p."""
    if not len(logs):
        return
    z = power * logs
    if abs(power) * max(-logs.min(), logs.max()) < _SMALL:
        out[0] = logs * (1.0 + z * (1 / 2 + z * (1 / 6 + z * (1 / 24 + z * (1 / 120)))))
        out[1] = logs**2 * (1 / 2 + z * (1 / 3 + z * (1 / 8 + z * (1 / 30))))
        out[2] = logs**3 * (1 / 3 + z * (1 / 4 + z * (1 / 10)))
        return
    out[0] = np.expm1(z)
    # w e^z, from e^z - 1: no second exponential.
    np.multiply(logs, out[0], out=out[1])
    out[1] += logs
    np.multiply(logs, out[1], out=out[2])
    out[0] /= power
    out[1] -= out[0]
    out[1] /= power
    out[2] -= 2.0 * out[1]
    out[2] /= power


def map_powers(powers: Powers, values: Array, index: int) -> Array:
    """Return t of a column, for any values; NaN stays."""
    power, pivot = float(powers.powers[index]), float(powers.pivots[index])
    values = -values if powers.sides[index] < 0 else values
    if not powers.offset:
        return grow(np.log(values) - pivot, power)
    if not (values < 0).any():
        return grow(np.log1p(values) - pivot, power)
    own = grow(np.log1p(np.maximum(values, 0.0)) - pivot, power)
    other = -grow(np.log1p(np.maximum(-values, 0.0)), 2.0 - power) - grow(np.array(pivot), power)
    return np.where(values < 0, other * np.exp(-power * pivot), own)


def unmap_powers(powers: Powers, values: Array, index: int) -> Array:
    """Return the values of a column from t; NaN where no value has this t."""
    power, pivot = float(powers.powers[index]), float(powers.pivots[index])
    logs = shrink(values, power) + pivot
    if not powers.offset:
        return np.exp(logs)
    result = np.expm1(logs)
    # A t so low that 1 + p t is negative has no logarithm on its own side: it is on the other.
    across = (logs < 0) | (np.isnan(logs) & (values < 0))
    if across.any():
        there = np.exp(power * pivot) * values[across] + grow(np.array(pivot), power)
        result[across] = -np.expm1(shrink(-there, 2.0 - power))
    return -result if powers.sides[index] < 0 else result


def grow(logs: Any, power: float) -> Any:
    """Return (e^{p w} - 1) / p, and its limit w at p = 0."""
    return np.expm1(power * logs) / power if abs(power) > np.finfo(np.float64).tiny else logs


def shrink(values: Any, power: float) -> Any:
    """Return log(1 + p t) / p, and its limit t at p = 0."""
    return np.log1p(power * values) / power if abs(power) > np.finfo(np.float64).tiny else values

"""The uncompiled twin of ``inline.pxd``: the same arithmetic, step by step, hence the same bits.

Elementary functions take a NumPy scalar or a whole array of float32 or float64 (a Python float counts as float64); sums
take one row. ``elementary.h`` and ``sums.h`` hold the reasons for each step; the constants are those of ``inline.pxd``.
"""

from functools import wraps
from typing import Any, NamedTuple

import numpy


class Format(NamedTuple):
    """What the arithmetic needs to know of a floating-point type, in that type."""

    real: Any
    word: Any
    mantissa: Any
    bias: Any
    word_of_root_half: Any
    log2_e: Any
    ln2_high: Any
    ln2_low: Any
    exp_highest: Any
    exp_lowest: Any
    expm1_lowest: Any
    lift: Any
    lift_exponent: Any
    rounder: Any
    ulp_one: Any
    largest: Any
    smallest_normal: Any
    exp_tail: tuple[Any, ...]
    log_tail: tuple[Any, ...]


def _describe(real, word, mantissa, bias, word_of_root_half, bounds, lift_exponent, logarithms, exp_tail, log_tail):
    limits = numpy.finfo(real)
    return Format(
        real, word, word(mantissa), word(bias), word(word_of_root_half),
        *map(real, logarithms), *map(real, bounds), real(2.0**lift_exponent), real(lift_exponent),
        real(1.5 * 2.0**mantissa), real(2.0**mantissa), limits.max, limits.smallest_normal,
        tuple(map(real, exp_tail)), tuple(map(real, log_tail)),
    )  # fmt: skip


# fmt: off
_DOUBLE = _describe(
    numpy.float64, numpy.uint64, 52, 1023, 0x3FE6A09E667F3BCD, (710.0, -746.0, -40.0), 54,
    (1.4426950408889634, 0.6931471803691238, 1.9082149292705877e-10),
    (0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326136, 0.0013888888888883748,
     0.00019841269874820627, 2.4801587325547743e-05, 2.7557255400206422e-06, 2.75572736431103e-07,
     2.5105217004720745e-08, 2.0914686968086876e-09),
    (0.666666666666667, 0.39999999999899505, 0.28571428625975487, 0.2222221113479508, 0.18182889125261723,
     0.15331721600556042, 0.14616449685043406),
)
_FLOAT = _describe(
    numpy.float32, numpy.uint32, 23, 127, 0x3F3504F3, (89.0, -104.0, -20.0), 25,
    (1.4426950216293335, 0.693145751953125, 1.428606765330187e-06),
    (0.5, 0.16666576266288757, 0.041666556149721146, 0.008363178931176662, 0.0013926184037700295),
    (0.6666666865348816, 0.4000012278556824, 0.2855082154273987, 0.2333046793937683),
)
# fmt: on


def _elementary(function):
    """Return `function` with its argument as a NumPy value, and the format of its type; like C, it warns of nothing."""

    @wraps(function)
    def compute(x: Any) -> Any:
        if not isinstance(x, numpy.ndarray | numpy.floating):
            x = numpy.float64(x)
        with numpy.errstate(all="ignore"):
            return function(x, _FLOAT if x.dtype == numpy.float32 else _DOUBLE)

    return compute


def _choose(condition, yes, no):
    return numpy.where(condition, yes, no) if isinstance(condition, numpy.ndarray) else (yes if condition else no)


def _evaluate(coefficients, x):
    """Evaluate a polynomial by Horner's rule; the constant comes first."""
    result = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        result = coefficient + x * result
    return result


def _nearest_integer(x, kind):
    return (x + kind.rounder) - kind.rounder


def _power_of_two(n, kind):
    return (((n + kind.rounder).view(kind.word) + kind.bias) << kind.mantissa).view(kind.real)


def _reduce_exp(x, kind):
    # x = n ln 2 + r with |r| <= ln 2 / 2; ln 2 is in two parts, so that n times the first is exact.
    whole = _nearest_integer(x * kind.log2_e, kind)
    high = x - whole * kind.ln2_high
    low = whole * kind.ln2_low
    r = high - low
    z = r * r
    # Even and odd powers apart: two short chains of multiplications in place of a long one.
    tail = _evaluate(kind.exp_tail[0::2], z) + r * _evaluate(kind.exp_tail[1::2], z)
    return whole, r + (z * tail + ((high - r) - low))


def _reduce_log(u, kind):
    # Moves the cut between exponents to the root of one half: the rest then lies between it and the root of two.
    one = kind.real(1).view(kind.word)
    word = u.view(kind.word) + (one - kind.word_of_root_half)
    exponent = ((word >> kind.mantissa) | kind.ulp_one.view(kind.word)).view(kind.real)
    mask = (kind.word(1) << kind.mantissa) - kind.word(1)
    return exponent - (kind.ulp_one + kind.real(kind.bias)), ((word & mask) + kind.word_of_root_half).view(kind.real)


def _finish_log(k, f, c, kind):
    # log(1 + f) = 2 artanh(s) with s = f / (2 + f), whose series has odd powers only.
    s = f / (kind.real(2) + f)
    z = s * s
    half = kind.real(0.5) * f * f
    low = s * (half + z * _evaluate(kind.log_tail, z)) + (k * kind.ln2_low + c)
    return k * kind.ln2_high - ((half - low) - f)


def _close_log(u, result, kind):
    above = _choose(u > kind.largest, u, result)
    below = _choose(u == 0, kind.real(-numpy.inf), kind.real(numpy.nan))
    return _choose(u > 0, above, below)


def _size(x):
    return numpy.abs(x)


@_elementary
def exp(x, kind):
    """Return e to the power of x."""
    x = _choose(kind.exp_highest < x, kind.exp_highest, x)
    x = _choose(kind.exp_lowest > x, kind.exp_lowest, x)
    n, p = _reduce_exp(x, kind)
    # Two factors of about half the exponent each: the result may be subnormal, or up to the largest number, while a
    # single power of two would leave the range of exponents.
    half = _nearest_integer(kind.real(0.5) * n, kind)
    return ((kind.real(1) + p) * _power_of_two(half, kind)) * _power_of_two(n - half, kind)


@_elementary
def expm1(x, kind):
    """Return exp(x) - 1."""
    bounded = _choose(kind.exp_highest < x, kind.exp_highest, x)
    bounded = _choose(kind.expm1_lowest > bounded, kind.expm1_lowest, bounded)
    n, p = _reduce_exp(bounded, kind)
    half = _nearest_integer(kind.real(0.5) * n, kind)
    first = _power_of_two(n - half, kind)
    result = (first * p + (first - _power_of_two(-half, kind))) * _power_of_two(half, kind)
    return _choose(x == 0, x, result)


@_elementary
def log(x, kind):
    """Return the natural logarithm of x."""
    denormal = x < kind.smallest_normal
    lift = _choose(denormal, kind.lift, kind.real(1))
    k, m = _reduce_log(x * lift, kind)
    lifted_by = _choose(denormal, kind.lift_exponent, kind.real(0))
    return _close_log(x, _finish_log(k - lifted_by, m - kind.real(1), kind.real(0), kind), kind)


@_elementary
def log1p(x, kind):
    """Return log(1 + x)."""
    one = kind.real(1)
    u = one + x
    k, m = _reduce_log(u, kind)
    # What rounding 1 + x to u has lost, divided by u, corrects the logarithm to first order.
    lost = _choose(x > 1, one - (u - x), x - (u - one))
    f = _choose(k == 0, x, m - one)
    c = _choose(k == 0, kind.real(0), lost / u)
    return _choose(x == 0, x, _close_log(u, _finish_log(k, f, c, kind), kind))


@_elementary
def tanh(x, kind):
    """Return the hyperbolic tangent of x."""
    # tanh(|x|) = -t / (2 + t) with t = exp(-2 |x|) - 1: no cancellation near zero, and no overflow far from it.
    t = expm1(kind.real(-2) * _size(x))
    return numpy.copysign(-t / (kind.real(2) + t), x)


@_elementary
def expit(x, kind):
    """Return 1 / (1 + exp(-x))."""
    # exp(-|x|) is at most one, which cannot overflow.
    e = exp(-_size(x))
    return _choose(x < 0, e, kind.real(1)) / (kind.real(1) + e)


@_elementary
def log1pexp(x, kind):
    """Return log(1 + exp(x))."""
    return _choose(x > 0, x, kind.real(0)) + log1p(exp(-_size(x)))


def _add(terms):
    """Add float64 terms as ``sums.h`` does: eight running sums, then those pairwise."""
    terms = numpy.asarray(terms, dtype=numpy.float64)
    # Padding with zeros leaves the sums as they are.
    padded = numpy.zeros(-(-terms.shape[0] // 8) * 8)
    padded[: terms.shape[0]] = terms
    part = numpy.zeros(8)
    with numpy.errstate(all="ignore"):
        for eight in padded.reshape(-1, 8):
            part = part + eight
        # Pairs (0, 4), (1, 5)... as a vector register is halved, then (0, 2) and (1, 3).
        four = part[:4] + part[4:]
        return (four[0] + four[2]) + (four[1] + four[3])


def sum(x):
    """Return the sum of a row."""
    return _add(x)


def dot(x, y):
    """Return the dot product of two rows."""
    with numpy.errstate(all="ignore"):
        return _add(numpy.asarray(x, dtype=numpy.float64) * numpy.asarray(y, dtype=numpy.float64))


def distance_squared(x, y):
    """Return the squared Euclidean distance of two rows."""
    with numpy.errstate(all="ignore"):
        difference = numpy.asarray(x, dtype=numpy.float64) - numpy.asarray(y, dtype=numpy.float64)
        return _add(difference * difference)


def logsumexp(x):
    """Return log(sum of exp) of a row."""
    x = numpy.asarray(x)
    most = x.dtype.type(-numpy.inf)
    for value in x:
        most = value if value > most else most
    # Rows that are all -inf, or hold inf, are not shifted: inf - inf would be NaN.
    shift = most if numpy.isfinite(most) else x.dtype.type(0)
    with numpy.errstate(all="ignore"):
        return numpy.float64(shift) + log(_add(exp(x - shift)))


def mercer_prefetch(place):
    """Do nothing: a hint to the processor that some memory will be read soon."""


def prefetch(x, first, last):
    """Do nothing: a hint to the processor that x[first:last] will be read soon."""

"""Elementary functions: error against 60 digits, special values, and the same bits at every level."""

from functools import cache

import mpmath
import numpy
import pytest

from mercer._native.shared import inline

REFERENCES = {
    "exp": mpmath.exp,
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log1p": mpmath.log1p,
    "tanh": mpmath.tanh,
    "expit": lambda x: 1 / (1 + mpmath.exp(-x)),
    "log1pexp": lambda x: mpmath.log1p(mpmath.exp(x)),
}
# Units in the last place, as promised at the top of elementary.h.
ALLOWED = {"exp": 1, "expm1": 2.25, "log": 1, "log1p": 1, "tanh": 2.75, "expit": 2.75, "log1pexp": 2}
FUNCTIONS = sorted(REFERENCES)
REALS = [numpy.float64, numpy.float32]
INFINITY, NAN = numpy.inf, numpy.nan


def apply(module, function, x):
    out = numpy.empty_like(x)
    getattr(module, function)(x, out)
    return out


def same_bits(x, y):
    """Equal words, where any NaN equals any other."""
    word = numpy.uint64 if x.dtype == numpy.float64 else numpy.uint32
    return bool(numpy.all((x.view(word) == y.view(word)) | (numpy.isnan(x) & numpy.isnan(y))))


def draw_bit_patterns(real, size, seed=0):
    word = numpy.uint64 if real is numpy.float64 else numpy.uint32
    words = numpy.random.default_rng(seed).integers(0, numpy.iinfo(word).max, size, dtype=word, endpoint=True)
    return words.view(real)


def draw_points(function, real):
    """Points over the whole range: random words, every binade near zero, and dense where a choice is made."""
    generator = numpy.random.default_rng(1)
    spans = [(-746, 710), (-104, 89), (-40, 40), (-1, 1), (0.3, 0.4), (-0.4, -0.25), (0.7, 1.42), (-0.999, -0.2)]
    spans += [(0.3466, 0.352), (3.5, 9), (-9, -1)]  # where expm1, tanh and expit err most
    parts = [draw_bit_patterns(real, 400)]
    parts += [generator.uniform(low, high, 120) for low, high in spans]
    parts += [sign * 2.0 ** generator.uniform(-60, 2, 150) for sign in (1, -1)]
    parts += [centre * (1 + generator.uniform(-1e-6, 1e-6, 20)) for centre in (0.34657359, 0.70710678, 1.41421356, 1)]
    x = numpy.concatenate([part.astype(real) for part in parts])
    x = numpy.concatenate([x, numpy.geomspace(numpy.finfo(real).smallest_subnormal, 1e-30, 60).astype(real)])
    x = x[numpy.isfinite(x) & (x != 0)]
    return numpy.abs(x) if function == "log" else x[x > -1] if function == "log1p" else x


def saturate(function, x):
    """The true value, with arguments beyond any change brought near: mpmath would spend its time on e^(10^300)."""
    if function in ("log", "log1p") or (function == "log1pexp" and x > 800):
        return REFERENCES[function](mpmath.mpf(x)) if function != "log1pexp" else mpmath.mpf(x)
    return REFERENCES[function](mpmath.mpf(min(max(x, -2000), 2000)))


@cache
def truths(function, real):
    """Points, and for each the truth as a float64, one unit in the last place of it, and what is left in such units."""
    points = draw_points(function, real)
    with mpmath.workdps(60):
        exact = [saturate(function, x) for x in points.tolist()]
        near = numpy.array([float(value) for value in exact])
        # Beside the largest number there is no other to measure a unit by, and beside the last but one there is.
        limits = numpy.finfo(real)
        largest = numpy.nextafter(limits.max, limits.smallest_normal)
        within = numpy.clip(numpy.abs(near), limits.smallest_normal, largest)
        units = numpy.spacing(within.astype(real)).astype(float)
        left = [0.0 if numpy.isinf(a) else float((b - mpmath.mpf(a)) / mpmath.mpf(u))
                for a, b, u in zip(near.tolist(), exact, units.tolist())]  # fmt: skip
    return points, near, units, numpy.array(left)


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_error_stays_below_what_is_documented(elementary, function, real):
    points, near, units, left = truths(function, real)
    got = apply(elementary, function, points).astype(float)
    too_large = numpy.abs(near) > float(numpy.finfo(real).max)
    numpy.testing.assert_array_equal(got[too_large], numpy.sign(near[too_large]) * INFINITY)
    points, got, near, units, left = (values[~too_large] for values in (points, got, near, units, left))
    error = numpy.abs((got - near) / units - left)
    assert error.max() <= ALLOWED[function], points[error.argmax()]


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_level_gives_the_bits_of_the_uncompiled_arithmetic(elementary, function, real):
    patterns = draw_bit_patterns(real, 1501, seed=2)
    special = numpy.array([0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 709.78, -745.2, 88.7, -103.9], dtype=real)
    x = numpy.concatenate([patterns, special, numpy.linspace(-20, 20, 490, dtype=real)])
    assert same_bits(apply(elementary, function, x), getattr(inline, function)(x))


@pytest.mark.parametrize("real", REALS)
def test_scalars_and_arrays_have_the_same_uncompiled_arithmetic(real):
    x = draw_bit_patterns(real, 200, seed=3)
    for function in FUNCTIONS:
        one_by_one = numpy.array([getattr(inline, function)(value) for value in x], dtype=real)
        assert same_bits(one_by_one, getattr(inline, function)(x)), function


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize(
    ("function", "arguments", "values"),
    [
        ("exp", [0, -0.0, INFINITY, -INFINITY, NAN, 1e4, -1e4], [1, 1, INFINITY, 0, NAN, INFINITY, 0]),
        ("expm1", [0, -0.0, INFINITY, -INFINITY, NAN, 1e4, -1e4], [0, -0.0, INFINITY, -1, NAN, INFINITY, -1]),
        ("log", [1, 0, -0.0, INFINITY, -INFINITY, NAN, -1], [0, -INFINITY, -INFINITY, INFINITY, NAN, NAN, NAN]),
        ("log1p", [0, -0.0, -1, INFINITY, -INFINITY, NAN, -2], [0, -0.0, -INFINITY, INFINITY, NAN, NAN, NAN]),
        ("tanh", [0, -0.0, INFINITY, -INFINITY, NAN, 50, -50], [0, -0.0, 1, -1, NAN, 1, -1]),
        ("expit", [0, INFINITY, -INFINITY, NAN, 200, -1e4], [0.5, 1, 0, NAN, 1, 0]),
        ("log1pexp", [INFINITY, -INFINITY, NAN, 1e4, -1e4], [INFINITY, 0, NAN, 1e4, 0]),
    ],
)
def test_special_values_are_those_of_the_c_standard(elementary, function, arguments, values, real):
    got = apply(elementary, function, numpy.array(arguments, dtype=real))
    numpy.testing.assert_array_equal(got, numpy.array(values, dtype=real))
    number = ~numpy.isnan(got)
    numpy.testing.assert_array_equal(numpy.signbit(got)[number], numpy.signbit(numpy.array(values))[number])


@pytest.mark.parametrize("real", REALS)
def test_denormal_numbers_go_in_and_come_out(elementary, real):
    limits = numpy.finfo(real)
    tiny = numpy.array([limits.smallest_subnormal, limits.smallest_normal / 3], dtype=real)
    numpy.testing.assert_array_equal(apply(elementary, "expm1", tiny), tiny)
    numpy.testing.assert_array_equal(apply(elementary, "log1p", tiny), tiny)
    numpy.testing.assert_array_equal(apply(elementary, "tanh", tiny), tiny)
    back = apply(elementary, "exp", apply(elementary, "log", tiny))
    assert numpy.all(back > 0)
    assert numpy.all(back < limits.smallest_normal)


@pytest.mark.parametrize("real", REALS)
def test_no_function_falls_where_its_function_rises(elementary, real):
    x = numpy.linspace(-30, 30, 2_001, dtype=real)
    for function in ("exp", "expm1", "tanh", "expit", "log1pexp"):
        result = apply(elementary, function, x).astype(numpy.float64)
        slack = ALLOWED[function] * numpy.spacing(numpy.abs(result[:-1]).astype(real)).astype(numpy.float64)
        assert numpy.all(numpy.diff(result) >= -slack), function


def test_an_empty_array_is_left_alone(elementary):
    for function in FUNCTIONS:
        assert apply(elementary, function, numpy.empty(0)).shape == (0,)

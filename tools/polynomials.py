#!/usr/bin/env python3
"""Derive the constants of ``mercer._native``'s elementary functions, and print them for C and for Python.

Each polynomial interpolates its function at Chebyshev points in 60 digits, which is within a few per cent of the best
polynomial of that degree, and is then rounded to the working precision.
"""

import mpmath
import numpy

mpmath.mp.dps = 60
FORMATS = {"double": (numpy.float64, 10, 6, 32), "float": (numpy.float32, 4, 3, 15)}


def exp_tail(r):
    """Return q in exp(r) = 1 + r + r^2 q(r)."""
    return (mpmath.expm1(r) - r) / r**2 if abs(r) > 1e-12 else mpmath.mpf(1) / 2 + r / 6 + r**2 / 24


def power_tail(r):
    """Return q in 2^r = 1 + r q(r)."""
    return mpmath.expm1(r * mpmath.log(2)) / r if abs(r) > 1e-12 else mpmath.log(2) + r * mpmath.log(2) ** 2 / 2


def log_tail(z):
    """Return q in log((1 + s) / (1 - s)) = 2 s + s z q(z), with z = s^2."""
    if z < 1e-20:
        return mpmath.mpf(2) / 3 + 2 * z / 5
    s = mpmath.sqrt(z)
    return (2 * mpmath.atanh(s) - 2 * s) / (s * z)


def interpolate(function, low, high, degree):
    """Return the coefficients, constant first, of the interpolating polynomial on [low, high]."""
    n = degree + 1
    nodes = [(low + high) / 2 + (high - low) / 2 * mpmath.cos(mpmath.pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    powers = mpmath.matrix(n, n)
    for i, node in enumerate(nodes):
        for j in range(n):
            powers[i, j] = node**j
    return list(mpmath.lu_solve(powers, mpmath.matrix([function(node) for node in nodes])))


def main():
    for name, (scalar, exp_degree, log_degree, ln2_bits) in FORMATS.items():
        bound = mpmath.log(2) / 2 * mpmath.mpf("1.0001")
        largest_s = (mpmath.sqrt(2) - 1) / (mpmath.sqrt(2) + 1)
        high = mpmath.floor(mpmath.log(2) * mpmath.mpf(2) ** ln2_bits) / mpmath.mpf(2) ** ln2_bits
        print(f"{name}: LN2_HIGH {float(scalar(high))!r} LN2_LOW {float(scalar(mpmath.log(2) - high))!r}")
        print("  LOG2_E", repr(float(scalar(1 / mpmath.log(2)))))
        for title, tail, span, degree in (
            ("EXP_TAIL", exp_tail, (-bound, bound), exp_degree),
            ("LOG_TAIL", log_tail, (mpmath.mpf(0), largest_s**2), log_degree),
        ):
            coefficients = interpolate(tail, *span, degree)
            print(f"  {title}", ", ".join(repr(float(scalar(value))) for value in coefficients))
    coefficients = interpolate(power_tail, mpmath.mpf("-0.50005"), mpmath.mpf("0.50005"), 5)
    print("gaussian.h", ", ".join(repr(float(numpy.float32(value))) for value in coefficients))


if __name__ == "__main__":
    main()

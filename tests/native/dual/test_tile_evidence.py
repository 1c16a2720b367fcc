"""The evidence of one tile of rows, at every level and uncompiled, against dense formulas."""

import importlib

import numpy as np
import pytest

NOISE, AMPLITUDE, ADDED = 0.05, 1.7, 0.2


@pytest.fixture
def module(level):
    return importlib.import_module(f"mercer._native.{level}.tile_evidence")


def make_tile(module, n_lengths, targets=2):
    """Gaussian profile of a few rows, and the tile that native code takes."""
    random = np.random.default_rng(0)
    Z, Y = random.normal(size=(12, 3)), random.normal(size=(targets, 12))
    D = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    P, q, r = np.exp(-0.5 * D), 2 + n_lengths, 7 if n_lengths > 1 else 1
    given, factors = (Z, Y, np.full(12, NOISE)), (np.empty((12, 12)), np.empty((12, 12)), np.empty((targets, 12)))
    results = (np.empty(q), np.empty((q, q)))
    room = (np.empty((q * targets, 12)), np.empty((r * targets, 12)), np.empty((12, r * targets)))
    return module.Tile((P, P, D), given, factors, results, room), P.copy(), Z, Y, results


def list_derivatives(P, Z, n_lengths):
    """The derivatives of the covariance by all parameters, dense."""
    gaps = (Z[:, None] - Z[None]) ** 2
    lengths = [gaps.sum(axis=2)] if n_lengths == 1 else [gaps[:, :, m] for m in range(n_lengths)]
    return [AMPLITUDE * P, np.eye(len(P)), *(AMPLITUDE * P * squares for squares in lengths)]


@pytest.mark.parametrize("n_lengths", [0, 1, 3])
def test_value_slope_and_information_are_those_of_the_dense_formulas(module, n_lengths):
    tile, P, Z, Y, (slope, information) = make_tile(module, n_lengths)
    value = module.factorise(tile, AMPLITUDE, ADDED)
    charge = module.differentiate(tile, AMPLITUDE, ADDED)
    C = AMPLITUDE * P + (NOISE + ADDED) * np.eye(12)
    V, k = np.linalg.inv(C), len(Y)
    a = Y @ V
    expected = -0.5 * (Y * a).sum() - 0.5 * k * np.linalg.slogdet(C)[1] - 0.5 * Y.size * np.log(2 * np.pi)
    assert np.isclose(value, expected, rtol=1e-12)
    parts = list_derivatives(P, Z, n_lengths)
    slopes = [0.5 * (np.einsum("ti,ij,tj->", a, part, a) - k * np.trace(V @ part)) for part in parts]
    assert np.allclose(slope, slopes, rtol=1e-10, atol=1e-10)
    curvatures = [[0.5 * np.einsum("ti,ij,tj->", a @ one, V, a @ other) for one in parts] for other in parts]
    assert np.allclose(information, curvatures, rtol=1e-10)
    assert np.isclose(charge, C.diagonal() @ ((a**2).sum(axis=0) + k * V.diagonal()), rtol=1e-12)


def test_a_covariance_that_is_not_positive_definite_has_no_value(module):
    tile = make_tile(module, 1)[0]
    assert np.isnan(module.factorise(tile, AMPLITUDE, -5.0))

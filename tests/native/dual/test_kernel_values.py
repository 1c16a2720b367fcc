"""Values of kernels from dot products, at every level and uncompiled, against formulas."""

import importlib

import numpy as np
import pytest


@pytest.fixture
def module(level):
    return importlib.import_module(f"mercer._native.{level}.kernel_values")


def tile(dtype, seed=0):
    """Dot products of a few rows, their squared lengths, and their squared distances."""
    random = np.random.default_rng(seed)
    X, Y = random.normal(size=(5, 3)), random.normal(size=(7, 3))
    squares = ((X[:, None] - Y[None]) ** 2).sum(axis=2)
    return (X @ Y.T).astype(dtype), (X**2).sum(axis=1).astype(dtype), (Y**2).sum(axis=1).astype(dtype), squares


PROFILES = {
    0: lambda s, a, c: s,
    1: lambda s, a, c: np.exp(-c * s),
    2: lambda s, a, c: np.exp(-c * np.sqrt(s)),
    3: lambda s, a, c: (1 + c * np.sqrt(s)) * np.exp(-c * np.sqrt(s)),
    4: lambda s, a, c: (1 + c * np.sqrt(s) + c * c * s / 3) * np.exp(-c * np.sqrt(s)),
    5: lambda s, a, c: (1 + c * s) ** -a,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", PROFILES)
def test_rows_of_values_go_to_their_slots(module, dtype, kind):
    X = np.random.default_rng(0).normal(size=(90, 3)).astype(dtype)
    chosen, columns = np.arange(3, 80, 2), np.array([5, 0, 89, 3])
    slots, table = np.arange(len(chosen))[::-1].copy(), np.full((len(chosen), 9), -1.0, dtype=dtype)
    width = 128 // X.itemsize
    scratch = [np.empty(shape, dtype) for shape in ((8, 3), (1, 3, width), (4,), (8, width))]
    squares = (X**2).sum(axis=1)
    module.radial_rows(np.array([kind, 1.3, 0.7, 2.0]), X, squares, chosen, columns, slots, 2, *scratch, table)
    s = ((X[chosen, None].astype(float) - X[columns]) ** 2).sum(axis=2)
    expected = 2.0 * PROFILES[kind](s, 1.3, 0.7)
    expected[chosen[:, None] == columns] = 2.0
    np.testing.assert_allclose(table[slots, 2:6], expected, atol=2e-3 if dtype == np.float32 else 1e-6)
    assert (table[:, [0, 1, 6, 7, 8]] == -1.0).all()


def gaussian_row(module, X, columns, scale):
    """The values of the first row with others, times two."""
    width = 128 // X.itemsize
    panels = -(-len(columns) // width)
    shapes = ((8, 1), (panels, 1, width), (len(columns),), (8, panels * width))
    table, scratch = np.empty((1, len(columns)), X.dtype), [np.empty(shape, X.dtype) for shape in shapes]
    form, first = np.array([1.0, 1.0, scale, 2.0]), np.zeros(1, np.intp)
    module.radial_rows(form, X, (X**2).sum(axis=1), first, columns, first, 0, *scratch, table)
    return table[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [2.0**-9, 2.0**-4, 0.5])
def test_gaussian_values_are_exact_to_the_rounding_of_their_arguments(module, dtype, scale):
    # Squares of eighths are exact, and so are their distances.
    X = np.arange(2000)[:, None].astype(dtype) / 8
    found = gaussian_row(module, X, np.arange(2000), scale)
    argument, smallest = scale * X[:, 0].astype(np.float64) ** 2, float(np.finfo(dtype).tiny)
    expected = 2 * np.exp(-argument)
    error = np.abs(found - expected) / np.finfo(dtype).eps
    assert (error <= (1.0 + argument) * expected)[expected > 8 * smallest].all()
    assert (found[expected < smallest] < smallest).all()
    assert found[0] == 2.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gaussian_values_do_not_depend_on_their_places(module, dtype):
    X = np.random.default_rng(0).normal(size=(90, 1)).astype(dtype)
    found = gaussian_row(module, X, np.arange(90), 0.3)
    for first, last in ((1, 2), (7, 40), (31, 90), (3, 66)):
        np.testing.assert_array_equal(gaussian_row(module, X, np.arange(first, last), 0.3), found[first:last])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", PROFILES)
def test_radial_profiles_are_their_formulas(module, dtype, kind):
    values, squares, others, s = tile(dtype)
    module.radial(kind, 1.3, 0.7, squares, others, values)
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(values, PROFILES[kind](s, 1.3, 0.7), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", [1, 2, 3, 4, 5])
def test_slopes_are_differences_of_profiles(module, kind):
    values, squares, others, s = tile(np.float64)
    module.slopes(kind, 1.3, 0.7, squares, others, values)
    step = 1e-6
    numeric = (PROFILES[kind](s + step, 1.3, 0.7) - PROFILES[kind](s - step, 1.3, 0.7)) / (2 * step)
    np.testing.assert_allclose(values, -2 * numeric, rtol=1e-7)


def test_a_distance_that_rounding_made_negative_is_zero(module):
    values, one = np.array([[1.0 + 1e-12]]), np.ones(1)
    module.radial(2, 1.0, 1.0, one, one, values)
    assert values[0, 0] == 1.0
    values[:] = 1.0
    module.slopes(2, 1.0, 1.0, one, one, values)
    assert values[0, 0] == 0.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 5, 8])
def test_powers_and_tangents_are_their_formulas(module, dtype, degree):
    dots = tile(dtype)[0]
    powers, tangents, exponentials = dots.copy(), dots.copy(), dots.copy()
    module.powers(0.5, 1.0, degree, powers)
    module.tangents(0.5, 0.1, tangents)
    module.exponentials(0.5, exponentials)
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(powers, (0.5 * dots.astype(float) + 1) ** degree, rtol=10 * tolerance, atol=tolerance)
    np.testing.assert_allclose(tangents, np.tanh(0.5 * dots.astype(float) + 0.1), rtol=tolerance)
    np.testing.assert_allclose(exponentials, np.exp(-0.5 * dots.astype(float)), rtol=tolerance)


def test_sums_of_absolute_differences_are_direct_ones(module):
    random = np.random.default_rng(0)
    X, Y, values = random.normal(size=(4, 3)), random.normal(size=(6, 3)), np.empty((4, 6))
    module.add_absolute(X, np.ascontiguousarray(Y.T), values)
    np.testing.assert_allclose(values, np.abs(X[:, None] - Y[None]).sum(axis=2), rtol=1e-14)


@pytest.mark.parametrize("scale", [1.0, 100.0, 1e6])
def test_cosines_are_exact_to_rounding_of_their_arguments(module, scale):
    x = scale * np.random.default_rng(0).normal(size=(2, 50))
    x[0, :4] = [0.0, np.pi / 2, np.pi, -np.pi]
    values, offset = x.copy(), np.full(50, 0.25)
    module.waves(2.0, offset, values)
    np.testing.assert_allclose(values, 2 * np.cos(x + 0.25), rtol=0, atol=1e-15 * (1 + scale))


def test_cosines_of_enormous_arguments_stay_in_range(module):
    values = np.array([[1e300, -1e18, 3e16]])
    module.waves(1.0, np.zeros(3), values)
    assert np.abs(values).max() <= 1.0 + 1e-15

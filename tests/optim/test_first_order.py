"""Momentum, Nesterov, RMSprop, Adam, AdamW and Rprop: their formulas, limits and worked numbers."""

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.optim import (
    VALLEY,
    Adam,
    AdamW,
    GradientDescent,
    GradientNorm,
    MaxIter,
    Momentum,
    Nesterov,
    RMSprop,
    Rprop,
    minimize,
)


def run(method, n_steps, surface=VALLEY, start=(1.0, 1.0)):
    return minimize(surface, start, grad=surface.gradient, method=method, stop=MaxIter(n_steps), keep_path=True)


def on_slope(method, slope, n_steps):
    """Steps under a constant gradient."""
    g = np.asarray(slope, dtype=float)
    result = minimize(
        lambda x: float(g @ x), np.zeros_like(g), grad=lambda x: g, method=method, stop=MaxIter(n_steps), keep_path=True
    )
    return np.diff(result.path, axis=0)


@pytest.mark.catalogue("OP-06", "OP-07")
@pytest.mark.parametrize("method", [Momentum, Nesterov])
def test_without_momentum_it_is_gradient_descent(method):
    assert np.array_equal(run(method(0.01, 0.0), 20).path, run(GradientDescent(0.01), 20).path)


@pytest.mark.catalogue("OP-06")
def test_under_a_constant_gradient_the_velocity_settles_with_the_memory_time():
    steps = on_slope(Momentum(0.1, 0.8), [2.0], 60)[:, 0]
    limit = -0.1 * 2.0 / (1.0 - 0.8)
    assert steps[-1] == pytest.approx(limit, rel=1e-5)
    np.testing.assert_allclose(1.0 - steps / limit, 0.8 ** np.arange(1, 61), atol=1e-12)


@pytest.mark.catalogue("OP-06", "OP-07")
def test_on_a_narrow_valley_momentum_beats_descent_and_nesterov_beats_momentum():
    norms = {
        name: np.linalg.norm(run(method, 150).x)
        for name, method in {
            "descent": GradientDescent(0.018), "momentum": Momentum(0.018, 0.9), "nesterov": Nesterov(0.018, 0.9)
        }.items()
    }  # fmt: skip
    assert norms["momentum"] == pytest.approx(4.3e-4, rel=0.02)
    assert norms["nesterov"] == pytest.approx(8.1e-5, rel=0.02)
    assert norms["descent"] > 0.05


@pytest.mark.catalogue("OP-07")
def test_looking_the_wrong_way_diverges():
    x, v = np.ones(2), np.zeros(2)
    for _ in range(150):
        v = 0.9 * v + 0.018 * VALLEY.gradient(x + 0.9 * v)
        x = x - v
    assert np.linalg.norm(x) > 1e3 > np.linalg.norm(run(Nesterov(0.018, 0.9), 150).x)


@pytest.mark.catalogue("OP-08")
def test_rmsprop_under_a_constant_gradient_steps_by_rate_times_sign():
    steps = on_slope(RMSprop(0.01), [3.0, -0.2], 200)
    np.testing.assert_allclose(steps[-1], [-0.01, 0.01], rtol=1e-6)


@pytest.mark.catalogue("OP-08")
def test_rmsprop_does_not_see_a_rescaling_of_coordinates():
    def path(scale):
        return minimize(
            lambda x: float(np.sum(scale * np.cosh(x))), [1.0, -2.0], grad=lambda x: scale * np.sinh(x),
            method=RMSprop(0.01), stop=MaxIter(50), keep_path=True,
        ).path  # fmt: skip

    np.testing.assert_allclose(path(np.array([1.0, 1.0])), path(np.array([1e4, 1e-3])), rtol=1e-4)


@pytest.mark.catalogue("OP-08")
def test_epsilon_inside_the_root_slows_small_gradients():
    tiny = [1e-6]
    outside, inside = (
        on_slope(RMSprop(0.01), tiny, 100)[-1],
        on_slope(RMSprop(0.01, epsilon_inside=True), tiny, 100)[-1],
    )
    assert outside[0] == pytest.approx(-0.01, rel=0.02)
    assert inside[0] == pytest.approx(-0.01 * 1e-6 / 1e-4, rel=0.01)


@pytest.mark.catalogue("OP-09")
def test_adam_steps_by_rate_times_sign_from_the_first_step_under_a_constant_gradient():
    steps = on_slope(Adam(0.01), [5.0, -0.3], 40)
    np.testing.assert_allclose(steps, np.tile([-0.01, 0.01], (40, 1)), rtol=1e-6)


@pytest.mark.catalogue("OP-09")
def test_adam_steps_by_the_signal_to_noise_ratio_where_gradients_are_noisy():
    random = np.random.default_rng(0)
    noise = random.normal(size=40_000)
    calls = iter(noise)
    steps = np.diff(
        minimize(
            lambda x: 0.0, [0.0], grad=lambda x: np.array([0.5 + next(calls)]), method=Adam(0.01),
            stop=MaxIter(30_000), keep_path=True,
        ).path[:, 0]
    )[5000:]  # fmt: skip
    # 25 000 steps of 0.01 times unit noise over the root of 1.25: the mean has a standard error of 1.3 %.
    assert steps.mean() == pytest.approx(-0.01 * 0.5 / np.sqrt(1.25), rel=0.08)


@pytest.mark.catalogue("OP-09")
def test_adam_follows_its_formula():
    x, m, s = np.array([1.0, 1.0]), 0.0, 0.0
    for t in range(1, 8):
        g = VALLEY.gradient(x)
        m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g**2
        x = x - 0.05 * (m / (1 - 0.9**t)) / (np.sqrt(s / (1 - 0.999**t)) + 1e-8)
    np.testing.assert_allclose(run(Adam(0.05), 7).x, x, rtol=1e-12)


def test_weight_decay_stands_beside_the_gradient():
    decayed, plain = run(AdamW(0.05, weight_decay=0.0), 9), run(Adam(0.05), 9)
    assert np.array_equal(decayed.x, plain.x)
    flat = minimize(lambda x: 0.0, [2.0], grad=lambda x: 0 * x, method=AdamW(0.1, weight_decay=0.5), stop=MaxIter(3))
    assert flat.x[0] == pytest.approx(2.0 * (1.0 - 0.05) ** 3)


@pytest.mark.catalogue("OP-10")
def test_rprop_uses_signs_only_and_grows_geometrically_on_a_slope():
    steps = on_slope(Rprop(0.1), [4.0, -0.001], 10)
    np.testing.assert_allclose(steps[:, 0], -0.1 * 1.2 ** np.arange(10))
    np.testing.assert_allclose(steps[:, 1], -steps[:, 0])
    scaled = minimize(
        lambda x: 1e5 * VALLEY(x), (1.0, 1.0), grad=lambda x: 1e5 * VALLEY.gradient(x), method=Rprop(0.1),
        stop=MaxIter(40), keep_path=True,
    )  # fmt: skip
    assert np.array_equal(scaled.path, run(Rprop(0.1), 40).path)


@pytest.mark.catalogue("OP-10")
def test_rprop_halves_its_step_when_the_sign_flips_and_keeps_to_its_bounds():
    path = run(Rprop(0.3), 12, start=(0.5, 0.35)).path
    signs = np.sign([VALLEY.gradient(x) for x in path])
    lengths = np.abs(np.diff(path, axis=0))
    flipped = signs[1:-1] * signs[:-2] < 0
    np.testing.assert_allclose(lengths[1:][flipped] / lengths[:-1][flipped], 0.5)
    bounded = on_slope(Rprop(0.1, longest=0.15), [1.0], 10)
    assert np.abs(bounded).max() == pytest.approx(0.15)
    with pytest.raises(ParameterError, match=r"Rprop: learning_rate must be in \[shortest, longest\]"):
        run(Rprop(100.0), 1)


@pytest.mark.parametrize("method", [RMSprop(1e-3), Adam(0.1), Rprop()], ids=lambda method: method.name)
def test_the_minimum_is_found_from_afar(method):
    result = minimize(VALLEY, [1.0, 1.0], grad=VALLEY.gradient, method=method, stop=MaxIter(5000) | GradientNorm(1e-2))
    assert result.converged
    assert VALLEY(result.x) < 1e-4

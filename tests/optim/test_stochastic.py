"""Batches and noise: means of gradients, epochs, hovering, running means, and roots seen through noise."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import DataError, ParameterError
from mercer.optim import (
    Adam,
    GradientDescent,
    MaxIter,
    Momentum,
    PowerDecay,
    find_root,
    minimize,
    minimize_stochastic,
)

X = np.random.default_rng(0).normal(size=(60, 4))
y = X @ [1.0, -2.0, 0.5, 0.0] + 0.1 * np.random.default_rng(1).normal(size=60)


def loss(w, rows=slice(None)):
    return 0.5 * float(np.mean((X[rows] @ w - y[rows]) ** 2))


def gradient(w, rows=slice(None)):
    residual = X[rows] @ w - y[rows]
    return X[rows].T @ residual / len(residual)


def go(**options):
    given = {"n_samples": 60, "grad": gradient, "stop": MaxIter(5), "random_state": 0, "learning_rate": 0.1}
    return minimize_stochastic(loss, np.zeros(4), **(given | options))


@pytest.mark.catalogue("OP-04")
def test_each_sample_comes_once_an_epoch_in_a_new_order():
    asked = []

    def spy(w, rows):
        asked.append(rows)
        return gradient(w, rows)

    go(grad=spy, batch_size=7, stop=MaxIter(3))
    epochs = [np.concatenate(asked[i * 9 : (i + 1) * 9]) for i in range(3)]
    assert [len(rows) for rows in asked[:9]] == [7] * 8 + [4]
    assert all(np.array_equal(np.sort(epoch), np.arange(60)) for epoch in epochs)
    assert not np.array_equal(epochs[0], epochs[1])


@pytest.mark.catalogue("OP-04")
def test_the_mean_gradient_of_batches_is_the_full_gradient_on_average():
    w = np.array([0.3, 0.1, -0.2, 1.0])
    draws = np.random.default_rng(1)
    means = [gradient(w, np.sort(draws.permutation(60)[:10])) for _ in range(4000)]
    spread = np.std(means, axis=0) / np.sqrt(len(means))
    assert np.all(np.abs(np.mean(means, axis=0) - gradient(w)) < 5.0 * spread)
    order = draws.permutation(60)
    parts = [gradient(w, order[i : i + 10]) for i in range(0, 60, 10)]
    np.testing.assert_allclose(np.mean(parts, axis=0), gradient(w), rtol=1e-12)


@pytest.mark.catalogue("OP-04")
@pytest.mark.parametrize("method", [GradientDescent(0.1), Momentum(0.05), Adam(0.05)], ids=lambda method: method.name)
def test_one_batch_of_all_samples_is_descent_on_the_whole(method):
    result = minimize_stochastic(
        loss, np.zeros(4), n_samples=60, batch_size=60, method=method, grad=gradient, stop=MaxIter(8), keep_path=True
    )
    whole = minimize(loss, np.zeros(4), grad=gradient, method=method, stop=MaxIter(8), keep_path=True)
    assert np.array_equal(result.path, whole.path)


@pytest.mark.catalogue("OP-04")
def test_with_a_constant_rate_it_hovers_with_a_variance_in_proportion_to_the_rate():
    samples = np.random.default_rng(3).normal(size=500)

    def variance(rate):
        seen = []

        def spy(x, rows):
            seen.append(x[0])
            return x - samples[rows]

        minimize_stochastic(
            lambda x, rows: 0.0, [0.0], n_samples=500, batch_size=1, grad=spy,
            learning_rate=rate, stop=MaxIter(80), random_state=0,
        )  # fmt: skip
        return np.var(seen[2000:40_000])

    # Exactly rate / (2 - rate) times the variance of the samples, if they were drawn anew each time.
    small, large = variance(0.02), variance(0.08)
    assert large / small == pytest.approx((0.08 / 1.92) / (0.02 / 1.98), rel=0.25)


@pytest.mark.catalogue("OP-04")
def test_the_result_is_measured_on_all_samples():
    result = go(batch_size=8, stop=MaxIter(30), learning_rate=PowerDecay(0.5, 0.6))
    assert result.value == pytest.approx(loss(result.x))
    np.testing.assert_allclose(result.gradient, gradient(result.x), rtol=1e-9, atol=1e-15)
    assert result.certificate.value == pytest.approx(np.abs(gradient(result.x)).max())
    best = loss(np.linalg.lstsq(X, y, rcond=None)[0])
    assert result.value < 1.1 * best
    assert result.n_iter == 30


def test_same_seed_same_bits_and_a_run_goes_on_where_it_stopped():
    whole, again, part = go(stop=MaxIter(6)), go(stop=MaxIter(6)), go(stop=MaxIter(2))
    rest = minimize_stochastic(loss, part, n_samples=60, grad=gradient, learning_rate=0.1, stop=MaxIter(4))
    assert np.array_equal(whole.x, again.x)
    assert np.array_equal(whole.x, rest.x)
    assert not np.array_equal(whole.x, go(random_state=1, stop=MaxIter(6)).x)


def test_torch_tensors_in_batches():
    torch = pytest.importorskip("torch", reason="the accelerator library is an extra")
    rows_of, targets = torch.tensor(X), torch.tensor(y)

    def torch_loss(w, rows):
        return 0.5 * torch.mean((rows_of[rows] @ w - targets[rows]) ** 2)

    start = torch.zeros(4, dtype=torch.float64)
    result = minimize_stochastic(
        torch_loss, start, n_samples=60, method="adam", learning_rate=0.05, stop=MaxIter(5), random_state=0
    )
    same = go(method="adam", learning_rate=0.05)
    assert isinstance(result.x, torch.Tensor)
    np.testing.assert_allclose(result.x.numpy(), same.x, rtol=1e-8)


def test_a_rate_that_diverges_is_stopped_with_advice():
    with pytest.warns(ConvergenceWarning, match=r"minimize_stochastic: diverged at step \d+ with learning_rate=5; try"):
        result = go(learning_rate=5.0, batch_size=4, stop=MaxIter(500))
    assert result.reason == "diverged"
    assert np.all(np.isfinite(result.x))


def test_rprop_is_refused_for_batches():
    with pytest.raises(ParameterError, match=r"method must be one of 'gradient_descent', .*; got 'rprop'"):
        minimize_stochastic(loss, np.zeros(4), n_samples=60, method="rprop")


@pytest.mark.catalogue("OP-05")
def test_one_over_t_reproduces_the_running_mean():
    samples = np.random.default_rng(0).normal(2.0, 3.0, size=200)
    stream = iter(samples)
    result = find_root(lambda x, noise: x - next(stream), [50.0], stop=MaxIter(200), keep_path=True)
    np.testing.assert_allclose(result.path[1:, 0], np.cumsum(samples) / np.arange(1, 201), rtol=1e-12)


@pytest.mark.catalogue("OP-05")
def test_a_quantile_is_the_root_of_comparisons():
    def above(x, noise):
        return (noise.normal(size=1) < x) - 0.9

    result = find_root(above, [0.0], schedule=PowerDecay(3.0, 0.7), average=True, stop=MaxIter(20_000), random_state=0)
    assert result.x[0] == pytest.approx(1.2815516, abs=0.05)
    part = find_root(above, [0.0], schedule=PowerDecay(3.0, 0.7), average=True, stop=MaxIter(40), random_state=5)
    whole = find_root(above, [0.0], schedule=PowerDecay(3.0, 0.7), average=True, stop=MaxIter(90), random_state=5)
    rest = find_root(above, part, schedule=PowerDecay(3.0, 0.7), average=True, stop=MaxIter(50))
    assert np.array_equal(rest.x, whole.x)
    with pytest.raises(DataError, match=r"find_root: fun must return an array of the shape of x0, \(1,\); got \(2,\)"):
        find_root(lambda x, noise: np.zeros(2), [0.0])

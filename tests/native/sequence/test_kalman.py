"""Filter and smoother, at every level and uncompiled, against the plain formulas."""

import importlib

import numpy as np
import pytest


@pytest.mark.parametrize(("k", "d"), [(1, 1), (2, 3), (3, 1)])
def test_steps_follow_the_plain_formulas(level, k, d):
    filtering = importlib.import_module(f"mercer._native.{level}.kalman_filter")
    smoothing = importlib.import_module(f"mercer._native.{level}.kalman_smoother")
    random, n = np.random.default_rng(k), 30
    A, C = 0.5 * random.normal(size=(k, k)), random.normal(size=(d, k))
    Q, R = np.eye(k) + 0.1, 0.5 * np.eye(d) + 0.2
    Y, drift = random.normal(size=(n, d)), random.normal(size=(n, k))
    # Thirty steps reach the steady state, and a gap leaves it again.
    Y[20, 0] = np.nan
    mean, P = np.zeros(k), 2.0 * np.eye(k)
    means, covariances, scores = np.empty((2, n, k)), np.empty((2, n, k, k)), np.empty(n)
    work = np.empty((5, max(k, d, 2), max(k, d, 2)))
    entering = mean.copy(), P.copy()
    assert filtering.filter_steps(Y, drift, A, C, Q, R, *entering, means, covariances, scores, work) == 0
    for t in range(n):
        np.testing.assert_allclose(means[0, t], mean, atol=1e-12)
        np.testing.assert_allclose(covariances[0, t], P, atol=1e-12)
        there = ~np.isnan(Y[t])
        S = C[there] @ P @ C[there].T + R[np.ix_(there, there)]
        gain, error = P @ C[there].T @ np.linalg.inv(S), Y[t, there] - C[there] @ mean
        mean, P = mean + gain @ error, P - gain @ C[there] @ P
        np.testing.assert_allclose(means[1, t], mean, atol=1e-12)
        np.testing.assert_allclose(covariances[1, t], P, atol=1e-12)
        density = len(error) * np.log(2 * np.pi) + np.linalg.slogdet(S)[1] + error @ np.linalg.solve(S, error)
        assert scores[t] == pytest.approx(-0.5 * density)
        mean, P = A @ mean + drift[t], A @ P @ A.T + Q
    smoothed, spreads, crosses = np.empty((n, k)), np.empty((n, k, k)), np.empty((n, k, k))
    later = entering[0].copy(), entering[1].copy()
    smoothing.smooth_steps(A, Q, means, covariances, *entering, *later, smoothed, spreads, crosses, work)
    mean, V = means[1, -1], covariances[1, -1]
    for t in range(n - 1, -1, -1):
        if t < n - 1:
            gain = covariances[1, t] @ A.T @ np.linalg.inv(covariances[0, t + 1])
            np.testing.assert_allclose(crosses[t], V @ gain.T, atol=1e-12)
            mean = means[1, t] + gain @ (mean - means[0, t + 1])
            V = covariances[1, t] + gain @ (V - covariances[0, t + 1]) @ gain.T
        np.testing.assert_allclose(smoothed[t], mean, atol=1e-12)
        np.testing.assert_allclose(spreads[t], V, atol=1e-12)


def test_a_row_without_variance_is_reported_by_its_step(level):
    module = importlib.import_module(f"mercer._native.{level}.kalman_filter")
    one = np.ones((1, 1))
    tables = np.empty((2, 3, 1)), np.empty((2, 3, 1, 1)), np.empty(3), np.empty((5, 2, 2))
    Y = np.array([[np.nan], [0.0], [0.0]])
    failed = module.filter_steps(Y, np.empty((0, 1)), one, one, 0 * one, 0 * one, np.zeros(1), 0 * one, *tables)
    assert failed == 2

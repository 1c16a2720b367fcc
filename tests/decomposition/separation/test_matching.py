"""Distances of unmixing matrices, pairs of sources, and mixtures with known truth."""

import numpy as np
import pytest

from mercer.datasets import make_mixed_sources
from mercer.decomposition import amari_distance, match_sources
from mercer.errors import DataError, ParameterError


@pytest.mark.catalogue("PM-10")
def test_the_amari_distance_is_zero_for_permuted_scaled_sources_and_only_for_them():
    random = np.random.default_rng(0)
    A = random.normal(size=(4, 4))
    W = np.linalg.inv(A)
    P, D = np.eye(4)[[2, 0, 3, 1]], np.diag([-1.0, 0.1, 30.0, -2.0])
    assert amari_distance(P @ D @ W, A) == pytest.approx(0.0, abs=1e-12)
    assert amari_distance(P @ D @ W + 0.01 * random.normal(size=(4, 4)), A) > 1e-3
    assert amari_distance(np.ones((3, 3)), np.eye(3)) == 1.0
    assert amari_distance([[2.0]], [[5.0]]) == 0.0


@pytest.mark.catalogue("PM-10")
def test_sources_are_matched_up_to_order_sign_and_scale():
    random = np.random.default_rng(0)
    true = random.laplace(size=(500, 3))
    estimated = true[:, [1, 2, 0]] * [-2.0, 0.5, 3.0] + 0.01 * random.normal(size=(500, 3)) + 7.0
    result = match_sources(estimated, true)
    assert result.order.tolist() == [2, 0, 1]
    np.testing.assert_allclose(result.scale, [1 / 3, -0.5, 2.0], rtol=0.01)
    assert (result.correlation > 0.999).all()
    centred = result.apply(estimated - estimated.mean(axis=0)) - (true - true.mean(axis=0))
    assert np.abs(centred).max() < 0.2


@pytest.mark.catalogue("PM-10")
def test_mixtures_of_time_structured_sources_have_the_known_truth():
    rows = make_mixed_sources(20_000, sources=["laplace", (0.9,), [0.5, -0.8]], random_state=3)
    np.testing.assert_allclose(rows.data @ rows.unmixing.T, rows.sources)
    np.testing.assert_allclose(rows.sources.std(axis=0), 1.0, atol=0.1)
    lagged = (rows.sources[1:] * rows.sources[:-1]).mean(axis=0)
    # The correlation at lag one of x_t = a x_(t-1) + b x_(t-2) + noise is a / (1 - b).
    np.testing.assert_allclose(lagged, [0.0, 0.9, 0.5 / 1.8], atol=0.05)
    assert rows.laws == ["laplace", (0.9,), (0.5, -0.8)]


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="transposed shape"):
        amari_distance(np.eye(2), np.eye(3))
    with pytest.raises(DataError, match="row or column of zeros"):
        amari_distance(np.diag([1.0, 0.0]), np.eye(2))
    with pytest.raises(DataError, match="at least as many estimated"):
        match_sources(np.zeros((4, 1)), np.zeros((4, 2)))
    with pytest.raises(ParameterError, match="sources must be"):
        make_mixed_sources(sources=["cauchy"])

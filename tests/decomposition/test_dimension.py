"""How many components: shares, evidence and elbow."""

from math import lgamma, log, pi

import numpy as np
import pytest
from sklearn.datasets import load_iris

from mercer.decomposition import PCA
from mercer.decomposition._dimension import find_elbow, reach_share, weigh_evidence


def evidence(spectrum, k, n):
    """Minka (2000), equation 30, pair by pair."""
    d = len(spectrum)
    v = spectrum[k:].mean()
    replaced = np.r_[spectrum[:k], np.full(d - k, v)]
    m = d * k - k * (k + 1) / 2
    value = -k * log(2) + sum(lgamma((d - i + 1) / 2) - log(pi) * (d - i + 1) / 2 for i in range(1, k + 1))
    value += -n / 2 * np.log(spectrum[:k]).sum() - n * (d - k) / 2 * log(v) + (m + k) / 2 * log(2 * pi)
    for i in range(k):
        for j in range(i + 1, d):
            value -= (log((spectrum[i] - spectrum[j]) * (1 / replaced[j] - 1 / replaced[i])) + log(n)) / 2
    return value - k / 2 * log(n)


@pytest.mark.catalogue("PM-05")
def test_the_evidence_is_greatest_where_minkas_formula_is():
    random = np.random.default_rng(2)
    for _ in range(20):
        spectrum = np.sort(random.exponential(size=8) ** 2)[::-1] + 0.01
        for n in (10, 100, 1000):
            expected = 1 + int(np.argmax([evidence(spectrum, k, n) for k in range(1, 8)]))
            assert weigh_evidence(spectrum, n) == weigh_evidence(1e-6 * spectrum, n) == expected


@pytest.mark.catalogue("PM-05")
def test_a_share_is_exceeded_by_the_fewest_components():
    spectrum = np.array([5.0, 3.0, 1.0, 1.0])
    assert [reach_share(spectrum, share) for share in (0.4, 0.6, 0.85, 0.95)] == [1, 2, 3, 4]
    model = PCA(0.95).fit(load_iris().data)
    whole = PCA().fit(load_iris().data)
    assert model.n_components_ == 2
    assert model.explained_variance_ratio_.sum() > 0.95 > model.explained_variance_ratio_[0]
    assert whole.explained_variance_ratio_.sum() == pytest.approx(1.0)
    assert (np.diff(whole.explained_variance_ratio_) <= 0).all()
    left_out = whole.explained_variance_[2:].sum() / whole.explained_variance_.sum()
    assert 1 - model.explained_variance_ratio_.sum() == pytest.approx(left_out)


@pytest.mark.catalogue("PM-05")
def test_the_elbow_is_where_the_variances_drop():
    assert find_elbow(np.array([10.0, 9.5, 9.0, 1.0, 0.9, 0.8, 0.7])) == 3
    assert find_elbow(np.array([4.0])) == 1
    rows = np.random.default_rng(2).normal(size=(2000, 10)) * np.r_[[6.0, 5.0, 5.5, 5.2], np.ones(6)]
    for solver in ("full", "covariance_eigh"):
        assert PCA("elbow", svd_solver=solver).fit(rows).n_components_ == 4


@pytest.mark.catalogue("PM-05")
def test_the_evidence_finds_the_dimension_of_a_plane_in_noise():
    random = np.random.default_rng(2)
    rows = random.normal(size=(500, 3)) @ random.normal(size=(3, 8)) * 3 + random.normal(size=(500, 8)) * 0.1
    for solver in ("auto", "full", "covariance_eigh"):
        assert PCA("mle", svd_solver=solver).fit(rows).n_components_ == 3
    repeated = np.array([2.0, 1.0, 1.0, 1.0, 1.0])
    assert 1 <= weigh_evidence(repeated, 100) <= 4
    assert weigh_evidence(np.array([1.0, 1e-30, 1e-30]), 10) == 1

"""Separation by autocorrelations: one lag and many, recordings, sources that are alike, errors."""

import numpy as np
import pytest

from mercer.datasets import make_autoregressive, make_mixed_sources
from mercer.decomposition import SecondOrderSeparation, amari_distance, match_sources
from mercer.errors import DataError, ParameterError

A = np.array([[1.0, 0.3], [0.5, 1.0]])


@pytest.mark.catalogue("PM-14")
def test_one_lag_recovers_gaussian_sources_with_different_spectra():
    S = make_autoregressive(5000, coefficients=[[0.95], [-0.6]]).data
    model = SecondOrderSeparation(lags=1).fit(S @ A.T)
    assert (match_sources(model.transform(S @ A.T), S).correlation > 0.99).all()
    assert amari_distance(model.components_, A * S.std(axis=0)) < 0.05
    # Slow sources come first; the autocorrelations are those of the processes.
    np.testing.assert_allclose(model.autocorrelations_[:, 0], [0.95, -0.6], atol=0.03)
    assert model.off_diagonal_ < 1e-24
    np.testing.assert_allclose(model.transform(S @ A.T).var(axis=0), 1.0, rtol=1e-9)
    np.testing.assert_allclose(model.inverse_transform(model.transform(S @ A.T)), S @ A.T, atol=1e-9)


@pytest.mark.catalogue("PM-14")
def test_one_lag_is_the_eigenvectors_of_the_symmetrised_lagged_covariance():
    X = make_mixed_sources(2000, sources=[(0.9,), (0.3,), (-0.5,)]).data
    model = SecondOrderSeparation(lags=[2]).fit(X)
    U = (X - model.mean_) @ model.whitening_.T
    C = U[2:].T @ U[:-2] / (len(U) - 2)
    E = np.linalg.eigh((C + C.T) / 2)[1][:, ::-1]
    np.testing.assert_allclose(np.abs(model.components_), np.abs(E.T @ model.whitening_), atol=1e-10)


@pytest.mark.catalogue("PM-14")
def test_equal_autocorrelations_at_the_lag_cannot_be_separated():
    # Both have 0.5 at lag 1 and differ at lag 2: 0.25 against a_1 r_1 + a_2 with a_1 = r_1 (1 - a_2).
    S = make_autoregressive(20_000, coefficients=[[0.5], [0.8, -0.6]], random_state=3).data
    with pytest.warns(UserWarning, match="cannot be separated by them: try other lags, or ICA"):
        one = SecondOrderSeparation(lags=1).fit(S @ A.T)
    many = SecondOrderSeparation(lags=5).fit(S @ A.T)
    scales = A * S.std(axis=0)
    assert amari_distance(many.components_, scales) < 0.05
    assert amari_distance(one.components_, scales) > 3 * amari_distance(many.components_, scales)
    twins = make_autoregressive(5000, coefficients=[[0.6], [0.6]], random_state=1).data
    with pytest.warns(UserWarning, match="of 1 pairs of sources, such as 0 and 1"):
        SecondOrderSeparation().fit(twins @ A.T)


@pytest.mark.catalogue("PM-15")
@pytest.mark.parametrize("diagonaliser", ["jacobi", "ffdiag", "qdiag"])
def test_several_lags_beat_one_under_noise(diagonaliser):
    one, many = [], []
    for seed in range(5):
        rows = make_mixed_sources(1500, sources=[(0.9,), (0.6,), (-0.4,)], noise=0.3, random_state=seed)
        for lags, distances in ((1, one), (8, many)):
            model = SecondOrderSeparation(lags=lags, diagonaliser=diagonaliser).fit(rows.data)
            distances.append(amari_distance(model.components_, rows.mixing))
    assert np.mean(many) < np.mean(one)
    assert np.mean(many) < 0.1


def test_products_do_not_cross_the_borders_of_recordings():
    S = make_autoregressive(3000, coefficients=[[0.9], [-0.5]]).data
    X = S @ A.T
    model = SecondOrderSeparation(lags=2).fit(X, lengths=[1000, 1, 1999])
    U = (X - model.mean_) @ model.components_.T
    parts = [U[:1000], U[1001:]]
    for number, lag in enumerate((1, 2)):
        sums = sum(part[lag:].T @ part[:-lag] for part in parts) / sum(len(part) - lag for part in parts)
        np.testing.assert_allclose(np.diagonal(sums), model.autocorrelations_[:, number], atol=1e-10)


def test_the_certificate_and_the_history_show_the_sweeps():
    X = make_mixed_sources(1000, sources=[(0.9,), (0.3,), (-0.5,), (0.6, -0.3)], noise=0.1).data
    model = SecondOrderSeparation(lags=6).fit(X)
    assert model.certificate_.satisfied
    assert (np.diff(model.history_["objective"]) <= 1e-15).all()
    assert model.n_iter_ == len(model.history_["change"])


@pytest.mark.parametrize(
    ("settings", "given", "error", "text"),
    [
        ({"lags": 200}, {}, DataError, "lags must be shorter than the longest recording, 100 rows; got a lag of 200"),
        ({"lags": [0, 1]}, {}, ParameterError, "lags must be a positive number or positive whole numbers"),
        ({"lags": [1.5]}, {}, ParameterError, "lags must be"),
        ({}, {"lengths": [50, 49]}, DataError, "sum to the number of rows, 100; got 99. Pass one length per recording"),
        ({}, {"lengths": [60, 40.0]}, DataError, "positive whole numbers"),
        ({"n_components": 5}, {}, DataError, "n_components must be at most 2"),
    ],
    ids=repr,
)
def test_input_that_cannot_work_is_refused_with_the_cure(settings, given, error, text):
    X = np.random.default_rng(0).normal(size=(100, 2))
    with pytest.raises(error, match=text):
        SecondOrderSeparation(**settings).fit(X, **given)

"""The expected errors of least squares, against simulation."""

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.linear_model import LinearRegression
from mercer.theory import expected_in_sample_error, expected_out_of_sample_error


@pytest.mark.catalogue("LM-03")
def test_the_numbers_of_the_worked_example():
    assert expected_in_sample_error(40, 8, 1.0) == pytest.approx(0.80)
    assert expected_out_of_sample_error(40, 8, 1.0) == pytest.approx(1.20)
    assert expected_out_of_sample_error(40, 8, 1.0, design="gaussian") == pytest.approx(1.258, abs=5e-4)


@pytest.mark.catalogue("LM-03")
def test_simulated_errors_agree():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 8))
    y, fresh = X @ np.arange(8.0) + random.normal(size=(2, 4000, 40))
    fits = LinearRegression(fit_intercept=False).fit(X, y.T).predict(X).T
    # The mean error of a fit has the mean of 4000, each with the deviation that the simulation shows.
    for errors, expected in (
        (np.mean((y - fits) ** 2, axis=1), expected_in_sample_error(40, 8, 1.0)),
        (np.mean((fresh - fits) ** 2, axis=1), expected_out_of_sample_error(40, 8, 1.0)),
    ):
        assert np.mean(errors) == pytest.approx(expected, abs=6 * np.std(errors) / np.sqrt(4000))
    excess = []
    for _ in range(600):
        rows = random.normal(size=(40, 8))
        coef = LinearRegression(fit_intercept=False, n_jobs=1).fit(rows, random.normal(size=40)).coef_
        excess.append(coef @ coef)
    expected = expected_out_of_sample_error(40, 8, 1.0, design="gaussian")
    assert 1 + np.mean(excess) == pytest.approx(expected, abs=6 * np.std(excess) / np.sqrt(600))


def test_as_many_features_as_samples_are_refused():
    with pytest.raises(ParameterError, match="more samples than features are needed; got n_samples=8, n_features=8"):
        expected_in_sample_error(8, 8, 1.0)
    with pytest.raises(ParameterError, match="more samples than features are needed"):
        expected_out_of_sample_error(9, 8, 1.0, design="gaussian")
    with pytest.raises(ParameterError, match="design must be 'fixed' or 'gaussian'; got 'random'"):
        expected_out_of_sample_error(40, 8, 1.0, design="random")

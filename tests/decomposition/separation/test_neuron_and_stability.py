"""One sigmoid neuron that matches its input density; sources that are found again from other rows."""

import numpy as np
import pytest
from scipy.special import expit

from mercer.datasets import make_mixed_sources
from mercer.decomposition import ICA, FastICA, SigmoidNeuron, measure_stability, train_neuron
from mercer.errors import DataError, ParameterError

# Quantiles of a logistic density with mean 2 and scale 0.7: a sample without chance.
GRID = (np.arange(4000) + 0.5) / 4000
LOGISTIC = 2.0 + 0.7 * np.log(GRID / (1 - GRID))


@pytest.mark.catalogue("PM-13")
def test_logistic_inputs_become_uniform_outputs():
    neuron = train_neuron(LOGISTIC)
    assert neuron.converged
    assert neuron.weight == pytest.approx(1 / 0.7, rel=1e-3)
    assert neuron.bias == pytest.approx(-2 / 0.7, rel=1e-3)
    np.testing.assert_allclose(neuron.outputs(LOGISTIC), GRID, atol=2e-3)
    # The entropy of a logistic density of scale s is 2 + log s: that of the output is 0, the largest on [0, 1].
    assert neuron.history["gain"][-1] + 2 + np.log(0.7) == pytest.approx(0.0, abs=5e-3)
    assert (np.diff(neuron.history["gain"]) >= 0).all()


@pytest.mark.catalogue("PM-13")
def test_the_gradient_is_that_of_finite_differences_and_vanishes_at_the_end():
    neuron = train_neuron(LOGISTIC, tol=1e-10)
    for weight, bias in ((0.5, 0.2), (-2.0, 3.0), (neuron.weight, neuron.bias)):
        slope = 1 - 2 * expit(weight * LOGISTIC + bias)
        exact = 1 / weight + (LOGISTIC * slope).mean(), slope.mean()
        step = 1e-6
        by_weight = SigmoidNeuron.gain(LOGISTIC, weight + step, bias) - SigmoidNeuron.gain(
            LOGISTIC, weight - step, bias
        )
        by_bias = SigmoidNeuron.gain(LOGISTIC, weight, bias + step) - SigmoidNeuron.gain(LOGISTIC, weight, bias - step)
        np.testing.assert_allclose([by_weight / 2e-6, by_bias / 2e-6], exact, atol=1e-8)
    assert max(map(abs, exact)) < 1e-9


@pytest.mark.catalogue("PM-13")
def test_small_weights_give_one_peak_and_large_weights_two():
    neuron = train_neuron(LOGISTIC)
    centre = neuron.bias / neuron.weight
    for factor, middle_is_full in ((0.2, True), (5.0, False)):
        outputs = expit(factor * neuron.weight * (LOGISTIC + centre))
        counts = np.histogram(outputs, bins=5, range=(0, 1))[0]
        assert (counts[2] > counts[0]) == middle_is_full
        assert SigmoidNeuron.gain(LOGISTIC, factor * neuron.weight, factor * neuron.bias) < neuron.history["gain"][-1]


def test_inputs_that_do_not_vary_are_refused():
    with pytest.raises(DataError, match="at least two different inputs"):
        train_neuron(np.ones(5))
    with pytest.raises(ParameterError, match="learning_rate must be"):
        train_neuron(LOGISTIC, learning_rate=0.0)


def test_true_sources_are_stable_and_gaussian_ones_are_not():
    rows = make_mixed_sources(1500, sources=["laplace", "uniform", "gaussian", "gaussian"], random_state=1)
    with pytest.warns(UserWarning, match="Gaussian"):
        model = ICA(random_state=0, tol=1e-6).fit(rows.data)
    with pytest.warns(UserWarning, match="Gaussian"):
        result = model.stability(rows.data, n_resamples=8, random_state=0)
    assert (result.score[:2] > 0.9).all()
    assert (result.score[2:] < 0.8).all()
    assert result.similarity.shape == (8, 4)
    low, high = result.interval
    assert ((low[:2] <= model.components_[:2] + 0.1) & (model.components_[:2] <= high[:2] + 0.1)).all()


def test_the_start_alone_does_not_change_stable_sources():
    X = make_mixed_sources(1000, sources=["laplace", "uniform"]).data
    model = FastICA(random_state=0, tol=1e-10).fit(X)
    result = measure_stability(model, X, n_resamples=3, bootstrap=False, random_state=0)
    np.testing.assert_allclose(result.similarity, 1.0, atol=1e-8)
    np.testing.assert_allclose(result.components, np.broadcast_to(model.components_, (3, 2, 2)), atol=1e-5)
    with pytest.raises(ParameterError, match="n_resamples must be"):
        measure_stability(model, X, n_resamples=1)

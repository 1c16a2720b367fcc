"""Laplace's approximation on a device against that in memory: evidence, predictions, moves, and what is refused."""

import gc

import array_api_strict
import numpy as np
import pytest
import torch
from scipy.special import ndtr
from sklearn.gaussian_process import kernels as scikit

import mercer
from mercer._solver import device_matrices
from mercer._source.placement import Placement
from mercer.errors import DataError, MemoryForecastError, UnsupportedError
from mercer.gaussian_process import GaussianProcessClassifier
from mercer.gaussian_process import _device_laplace as device_laplace
from mercer.gaussian_process._laplace import LaplaceEvidence, average_sigmoids
from mercer.kernels import RBF, Constant, Linear, Matern, Periodic, RationalQuadratic, White

ROWS = np.random.default_rng(0).normal(size=(150, 3)) + 5.0
LATENT = np.sin(2 * ROWS[:, 0]) + ROWS[:, 1] - 5.0 + 0.3 * np.random.default_rng(1).normal(size=150)
LABELS = (LATENT > 0).astype(np.int64)
THREE = np.digitize(LATENT, [-0.7, 0.7]) + 4
WEIGHTS = np.random.default_rng(2).integers(0, 3, size=150).astype(float)
OTHERS = 1.5 * np.random.default_rng(3).normal(size=(40, 3)) + 5.0
KERNELS = {
    "widths": 1.0 * RBF(np.ones(3)) + White(0.1),
    "matern": Constant(2.0) * Matern(np.ones(3), nu=1.5) + Matern(2.0, nu=2.5) * RBF(3.0),
    "powers": RationalQuadratic(1.0, 2.0) ** 2,
    "columns": RBF(1.0).on([0, 2]) + Linear(),
    "steep": 1e3 * RBF(0.9),
}
LIBRARIES = {"torch": torch.asarray, "strict": array_api_strict.asarray}


@pytest.fixture(autouse=True)
def several_blocks(monkeypatch):
    """Set blocks so small that there are some of every kind."""
    monkeypatch.setattr(device_matrices, "BLOCK", 64)
    monkeypatch.setattr(device_laplace, "_TILE", 16 * 150)
    monkeypatch.setattr(device_laplace, "_ROWS", 16)


def fitted(kernel, place=np.asarray, labels=LABELS, weight=None, **options):
    model = GaussianProcessClassifier(kernel, **({"optimizer": None} | options))
    return model.fit(place(ROWS), place(labels), None if weight is None else place(weight))


def make_evidences(place, weight=None, start=None):
    arrays = [ROWS, LABELS.astype(float), np.ones(150) if weight is None else weight]
    begin = np.zeros(150) if start is None else start
    there = [place(one) for one in (*arrays, begin)]
    xp = Placement.of(there[0]).xp
    return (
        LaplaceEvidence(*arrays, 100, begin),
        device_laplace.DeviceLaplaceEvidence(*there[:3], 100, there[3], xp),
    )


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("weight", [None, 0.2 + WEIGHTS], ids=["plain", "weighted"])
def test_evidence_and_gradient_are_those_of_memory(library, name, weight):
    memory, device = make_evidences(LIBRARIES[library], weight)
    (value, slope), (found, gradient) = memory.evaluate(KERNELS[name]), device.evaluate(KERNELS[name])
    assert found == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-10 * np.abs(slope).max())


@pytest.mark.parametrize("name", KERNELS)
def test_the_gradient_is_that_of_the_evidence(name):
    _, device = make_evidences(torch.asarray, 0.2 + WEIGHTS)
    kernel = KERNELS[name]
    slope, step = device.evaluate(kernel)[1], 1e-5
    for number, move in enumerate(step * np.eye(len(kernel.theta))):
        ahead, behind = (device.evaluate(kernel.with_theta(kernel.theta + way * move), False)[0] for way in (1, -1))
        assert slope[number] == pytest.approx((ahead - behind) / (2 * step), rel=1e-6, abs=1e-6)


def test_a_start_at_the_mode_gives_the_same_evidence():
    kernel = KERNELS["widths"]
    mode = make_evidences(torch.asarray)[1].fitted(kernel, torch.arange(150), 1)
    value = make_evidences(torch.asarray, start=mode.latent.numpy())[1].evaluate(kernel, False)[0]
    assert value == pytest.approx(mode.log_marginal_likelihood_value_, rel=1e-12)


def test_kernels_that_overflow_are_as_bad_as_can_be():
    value, slope = make_evidences(torch.asarray)[1].evaluate(Constant(1e308) * (RBF() + Constant(1e10)))
    assert value == -np.inf
    assert not slope.any()


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_mean_of_the_sigmoid_is_that_of_memory(library):
    random = np.random.default_rng(1)
    mean = random.normal(size=3000) * np.exp(3.0 * random.normal(size=3000))
    variance = np.append(np.exp(6.0 * random.normal(size=2999)), 0.0)
    here, there = average_sigmoids(mean, variance), [LIBRARIES[library](one) for one in (mean, variance)]
    found = np.asarray(device_laplace.average_sigmoids_on_device(Placement.of(there[0]).xp, *there))
    np.testing.assert_allclose(found, here, rtol=0.0, atol=1e-14)
    # Small probabilities keep their digits.
    np.testing.assert_allclose(found, here, rtol=1e-11, atol=1e-300)


def test_the_normal_distribution_function_keeps_its_digits_in_the_tail():
    x = np.linspace(-37.0, 12.0, 5001)
    np.testing.assert_allclose(device_laplace._compute_normal_shares(np, x), ndtr(x), rtol=1e-12)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", ["matern", "columns"])
@pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["plain", "weighted"])
def test_predictions_are_those_of_memory(library, name, weight):
    memory, found = (fitted(KERNELS[name], place, weight=weight) for place in (np.asarray, LIBRARIES[library]))
    rows = LIBRARIES[library](OTHERS)
    assert found.X_train_.shape == memory.X_train_.shape
    np.testing.assert_array_equal(np.asarray(found.predict(rows)), memory.predict(OTHERS))
    np.testing.assert_allclose(np.asarray(found.predict_proba(rows)), memory.predict_proba(OTHERS), rtol=1e-9)
    for here, there in zip(memory.latent_mean_and_variance(OTHERS), found.latent_mean_and_variance(rows), strict=True):
        np.testing.assert_allclose(np.asarray(there), here, rtol=1e-8, atol=1e-9)
    theta = KERNELS[name].theta + 0.1
    pairs = zip(memory.log_marginal_likelihood(theta, True), found.log_marginal_likelihood(theta, True), strict=True)
    for here, there in pairs:
        np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "one_vs_one"])
@pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["plain", "weighted"])
def test_several_classes_are_several_problems_there(multi_class, weight):
    options = {"labels": THREE, "weight": weight, "multi_class": multi_class}
    memory, found = (fitted(1.0 * RBF(), place, **options) for place in (np.asarray, torch.asarray))
    rows = torch.asarray(OTHERS)
    assert found.classes_.tolist() == [4, 5, 6]
    np.testing.assert_array_equal(found.predict(rows), memory.predict(OTHERS))
    assert found.log_marginal_likelihood_value_ == pytest.approx(memory.log_marginal_likelihood_value_, rel=1e-10)
    theta = np.tile(memory.kernels_[0].theta, 3) + 0.1 * np.arange(6)
    assert found.log_marginal_likelihood(theta) == pytest.approx(memory.log_marginal_likelihood(theta), rel=1e-10)
    for here, there in zip(memory.models_, found.models_, strict=True):
        np.testing.assert_array_equal(there.rows, here.rows)
        np.testing.assert_allclose(there.latent, here.latent, rtol=1e-8, atol=1e-10)
    if multi_class == "one_vs_rest":
        np.testing.assert_allclose(found.predict_proba(rows), memory.predict_proba(OTHERS), rtol=1e-9)


def test_hyper_parameters_found_on_a_device_are_those_found_in_memory():
    options = {"optimizer": "fmin_l_bfgs_b", "n_restarts_optimizer": 1, "random_state": 0}
    memory, found = (fitted(1.0 * RBF(np.ones(3)), place, **options) for place in (np.asarray, torch.asarray))
    np.testing.assert_allclose(found.kernel_.theta, memory.kernel_.theta, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(found.history_["objective"], memory.history_["objective"], rtol=1e-6)
    assert found.certificate_.satisfied
    assert isinstance(found.models_[0].L_, torch.Tensor)


def test_kernels_of_scikit_learn_that_have_a_twin_run_there():
    expected = fitted(1.0 * RBF(0.9), torch.asarray).predict_proba(torch.asarray(OTHERS))
    found = fitted(1.0 * scikit.RBF(0.9), torch.asarray).predict_proba(torch.asarray(OTHERS))
    np.testing.assert_array_equal(found, expected)


def test_a_warm_start_continues_from_a_fit_elsewhere():
    model = fitted(KERNELS["widths"], warm_start=True)
    known = model.models_[0].latent
    model.set_params(max_iter_predict=1).fit(torch.asarray(ROWS), torch.asarray(LABELS))
    np.testing.assert_allclose(model.models_[0].latent, known, rtol=1e-9, atol=1e-10)
    assert isinstance(model.models_[0].latent, torch.Tensor)
    model.fit(ROWS, LABELS)
    assert isinstance(model.models_[0].latent, np.ndarray)
    np.testing.assert_allclose(model.models_[0].latent, known, rtol=1e-9, atol=1e-10)


def test_records_move_with_the_model(tmp_path):
    model = fitted(KERNELS["matern"], torch.asarray, labels=THREE)
    mercer.save(model, tmp_path / "model.mercer")
    for home in (mercer.to_device(model, "cpu"), mercer.load(tmp_path / "model.mercer")):
        assert all(isinstance(record.L_, np.ndarray) for record in home.models_)
        np.testing.assert_allclose(home.predict_proba(OTHERS), model.predict_proba(torch.asarray(OTHERS)), rtol=1e-9)
        theta = KERNELS["matern"].theta
        assert home.log_marginal_likelihood(theta) == pytest.approx(model.log_marginal_likelihood(theta), rel=1e-10)
    narrow = array_api_strict.ones(1, dtype=array_api_strict.float32, device=array_api_strict.Device("no_float64"))
    there = mercer.to_device(home, narrow)
    assert there.models_[0].L_.dtype == array_api_strict.float32
    # Float32 from there serves in memory too.
    back = mercer.to_device(there, "cpu")
    np.testing.assert_allclose(back.predict_proba(OTHERS), home.predict_proba(OTHERS), atol=1e-4)
    assert back.log_marginal_likelihood(theta) == pytest.approx(home.log_marginal_likelihood(theta), rel=1e-4)
    assert isinstance(model.models_[0].L_, torch.Tensor)


def test_accuracies_there_count_weights():
    model, memory = fitted(KERNELS["widths"], torch.asarray), fitted(KERNELS["widths"])
    rows, labels = torch.asarray(OTHERS), torch.asarray(LABELS[:40])
    assert model.score(rows, labels) == pytest.approx(memory.score(OTHERS, LABELS[:40]))
    expected = memory.score(OTHERS, LABELS[:40], WEIGHTS[:40])
    assert model.score(rows, labels, torch.asarray(WEIGHTS[:40])) == pytest.approx(expected)


def count_matrices(n):
    """Count the n x n arrays of torch that are alive and have memory of their own."""
    arrays = [one for one in gc.get_objects() if type(one) is torch.Tensor and tuple(one.shape) == (n, n)]
    return len({one.untyped_storage().data_ptr() for one in arrays})


@pytest.mark.filterwarnings("ignore:.*stopped by max_iter")
def test_no_more_matrices_are_live_than_were_forecast(monkeypatch):
    counts, forecasts = [], []

    def factorise(xp, B):
        # The factor that is made here is one more.
        counts.append(count_matrices(150) + 1)
        return device_matrices.factorise_on_device(xp, B)

    def check(subject, X, n_values, what, cure):
        forecasts.append(n_values / 150**2)

    monkeypatch.setattr(device_laplace, "factorise_on_device", factorise)
    monkeypatch.setattr("mercer.gaussian_process._classifier.check_device_room", check)
    for labels, most in ((LABELS, 3), (THREE, 5)):
        gc.collect()
        before = count_matrices(150)
        fitted(1.0 * RBF(), torch.asarray, labels=labels, optimizer="fmin_l_bfgs_b", max_iter=3)
        assert max(counts) - before == forecasts.pop() == most
        counts.clear()


def test_a_gpu_with_too_little_memory_is_found_out_before_it_is_filled(monkeypatch):
    class Rows:
        device = torch.device("cuda", 0)
        shape = (1_000, 2)

    monkeypatch.setattr(device_matrices, "library_of", lambda array: "torch")
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 2**20)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 0)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (2**24, 2**30))
    device_matrices.check_device_room("Model", Rows(), 2e6, "two matrices", "Take fewer.")
    with pytest.raises(MemoryForecastError) as caught:
        device_matrices.check_device_room("Model", Rows(), 3e6, "three matrices", "Take fewer.")
    assert str(caught.value) == "Model: three matrices need 24.3 MiB on cuda:0; 17 MiB is free. Take fewer."


def test_what_is_not_known_on_a_device_is_refused_by_name():
    with pytest.raises(UnsupportedError, match="Periodic: derivatives by hyper-parameters must be asked for rows in m"):
        fitted(Periodic(), torch.asarray, optimizer="fmin_l_bfgs_b")
    with pytest.raises(UnsupportedError, match="Matern: derivatives by hyper-parameters must be asked for rows in mem"):
        fitted(Matern(nu=0.7), torch.asarray)
    with pytest.raises(DataError, match="rows must be in memory"):
        fitted(scikit.ExpSineSquared(), torch.asarray)
    with pytest.raises(UnsupportedError, match="sample_weight cannot be used with white noise"):
        fitted(KERNELS["widths"], torch.asarray, weight=WEIGHTS)
    with pytest.raises(DataError, match="requires 2 or more distinct classes; got 1 class"):
        fitted(RBF(), torch.asarray, labels=np.ones(150, dtype=int))
    with pytest.raises(DataError, match="y must be where X is"):
        GaussianProcessClassifier().fit(torch.asarray(ROWS), LABELS)
    with pytest.raises(UnsupportedError, match="one_vs_one multi-class mode does not support"):
        fitted(RBF(), torch.asarray, labels=THREE, multi_class="one_vs_one").predict_proba(torch.asarray(OTHERS))

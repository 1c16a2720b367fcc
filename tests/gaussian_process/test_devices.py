"""The exact evidence on a device against that in memory: values, derivatives, predictions, and what is refused."""

import numpy as np
import pytest
import torch

from mercer._solver import device_matrices
from mercer._source.placement import Placement
from mercer.errors import DataError, UnsupportedError
from mercer.gaussian_process import GaussianProcessRegressor
from mercer.gaussian_process._device_evidence import DeviceEvidence
from mercer.gaussian_process._evidence import ExactEvidence
from mercer.kernels import (
    RBF,
    Constant,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Plummer,
    RationalQuadratic,
    White,
)

ROWS = np.random.default_rng(0).normal(size=(150, 3)) + 5.0
TARGETS = np.sin(ROWS[:, 0]) + 0.3 * ROWS[:, 1] + 0.1 * np.random.default_rng(1).normal(size=150)
WEIGHTS = np.random.default_rng(2).integers(0, 3, size=150).astype(float)
OTHERS = np.random.default_rng(3).normal(size=(20, 3)) + 5.0
KERNELS = {
    "widths": 1.0 * RBF(np.ones(3)) + White(0.1),
    "exponential": 1.0 * Matern(1.0, nu=0.5) + White(0.1),
    "matern": Constant(2.0) * Matern(np.ones(3), nu=1.5) + Matern(2.0, nu=2.5) * RBF(3.0) + White(0.1),
    "powers": RationalQuadratic(1.0, 2.0) ** 2 + White(0.1),
    "gamma": RBF(gamma=0.3) + Laplacian(gamma=0.5) + White(0.1),
    "columns": RBF(1.0).on([0, 2]) + Plummer(1.0, 3) + InverseMultiquadric(2.0) + Linear() + White(0.1),
}


@pytest.fixture(autouse=True)
def several_blocks(monkeypatch):
    """Set blocks so small that there are some of every kind."""
    monkeypatch.setattr(device_matrices, "BLOCK", 64)


def fitted(kernel, place=np.asarray, weight=None, **options):
    model = GaussianProcessRegressor(kernel, **({"alpha": 1e-3, "normalize_y": True, "optimizer": None} | options))
    return model.fit(place(ROWS), place(TARGETS), None if weight is None else place(weight))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["plain", "weighted"])
def test_evidence_derivatives_and_predictions_are_those_of_memory(name, weight):
    memory, found = (fitted(KERNELS[name], place, weight) for place in (np.asarray, torch.asarray))
    theta = KERNELS[name].theta + 0.1
    for here, there in zip(memory.log_marginal_likelihood(theta, True), found.log_marginal_likelihood(theta, True)):
        np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-7)
    for wanted in ({"return_std": True}, {"return_cov": True}):
        for here, there in zip(memory.predict(OTHERS, **wanted), found.predict(torch.asarray(OTHERS), **wanted)):
            assert isinstance(there, torch.Tensor)
            np.testing.assert_allclose(there, here, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("weight", [None, 1.0 + WEIGHTS], ids=["plain", "weighted"])
def test_curvatures_and_rounding_are_those_of_memory(weight):
    Y, noise, kernel = TARGETS[:, None], np.full(150, 1e-3), KERNELS["matern"]
    here = ExactEvidence(ROWS, Y, noise, weight).measure(kernel)
    placed = [None if one is None else torch.asarray(one) for one in (ROWS, Y, noise, weight)]
    there = DeviceEvidence(Placement.of(placed[0]).xp, *placed).measure(kernel)
    # An entry is a sum of terms of both signs, so its rounding is measured against the diagonal.
    scale = np.sqrt(np.outer(np.diag(here.information), np.diag(here.information)))
    np.testing.assert_allclose(there.information / scale, here.information / scale, atol=1e-8)
    assert there.rounding == pytest.approx(here.rounding, rel=1e-6)


def test_hyper_parameters_found_on_a_device_are_those_found_in_memory():
    memory, found = (
        fitted(KERNELS["widths"], place, optimizer="fmin_l_bfgs_b") for place in (np.asarray, torch.asarray)
    )
    # Along a width that hardly matters both end where the gain is rounding, and steps on the way magnify rounding.
    reached = memory.log_marginal_likelihood_value_
    assert memory.log_marginal_likelihood(found.kernel_.theta) == pytest.approx(reached, rel=1e-6)
    assert found.history_["objective"][0] == pytest.approx(memory.history_["objective"][0], rel=1e-9)
    assert found.history_["objective"][-1] == pytest.approx(reached, rel=1e-6)
    assert found.certificate_.satisfied
    assert isinstance(found.L_, torch.Tensor)


def test_several_targets_share_one_factor():
    Y = np.column_stack([TARGETS, ROWS[:, 2]])
    models = [
        GaussianProcessRegressor(KERNELS["widths"], normalize_y=True, max_iter=5).fit(place(ROWS), place(Y))
        for place in (np.asarray, torch.asarray)
    ]
    here, there = models[0].predict(OTHERS, return_std=True), models[1].predict(torch.asarray(OTHERS), return_std=True)
    for expected, got in zip(here, there):
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8)


def test_equal_rows_without_noise_get_the_jitter_that_memory_gives_them():
    X = np.repeat(ROWS[:40], 2, axis=0)
    y = np.repeat(TARGETS[:40], 2)
    models = [
        GaussianProcessRegressor(RBF(), alpha=0.0, optimizer=None).fit(place(X), place(y))
        for place in (np.asarray, torch.asarray)
    ]
    assert models[1].jitter_ > 0
    assert models[1].jitter_ == pytest.approx(models[0].jitter_)


def test_the_inverse_of_a_factor_takes_its_place():
    root = np.random.default_rng(4).normal(size=(200, 200))
    L = torch.linalg.cholesky(torch.asarray(root @ root.T + 200 * np.eye(200)))
    V = L.clone()
    device_matrices.invert_lower(torch, V)
    np.testing.assert_allclose(V @ L, np.eye(200), atol=1e-12)


def test_what_has_no_closed_form_on_a_device_is_refused_by_name():
    with pytest.raises(UnsupportedError, match="Periodic: derivatives by hyper-parameters must be asked for rows in m"):
        fitted(Periodic() + White(0.1), torch.asarray, optimizer="fmin_l_bfgs_b")
    with pytest.raises(UnsupportedError, match="Matern: derivatives by hyper-parameters must be asked for rows in mem"):
        fitted(Matern(nu=0.7) + White(0.1), torch.asarray)
    with pytest.raises(DataError, match="rows must be in memory"):
        fitted(RBF(), torch.asarray, solver="inducing")


@pytest.mark.parametrize(
    ("what", "asked"),
    [
        ("leave_one_out", lambda model: model.leave_one_out()),
        ("sample_y", lambda model: model.sample_y(torch.asarray(OTHERS))),
        ("return_gradient=True", lambda model: model.predict(torch.asarray(OTHERS), return_gradient=True)),
    ],
)
def test_what_needs_a_model_in_memory_says_so(what, asked):
    with pytest.raises(UnsupportedError) as caught:
        asked(fitted(KERNELS["widths"], torch.asarray))
    assert str(caught.value) == (
        f"GaussianProcessRegressor: {what} needs a model in memory; this one is on cpu (torch). Move it with "
        f"mercer.to_device(model, 'cpu')."
    )

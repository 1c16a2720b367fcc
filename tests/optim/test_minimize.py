"""One door for all methods: parity with SciPy, the same bits, other array libraries."""

import numpy as np
import pytest
import scipy.optimize

from mercer.optim import (
    HIMMELBLAU,
    ROSENBROCK,
    Adam,
    GradientNorm,
    MaxIter,
    minimize,
)
from mercer.optim._minimize import METHODS

SHARP = MaxIter(5000) | GradientNorm(1e-9)
STEPS = {"gradient_descent": 1e-3, "momentum": 1e-4, "nesterov": 1e-4, "rmsprop": 1e-3, "adam": 1e-2, "adamw": 1e-2}


def options(name):
    return {"learning_rate": STEPS[name]} if name in STEPS else {}


def arguments(name):
    """What a method needs besides function and start."""
    if name == "proximal_gradient":
        return {"bounds": (-10.0, 10.0)}
    return options(name)


@pytest.mark.parametrize(
    ("ours", "theirs"), [("lbfgs", "L-BFGS-B"), ("newton", "Newton-CG"), ("conjugate_gradient", "CG")]
)
@pytest.mark.parametrize("surface", [ROSENBROCK, HIMMELBLAU], ids=lambda surface: surface.name)
def test_the_value_is_as_low_as_scipys(ours, theirs, surface):
    second = {"hess": surface.hessian} if ours == "newton" else {}
    start = np.array([-1.2, 1.0])
    result = minimize(surface, start, method=ours, grad=surface.gradient, stop=SHARP, **second)
    expected = scipy.optimize.minimize(surface, start, jac=surface.gradient, method=theirs, tol=1e-9, **second)
    assert result.value <= expected.fun + 1e-12
    assert result.converged
    assert result.reason == "GradientNorm(1e-09)"
    assert np.min(np.linalg.norm(surface.minima - result.x, axis=1)) < 1e-5


def test_lbfgs_takes_few_gradients_in_many_dimensions():
    start = np.tile([-1.2, 1.0], 25)
    result = minimize(
        scipy.optimize.rosen, start, grad=scipy.optimize.rosen_der, stop=MaxIter(2000) | GradientNorm(1e-6)
    )
    expected = scipy.optimize.minimize(
        scipy.optimize.rosen, start, jac=scipy.optimize.rosen_der, method="L-BFGS-B", options={"gtol": 1e-6, "ftol": 0}
    )
    assert result.value < 1e-10
    assert result.n_gradients < 1.5 * expected.njev


@pytest.mark.parametrize("name", METHODS)
def test_a_run_that_goes_on_has_the_bits_of_one_that_was_never_cut(name):
    def go(start, n):
        return minimize(ROSENBROCK, start, grad=ROSENBROCK.gradient, method=name, stop=MaxIter(n), **arguments(name))

    whole, part = go([-1.2, 1.0], 12), go([-1.2, 1.0], 5)
    rest = go(part, 7)
    assert np.array_equal(whole.x, rest.x)
    assert whole.value == rest.value
    assert np.array_equal(whole.history["objective"][5:], rest.history["objective"])


@pytest.mark.parametrize("name", METHODS)
def test_history_counts_and_path_belong_together(name):
    result = minimize(
        ROSENBROCK,
        [-1.2, 1.0],
        grad=ROSENBROCK.gradient,
        method=name,
        stop=MaxIter(6),
        keep_path=True,
        **arguments(name),
    )
    assert result.n_iter == len(result.history["objective"]) == len(result.path) - 1
    assert np.array_equal(result.path[-1], result.x)
    np.testing.assert_allclose(result.history["objective"], [ROSENBROCK(x) for x in result.path[1:]], rtol=1e-12)
    np.testing.assert_allclose(result.history["step_norm"], np.abs(np.diff(result.path, axis=0)).max(axis=1))
    assert result.n_evaluations > 0
    assert result.method.startswith(type(METHODS[name]()).__name__)


def test_the_certificate_is_the_gradient_and_what_was_asked_of_it():
    result = minimize(ROSENBROCK, [-1.2, 1.0], grad=ROSENBROCK.gradient, stop=MaxIter(1000) | GradientNorm(1e-7))
    assert result.certificate.kind == "gradient norm"
    assert result.certificate.value == pytest.approx(np.abs(ROSENBROCK.gradient(result.x)).max())
    assert result.certificate.tolerance == 1e-7
    assert result.certificate.satisfied
    short = minimize(ROSENBROCK, [-1.2, 1.0], grad=ROSENBROCK.gradient, stop=MaxIter(3) | GradientNorm(1e-7))
    assert not short.certificate.satisfied
    assert not short.converged


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"coordinate_search", "newton"}))
def test_torch_tensors_stay_torch_and_differentiate_themselves(name):
    torch = pytest.importorskip("torch", reason="the accelerator library is an extra")
    start = torch.tensor([-1.2, 1.0], dtype=torch.float64)
    kept = start.clone()
    # Few steps: on this surface rounding grows tenfold with each.
    given = {"method": name, "stop": MaxIter(6)} | arguments(name)
    result = minimize(ROSENBROCK, start, **given)
    same = minimize(ROSENBROCK, start.numpy(), grad=ROSENBROCK.gradient, **given)
    assert isinstance(result.x, torch.Tensor)
    assert result.x.device == start.device
    assert torch.equal(start, kept)
    np.testing.assert_allclose(result.x.numpy(), same.x, rtol=1e-6)
    assert result.derivatives == {"gradient": "torch"}


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"coordinate_search", "newton"}))
def test_only_operations_of_the_array_standard_are_used(name):
    strict = pytest.importorskip("array_api_strict", reason="the strict array library comes with the test extra")
    h = strict.asarray([1.0, 5.0])
    result = minimize(
        lambda x: 0.5 * strict.sum(h * x * x), strict.asarray([1.0, -2.0]), grad=lambda x: h * x,
        **({"method": name, "stop": MaxIter(5)} | arguments(name)),
    )  # fmt: skip
    assert type(result.x).__module__.startswith("array_api_strict")
    assert result.value < 10.5


def test_float32_stays_float32_and_any_shape_will_do():
    target = np.arange(6, dtype=np.float32).reshape(2, 3)
    for method in ("lbfgs", "conjugate_gradient", Adam(learning_rate=0.1)):
        result = minimize(
            lambda x: float(np.sum((x - target) ** 2)), np.zeros((2, 3), np.float32), grad=lambda x: 2 * (x - target),
            method=method, stop=MaxIter(500) | GradientNorm(1e-4),
        )  # fmt: skip
        assert result.x.dtype == np.float32
        assert result.x.shape == (2, 3)
        np.testing.assert_allclose(result.x, target, atol=1e-3)

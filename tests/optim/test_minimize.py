"""One door for all methods: parity with SciPy, the same bits, other array libraries, and errors that say what to do."""

import signal
import warnings

import numpy as np
import pytest
import scipy.optimize

import mercer
from mercer.errors import DataError, InterruptWarning, ParameterError
from mercer.optim import (
    HIMMELBLAU,
    LBFGS,
    ROSENBROCK,
    Adam,
    GradientNorm,
    MaxIter,
    Momentum,
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


def test_gradients_come_from_the_function_itself_or_from_differences():
    given = minimize(lambda x: (ROSENBROCK(x), ROSENBROCK.gradient(x)), [-1.2, 1.0], grad=True)
    assert given.derivatives == {"gradient": "given"}
    differences = minimize(ROSENBROCK, [-1.2, 1.0])
    assert differences.derivatives == {"gradient": "central differences"}
    for result in (given, differences):
        np.testing.assert_allclose(result.x, 1.0, atol=1e-5)


def test_a_function_may_write_into_its_argument_and_reuse_its_gradient():
    buffer = np.empty(2)

    def value(x):
        result = ROSENBROCK(x)
        x[:] = 99.0
        return result

    def gradient(x):
        buffer[:] = ROSENBROCK.gradient(x)
        return buffer

    start = np.array([-1.2, 1.0])
    result = minimize(value, start, grad=gradient)
    expected = minimize(ROSENBROCK, start, grad=ROSENBROCK.gradient)
    assert np.array_equal(start, [-1.2, 1.0])
    assert np.array_equal(result.x, expected.x)


def test_a_start_at_the_minimum_ends_at_once():
    result = minimize(ROSENBROCK, [1.0, 1.0], grad=ROSENBROCK.gradient)
    assert result.value == 0.0
    assert result.converged
    assert result.reason == "no lower point"
    assert np.array_equal(result.x, [1.0, 1.0])


def test_a_function_without_a_minimum_is_called_so():
    for method in ("lbfgs", "gradient_descent", "conjugate_gradient"):
        with (
            pytest.raises(DataError, match=r"minimize: fun fell to minus infinity; it has no minimum\."),
            np.errstate(all="ignore"),
        ):
            minimize(lambda x: -np.exp(x[0]), [1.0], grad=lambda x: -np.exp(x), method=method)


def test_torch_parameters_that_record_a_graph_are_taken_as_numbers():
    torch = pytest.importorskip("torch", reason="the accelerator library is an extra")
    start = torch.tensor([2.0, -1.0], requires_grad=True)
    result = minimize(lambda x: (x * x).sum(), start, method="adam", learning_rate=0.1, stop=MaxIter(3))
    assert not result.x.requires_grad
    assert start.grad is None
    assert result.x.dtype == torch.float32


def test_a_callback_sees_each_step_and_may_end_the_run():
    seen = []

    def callback(iterate):
        seen.append((iterate.number, iterate.value))
        return iterate.number == 3

    result = minimize(ROSENBROCK, [-1.2, 1.0], grad=ROSENBROCK.gradient, callback=callback)
    assert [number for number, _ in seen] == [0, 1, 2, 3]
    assert result.reason == "callback"
    assert not result.converged
    assert seen[-1][1] == result.value


def test_ctrl_c_keeps_the_last_complete_step():
    def callback(iterate):
        if iterate.number == 2:
            signal.raise_signal(signal.SIGINT)

    def go():
        return minimize(ROSENBROCK, [-1.2, 1.0], grad=ROSENBROCK.gradient, callback=callback)

    with mercer.config_context(on_interrupt="keep"), pytest.warns(InterruptWarning, match="interrupted after 3 steps"):
        assert go().reason == "interrupt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterruptWarning)
        with pytest.raises(KeyboardInterrupt) as interrupt:
            go()
    assert interrupt.value.result.n_iter == 3


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        ({"method": "bfgs"}, ParameterError, r"minimize: method must be one of 'lbfgs', .*; got 'bfgs'\."),
        ({"memory": 0}, ParameterError, r"LBFGS: memory must be an integer in \[1, inf\); got 0\."),
        ({"rate": 1.0}, ParameterError, r"minimize: the options of 'lbfgs' are memory; got 'rate'\."),
        ({"method": LBFGS(), "memory": 3}, ParameterError, r"options go into the method; got LBFGS\(memory=10\)"),
        ({"method": Momentum(0.1, 1.0)}, ParameterError, r"Momentum: momentum must be a number in \[0, 1\); got 1"),
        ({"hess": len}, ParameterError, r"method 'lbfgs' does not use hess; it is for newton\."),
        ({"bounds": (0, 1)}, ParameterError, r"method 'lbfgs' does not use bounds; it is for proximal_gradient\."),
        ({"method": "proximal_gradient"}, ParameterError, r"'proximal_gradient' needs a penalty or bounds; got"),
        ({"stop": 100}, ParameterError, r"minimize: stop must be rules of mercer\.optim joined by \| or &; got 100\."),
        ({"stop": MaxIter(0)}, ParameterError, r"MaxIter: n must be an integer in \[1, inf\); got 0\."),
        ({"x0": 1.0}, DataError, r"x0 must have at least one dimension; got a single number\. Give \[x0\]\."),
        ({"x0": [np.nan, 0.0]}, DataError, r"minimize: x0 must be finite; got NaN or infinity\."),
        ({"x0": [1j, 0.0]}, DataError, r"minimize: x0 must hold real floating-point numbers; got complex128\."),
        ({"grad": lambda x: np.zeros(3)}, DataError, r"grad must return an array of the shape of x, \(2,\)"),
        ({"fun": lambda x: x}, DataError, r"minimize: fun must return one real number; got \(2,\)\."),
        ({"fun": lambda x: np.inf}, DataError, r"minimize: fun must be finite at x0; got inf\. Start elsewhere\."),
    ],
)  # fmt: skip
def test_errors_name_the_rule_and_what_came(call, error, text):
    given = {"fun": ROSENBROCK, "x0": [-1.2, 1.0]} | call
    with pytest.raises(error, match=text):
        minimize(given.pop("fun"), given.pop("x0"), **given)


def test_a_result_cannot_be_continued_by_another_method():
    result = minimize(ROSENBROCK, [-1.2, 1.0], method="adam", stop=MaxIter(2))
    with pytest.raises(ParameterError, match=r"x0 is a result of Adam\(.*\), which 'lbfgs' cannot continue"):
        minimize(ROSENBROCK, result)

"""What users do to a minimiser: odd functions, callbacks, Ctrl-C, wrong arguments; and what it says."""

import signal
import warnings

import numpy as np
import pytest

import mercer
from mercer.errors import DataError, InterruptWarning, ParameterError
from mercer.optim import LBFGS, ROSENBROCK, MaxIter, Momentum, minimize


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


def test_a_slope_that_is_infinite_beside_a_finite_value_turns_the_search_back():
    """The first trial lands a hair inside the wall, so that one of its two differences falls outside."""
    trials = []

    def walled(x):
        trials.append(float(x[0]))
        return -np.log(1 - x[0]) / 3 - (4 / 3 - 1e-11) * x[0] if x[0] < 1 else np.inf

    result = minimize(walled, np.array([0.0]))
    assert 1 - 1e-6 < trials[3] < 1
    assert result.converged
    assert result.x[0] == pytest.approx(0.75, abs=1e-5)

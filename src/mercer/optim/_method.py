"""What a method of minimisation is: declared options, and a solver made of them."""

from dataclasses import fields
from typing import Any, ClassVar

from mercer._base.parameter import Rule, check_parameters
from mercer._solver import Certificate, Solver, Step
from mercer._solver.vector import largest_entry
from mercer._types import Array
from mercer.optim._stopping import GradientNorm, MaxIter, StopRule


class Method:
    """Base of methods: a frozen dataclass whose fields are the options.

    ``name`` is what :func:`~mercer.optim.minimize` calls it, ``rules`` the range of each option, ``uses`` what it takes
    besides function and gradient, ``any_library`` whether it works on arrays of other libraries than NumPy, and
    ``state`` the record of its solver's state.
    """

    name: ClassVar[str]
    rules: ClassVar[dict[str, Rule]] = {}
    uses: ClassVar[frozenset[str]] = frozenset()
    any_library: ClassVar[bool] = True
    state: ClassVar[type]

    def check(self) -> None:
        """Raise if an option is outside its range."""
        check_parameters(type(self).__name__, self.rules, vars(self))

    def solve(self, start: Any) -> Solver:
        """Return a solver that starts from parameters, or goes on from a state."""
        raise NotImplementedError  # each method defines its own

    def default_stop(self) -> StopRule:
        """Return the rule in force where the user gives none."""
        return MaxIter(1000) | GradientNorm(1e-6)

    def describe(self) -> str:
        """Return the method as it would be written."""
        options = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({options})"


def certify_gradient(gradient: Array) -> Certificate:
    """Return the size of the gradient: zero at every stationary point."""
    statement = "Largest entry of the gradient: zero where the function is stationary; it bounds no distance by itself."
    return Certificate.of("gradient norm", largest_entry(gradient), float("nan"), statement)


def make_step(state: Any, before: Array, **measures: float) -> Step:
    """Return the record of a step that ended in `state` and began at `before`."""
    certificate = certify_gradient(state.gradient)
    extra = {"gradient_norm": certificate.value, "step_norm": largest_entry(state.x - before), **measures}
    return Step(state.value, state, certificate, extra)

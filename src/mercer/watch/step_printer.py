"""A line of print for each step of a fit."""

from collections.abc import Callable

from mercer._solver import Step


class StepPrinter:
    """A watch that prints what an estimator says of each step: what the parameter ``verbose`` asks for.

    An empty line is not printed.
    """

    def __init__(self, describe: Callable[[int, Step], str]) -> None:
        self.describe = describe

    def step(self, number: int, step: Step) -> str | None:
        if line := self.describe(number, step):
            print(line)
        return None

    def choose_step(self, last: Step) -> Step:
        return last

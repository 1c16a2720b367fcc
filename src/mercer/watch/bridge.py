"""The bridge from the driver's steps to scikit-learn's callback protocol."""

from collections.abc import Callable, Sequence
from typing import Any

from mercer._solver import Step
from mercer.watch.early_stopping import EarlyStopping


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


class CallbackBridge:
    """Reports each step of a fit as a task below the fit's own task.

    Parameters
    ----------
    estimator : estimator
        The estimator being fitted; its callbacks have been set up in `root`.
    root : sklearn.callback.CallbackContext
        The context of the fit.
    fitted : callable
        From a solver's state to the attributes of a model that can predict.
    X, y : array-like
        The training data, for callbacks that ask for it.
    judges : sequence of EarlyStopping
        Those of the callbacks that say which step is the best.
    """

    def __init__(
        self,
        estimator: Any,
        root: Any,
        fitted: Callable[[Any], dict[str, Any]],
        X: Any = None,
        y: Any = None,
        judges: Sequence[EarlyStopping] = (),
    ) -> None:
        self.estimator = estimator
        self.root = root
        self.fitted = fitted
        self.data = {"X": X, "y": y}
        self.kept: Step | None = None
        self.seen = 0
        self.judges = judges
        root.call_on_fit_task_begin(estimator=estimator, **self.data)
        self.task = self._begin_task()

    def step(self, number: int, step: Step) -> str | None:
        stop = self.task.call_on_fit_task_end(
            estimator=self.estimator, **self.data, reconstruction_attributes=lambda: self.fitted(step.state)
        )
        if any(judge.best_step_ == self.seen for judge in self.judges):
            self.kept = step
        self.seen += 1
        if stop:
            return "callback"
        if self.root.max_subtasks is None or self.seen < self.root.max_subtasks:
            self.task = self._begin_task()
        return None

    def choose_step(self, last: Step) -> Step:
        return self.kept or last

    def end(self, state: Any) -> None:
        """Report the end of the fit."""
        self.root.call_on_fit_task_end(
            estimator=self.estimator, **self.data, reconstruction_attributes=lambda: self.fitted(state)
        )

    def _begin_task(self) -> Any:
        task = self.root.subcontext("step")
        return task.call_on_fit_task_begin(estimator=self.estimator, **self.data)

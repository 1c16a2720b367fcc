"""Decide by expected cost, and measure what the decisions would have cost on unseen rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.app.options import Options
from mercer.app.study.choice.selection import Selection
from mercer.app.study.dataset import Dataset
from mercer.app.study.formatting import spell_amount
from mercer.app.study.record import CostCurve, Decision
from mercer.decision import add_reject, optimal_action
from mercer.errors import ParameterError
from mercer.model_selection import score_interval

# Thresholds of the cost curve, beside 0 and 1.
_THRESHOLDS = 99


@dataclass(frozen=True)
class Stakes:
    """Actions, and the cost of each where each class is true: one matrix for all rows, or one for each row."""

    actions: list[str]
    costs: np.ndarray

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Return the cost matrices of some rows, of shape (n_rows, n_actions, n_classes)."""
        if self.costs.ndim == 3:
            return self.costs[rows]
        return np.broadcast_to(self.costs, (len(rows), *self.costs.shape))


def read_stakes(dataset: Dataset, options: Options) -> Stakes | None:
    """Return the costs that the user gave, checked, or None if there are none."""
    classes = dataset.classes
    if options.costs is None and dataset.cost is None and options.reject is None:
        return None
    if not classes:
        raise ParameterError("costs: decisions need classes, but the target is a number. Leave the costs out.")
    if dataset.cost is not None:
        costs = _make_row_costs(dataset, options)
    elif options.costs is None:
        # Without costs each mistake costs 1, and a reject option is measured against that.
        costs = 1.0 - np.eye(len(classes))
    else:
        costs = np.asarray(options.costs, dtype=float)
    if costs.ndim == 2 and costs.shape[1] != len(classes):
        raise ParameterError(
            f"costs: each action must have one cost per class, {', '.join(classes)}; got {costs.shape[1]} for "
            f"{len(classes)} classes."
        )
    # As many actions as classes are named after the classes: action k is to treat the row as class k.
    actions = options.actions or (classes if costs.shape[-2] == len(classes) else None)
    actions = list(actions or (f"action {place + 1}" for place in range(costs.shape[-2])))
    if len(actions) != costs.shape[-2]:
        raise ParameterError(f"costs: there must be one name per action, {costs.shape[-2]}; got {len(actions)}.")
    if options.reject is not None:
        costs, actions = add_reject(costs, options.reject), [*actions, "reject"]
    return Stakes(actions, costs)


def _make_row_costs(dataset: Dataset, options: Options) -> np.ndarray:
    """Return a cost matrix per row: a miss costs what the cost column says, a false alarm `options.false_alarm`."""
    if dataset.positive is None:
        raise ParameterError(
            f"cost: a cost column needs a target of two classes; got {len(dataset.classes)}. Give a cost matrix."
        )
    positive = dataset.classes.index(dataset.positive)
    costs = np.zeros((len(dataset), 2, 2))
    # Axis 1 is the action and axis 2 the true class: the miss is action "negative" on a positive row.
    costs[:, 1 - positive, positive] = dataset.cost
    costs[:, positive, 1 - positive] = options.false_alarm
    return costs


def decide(selection: Selection, dataset: Dataset, options: Options, stakes: Stakes, seen: np.ndarray) -> Decision:
    """Decide about each row by its expected cost, and measure what that would have cost."""
    predictions = selection.winner.predictions
    true = np.searchsorted(dataset.classes, dataset.y)
    costs = stakes.of(np.arange(len(dataset)))
    action = np.full(len(dataset), -1)
    action[seen] = optimal_action(predictions[seen], costs[seen]).action
    # `paid` is (rows, actions): what each action would have cost, given the true class.
    paid = costs[np.arange(len(dataset)), :, true]
    spent = paid[np.arange(len(dataset)), action]
    folds = [spent[test].mean() for _, test in selection.plan.outer[: selection.plan.folds]]
    interval = score_interval(folds, test_share=selection.plan.test_share, level=options.level)
    always = {f"always {name}": float(paid[seen, place].mean()) for place, name in enumerate(stakes.actions)}
    cost = float(spent[seen].mean())
    cheapest = min(always, key=lambda name: always[name])
    saved = always[cheapest] - cost
    text = (
        f"If the action of least expected cost is taken for each row, an unseen row costs {spell_amount(cost)} on "
        f"average. The best fixed action, {cheapest}, costs {spell_amount(always[cheapest])}: "
        + (f"the model saves {spell_amount(saved)} per row." if saved > 0 else "the model saves nothing.")
    )
    return Decision(
        stakes.actions,
        stakes.costs.tolist() if stakes.costs.ndim == 2 else [],
        cost,
        # The interval is of the mean over folds, which differs a little from the mean over rows that is told.
        min(interval.low, cost),
        max(interval.high, cost),
        always,
        [float((action[seen] == place).mean()) for place in range(len(stakes.actions))],
        _make_cost_curve(dataset, predictions[seen], true[seen], costs[seen], options),
        text,
    )


def _make_cost_curve(
    dataset: Dataset, predictions: np.ndarray, true: np.ndarray, costs: np.ndarray, options: Options
) -> CostCurve | None:
    """Return the cost per row against the threshold, if there are two classes and an action for each."""
    if dataset.positive is None or costs.shape[1] < 2 or len(dataset.classes) != 2:
        return None
    positive = dataset.classes.index(dataset.positive)
    chance = predictions[:, positive]
    thresholds = np.linspace(0, 1, _THRESHOLDS + 2)
    every: list[Any] = []
    for threshold in thresholds:
        act = np.where(chance >= threshold, positive, 1 - positive)
        paid = costs[np.arange(len(true)), act, true]
        # Half the width of a 95 % interval of the mean.
        half = 1.96 * paid.std() / np.sqrt(len(paid))
        every.append((paid.mean(), paid.mean() - half, paid.mean() + half))
    cost, low, high = np.array(every).T
    return CostCurve(
        thresholds.tolist(), cost.tolist(), low.tolist(), high.tolist(), float(thresholds[int(cost.argmin())])
    )


def check_threshold(threshold: float, dataset: Dataset) -> None:
    """Raise if a threshold makes no sense for this target."""
    if dataset.positive is None:
        raise ParameterError("threshold: it needs a target of two classes. Leave it out, or give --costs.")
    if not 0 < threshold < 1:
        raise ParameterError(f"threshold: it must be a probability between 0 and 1; got {threshold:g}.")

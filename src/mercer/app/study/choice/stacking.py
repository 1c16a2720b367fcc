"""Stacking: the weighted mean of the best candidates' predictions, as one more candidate.

The weights come from predictions that exist already. Inside each outer split the inner models have predicted the
training rows without having seen them; these predictions give the weights for the models of the outer split. So the
score of the stack is honest: rows of an outer test part decide neither about models nor about weights. The weights for
all rows come from the outer predictions.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mercer._base.candidate import Candidate
from mercer._base.interface import BaseEstimator
from mercer._source.threads import n_threads, run_numbered
from mercer.app.options import Options
from mercer.app.study.dataset import Dataset
from mercer.app.study.recipe import choose_costs
from mercer.decision import DecisionClassifier
from mercer.ensemble import VotingClassifier, VotingRegressor
from mercer.model_selection import Contender, Trial
from mercer.model_selection.trials import Plan, fit_settings

NAME = "stacked models"
# Place between simple and complex: a reader must take in several models.
RANK = 300
# The most models in a stack, and the least weight of one: each has to be fitted, stored and asked.
_MOST_MEMBERS = 4
_LEAST_WEIGHT = 0.05
# The search for weights ends where the log loss exceeds its least value by this at most (nats), or after these steps.
_GAP = 1e-5
_STEPS = 2000
# Probabilities below this count as this: one wrong certainty would decide about all weights.
_LEAST_PROBABILITY = 1e-4
# With fewer rows to learn weights from, the members have equal weights.
_FEWEST_ROWS = 30


@dataclass(frozen=True)
class Stack:
    """A stack of candidates: its trial, its members' weights for all rows, and those of each outer split."""

    trial: Trial
    names: list[str]
    weights: np.ndarray
    fold_weights: np.ndarray


class _Answers(BaseEstimator):
    """Predictions that are known already, in the place of a model, so that scorers can score them."""

    def __init__(self, predictions: Any = None, classes: Any = None, costs: Any = None) -> None:
        self.predictions = predictions
        self.classes = classes
        self.costs = costs

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted values, or the classes of least expected cost."""
        if self.classes is None:
            return self.predictions
        shares = self.predictions if self.costs is None else -(self.predictions @ self.costs.T)
        return self.classes[shares.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class probabilities."""
        return self.predictions

    @property
    def classes_(self) -> Any:
        """The classes, in the order of the probabilities."""
        return self.classes


def learn_weights(predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return weights of models, at least 0 and with sum 1, for the mean of their predictions of unseen rows.

    Parameters
    ----------
    predictions : ndarray of shape (n_models, n_rows) or (n_models, n_rows, n_classes)
        Values, or class probabilities.
    y : ndarray of shape (n_rows,)
        True values, or indices of the true classes.
    """
    if predictions.ndim == 3:
        # What counts of a probability forecast is the probability of the true class.
        likely = np.clip(predictions[:, np.arange(len(y)), y], _LEAST_PROBABILITY, 1.0).astype(float)
        losses, given = -np.log(likely).mean(axis=1), likely
    else:
        given = predictions.astype(float) - y
        losses = (given**2).mean(axis=1)
    search = _weigh_probabilities if predictions.ndim == 3 else _weigh_values
    weights = np.zeros(len(predictions))
    best = np.argsort(losses, kind="stable")[:_MOST_MEMBERS]
    if len(y) < _FEWEST_ROWS:
        weights[best] = 1 / len(best)
        return weights
    found = search(given[best])
    # Members of little weight are left out, and the others share it.
    kept = found >= min(_LEAST_WEIGHT, found.max())
    weights[best[kept]] = search(given[best[kept]])
    return weights


def _weigh_probabilities(likely: np.ndarray) -> np.ndarray:
    """Return the weights of least log loss, by EM for the weights of a mixture: each step lowers the loss.

    The loss is convex in the weights, and its slopes are minus the factors of a step: the loss exceeds its least value
    by the largest factor less one at most.
    """
    weights = np.full(len(likely), 1 / len(likely))
    for _ in range(_STEPS):
        factors = (likely / (weights @ likely)).mean(axis=1)
        if factors.max() <= 1 + _GAP:
            break
        weights = weights * factors
    return weights


def _weigh_values(errors: np.ndarray) -> np.ndarray:
    """Return the weights of least squared error of the weighted mean."""
    # The search for weights counts what is far below 1 as zero: errors are measured in their largest one.
    largest = float(np.abs(errors).max())
    if largest == 0.0:
        return np.full(len(errors), 1 / len(errors))
    errors = errors / largest
    # With weights of sum 1 the error of the mean is the mean of the errors. The last row holds the sum at 1:
    # it weighs a thousand times as much as all rows together.
    heavy = 1e3 * float(np.sqrt((errors**2).sum()))
    table = np.vstack([errors.T, np.full((1, len(errors)), heavy)])
    weights, _ = nnls(table, np.append(np.zeros(errors.shape[1]), heavy))
    return weights / weights.sum()


def make_stack(plan: Plan, trials: list[Trial], dataset: Dataset, costs: Any) -> Stack | None:
    """Return the stack of all but the first trial, which is that of the constant; None where it cannot be made.

    `costs` are those of `choose_costs`: ``"balanced"``, a matrix, or None.
    """
    members = [trial for trial in trials[1:] if trial.inner_predictions is not None]
    if len(members) < 2 or dataset.weight is not None:
        return None
    classes = plan.classes
    target = plan.rows.y if classes is None else np.searchsorted(classes, plan.rows.y)
    inside = np.stack([trial.inner_predictions for trial in members])  # type: ignore[misc]
    outside = np.stack([trial.predictions for trial in members])
    n_outer = len(plan.outer)
    inner_scores = np.empty((n_outer, 1, len(plan.inner[0])))
    scores, fold_weights = np.empty(n_outer), []
    whole = np.full(outside.shape[1:], np.nan)
    for fold, (train, test) in enumerate(plan.outer):
        known = _find_known(inside[:, fold])
        for place, (fitted, judged) in enumerate(plan.inner[fold]):
            learnt = np.setdiff1d(known, judged)
            weights = learn_weights(inside[:, fold][:, learnt], target[learnt])
            pooled = np.tensordot(weights, inside[:, fold][:, judged], 1).astype(float)
            inner_scores[fold, 0, place] = _score(plan, pooled, fitted, judged, costs)
        weights = learn_weights(inside[:, fold][:, known], target[known])
        fold_weights.append(weights)
        whole[test] = np.tensordot(weights, outside[:, test], 1)
        scores[fold] = _score(plan, whole[test], train, test, costs)
    rows = _find_known(outside)
    trial = Trial(
        NAME,
        RANK,
        [{}],
        inner_scores,
        np.zeros(n_outer, dtype=int),
        scores,
        np.full(n_outer, np.nan),  # known only once the stack is fitted as one model
        whole,
        sum(t.seconds for t in members),
    )
    names = [trial.name for trial in members]
    return Stack(trial, names, learn_weights(outside[:, rows], target[rows]), np.array(fold_weights))


def measure_gain(trial: Trial, other: Trial, plan: Plan) -> tuple[float, float]:
    """Return by how much the loss of each row is lower for `trial` than for `other`, and the standard error of that.

    The loss is the log loss of classes, or the squared error of numbers; both trials have predicted the same rows.
    """
    rows = _find_known(np.stack([trial.predictions, other.predictions]))
    target = plan.rows.y[rows]
    losses = []
    for predictions in (trial.predictions[rows], other.predictions[rows]):
        if plan.classes is None:
            losses.append((predictions - target) ** 2)
        else:
            place = np.searchsorted(plan.classes, target)
            # A probability of zero would make one row decide alone.
            losses.append(-np.log(np.clip(predictions[np.arange(len(rows)), place], _LEAST_PROBABILITY, 1.0)))
    # The difference is taken row by row: what makes a row hard for both cancels.
    gain = losses[1] - losses[0]
    return float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain)))


def _find_known(predictions: np.ndarray) -> np.ndarray:
    """Return the rows that every model has predicted."""
    finite = np.isfinite(predictions)
    return np.flatnonzero(finite.all(axis=(0, 2) if finite.ndim == 3 else 0))


def _score(plan: Plan, pooled: np.ndarray, train: np.ndarray, test: np.ndarray, costs: Any) -> float:
    """Return the score of predictions of `test` by models that were fitted to `train`."""
    classes = plan.classes
    if isinstance(costs, str) and classes is not None:
        shares = np.array([np.mean(plan.rows.y[train] == name) for name in classes])
        # As in DecisionClassifier: a class that the training rows lack has a share of almost 0.
        costs = (1 - np.eye(len(classes))) / (len(classes) * np.maximum(shares, np.finfo(float).tiny))
    return plan.rows.score(_Answers(pooled, classes, costs), test, test)


def build_pipeline(
    contenders: dict[str, Contender], names: list[str], weights: np.ndarray, settings: list[dict[str, Any]], costs: Any
) -> Pipeline:
    """Return the stack as a pipeline that takes a table; its members of weight 0 are left out."""
    members = []
    for name, weight, setting in zip(names, weights, settings):
        if weight > 0:
            pipeline = clone(contenders[name].estimator).set_params(**setting)
            last = pipeline.steps[-1][1]
            # Probabilities are averaged before the decision by costs, not the decisions of the members.
            inside = last.estimator if isinstance(last, DecisionClassifier) else last
            members.append((name, Pipeline([*pipeline.steps[:-1], ("model", inside)])))
    shares = weights[weights > 0]
    model: Any
    if hasattr(members[0][1], "predict_proba"):
        model = VotingClassifier(members, voting="soft", weights=shares, n_jobs=1)
        model = model if costs is None else DecisionClassifier(model, costs=costs)
    else:
        model = VotingRegressor(members, weights=shares, n_jobs=1)
    # Each member encodes the table in its own way.
    return Pipeline([("table", "passthrough"), ("model", model)])


def fit_folds(selection: Any, stack: Stack, dataset: Dataset, options: Options) -> None:
    """Fit the stack of each outer split, with the settings and weights of that split, for the rest of the study."""
    plan, costs = selection.plan, choose_costs(dataset, selection.metric.scorer, options.threshold)
    trials = {trial.name: trial for trial in selection.trials}
    results: list[Any] = []

    def fit(fold: int) -> Any:
        settings = [trials[name].chosen_settings[fold] for name in stack.names]
        pipeline = build_pipeline(selection.contenders, stack.names, stack.fold_weights[fold], settings, costs)
        return fit_settings(pipeline, [{}], plan.rows, *plan.outer[fold], train_score=True, keep=True)[0]

    run_numbered(fit, len(plan.outer), n_threads(options.n_jobs), results.append)
    full = replace(
        trials[NAME],
        models=[verdict.model for verdict in results],
        train_scores=np.array([verdict.train for verdict in results]),
    )
    selection.trials = [full if trial.name == NAME else trial for trial in selection.trials]
    selection.conclusion = replace(selection.result, trials=selection.trials)


def describe_stack(stack: Stack, task: str) -> Candidate:
    """Return the stack as a candidate, with its members and their weights in words."""
    order = [place for place in np.argsort(-stack.weights, kind="stable") if stack.weights[place] > 0]
    parts = [f"{stack.names[place]} ({100 * stack.weights[place]:.0f} %)" for place in order]
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    text = f"The weighted mean of the predictions of other models: {listed}."
    count = float(len(parts)), f"{len(parts)} models"
    return Candidate(NAME, "ensembles", (task,), RANK, lambda shape: None, complexity=lambda model: count, text=text)

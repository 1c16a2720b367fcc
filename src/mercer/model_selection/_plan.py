"""The outer and inner splits of a nested comparison, on which contenders are tried one after the other."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from mercer._source.threads import run_numbered
from mercer.model_selection._splits import Split, Splitting, split_rows
from mercer.model_selection._trial import Contender, Rows, fit_settings, respond, take_rows


@dataclass(frozen=True)
class Trial:
    """The results of nested cross-validation for one contender.

    Attributes
    ----------
    name : str
        Its name.
    rank : float
        Its complexity.
    settings : list of dict
        The settings tried.
    inner_scores : ndarray of shape (n_outer, n_settings, n_inner)
        Scores inside the training part of each outer split.
    chosen : ndarray of shape (n_outer,)
        The index of the setting with the best mean inner score, for each outer split.
    scores : ndarray of shape (n_outer,)
        Scores of the chosen settings on the outer test rows, which were not used to choose them.
    train_scores : ndarray of shape (n_outer,)
        Scores of the chosen settings on their training rows.
    predictions : ndarray
        Predictions of unseen rows in the first repeat: class probabilities, or values. Rows that are never in a test
        part hold NaN, or None.
    seconds : float
        Total time of its fits.
    models : list
        The model of each outer split, if models are kept.
    inner_predictions : ndarray of shape (n_outer, n_samples) or (n_outer, n_samples, n_classes), or None
        If they were asked for: inside each outer split, the predictions of its training rows by the inner models, which
        were fitted without them, in single precision. The test rows of the split hold NaN.
    """

    name: str
    rank: float
    settings: list[dict[str, Any]]
    inner_scores: np.ndarray
    chosen: np.ndarray
    scores: np.ndarray
    train_scores: np.ndarray
    predictions: np.ndarray
    seconds: float
    models: list[Any] = field(default_factory=list)
    inner_predictions: np.ndarray | None = None

    @property
    def best_setting(self) -> dict[str, Any]:
        """The setting with the best inner score over all outer splits, for the fit to all rows."""
        return self.settings[int(self.inner_scores.mean(axis=(0, 2)).argmax())]

    @property
    def chosen_settings(self) -> list[dict[str, Any]]:
        """The setting chosen in each outer split."""
        return [self.settings[choice] for choice in self.chosen]

    def inner_at_choice(self) -> np.ndarray:
        """Return the inner scores of the chosen settings, of shape (n_outer, n_inner)."""
        return self.inner_scores[np.arange(len(self.chosen)), self.chosen]


@dataclass(frozen=True)
class Plan:
    """Outer splits, and inner splits of each outer training part; all are row indices into the whole."""

    rows: Rows
    classes: np.ndarray | None
    outer: list[Split]
    inner: list[list[Split]]
    folds: int

    @property
    def test_share(self) -> float:
        """Test rows divided by training rows, over all splits."""
        return float(np.mean([len(test) / len(train) for train, test in self.outer]))

    def n_fits(self, contender: Contender) -> int:
        """Return the number of fits of a trial."""
        return sum(len(splits) for splits in self.inner) * len(self.list_settings(contender)) + len(self.outer)

    def list_settings(self, contender: Contender) -> list[dict[str, Any]]:
        """List the settings that a trial tries, in their order."""
        return [dict(setting) for setting in ParameterGrid(_list_spaces(contender.space))]

    def run(
        self,
        contender: Contender,
        *,
        threads: int = 1,
        deadline: float | None = None,
        watch: Callable[[int, int], None] | None = None,
        keep: bool = False,
        remember: bool = False,
    ) -> Trial:
        """Try a contender; the result does not depend on the number of threads.

        `keep` keeps the model of each outer split, `remember` the predictions of the inner models.
        """
        settings = self.list_settings(contender)
        # Inner fits of all outer splits form one list, so that threads stay busy across splits.
        tasks = [(fold, split) for fold, splits in enumerate(self.inner) for split in splits]
        n_steps = len(tasks) + len(self.outer)
        results: list[Any] = []

        def receive(scored: Any) -> None:
            results.append(scored)
            if watch is not None:
                watch(len(results), n_steps)

        def score_inside(task: int) -> Any:
            ask = self._ask if remember else None
            return fit_settings(contender.estimator, settings, self.rows, *tasks[task][1], ask=ask, deadline=deadline)

        run_numbered(score_inside, len(tasks), threads, receive)
        inner = np.array([[fit.test for fit in scored] for scored in results], dtype=float)
        # Tasks are ordered by outer split, then by inner split; the result is (outer, setting, inner).
        inner = inner.reshape(len(self.outer), -1, len(settings)).transpose(0, 2, 1)
        seconds = sum(fit.seconds for scored in results for fit in scored)
        # The setting with the best mean over its inner splits, chosen by each outer split for itself.
        chosen = inner.mean(axis=2).argmax(axis=1)

        def score_outside(fold: int) -> Any:
            scored = fit_settings(
                contender.estimator,
                [settings[chosen[fold]]],
                self.rows,
                *self.outer[fold],
                train_score=True,
                keep=True,
                deadline=deadline,
            )[0]
            unseen = take_rows(self.rows.X, self.outer[fold][1])
            # Only the first repeat predicts: each row then has one prediction by a model that has not seen it.
            predictions = respond(scored.model, unseen, self.classes) if fold < self.folds else None
            return scored, predictions

        n_inside = len(results)
        run_numbered(score_outside, len(self.outer), threads, receive)
        outside = results[n_inside:]
        return Trial(
            contender.name,
            contender.rank,
            settings,
            inner,
            chosen,
            np.array([scored.test for scored, _ in outside]),
            np.array([scored.train for scored, _ in outside]),
            self._gather_predictions([predictions for _, predictions in outside[: self.folds]]),
            seconds + sum(scored.seconds for scored, _ in outside),
            [scored.model for scored, _ in outside] if keep else [],
            self._gather_inner(tasks, results[:n_inside], chosen) if remember else None,
        )

    def _ask(self, model: Any, X: Any) -> np.ndarray:
        """Return the predictions of some rows in single precision: they are as many as rows times outer splits."""
        return respond(model, X, self.classes).astype(np.float32)

    def _gather_inner(self, tasks: list[tuple[int, Split]], results: list[Any], chosen: np.ndarray) -> np.ndarray:
        """Return the predictions of the inner models with the chosen settings, one table for each outer split."""
        shape = results[0][0].answers.shape[1:]
        whole = np.full((len(self.outer), len(self.rows.y), *shape), np.nan, dtype=np.float32)
        for (fold, (_, test)), scored in zip(tasks, results):
            whole[fold][test] = scored[chosen[fold]].answers
        return whole

    def _gather_predictions(self, parts: list[np.ndarray]) -> np.ndarray:
        """Return the predictions of the first repeat's folds, in the order of the rows."""
        shape = (len(self.rows.y), *parts[0].shape[1:])
        numeric = np.issubdtype(parts[0].dtype, np.number)
        # In splits forward in time the earliest rows are never tested; they stay missing.
        whole = np.full(shape, np.nan if numeric else None, dtype=float if numeric else object)
        for (_, test), part in zip(self.outer, parts):
            whole[test] = part
        return whole


def _list_spaces(space: Any) -> Any:
    """Return a space of settings as a list of dictionaries, as ``ParameterGrid`` takes it."""
    return [dict(space)] if isinstance(space, Mapping) else [dict(part) for part in space]


def make_plan(rows: Rows, known: Splitting, *, outer: int = 5, inner: int = 3, repeats: int = 1, seed: int = 0) -> Plan:
    """Split the rows: outer folds, and inner folds inside each outer training part."""
    # Inner splits respect the same groups and times as the outer ones. Each outer split gets a seed of its own.
    splits = split_rows(len(rows.y), known, outer, repeats, seed)
    inside = [
        [
            (train[fitting], train[judging])
            for fitting, judging in split_rows(len(train), known.take(train), inner, 1, seed + 1 + place)
        ]
        for place, (train, _) in enumerate(splits)
    ]
    classes = None if known.labels is None else np.unique(known.labels)
    return Plan(rows, classes, splits, inside, outer)

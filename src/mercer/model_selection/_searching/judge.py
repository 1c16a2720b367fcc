"""Fits a setting to the training rows of a split and scores it on the test rows.

Settings that change the last step of a pipeline alone share the other steps, which are fitted once to each split.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from traceback import format_exc
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline as TheirPipeline

from mercer._base.scikit_learn import callbacks_of
from mercer.model_selection._searching.records import FitScores
from mercer.model_selection._searching.rows import Part, SplitRows, pick_parameters
from mercer.model_selection._searching.scores import Scores, Scoring
from mercer.pipeline import Pipeline

Setting = dict[str, Any]


@dataclass(frozen=True)
class _Prepared:
    """The first steps of a pipeline fitted to a split, its last step not fitted, and the rows that they make."""

    key: frozenset[Any]
    first: Pipeline
    last: Any
    part: Part


class Judge:
    """What the evaluations of a search share.

    Parameters
    ----------
    estimator : estimator
        Not fitted; each evaluation fits a copy.
    rows : SplitRows
        The rows of each split.
    scoring : Scoring
        What scores a fitted model.
    fit_params, score_params : dict
        Keyword arguments of ``fit`` and of the scorer; those with an entry for each row are cut to the split's.
    n_rows : int
        The number of all rows.
    train_scores : bool
        Whether training rows are scored too.
    """

    def __init__(
        self,
        estimator: Any,
        rows: SplitRows,
        scoring: Scoring,
        fit_params: dict[str, Any],
        score_params: dict[str, Any],
        n_rows: int,
        train_scores: bool,
    ) -> None:
        self.estimator, self.rows, self.scoring = estimator, rows, scoring
        self.fit_params, self.score_params, self.n_rows = fit_params, score_params, n_rows
        self.train_scores = train_scores
        # The last step of a pipeline whose other steps are shared.
        self.last = find_last_step(estimator) if not fit_params else None
        self._prepared: dict[int, _Prepared] = {}
        self._locks = [Lock() for _ in rows.splits]

    def meet(self, settings: Sequence[Setting]) -> None:
        """Look at the settings of a round: where one leaves out the last step, no steps are shared."""
        if not all(hasattr(setting[self.last], "fit") for setting in settings if self.last in setting):
            self.last = None

    def split_setting(self, setting: Setting) -> tuple[Setting, Setting]:
        """Return the parameters of the first steps of the pipeline, and those of its last step without its name."""
        if self.last is None:
            return {}, setting
        begin = f"{self.last}__"
        first = {name: value for name, value in setting.items() if not name.startswith(begin)}
        return first, {name[len(begin) :]: value for name, value in setting.items() if name.startswith(begin)}

    def evaluate(self, setting: Setting, split: int, model: Any = None) -> tuple[FitScores, Any]:
        """Fit and score a setting; return the scores and the fitted model, None where the fit failed.

        A given `model` is that of another setting of the same chain, with all parameters set: its fit goes on.
        """
        begun = time.perf_counter()
        try:
            model, part, first = self.fit(setting, split, model)
        except Exception:
            if self.scoring.error_score == "raise":
                raise
            failed = self.scoring.error_score
            return FitScores(failed, failed, time.perf_counter() - begun, 0.0, format_exc()), None
        fitted = time.perf_counter()
        asked: Any = model
        if first is not None and not self.scoring.by_name:
            # A function of the user's sees the pipeline and the rows as they were given.
            asked, part = Pipeline([*first.steps, (self.last, model)]), self.rows.get(split)
        test = self._score(asked, part.unseen, part.truth, self.rows.splits[split][1])
        ended = time.perf_counter()
        train = self._score(asked, part.X, part.y, self.rows.splits[split][0]) if self.train_scores else None
        return FitScores(test, train, fitted - begun, ended - fitted), model

    def fit(self, setting: Setting, split: int, model: Any = None) -> tuple[Any, Part, Pipeline | None]:
        """Return the fitted model, the rows as it takes them, and the shared first steps of the pipeline."""
        first_setting, own = self.split_setting(setting)
        template, part, first = self.estimator, self.rows.get(split), None
        if self.last is not None:
            with self._locks[split]:
                prepared = self._prepare(first_setting, split, part)
            template, part, first = prepared.last, prepared.part, prepared.first
        if model is None:
            model = clone(template).set_params(**copy_values(own))
        params = self.fit_params
        if params:
            params = pick_parameters(params, self.rows.splits[split][0], self.n_rows)
        if part.y is None:
            model.fit(part.X, **params)
        else:
            model.fit(part.X, part.y, **params)
        return model, part, first

    def _prepare(self, setting: Setting, split: int, part: Part) -> "_Prepared":
        """Return the first steps of the pipeline, fitted to the split, and the rows that they make."""
        known, key = self._prepared.get(split), key_of(setting)
        if known is not None and known.key == key:
            return known
        whole = clone(self.estimator).set_params(**copy_values(setting))
        first = whole[:-1]
        made = Part(first.fit_transform(part.X, part.y), part.y, first.transform(part.unseen), part.truth)
        self._prepared[split] = prepared = _Prepared(key, first, whole.steps[-1][1], made)
        return prepared

    def _score(self, model: Any, X: Any, y: Any, rows: np.ndarray) -> Scores:
        params = self.score_params
        if params:
            params = pick_parameters(params, rows, self.n_rows)
        return self.scoring(model, X, y, params)


def find_last_step(estimator: Any) -> str | None:
    """Return the name of the last step of a pipeline whose other steps can be fitted once for many settings."""
    if type(estimator) not in (Pipeline, TheirPipeline) or len(estimator.steps) < 2:
        return None
    name, last = estimator.steps[-1]
    whole = estimator.memory is None and not estimator.verbose and not callbacks_of(estimator)
    whole = whole and getattr(estimator, "transform_input", None) is None
    return name if whole and hasattr(last, "fit") else None


def copy_values(setting: Setting) -> Setting:
    """Return the values of a setting, estimators among them copied."""
    return {
        name: clone(value, safe=False) if hasattr(value, "get_params") else value for name, value in setting.items()
    }


def key_of(setting: Setting) -> frozenset[Any]:
    """Return what is equal for equal settings: other values than numbers and texts equal themselves only."""
    return frozenset(
        (name, type(value), value if value is None or isinstance(value, int | float | str) else id(value))
        for name, value in setting.items()
    )

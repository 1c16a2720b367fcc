"""Fit the chosen candidate to all rows, and describe the fit."""

import time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mercer.app.options import Options
from mercer.app.study.choice.comparison import simplify_setting
from mercer.app.study.choice.selection import Selection
from mercer.app.study.dataset import Dataset
from mercer.app.study.decisions import Stakes
from mercer.app.study.recipe import find_model
from mercer.app.study.record import Fit
from mercer.decision import DecisionClassifier
from mercer.model_selection.trials import fit_weights

# Values of the objective in the record.
_MOST_STEPS = 300


def fit_final(selection: Selection, dataset: Dataset, options: Options, stakes: Stakes | None) -> tuple[Any, Fit]:
    """Fit the chosen candidate to all rows; if costs were given, the model predicts actions."""
    setting = selection.result.setting
    model = clone(selection.contenders[selection.result.winner].estimator).set_params(**setting)
    if stakes is not None and stakes.costs.ndim == 2:
        model = _add_decision(model, options)
    began = time.perf_counter()
    model.fit(dataset.X, dataset.y, **fit_weights(model, dataset.weight))
    return model, describe_fit(find_model(model), setting, time.perf_counter() - began)


def _add_decision(pipeline: Pipeline, options: Options) -> Pipeline:
    """Return the pipeline with a decision rule by the given costs around its model."""
    name, last = pipeline.steps[-1]
    inside = last.estimator if isinstance(last, DecisionClassifier) else last
    decider = DecisionClassifier(inside, costs=options.costs, actions=options.actions, reject_cost=options.reject)
    return Pipeline([*pipeline.steps[:-1], (name, decider)])


def describe_fit(model: Any, setting: dict[str, Any], seconds: float | None) -> Fit:
    """Return what a fitted model reports about its fit; of a pipeline, its last step does."""
    inside = model[-1] if isinstance(model, Pipeline) else model
    certificate = getattr(inside, "certificate_", None)
    objective = np.atleast_1d(getattr(inside, "history_", {}).get("objective", []))
    words = ""
    if certificate is not None:
        value = float(getattr(certificate, "value", np.nan))
        words = f"{certificate.kind}{f' {value:.3g}' if np.isfinite(value) else ''}: {certificate.statement}"
    return Fit(
        type(inside).__name__,
        bool(inside.converged_) if hasattr(inside, "converged_") else None,
        int(np.max(inside.n_iter_)) if hasattr(inside, "n_iter_") else None,
        str(getattr(inside, "solver", "") or ""),
        words,
        [float(value) for value in objective[:_MOST_STEPS] if np.isfinite(value)],
        seconds=seconds,
        settings={
            name.split("__")[-1]: simplify_setting(value) for name, value in setting.items() if value is not None
        },
    )

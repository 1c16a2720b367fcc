"""The final fit: the chosen candidate, fitted to all rows, and what it says of itself."""

import time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mercer.app.options import Options
from mercer.app.study.decisions import Stakes
from mercer.app.study.material import Material
from mercer.app.study.recipe import model_of
from mercer.app.study.record import Fit
from mercer.app.study.selection import Selection
from mercer.decision import DecisionClassifier
from mercer.model_selection.trials import fit_weights

__all__ = ["fit_final", "own_words"]

_MOST_STEPS = 300


def fit_final(selection: Selection, material: Material, options: Options, stakes: Stakes | None) -> tuple[Any, Fit]:
    """Fit the chosen candidate to all rows; where costs were given, what it predicts are actions."""
    setting = selection.result.setting
    model = clone(selection.contenders[selection.result.winner].estimator).set_params(**setting)
    if stakes is not None and stakes.costs.ndim == 2:
        model = _deciding(model, options)
    began = time.perf_counter()
    model.fit(material.X, material.y, **fit_weights(model, material.weight))
    return model, own_words(model_of(model), setting, time.perf_counter() - began)


def _deciding(pipeline: Pipeline, options: Options) -> Pipeline:
    name, last = pipeline.steps[-1]
    inside = last.estimator if isinstance(last, DecisionClassifier) else last
    decider = DecisionClassifier(inside, costs=options.costs, actions=options.actions, reject_cost=options.reject)
    return Pipeline([*pipeline.steps[:-1], (name, decider)])


def own_words(model: Any, setting: dict[str, Any], seconds: float | None) -> Fit:
    """What a fitted model says of its fit; of a pipeline its last step does."""
    inside = model[-1] if isinstance(model, Pipeline) else model
    certificate = getattr(inside, "certificate_", None)
    objective = np.atleast_1d(getattr(inside, "history_", {}).get("objective", []))
    value = float(getattr(certificate, "value", np.nan) if certificate is not None else np.nan)
    words = "" if certificate is None else f"{certificate.kind}: {certificate.statement}"
    if np.isfinite(value):
        words = f"{certificate.kind} {value:.3g}: {certificate.statement}"
    return Fit(
        type(inside).__name__,
        bool(inside.converged_) if hasattr(inside, "converged_") else None,
        int(np.max(inside.n_iter_)) if hasattr(inside, "n_iter_") else None,
        str(getattr(inside, "solver", "") or ""),
        words,
        [float(one) for one in objective[:_MOST_STEPS] if np.isfinite(one)],
        seconds=seconds,
        settings={name.split("__")[-1]: value for name, value in setting.items()},
    )

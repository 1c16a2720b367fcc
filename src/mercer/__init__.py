"""mercer: classical machine learning, whole, with estimators that show their work.

Families load on first use, so ``import mercer`` costs next to nothing.
"""

import importlib
import os
from typing import TYPE_CHECKING, Any

from mercer import errors
from mercer._config import config_context, get_config, set_config
from mercer._families import FAMILIES
from mercer._version import __version__

if TYPE_CHECKING:
    from mercer._base.forecasting import forecast
    from mercer._base.model_file import load, save
    from mercer._base.model_placement import to_device
    from mercer._base.scaling import amdahl, measure_growth
    from mercer._versions import show_versions
    from mercer.app.check.checking import check
    from mercer.app.job import run
    from mercer.app.study.result import Study
    from mercer.app.switch.switching import accelerate

__all__ = [
    "Study",
    "__version__",
    "accelerate",
    "amdahl",
    "base",
    "bayesnet",
    "calibration",
    "callback",
    "check",
    "cluster",
    "compose",
    "config_context",
    "conformal",
    "covariance",
    "cross_decomposition",
    "datasets",
    "decision",
    "decomposition",
    "describe",
    "discriminant_analysis",
    "dummy",
    "energy",
    "ensemble",
    "errors",
    "estimation",
    "exceptions",
    "explain",
    "feature_extraction",
    "feature_selection",
    "forecast",
    "frozen",
    "gaussian_process",
    "get_config",
    "hmm",
    "impute",
    "inspection",
    "isotonic",
    "kernel_approximation",
    "kernel_ridge",
    "kernels",
    "linear_model",
    "load",
    "manifold",
    "measure_growth",
    "metrics",
    "mixture",
    "model_selection",
    "multiclass",
    "multioutput",
    "naive_bayes",
    "neighbors",
    "neural_network",
    "objectives",
    "optim",
    "outliers",
    "pipeline",
    "preprocessing",
    "random_projection",
    "run",
    "save",
    "semi_supervised",
    "set_config",
    "show_versions",
    "svm",
    "theory",
    "to_device",
    "tree",
    "utils",
    "watch",
]

_PACKAGES = (
    *FAMILIES,
    "datasets",
    "explain",
    "inspection",
    "kernels",
    "metrics",
    "model_selection",
    "objectives",
    "optim",
    "theory",
    "watch",
    # What stands in these is scikit-learn's own, passed through so that one import serves a whole program.
    "base",
    "callback",
    "compose",
    "dummy",
    "exceptions",
    "frozen",
    "multiclass",
    "multioutput",
    "pipeline",
    "semi_supervised",
    "utils",
)
_HOMES = {
    "Study": "mercer.app.study.result",
    "accelerate": "mercer.app.switch.switching",
    "amdahl": "mercer._base.scaling",
    "check": "mercer.app.check.checking",
    "describe": "mercer.app.table.overview",
    "forecast": "mercer._base.forecasting",
    "run": "mercer.app.job",
    "save": "mercer._base.model_file",
    "load": "mercer._base.model_file",
    "measure_growth": "mercer._base.scaling",
    "show_versions": "mercer._versions",
    "to_device": "mercer._base.model_placement",
    # What IPython calls for %load_ext mercer.
    "load_ipython_extension": "mercer.app.switch.switching",
    "unload_ipython_extension": "mercer.app.switch.switching",
}


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"mercer.{name}")
    if name in _HOMES:
        value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
        return value
    raise AttributeError(f"module 'mercer' has no attribute {name!r}; it has {', '.join(sorted(__all__))}.")


def __dir__() -> list[str]:
    return sorted(__all__)


if os.environ.get("MERCER_ACCELERATE"):
    importlib.import_module("mercer.app.switch.switching").read_variable()

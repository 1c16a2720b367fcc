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
    from mercer import base as base
    from mercer import bayesnet as bayesnet
    from mercer import calibration as calibration
    from mercer import callback as callback
    from mercer import cluster as cluster
    from mercer import compose as compose
    from mercer import conformal as conformal
    from mercer import covariance as covariance
    from mercer import cross_decomposition as cross_decomposition
    from mercer import datasets as datasets
    from mercer import decision as decision
    from mercer import decomposition as decomposition
    from mercer import discriminant_analysis as discriminant_analysis
    from mercer import dummy as dummy
    from mercer import energy as energy
    from mercer import ensemble as ensemble
    from mercer import estimation as estimation
    from mercer import exceptions as exceptions
    from mercer import explain as explain
    from mercer import feature_extraction as feature_extraction
    from mercer import feature_selection as feature_selection
    from mercer import frozen as frozen
    from mercer import gaussian_process as gaussian_process
    from mercer import hmm as hmm
    from mercer import impute as impute
    from mercer import inspection as inspection
    from mercer import interop as interop
    from mercer import isotonic as isotonic
    from mercer import kernel_approximation as kernel_approximation
    from mercer import kernel_ridge as kernel_ridge
    from mercer import kernels as kernels
    from mercer import linear_model as linear_model
    from mercer import manifold as manifold
    from mercer import metrics as metrics
    from mercer import mixture as mixture
    from mercer import model_selection as model_selection
    from mercer import multiclass as multiclass
    from mercer import multioutput as multioutput
    from mercer import naive_bayes as naive_bayes
    from mercer import neighbors as neighbors
    from mercer import neural_network as neural_network
    from mercer import objectives as objectives
    from mercer import optim as optim
    from mercer import outliers as outliers
    from mercer import pipeline as pipeline
    from mercer import preprocessing as preprocessing
    from mercer import random_projection as random_projection
    from mercer import semi_supervised as semi_supervised
    from mercer import svm as svm
    from mercer import theory as theory
    from mercer import tree as tree
    from mercer import utils as utils
    from mercer import watch as watch
    from mercer._base.forecasting import forecast
    from mercer._base.model_file import load, save
    from mercer._base.model_placement import to_device
    from mercer._base.scaling import amdahl, measure_growth
    from mercer._versions import show_versions
    from mercer.app.check.checking import check
    from mercer.app.job import run
    from mercer.app.study.result import Study
    from mercer.app.switch.switching import accelerate
    from mercer.interop import to_onnx, to_sklearn

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
    "interop",
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
    "to_onnx",
    "to_sklearn",
    "tree",
    "utils",
    "watch",
]

_PACKAGES = (
    *FAMILIES,
    "datasets",
    "explain",
    "inspection",
    "interop",
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
    "to_onnx": "mercer.interop",
    "to_sklearn": "mercer.interop",
    # What IPython calls for %load_ext mercer.
    "load_ipython_extension": "mercer.app.switch.switching",
    "unload_ipython_extension": "mercer.app.switch.switching",
}


if not TYPE_CHECKING:  # a type checker would take any misspelt name for one that this finds

    def __getattr__(name: str) -> Any:
        """Load a family, or a name of another module, when it is first asked for."""
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

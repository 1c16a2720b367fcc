"""Models of stored rows: scikit-learn's class is fitted to the rows, which are all that mercer's has learnt."""

from typing import Any

import numpy as np

from mercer.interop._scikit.conversion import completes, refuse


def _store_rows(model: Any, made: Any, rows: Any, targets: Any = None, **weights: Any) -> Any:
    """Fit a new object of scikit-learn's class to the stored rows."""
    fresh = type(made)(**made.get_params(deep=False))
    fresh.fit(rows, targets, **weights) if targets is not None or not weights else fresh.fit(rows, **weights)
    for name in ("feature_names_in_", "n_features_in_"):
        if hasattr(model, name):
            setattr(fresh, name, getattr(model, name))
    return fresh


@completes(
    *("KNeighborsClassifier", "KNeighborsRegressor", "KNeighborsTransformer", "LocalOutlierFactor", "NearestNeighbors"),
    *("RadiusNeighborsClassifier", "RadiusNeighborsRegressor", "RadiusNeighborsTransformer"),
)
def _complete_neighbours(model: Any, made: Any) -> Any:
    if getattr(model, "_row_weight", None) is not None:
        refuse(model, "its rows have weights")
    targets = None
    if hasattr(model, "_codes"):
        classes = model.classes_ if isinstance(model.classes_, list) else [model.classes_]
        columns = [names[codes] for names, codes in zip(classes, np.asarray(model._codes).T)]
        targets = columns[0] if len(columns) == 1 else np.column_stack(columns)
    elif hasattr(model, "_targets"):
        targets = model._targets
    return _store_rows(model, made, model._fit_X, targets)


@completes("KernelDensity")
def _complete_density(model: Any, made: Any) -> Any:
    if np.ndim(model.bandwidth_):
        refuse(model, "each column has a bandwidth of its own")
    if model.metric not in ("euclidean", "l2"):
        refuse(model, f"scikit-learn has another constant of densities for metric={model.metric!r}")
    made.bandwidth = float(model.bandwidth_)
    made.algorithm = "auto" if made.algorithm == "brute" else made.algorithm
    weight = getattr(model.tree_, "weight", None)
    weight = None if weight is None or not len(weight) else weight
    return _store_rows(
        model, made, np.asarray(model.tree_.data), **({} if weight is None else {"sample_weight": weight})
    )


@completes("KNNImputer")
def _complete_imputer(model: Any, made: Any) -> Any:
    if model._theirs is not None:
        return model._theirs
    return _store_rows(model, made, np.asarray(model._fit_columns).T)

"""What transformers of tables of scikit-learn keep beside their public attributes."""

from typing import Any

import numpy as np

from mercer.interop._scikit.conversion import completes, convert, refuse


def _fill(columns: Any) -> np.ndarray:
    """Return rows in which every value of each column occurs: shorter columns repeat their last value."""
    longest = max(map(len, columns))
    made = np.empty((longest, len(columns)), dtype=object)
    for place, values in enumerate(columns):
        made[:, place] = [values[min(row, len(values) - 1)] for row in range(longest)]
    kinds = {np.asarray(values).dtype for values in columns}
    return made.astype(kinds.pop()) if len(kinds) == 1 else made


@completes("OneHotEncoder", "OrdinalEncoder")
def _complete_encoder(model: Any, made: Any) -> Any:
    """Fit scikit-learn's encoder to rows that hold each category as often as none: what is frequent is kept."""
    from sklearn.base import clone

    if getattr(model, "_infrequent_indices", None) is None:
        fresh = clone(made).set_params(min_frequency=None, max_categories=None)
    else:
        fresh = clone(made)
    given = fresh.get_params(deep=False)["categories"]
    known = [np.asarray(values) for values in model.categories_]
    fresh.set_params(categories=given).fit(
        _fill(known) if getattr(model, "_infrequent_indices", None) is None else _repeat(model)
    )
    fresh.set_params(min_frequency=made.min_frequency, max_categories=made.max_categories)
    for name in ("feature_names_in_", "drop_idx_"):
        if name in vars(made):
            setattr(fresh, name, getattr(made, name))
    return fresh


def _repeat(model: Any) -> np.ndarray:
    """Return rows in which the infrequent categories are rarer than all others."""
    columns = []
    for values, rare in zip(model.categories_, model._infrequent_indices):
        rare = set() if rare is None else set(np.ravel(rare).tolist())
        # A thousand to one: below every share and every count that a fit to fewer rows could have had.
        columns.append([value for place, value in enumerate(values) for _ in range(1 if place in rare else 1000)])
    return _fill(columns)


@completes("TargetEncoder")
def _complete_target(model: Any, made: Any) -> None:
    made._infrequent_enabled = False


@completes("KBinsDiscretizer")
def _complete_bins(model: Any, made: Any) -> None:
    """Give the model the encoder of its bins."""
    from sklearn.preprocessing import OneHotEncoder

    if model.encode != "ordinal":
        numbers = [np.arange(count, dtype=float) for count in model.n_bins_]
        dtype = np.float64 if model.dtype is None else model.dtype
        made._encoder = OneHotEncoder(categories=numbers, sparse_output=model.encode == "onehot", dtype=dtype)
        made._encoder.fit(np.zeros((1, len(numbers))))


@completes("PowerTransformer")
def _complete_power(model: Any, made: Any) -> None:
    """Give the model the scaler of its results, in which its own shift before the power has no place."""
    from sklearn.preprocessing import StandardScaler

    if not model.standardize:
        return
    scaler = StandardScaler(copy=False).set_output(transform="default")
    rows = np.zeros((1, model.n_features_in_))
    # One row on each side of the mean, as far away as the deviation.
    scaler.fit(np.vstack([rows, rows + 2.0]))
    scaler.mean_, scaler.scale_ = convert(model._means), convert(model._deviations)
    scaler.var_ = scaler.scale_**2
    made._scaler = scaler


@completes("SimpleImputer")
def _complete_imputer(model: Any, made: Any) -> Any:
    if model._theirs is not None:
        return model._theirs
    if made.indicator_ is not None:
        # The imputer gives its indicator the places of the gaps.
        made.indicator_._precomputed = True
    made._fit_dtype = made._fill_dtype = np.asarray(model.statistics_).dtype
    return None


@completes("MissingIndicator")
def _complete_indicator(model: Any, made: Any) -> Any:
    if model._theirs is not None:
        return model._theirs
    made._precomputed, made._n_features = False, model.n_features_in_
    return None


@completes("IterativeImputer")
def _complete_rounds(model: Any, made: Any) -> None:
    refuse(model, "its rounds of regressions are kept in another form")

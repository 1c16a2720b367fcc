"""The names of the columns of rows, which the names of a transformer's results are made of."""

from typing import Any

from mercer.errors import DataError


def read_column_names(estimator: Any, input_features: Any, *, needed: bool = True) -> list[str]:
    """Return the names of the columns of rows: as given, as seen by the fit, or ``x0``, ``x1`` and so on.

    Unless they are `needed`, there are none where neither the caller nor the fit has any. Raise where given names are
    not those of the fit.
    """
    known = vars(estimator).get("feature_names_in_")
    if input_features is None:
        made = [f"x{column}" for column in range(estimator.n_features_in_)] if needed else []
        return made if known is None else [str(name) for name in known]
    given = [str(name) for name in input_features]
    if known is not None and given != [str(name) for name in known]:
        raise DataError(f"{type(estimator).__name__}: input_features is not equal to feature_names_in_; leave it out.")
    if len(given) != estimator.n_features_in_:
        raise DataError(
            f"{type(estimator).__name__}: input_features should have length equal to number of features "
            f"({estimator.n_features_in_}), got {len(given)}. Name every column."
        )
    return given

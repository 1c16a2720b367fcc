"""Constraints on trees as users write them: monotone columns, and groups of columns that may interact."""

from itertools import combinations
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.errors import DataError


def read_directions(subject: str, given: Any, n_features: int, names: Any) -> Array:
    """Return `monotonic_cst` as an array (d,): 1 for columns that the score rises with, -1 for falls, else 0."""
    if isinstance(given, dict):
        given = _order_by_name(subject, given, names)
    directions = np.zeros(n_features, dtype=np.int32) if given is None else np.asarray(given)
    if directions.shape != (n_features,):
        raise DataError(
            f"{subject}: monotonic_cst has shape {directions.shape} but the input data X has {n_features} features; "
            f"give one direction for each."
        )
    unexpected = np.setdiff1d(directions, [-1, 0, 1])
    if len(unexpected):
        raise DataError(
            f"{subject}: monotonic_cst must be an array-like of -1, 0 or 1. Observed values: "
            f"{directions.tolist()}; write 1 for rising, -1 for falling, 0 for either."
        )
    return directions.astype(np.int32)


def _order_by_name(subject: str, given: dict[str, Any], names: Any) -> list[int]:
    if names is None:
        raise DataError(
            f"{subject} was not fitted on data with feature names. Pass monotonic_cst as an integer array instead."
        )
    unknown = sorted(set(given) - set(names))
    if unknown:
        shown = unknown[:5] + ["..."] * (len(unknown) > 5)
        raise DataError(f"{subject}: monotonic_cst contains {len(unknown)} unexpected feature names: {shown}.")
    for name, direction in given.items():
        if direction not in (-1, 0, 1):
            raise DataError(f"{subject}: monotonic_cst['{name}'] must be either -1, 0 or 1. Got {direction!r}.")
    return [given.get(name, 0) for name in names]


def check_directions(subject: str, directions: Array, n_scores: int, categorical: Array) -> None:
    """Raise if there are monotone columns with several scores, or monotone columns of categories."""
    if directions.any() and n_scores > 1:
        raise DataError(f"{subject}: monotonic constraints are not supported for multiclass classification; drop them.")
    if (directions != 0)[categorical].any():
        raise DataError(f"{subject}: Categorical features cannot have monotonic constraints; categories have no order.")


def read_groups(subject: str, given: Any, n_features: int) -> list[set[int]] | None:
    """Return the groups of columns that may occur on one path; columns in no given group form one more."""
    if given is None:
        return None
    if isinstance(given, str):
        size = 1 if given == "no_interactions" else 2
        # "pairwise" allows any two columns on a path, "no_interactions" one.
        return [set(group) for group in combinations(range(n_features), min(size, n_features))]
    try:
        groups = [set(group) for group in given]
    except TypeError as error:
        raise DataError(
            f"{subject}: Interaction constraints must be a sequence of tuples or lists, got: {given!r}; write a list "
            f"of the sets of columns that may interact."
        ) from error
    wrong = [
        column
        for group in groups
        for column in group
        if not isinstance(column, int | np.integer) or isinstance(column, bool) or not 0 <= column < n_features
    ]
    if wrong:
        raise DataError(
            f"{subject}: Interaction constraints must consist of integer indices in [0, n_features - 1] = "
            f"[0, {n_features - 1}], specifying the position of features, got: {wrong[0]!r}."
        )
    # As in scikit-learn: columns that no group names may interact with each other, and with no others.
    rest = set(range(n_features)) - set().union(*groups)
    return [*groups, rest] if rest else groups

"""Monotone constraints: predictions that may only rise, or only fall, with a column."""

from typing import Any

import numpy as np

from mercer._base.candidate import Candidate, Shape
from mercer._source.table.table import Notice
from mercer.app.options import Options
from mercer.app.study.dataset import Dataset
from mercer.errors import DataError

_REASON = "cannot hold --increasing and --decreasing"


def read_directions(dataset: Dataset, options: Options) -> dict[str, int]:
    """Return 1 for columns with which predictions may only rise, and -1 for those with which they may only fall.

    Of two classes the prediction is the probability of the positive one.

    Raises
    ------
    DataError
        If a column is given twice or holds no numbers, or if the target has three classes or more.
    """
    given = {"increasing": 1, "decreasing": -1}
    directions: dict[str, int] = {}
    for flag, direction in given.items():
        for name in getattr(options, flag):
            if dataset.kinds.get(name) != "number":
                kind = dataset.kinds.get(name, "not used")
                raise DataError(
                    f"--{flag}: `{name}` must be a column of numbers that models use; it is {kind}. Give --number "
                    f"{name} if it holds numbers."
                )
            if directions.setdefault(name, direction) != direction:
                raise DataError(f"`{name}` is given to both --increasing and --decreasing. Leave one out.")
    # Of more classes no single number rises or falls.
    if directions and len(dataset.classes) > 2:
        raise DataError(
            f"--increasing and --decreasing need a target of numbers or of two classes; it has {len(dataset.classes)} "
            "classes. Leave them out."
        )
    return directions


def list_directions(dataset: Dataset) -> np.ndarray | None:
    """Return the direction of each column as a model takes it, or None without constraints.

    A model of two classes takes directions of the probability of the second class, which need not be the positive one.
    """
    if not dataset.directions:
        return None
    sign = -1 if dataset.classes and dataset.positive == dataset.classes[0] else 1
    # Texts are left out of constrained models, and every other column is one number.
    names = [name for name, kind in dataset.kinds.items() if kind != "text"]
    return np.array([sign * dataset.directions.get(name, 0) for name in names])


def list_dropped_texts(dataset: Dataset) -> list[Notice]:
    """Return a notice of the text columns that constrained models do not use."""
    texts = [name for name, kind in dataset.kinds.items() if kind == "text"]
    if not texts or not dataset.directions:
        return []
    text = "With --increasing or --decreasing, models do not use columns of texts."
    return [Notice("warning", name, text, f"Give --category {name}, or leave the constraints out.") for name in texts]


def find_unable(offers: list[Candidate], shape: Shape, dataset: Dataset) -> dict[str, str]:
    """Return the candidates that cannot hold the constraints of a study, with the reason."""
    if not dataset.directions:
        return {}
    return {offer.name: _REASON for offer in offers if offer.rank > 0 and not _takes_directions(offer.make(shape))}


def _takes_directions(model: Any) -> bool:
    return "monotonic_cst" in model.get_params()

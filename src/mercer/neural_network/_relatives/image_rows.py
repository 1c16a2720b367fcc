"""Images as rows: shapes, and rows in the shape of images."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source.namespace import namespace_of
from mercer._source.placement import is_on_device
from mercer._types import Array
from mercer.errors import DataError

ImageShape = tuple[int, int, int]


@dataclass(frozen=True)
class ImageRows:
    """A function from rows (n, d) to the input of a network: images of one shape."""

    shape: ImageShape

    def __call__(self, rows: Array) -> dict[str, Array]:
        return {"input": namespace_of(rows).reshape(rows, (rows.shape[0], *self.shape))}


def find_image_shape(n_features: int) -> ImageShape:
    """Return the most nearly square height and width, height first, whose product is the number of columns."""
    height = next(side for side in range(math.isqrt(n_features), 0, -1) if n_features % side == 0)
    return height, n_features // height, 1


def flatten_images(X: Any) -> tuple[Any, tuple[int, ...] | None]:
    """Return images as rows, and their shape where X has an axis for each side."""
    if (isinstance(X, np.ndarray) or is_on_device(X)) and X.ndim in (3, 4):
        if X.shape[0] == 0:
            raise DataError("ConvClassifier: X must hold at least one image; got none.")
        shape = tuple(int(side) for side in X.shape[1:])
        return namespace_of(X).reshape(X, (X.shape[0], math.prod(shape))), shape
    return X, None


def check_image_shape(seen: tuple[int, ...] | None, shape: ImageShape, whose: str) -> None:
    """Raise if images have another shape than they should; `whose` says where that one comes from."""
    if seen is not None and (*seen, 1)[:3] != shape:
        raise DataError(
            f"ConvClassifier: images must have the shape {shape} {whose}; got {seen}. Scale or cut them to it."
        )

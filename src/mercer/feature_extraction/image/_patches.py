"""Patches of pictures, and pictures from patches."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.feature_extraction.image import PatchExtractor as TheirPatchExtractor
from sklearn.utils import check_array
from sklearn.utils.validation import check_random_state, validate_data

from mercer._source.memory import require_memory
from mercer._types import Array
from mercer.errors import DataError, ParameterError


def extract_patches_2d(
    image: Any, patch_size: tuple[int, int], *, max_patches: Any = None, random_state: Any = None
) -> Array:
    """Return the patches of a picture.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, n_channels)
        The picture.
    patch_size : tuple of two ints
        Height and width of a patch.
    max_patches : int, float or None, default=None
        How many patches are drawn, or which share of them; None means all.
    random_state : int, RandomState or None, default=None
        The seed of the draws, which are scikit-learn's.

    Returns
    -------
    ndarray of shape (n_patches, patch_height, patch_width) or (n_patches, patch_height, patch_width, n_channels)
        Row by row.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.feature_extraction.image import extract_patches_2d
    >>> extract_patches_2d(np.arange(6).reshape(2, 3), (2, 2))[1]
    array([[1, 2],
           [4, 5]])
    """
    size = np.shape(image)[:2]
    for length, patch, name in zip(size, patch_size, ("Height", "Width"), strict=True):
        if patch > length:
            raise DataError(
                f"{name} of the patch should be less than the {name.lower()} of the image; got {patch} and {length}."
            )
    rows = check_array(image, allow_nd=True)
    windows = sliding_window_view(rows.reshape(*size, -1), patch_size, axis=(0, 1))
    if max_patches:
        count = count_patches(size, patch_size, max_patches)
        draws = check_random_state(random_state)
        found = windows[draws.randint(windows.shape[0], size=count), draws.randint(windows.shape[1], size=count)]
    else:
        require_memory("extract_patches_2d", float(windows.size) * rows.itemsize, "all patches", "set max_patches")
        found = windows.reshape(-1, *windows.shape[2:])
    # Channels come last; one alone has no axis of its own.
    return found[:, 0] if found.shape[1] == 1 else np.ascontiguousarray(np.moveaxis(found, 1, -1))


def count_patches(size: tuple[int, ...], patch_size: tuple[int, ...], max_patches: Any) -> int:
    """Return the number of patches that are taken of a picture."""
    whole = int(np.prod([length - patch + 1 for length, patch in zip(size, patch_size, strict=True)]))
    if not max_patches:
        return whole
    if isinstance(max_patches, Integral):
        return min(int(max_patches), whole)
    if isinstance(max_patches, float | np.floating) and 0 < max_patches < 1:
        return int(max_patches * whole)
    raise ParameterError(
        f"Invalid value for max_patches: {max_patches!r}. Give a number of patches, or a share below 1."
    )


def reconstruct_from_patches_2d(patches: Array, image_size: tuple[int, ...]) -> Array:
    """Return the picture whose patches these are: the mean of all patches over each pixel.

    Parameters
    ----------
    patches : ndarray of shape (n_patches, patch_height, patch_width) or with n_channels behind
        All patches, as :func:`extract_patches_2d` returns them.
    image_size : tuple of ints
        Height, width and, if there are any, channels of the picture.

    Returns
    -------
    ndarray of shape image_size

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.feature_extraction.image import extract_patches_2d, reconstruct_from_patches_2d
    >>> picture = np.arange(6.0).reshape(2, 3)
    >>> reconstruct_from_patches_2d(extract_patches_2d(picture, (2, 2)), (2, 3))
    array([[0., 1., 2.],
           [3., 4., 5.]])
    """
    (height, width), (high, wide) = image_size[:2], patches.shape[1:3]
    rows, columns = height - high + 1, width - wide + 1
    placed = patches.reshape(rows, columns, *patches.shape[1:])
    image = np.zeros(image_size)
    # The same pixel of all patches is added at once: there are fewer pixels in a patch than patches.
    for i in range(high):
        for j in range(wide):
            image[i : i + rows, j : j + columns] += placed[:, :, i, j]
    counts = np.multiply.outer(_count_covers(height, high, rows), _count_covers(width, wide, columns))
    return image / counts.reshape(height, width, *[1] * (image.ndim - 2))


def _count_covers(length: int, patch: int, places: int) -> Array:
    """Return over how many patches each pixel of an axis lies."""
    pixels = np.arange(length)
    return np.minimum.reduce([pixels + 1, length - pixels, np.full(length, patch), np.full(length, places)])


class PatchExtractor(TheirPatchExtractor):
    """Take patches of pictures.

    It is scikit-learn's, with its parameters and answers, and also takes pictures that come block by block.

    Parameters
    ----------
    patch_size : tuple of two ints or None, default=None
        Height and width of a patch; None means a tenth of the pictures.
    max_patches : int, float or None, default=None
        How many patches of each picture are drawn, or which share of them; None means all.
    random_state : int, RandomState or None, default=None
        The seed of the draws.

    See Also
    --------
    reconstruct_from_patches_2d : The way back.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.feature_extraction.image import PatchExtractor
    >>> PatchExtractor(patch_size=(2, 2)).transform(np.zeros((5, 8, 8))).shape
    (245, 2, 2)
    """

    def transform(self, X: Any) -> Any:
        """Return the patches of pictures.

        Parameters
        ----------
        X : array-like of shape (n_samples, height, width) or (n_samples, height, width, n_channels), or an iterator
            Pictures, or an iterator over blocks of them.

        Returns
        -------
        ndarray of shape (n_patches, patch_height, patch_width) or with n_channels behind
            The patches of all pictures, picture by picture; of an iterator, an iterator over those of each block.
        """
        if isinstance(X, Iterator):
            # One generator draws for all blocks.
            draws = check_random_state(self.random_state)
            return (self._take_patches(block, draws) for block in X)
        return self._take_patches(X, check_random_state(self.random_state))

    def _take_patches(self, X: Any, draws: Any) -> Array:
        """Return the patches of a block of pictures."""
        pictures = validate_data(self, X, ensure_2d=False, allow_nd=True, ensure_min_features=1, reset=False)
        size = self.patch_size or tuple(length // 10 for length in pictures.shape[1:3])
        if len(size) != 2:
            raise ParameterError(f"patch_size must be a tuple of two integers. Got {size} instead.")
        options = {"max_patches": self.max_patches, "random_state": draws}
        found = [extract_patches_2d(picture, size, **options) for picture in pictures]
        return np.concatenate(found).astype(np.float64, copy=False)

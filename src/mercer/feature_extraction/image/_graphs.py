"""The graph of the pixels of a picture: neighbours are joined."""

from typing import Any

import numpy as np
from scipy.sparse import coo_array

from mercer._types import Array
from mercer.errors import ParameterError
from mercer.feature_extraction._sparse_kind import convert_kind


def img_to_graph(img: Any, *, mask: Array = None, return_as: Any = coo_array, dtype: Any = None) -> Any:
    """Return the graph of the pixels of a picture, whose edges weigh the differences of neighbours.

    Parameters
    ----------
    img : array-like of shape (height, width) or (height, width, depth)
        The picture, or a cube of voxels.
    mask : ndarray of bool of the shape of `img` or None, default=None
        Which pixels are nodes; None means all.
    return_as : type, default=scipy.sparse.coo_array
        ``numpy.ndarray`` or a class of sparse matrices.
    dtype : type or None, default=None
        Of the weights; None means that of the picture.

    Returns
    -------
    ndarray or sparse matrix of shape (n_pixels, n_pixels)
        The absolute difference for each pair of neighbours, and each pixel's own value on the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.feature_extraction.image import img_to_graph
    >>> img_to_graph(np.array([[0, 0], [0, 1]]), return_as=np.ndarray)
    array([[0, 0, 0, 0],
           [0, 0, 0, 1],
           [0, 0, 0, 1],
           [0, 1, 1, 1]])
    """
    cube = np.atleast_3d(img)
    values = cube.ravel()
    first, second = _list_edges(cube.shape)
    nodes = np.arange(cube.size) if mask is None else _list_nodes(mask, cube.size)
    # As in scikit-learn, whole numbers without a sign keep their type.
    weights = np.abs(values[first] - values[second])
    return _make_graph(first, second, weights, values[nodes], nodes, cube.size, return_as, dtype or cube.dtype)


def grid_to_graph(
    n_x: int, n_y: int, n_z: int = 1, *, mask: Array = None, return_as: Any = coo_array, dtype: Any = int
) -> Any:
    """Return the graph of the pixels of a grid, in which neighbours are joined.

    Parameters
    ----------
    n_x, n_y, n_z : int
        The number of pixels along each axis, at least 1.
    mask : ndarray of bool of shape (n_x, n_y, n_z) or None, default=None
        Which pixels are nodes; None means all.
    return_as : type, default=scipy.sparse.coo_array
        ``numpy.ndarray`` or a class of sparse matrices.
    dtype : type, default=int
        Of the entries.

    Returns
    -------
    ndarray or sparse matrix of shape (n_pixels, n_pixels)
        Ones for neighbours, and on the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.feature_extraction.image import grid_to_graph
    >>> grid_to_graph(1, 3, return_as=np.ndarray)
    array([[1, 1, 0],
           [1, 1, 1],
           [0, 1, 1]])
    """
    for name, value in (("n_x", n_x), ("n_y", n_y), ("n_z", n_z)):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise ParameterError(f"grid_to_graph: {name} must be an integer in [1, inf); got {value!r}.")
    size = n_x * n_y * n_z
    first, second = _list_edges((n_x, n_y, n_z))
    nodes = np.arange(size) if mask is None else _list_nodes(mask, size)
    ones = np.ones(max(len(first), len(nodes)), dtype)
    return _make_graph(first, second, ones[: len(first)], ones[: len(nodes)], nodes, size, return_as, dtype)


def _list_nodes(mask: Array, size: int) -> Array:
    """Return the pixels of a mask."""
    mask = np.asarray(mask)
    if mask.size > size:
        raise ParameterError(f"mask must have an entry for each of the {size} pixels at most; got {mask.size}.")
    return np.flatnonzero(mask.astype(bool).ravel())


def _list_edges(shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the numbers of the two pixels of each edge of a grid."""
    pixels = np.arange(np.prod(shape)).reshape(shape)
    firsts = pixels[:, :, :-1], pixels[:, :-1], pixels[:-1]
    seconds = pixels[:, :, 1:], pixels[:, 1:], pixels[1:]
    return tuple(np.concatenate([one.ravel() for one in ends]) for ends in (firsts, seconds))  # type: ignore[return-value]


def _make_graph(
    first: Array, second: Array, weights: Array, own: Array, nodes: Array, size: int, return_as: Any, dtype: Any
) -> Any:
    """Return the graph of some nodes out of `size` pixels."""
    places = np.full(size, -1)
    places[nodes] = np.arange(len(nodes))
    first, second = places[first], places[second]
    inside = (first >= 0) & (second >= 0)
    first, second, weights, diagonal = first[inside], second[inside], weights[inside], np.arange(len(nodes))
    entries = np.concatenate([weights, weights, own])
    ends = np.concatenate([first, second, diagonal]), np.concatenate([second, first, diagonal])
    graph = coo_array((entries, ends), (len(nodes), len(nodes)), dtype=dtype)
    return graph.toarray() if return_as is np.ndarray else convert_kind(return_as(graph))

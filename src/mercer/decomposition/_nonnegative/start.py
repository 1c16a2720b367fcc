"""First factors of a nonnegative factorisation: random, given, or the positive parts of singular vectors."""

import warnings
from typing import Any

import numpy as np

from mercer._solver import Map
from mercer._solver.relay import relay
from mercer._source import Block, Source
from mercer._types import Array
from mercer.decomposition._axes import Task
from mercer.decomposition._iterative import iterate_subspace
from mercer.decomposition._nonnegative.problem import Factors
from mercer.errors import DataError, ParameterError

# Entries of singular vectors below this are zeros; scikit-learn's number.
_TINY = 1e-6
# Power iterations for the singular vectors. On four tables of 1500 to 3000 rows (parts, overlapping bumps, uniform
# noise, word counts) the errors after 3, 4 and 7 differ by 0.9 % at most, with no trend; 7 take up to 10 % more time.
_POWER_ITERATIONS = 3


def resolve_count(asked: Any, given: Array, n_features: int) -> int:
    """Return the number of components; ``"auto"`` is that of the given H, or the number of columns."""
    if asked == "auto":
        return n_features if given is None else len(given)
    return n_features if asked is None else int(asked)


def check_given(value: Any, shape: tuple[int, int], name: str, dtype: Any) -> Array:
    """Return a factor that the user gave, in float64, or raise."""
    array = np.asarray(value)
    for axis, word in enumerate(("first", "second")):
        if array.ndim != 2 or array.shape[axis] != shape[axis]:
            raise DataError(
                f"Array with wrong {word} dimension passed to NMF (input {name}). Expected {shape[axis]}, but got "
                f"shape {array.shape}. Give W of shape (n_samples, n_components) and H of (n_components, n_features)."
            )
    if array.dtype != dtype:
        raise ParameterError(
            f"{name} should have the same dtype as X. Got {name}.dtype = {array.dtype} and X.dtype = {dtype}."
        )
    if (array < 0).any():
        raise DataError(f"Negative values in data passed to NMF (input {name}). Give entries that are not negative.")
    if not array.any():
        raise DataError(
            f"Array passed to NMF (input {name}) is full of zeros, from which no step leads away. Give others."
        )
    return np.array(array, dtype=np.float64)


def find_start(
    source: Source,
    init: Any,
    count: int,
    mean: float,
    seed: Any,
    given: tuple[Any, Any],
    *,
    can_leave_zero: bool = False,
) -> Any:
    """Return the first factors; a generator of requests.

    `mean` is that of all entries, `given` are W and H as the user gave them. `can_leave_zero` says that the solver
    moves entries that are zero: without an `init`, zeros of singular vectors then stay. The mean in their place makes
    all parts alike, and it takes up to two thirds more iterations to tell them apart again.
    """
    n_rows, n_features = source.n_rows, source.n_features
    most = min(n_rows, n_features)
    if init == "custom":
        W = check_given(given[0], (n_rows, count), "W", source.host_dtype)
        H = check_given(given[1], (count, n_features), "H", source.host_dtype)
        return Factors(W, np.ascontiguousarray(H.T))
    if given[0] is not None or given[1] is not None:
        warnings.warn(
            "When init!='custom', provided W or H are ignored. Set init='custom' to use them as initialization.",
            RuntimeWarning,
            stacklevel=2,
        )
    if init not in (None, "random") and count > most:
        raise DataError(
            f"NMF: init = {init!r} can only be used when n_components <= min(n_samples, n_features); got {count} > "
            f"{most}. Lower n_components, or set init='random'."
        )
    keep_zeros = can_leave_zero and init is None
    if init is None:
        init = "nndsvda" if count <= most else "random"
    random = np.random.default_rng(seed)
    if init == "random":
        # W H then has about the mean of the entries.
        size = np.sqrt(mean / count)
        T = size * np.abs(random.standard_normal((count, n_features))).T
        return Factors(size * np.abs(random.standard_normal((n_rows, count))), np.ascontiguousarray(T))
    W, T = yield from _double_singular_vectors(source, count, seed)
    # A part without a singular vector, where there are more parts than the rank of X, has no curvature and would stay.
    if keep_zeros and T.any(axis=0).all():
        init = "nndsvd"
    return Factors(_fill_zeros(W, init, mean, random), _fill_zeros(T, init, mean, random))


def _fill_zeros(factor: Array, init: str, mean: float, random: np.random.Generator) -> Array:
    """Replace zeros, which multiplicative updates could not leave, by the mean or by small random numbers."""
    zero = factor < _TINY
    if init == "nndsvda":
        return np.where(zero, mean, factor)
    noise = np.abs(mean * random.standard_normal(factor.shape) / 100) if init == "nndsvdar" else 0.0
    return np.where(zero, noise, factor)


def _double_singular_vectors(source: Source, count: int, seed: Any) -> Any:
    """Return W and H^T from singular triplets: of u s v^T the larger of its positive and its negative part.

    Boutsidis and Gallopoulos (2008): u v^T = u+ v+^T + u- v-^T - (mixed terms); the larger of the first two is the best
    nonnegative approximation of rank one of the positive part of u v^T.
    """
    task = Task(
        subject="NMF",
        n_components=count,
        limit=min(source.n_rows, source.n_features),
        n_features=source.n_features,
        dtype=np.dtype(np.float64),
        is_sparse=source.is_sparse,
        refuse=lambda: None,
        centred=False,
        ddof=0,
        iterations=_POWER_ITERATIONS,
        seed=seed.spawn(1)[0],
    )
    axes = (yield from relay(iterate_subspace(task, None), lambda step: None)).state
    V = axes.axes
    scores = yield Map(lambda block: _multiply(block, V))
    values = np.sqrt(axes.sizes)
    W, T = np.zeros((source.n_rows, count)), np.zeros((source.n_features, count))
    for number, value in enumerate(values):
        if value <= 0:
            continue
        u, v = scores[:, number] / value, V[number]
        parts = [(np.maximum(sign * u, 0.0), np.maximum(sign * v, 0.0)) for sign in (1.0, -1.0)]
        lengths = [(float(np.linalg.norm(left)), float(np.linalg.norm(right))) for left, right in parts]
        # The pair of parts with the larger product of lengths.
        best = int(np.prod(lengths[1]) >= np.prod(lengths[0]))
        (left, right), (long, wide) = parts[best], lengths[best]
        size = np.sqrt(value * long * wide)
        W[:, number], T[:, number] = size * left / long, size * right / wide
    return W, T


def _multiply(block: Block, V: Array) -> Array:
    return block.matmul(V.T.astype(block.X.dtype)).astype(np.float64)

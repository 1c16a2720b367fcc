"""Read the parameters ``init`` and ``n_init`` of an estimator, and choose its first centres."""

import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from mercer._solver.centres.first_centres import around_the_mean, in_the_box, plus_plus, random_rows
from mercer._source import Source
from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.errors import DataError


def number_of_starts(estimator: Any, otherwise: int) -> int:
    """Return the number of runs that ``n_init`` asks for; `otherwise` is what ``"auto"`` means for random starts."""
    name = type(estimator).__name__
    init, n_init = estimator.init, estimator.n_init
    given = not isinstance(init, str) and not callable(init)
    if n_init == "auto":
        # k-means++ is good enough that one start does; random starts need several.
        return 1 if given or (isinstance(init, str) and init == "k-means++") else otherwise
    if given and n_init != 1:
        warnings.warn(
            f"{name}: Explicit initial center position passed: performing only one init in {name} instead of "
            f"n_init={n_init}.",
            RuntimeWarning,
            stacklevel=4,
        )
        return 1
    return int(n_init)


def check_enough_rows(estimator: Any, n_rows: int) -> None:
    """Raise a DataError if there are more clusters than rows."""
    if n_rows < estimator.n_clusters:
        name = type(estimator).__name__
        raise DataError(f"{name}: n_samples={n_rows} should be >= n_clusters={estimator.n_clusters}. Lower n_clusters.")


def read_centres(estimator: Any, source: Source) -> Array:
    """Return the initial centres that the user gave, checked, (k, d); None if ``init`` names a rule."""
    if isinstance(estimator.init, str) or callable(estimator.init):
        return None
    return _check_centres(estimator, source, estimator.init, estimator.n_clusters)


def _check_centres(estimator: Any, source: Source, centres: Any, k: int) -> Array:
    name = type(estimator).__name__
    if issparse(centres):
        centres = centres.toarray()
    if callable(estimator.init) and getattr(np.asarray(centres), "dtype", np.dtype(object)).kind not in "biuf":
        raise DataError(f"{name}: init must return numbers, a row for each centre; got {type(centres).__name__}.")
    centres = check_array(
        to_numpy(centres),
        accept_sparse="csr",
        dtype=source.host_dtype,
        order="C",
        copy=True,
        input_name="init",
        estimator=estimator,
    )
    centres = centres.toarray() if hasattr(centres, "toarray") else centres
    # scikit-learn's tests expect these words.
    for what, axis, expected in (
        ("number of clusters", 0, k),
        ("number of features of the data", 1, source.n_features),
    ):
        if centres.shape[axis] != expected:
            raise DataError(
                f"{name}: The shape of the initial centers {centres.shape} does not match the {what} {expected}. "
                f"Give init one row per cluster and one column per feature."
            )
    return centres


def first_centres(
    estimator: Any, source: Source, given: Array, seed: np.random.SeedSequence, k: int | None = None
) -> Any:
    """Choose `k` first centres of one run, or ``n_clusters``, by the rule in ``init``; a generator of requests."""
    if given is not None:
        return given
    init = estimator.init
    k = estimator.n_clusters if k is None else k
    generator = np.random.default_rng(seed)
    if callable(init):
        # Functions written for scikit-learn expect a RandomState; its stream comes from the seed of this run.
        state = np.random.RandomState(np.random.MT19937(seed))
        return _check_centres(estimator, source, init(source.whole(), k, random_state=state), k)
    if init == "k-means++":
        centres, _ = yield from plus_plus(k, generator)
        return centres
    if init == "random":
        return (yield from random_rows(k, generator))
    if init == "uniform":
        return (yield from in_the_box(k, generator, source.host_dtype))
    return (yield from around_the_mean(k, generator, source.host_dtype))

"""Open what a user gives as a source: rows in memory are checked by scikit-learn's rules, others by their place's."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base.guard import NOTED, OVERFLOWS, describe_extremes, explain_error, is_finite
from mercer._base.model_placement import check_placement
from mercer._base.validation import accept_rows, check_rows, check_rows_and_targets, check_weight
from mercer._source import PLACES, Source, open_place, open_source, place_of
from mercer.errors import DataError


def open_rows(
    estimator: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    targets: str | None = None,
    reset: bool = True,
    **options: Any,
) -> Source:
    """Open rows to fit `estimator` to.

    Parameters
    ----------
    estimator : Estimator
    X, y, sample_weight
        As the user gave them.
    targets : {None, "numbers", "labels"}
        Which targets are wanted.
    reset : bool
        Whether columns are learnt (the default) or must be those that the estimator knows.
    **options
        For rows in memory: what :func:`check_rows` takes.
    """
    threads, place = estimator._threads(), place_of(X, y)
    # Only a fitted model has a placement that new rows could contradict.
    if not reset:
        check_placement(estimator, X)
    # Rows elsewhere are checked block by block as they are read, so there is no check of the whole here.
    if place != "memory":
        check_place(estimator, place)
        source = open_place(
            place,
            X,
            y,
            sample_weight,
            subject=type(estimator).__name__,
            targets=targets,
            threads=threads,
            columns=None if reset else vars(estimator).get("feature_names_in_"),
            keep=reset,
        )
        if not options.get("ensure_all_finite", True):
            source.assume_finite()
        check_source(estimator, source, options, reset)
        return source
    X, y, sample_weight = _by_name(X, y, sample_weight)
    if targets is None:
        X, y = check_rows(estimator, X, threads=threads, reset=reset, **options), None
    else:
        kind = {"multi_output": True, "y_numeric": True} if targets == "numbers" else {}
        X, y = check_rows_and_targets(estimator, X, y, threads=threads, reset=reset, **(kind | options))
    return open_source(X, y, check_weight(estimator, sample_weight, X.shape[0]), threads)


class _Answers:
    """Looks at what a fitted model answers about some rows, for errors that name the rows at fault."""

    def __init__(self, estimator: Any, X: Any, extreme: bool, logarithms: bool) -> None:
        self._estimator = estimator
        self._rows = X
        self._extreme = extreme
        self._logarithms = logarithms

    def explain(self, error: Exception) -> Exception | None:
        """Return an error that names the value at fault; None where no row is odd."""
        return explain_error(self._estimator, error, self._rows, extreme=self._extreme)

    def check(self, answer: Any) -> None:
        """Raise DataError if an answer about extreme rows is not finite; finite ones are kept."""
        if self._extreme and not is_finite(answer, infinite=self._logarithms):
            phrases = describe_extremes(X=self._rows)
            because = f": {' and '.join(phrases)}" if phrases else ""
            raise DataError(
                f"{type(self._estimator).__name__}: {OVERFLOWS}{because}. Scale the columns before the fit "
                f"and here, for example with StandardScaler, or drop the rows that hold these values."
            )


def open_new_rows(
    estimator: Any, X: Any, *, accept_sparse: Any = False, logarithms: bool = False, **options: Any
) -> Source:
    """Open rows given to a fitted model, whose answers must be finite; those that are `logarithms` may be infinite."""
    if type(X) is np.ndarray:
        threads = estimator._threads()
        if (rows := accept_rows(estimator, X, threads=threads, ordered=False)) is not None:
            return open_source(rows, threads=threads)
    check_is_fitted(estimator)
    before, NOTED.extreme = NOTED.extreme, False
    try:
        source = open_rows(estimator, X, reset=False, accept_sparse=accept_sparse, **options)
        source.answers = _Answers(estimator, X, NOTED.extreme, logarithms)
    finally:
        NOTED.extreme = before
    return source


def _by_name(X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Replace targets and weights that name columns of a frame by the columns, and remove these from the frame."""
    # Weights and targets are taken out of the frame, so that they are no features.
    if not (isinstance(y, str) or isinstance(weight, str)) or not hasattr(X, "columns"):
        return X, y, weight
    names = [name for name in (y, weight) if isinstance(name, str)]
    import narwhals

    frame = narwhals.from_native(X, eager_only=True)
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise DataError(
            f"the frame has no column {missing[0]!r}; its columns are {', '.join(map(str, frame.columns))}."
        )
    y, weight = (frame[name].to_numpy() if isinstance(name, str) else name for name in (y, weight))
    return frame.drop(names).to_native(), y, weight


def check_place(estimator: Any, place: str) -> None:
    """Raise if the rows are in a place where this estimator cannot be fitted to them."""
    allowed = estimator.__sklearn_tags__().places
    if place not in allowed:
        name = type(estimator).__name__
        raise DataError(
            f"{name}: rows must be in {' or '.join(allowed)} ({'; '.join(PLACES[known] for known in allowed)}); got "
            f"rows in {place} ({PLACES[place]}). Load them into memory first."
        )


def find_target_names(X: Any, y: Any) -> Any:
    """Return the columns of a table outside of memory that `y` names as targets; None where it is something else."""
    names = y if isinstance(y, list | tuple) else [y]
    if y is None or not all(isinstance(name, str) for name in names) or place_of(X) not in ("file", "stream"):
        return None
    while hasattr(X, "encode") and type(X).__module__.startswith("mercer."):
        X = X.X
    from mercer._source.table.encoded import is_table

    return y if is_table(X) else None


def check_source(estimator: Any, source: Source, options: dict[str, Any], reset: bool = False) -> None:
    """Raise if rows outside of memory are sparse where dense ones are needed, or have not the columns of the fit."""
    _check_storage(estimator, source, options)
    _note_columns(estimator, source, reset)


def _check_storage(estimator: Any, source: Source, options: dict[str, Any]) -> None:
    """Raise if the rows are sparse and the estimator takes dense rows only."""
    if source.is_sparse and not options.get("accept_sparse"):
        raise DataError(
            f"{type(estimator).__name__}: Sparse data was passed, but dense data is required; {source.description} is "
            f"sparse. Use parameters or a method that take sparse rows, or make them dense."
        )


def _note_columns(estimator: Any, source: Source, reset: bool) -> None:
    """Store the number and names of the columns, or check that they are those of the fit."""
    names = source.feature_names
    if reset:
        estimator.n_features_in_ = source.n_features
        # A refit on rows without names must not keep the names of the fit before.
        vars(estimator).pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
        return
    known = vars(estimator).get("n_features_in_", source.n_features)
    if source.n_features != known:
        raise DataError(
            f"X has {source.n_features} features, but {type(estimator).__name__} is expecting {known} features as "
            f"input; {source.description} must have the columns of the fit."
        )
    # Names are compared only where both sides have some: an array may follow a frame, and the reverse.
    expected = vars(estimator).get("feature_names_in_")
    if names is not None and expected is not None and list(names) != list(expected):
        raise DataError(
            f"{type(estimator).__name__}: the feature names should match those that were passed during fit; got "
            f"{', '.join(names)} in {source.description}, expected {', '.join(expected)}."
        )

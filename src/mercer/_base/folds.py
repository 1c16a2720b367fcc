"""Cross-validation inside an estimator: what splits, what scores, and the rows of a fold without copying them."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import sklearn
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from mercer._base.parameter import Integer, Nothing, Rule, describe_value
from mercer._base.validation import count_given_rows
from mercer._source import Source, open_source
from mercer.errors import ParameterError


class _Splitter(Rule):
    """A splitter, or the splits themselves."""

    text = "a cross-validation splitter or an iterable of splits"

    def accepts(self, value: Any) -> bool:
        is_splitter = hasattr(value, "split") and hasattr(value, "get_n_splits")
        if isinstance(value, str | bytes) or (isinstance(value, np.ndarray) and value.ndim == 0):
            return False
        return is_splitter or isinstance(value, Iterable)


# What the parameter ``cv`` may be.
FOLDS = Integer(2) | _Splitter() | Nothing()


def splits(cv: Any, X: Any, y: Any, *, classifier: bool, **parameters: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the training and the test row indices of each fold."""
    from sklearn.model_selection import check_cv

    # Rows may be anything that an estimator reads; targets are an array by now, where there are any.
    n = count_given_rows("cv", X if y is None else y)
    if not hasattr(cv, "split") and isinstance(cv, Iterable):
        # Read pair by pair: an iterable of something else need not end.
        folds: Iterable[Any] = iter(cv)
    else:
        folds = check_cv(cv, y, classifier=classifier).split(X, y, **parameters)
    found = [_read_split(pair, n) for pair in folds]
    if not found:
        raise ParameterError("cv: there must be at least one split; got none. Give pairs of row indices.")
    return found


def _read_split(pair: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and the test rows of one split, checked against the number of rows."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ParameterError(
            f"cv: each split must be a pair of training and test rows; got {type(pair).__name__}. Give indices."
        )
    return _read_rows(pair[0], n), _read_rows(pair[1], n)


def _read_rows(given: Any, n: int) -> np.ndarray:
    """Return the indices of the rows of one side of a split, which may be given as a mask."""
    rows = np.asarray(given)
    if rows.dtype == bool and rows.shape == (n,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows) or rows.min() < -n or rows.max() >= n:
        got = str(rows[:3]) if rows.ndim == 1 else f"the shape {rows.shape}"
        raise ParameterError(
            f"cv: each side of a split must be indices of some of the {n} rows, or a mask of them; got {got}. Split "
            f"these rows."
        )
    return rows


def fold_source(source: Source, train: np.ndarray, threads: int) -> Source:
    """Return the rows of a source in memory, with weight zero outside of `train`; nothing is copied.

    A row that is drawn twice weighs twice.
    """
    weight = np.bincount(train, minlength=source.n_rows).astype(np.float64)
    if source.weight is not None:
        weight *= source.weight
    return open_source(source.whole(), source.y, weight, threads)


def router(estimator: Any, scorer: Any, callers: tuple[str, ...] = ("fit",)) -> MetadataRouter:
    """Return scikit-learn's router of metadata for the estimator, its scorer and its splitter."""
    scoring = MethodMapping()
    for caller in callers:
        scoring = scoring.add(caller=caller, callee="score")
    return (
        MetadataRouter(owner=estimator)
        .add_self_request(estimator)
        .add(scorer=scorer, method_mapping=scoring)
        .add(splitter=estimator.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
    )


def route_parameters(
    estimator: Any, method: str, sample_weight: Any, parameters: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters for the scorer and for the splitter; without routing, weights go to the scorer alone."""
    if sklearn.get_config()["enable_metadata_routing"]:
        given = {"sample_weight": sample_weight, **parameters}
        # process_routing refuses names that nobody requests, also where their value is None.
        given = {name: value for name, value in given.items() if value is not None}
        routed = process_routing(estimator, method, **given) if given else None
        split = routed.splitter.split if routed is not None and method == "fit" else {}
        return (dict(routed.scorer.score) if routed is not None else {}), dict(split)
    if parameters:
        raise ValueError(
            f"[{', '.join(parameters)}] are passed but are not explicitly set as requested or not: passing extra "
            f"keyword arguments to {type(estimator).__name__}.{method} is only supported if "
            f"enable_metadata_routing=True, which you can set using `sklearn.set_config`."
        )
    return ({} if sample_weight is None else {"sample_weight": sample_weight}), {}


def scorer_of(estimator: Any, default: str) -> Any:
    """Return the scorer that ``scoring`` names, or the default one, which requests weights if they are routed."""
    from sklearn.metrics import get_scorer

    # The text "warn" is what scikit-learn's own models use while a default is about to change.
    is_default = estimator.scoring is None or (isinstance(estimator.scoring, str) and estimator.scoring == "warn")
    if not is_default:
        return get_scorer(estimator.scoring)
    scorer = get_scorer(default)
    if sklearn.get_config()["enable_metadata_routing"]:
        return scorer.set_score_request(sample_weight=True)
    return scorer


def read_score(subject: str, parameter: str, value: Any) -> float:
    """Return what a scoring function of the user's gave as a float; raise ParameterError if it is no number."""
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"{subject}: {parameter} must return one number; got {describe_value(value)}. Return the score."
        ) from error


def of_rows(parameters: dict[str, Any], rows: np.ndarray, n_rows: int) -> dict[str, Any]:
    """Return the parameters of a scorer for some rows: those with an entry per row are cut to `rows`."""
    return {
        name: np.asarray(value)[rows] if np.ndim(value) > 0 and len(value) == n_rows else value
        for name, value in parameters.items()
    }

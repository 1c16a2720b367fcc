"""Scores by cross-validation, of rows in memory, files and streams."""

from typing import Any

import numpy as np
import sklearn.model_selection as theirs
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv

from mercer._source import place_of
from mercer._source.table.encoded import open_subset
from mercer._types import Array


def cross_val_score(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    error_score: Any = np.nan,
) -> Array:
    """Return the score of an estimator on the test rows of each split.

    It is scikit-learn's, with its parameters and answers, and also takes rows in files and streams: the estimator reads
    the rows of a split block by block, in the order of the table, and the targets alone are in memory.

    Parameters
    ----------
    estimator : estimator
        What is fitted; of a table elsewhere it must take streams, as pipelines of mercer's classes do.
    X : array-like of shape (n_samples, n_features), or rows in a file or a stream that can be read again
        Rows.
    y : array-like of shape (n_samples,), column name or None, default=None
        Targets.
    groups : array-like of shape (n_samples,), column name or None, default=None
        The group of each row, for the splitter; a column that is named here is no feature.
    scoring : str, callable or None, default=None
        What is computed; None takes the method ``score``.
    cv : int, splitter, iterable or None, default=None
        The splits; None means five folds, stratified for classifiers.
    n_jobs : int or None, default=None
        Fits at the same time.
    verbose : int, default=0
        How much is printed.
    params : dict or None, default=None
        Metadata of the estimator, the scorer and the splitter.
    pre_dispatch : int or str, default="2*n_jobs"
        How many fits are prepared.
    error_score : "raise" or float, default=nan
        The score of a fit that fails.

    Returns
    -------
    ndarray of shape (n_splits,)
        The scores.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import Ridge
    >>> from mercer.model_selection import cross_val_score
    >>> rows = np.arange(20.0)[:, None]
    >>> cross_val_score(Ridge(alpha=1e-9), rows, 3 * rows[:, 0] + 1, cv=2).round(6)
    array([1., 1.])
    """
    X, y, groups, cv = open_splits("cross_val_score", estimator, X, y, groups, cv)
    options = {"groups": groups, "scoring": scoring, "cv": cv, "n_jobs": n_jobs, "verbose": verbose, "params": params}
    return theirs.cross_val_score(estimator, X, y, pre_dispatch=pre_dispatch, error_score=error_score, **options)


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    return_train_score: bool = False,
    return_estimator: bool = False,
    return_indices: bool = False,
    error_score: Any = np.nan,
) -> dict[str, Any]:
    """Return the scores and times of an estimator on each split.

    It is scikit-learn's, and takes what :func:`cross_val_score` takes.

    Parameters
    ----------
    estimator, X, y, groups, cv, n_jobs, verbose, params, pre_dispatch, error_score
        As :func:`cross_val_score` takes them.
    scoring : str, callable, list, tuple, dict or None, default=None
        What is computed: one score or several.
    return_train_score, return_estimator, return_indices : bool, default=False
        Whether the scores on training rows, the fitted estimators, and the rows of the splits are returned too.

    Returns
    -------
    dict of str to array or list
        ``test_score``, ``fit_time``, ``score_time``, and what else is asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import Ridge
    >>> from mercer.model_selection import cross_validate
    >>> rows = np.arange(20.0)[:, None]
    >>> sorted(cross_validate(Ridge(), rows, rows[:, 0], cv=2))
    ['fit_time', 'score_time', 'test_score']
    """
    X, y, groups, cv = open_splits("cross_validate", estimator, X, y, groups, cv)
    returned = {
        "return_train_score": return_train_score,
        "return_estimator": return_estimator,
        "return_indices": return_indices,
    }
    options = {"groups": groups, "scoring": scoring, "cv": cv, "n_jobs": n_jobs, "verbose": verbose, "params": params}
    return theirs.cross_validate(
        estimator, X, y, pre_dispatch=pre_dispatch, error_score=error_score, **options, **returned
    )


def open_splits(subject: str, estimator: Any, X: Any, y: Any, groups: Any, cv: Any) -> tuple[Any, Any, Any, Any]:
    """Return rows, targets, groups and splits; of a file or a stream the splits are in the order of the table."""
    if (place := place_of(X, y)) not in ("file", "stream"):
        return X, y, groups, cv
    X, y, groups = open_subset(X, y, groups, place, subject)
    splitter = check_cv(cv, y, classifier=is_classifier(estimator))
    return X, y, groups, [(np.sort(train), np.sort(test)) for train, test in splitter.split(X, y, groups)]

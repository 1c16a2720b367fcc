"""Test a fitted model before it is used."""

from typing import Any

import numpy as np

from mercer._base.binomial import check_share
from mercer.app.check.answers import find_dependence, find_drift, find_leaks, find_slices, find_unfairness
from mercer.app.check.finding import ModelCheck
from mercer.app.check.refits import find_changes
from mercer.app.check.subject import Subject, read_frame, read_subject
from mercer.errors import DataError


def check(
    model: Any,
    X: Any,
    y: Any,
    *,
    X_new: Any = None,
    X_train: Any = None,
    groups: Any = None,
    level: float = 0.05,
    random_state: int = 0,
) -> ModelCheck:
    """Test a fitted model before it is used: what would make its answers or its score wrong, one sentence each.

    ==========================  ======================================================================================
    test                        asks
    ==========================  ======================================================================================
    leakage                     does one column alone tell the target; are rows among those of the fit (`X_train`)
    dependence between rows     do errors of neighbouring rows, or of rows that share a value, resemble each other
    drift                       do new rows (`X_new`) differ, column by column and as a whole, as in ``mercer watch``
    units, order, extremes      does a copy fitted with one column in another unit, with the rows in another order, or
                                with one value a thousand times too large answer otherwise
    fairness by group           do shares and errors of a group (`groups`) differ from those of the other rows
    slices                      where are the errors largest: a tree finds slices in half of the rows, the others test
    ==========================  ======================================================================================

    Parameters
    ----------
    model : estimator
        Fitted: a classifier or regressor of mercer, scikit-learn, LightGBM or another library, or a pipeline.
    X : array-like or frame of shape (n, d)
        Rows that it was not fitted to, as it takes them, in the order in which they came.
    y : array-like of shape (n,)
        The truth.
    X_new : array-like or frame or None, default=None
        Rows that the model will be asked about.
    X_train : array-like or frame or None, default=None
        Rows that it was fitted to.
    groups : str, list of str, array-like of shape (n,), dict or None, default=None
        Columns of `X`, the group of each row, or several such by name.
    level : float, default=0.05
        The probability that a test fails where nothing is wrong; tests of many columns, groups or slices are corrected
        for their number.
    random_state : int, default=0
        The seed of what is drawn.

    Returns
    -------
    ModelCheck
        It prints itself, has a finding with a sentence, numbers and a picture for each test, says whether the model
        ``passed``, and saves one HTML page.

    Notes
    -----
    Copies are fitted to at most 2000 of the rows, some 20 times. Sensitivity to units, order and extreme values is a
    property of the method, so that it gives a warning, not a failure; so do larger errors in a slice that the
    probabilities of a classifier announce.

    Examples
    --------
    >>> import mercer, numpy as np
    >>> from mercer.linear_model import LinearRegression
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(600, 3))
    >>> y = X @ [1.0, 2.0, 3.0] + random.normal(size=600) * np.where(X[:, 1] > 1, 5.0, 1.0)
    >>> found = mercer.check(LinearRegression().fit(X[:300], y[:300]), X[300:], y[300:])
    >>> found.passed, found["slices with large errors"].verdict, found["units"].verdict
    (False, 'failed', 'fine')
    """
    level = check_share("check", "level", level)
    subject = read_subject(model, X, y, int(random_state), level)
    seen, new = (
        None if rows is None else read_frame(name, rows, model)
        for name, rows in (("X_train", X_train), ("X_new", X_new))
    )
    known = _read_groups(subject, groups)
    findings = (
        find_leaks(subject, seen),
        find_dependence(subject, known),
        find_drift(subject, new),
        *find_changes(subject),
        find_unfairness(subject, known),
        find_slices(subject),
    )
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    return ModelCheck(type(last).__name__, len(subject), findings)


def _read_groups(subject: Subject, groups: Any) -> dict[str, Any]:
    """Return the group of each row, by name."""
    import pandas

    if groups is None:
        return {}
    if isinstance(groups, str) or (isinstance(groups, list | tuple) and all(isinstance(one, str) for one in groups)):
        names = [groups] if isinstance(groups, str) else list(groups)
        if len(names) != len(subject) or set(names) <= set(subject.frame.columns):
            unknown = [name for name in names if name not in subject.frame.columns]
            if unknown:
                raise DataError(
                    f"check: groups must be columns of X; {unknown[0]!r} is not among "
                    f"{', '.join(map(str, subject.frame.columns[:8]))}. Give the group of each row instead."
                )
            return {name: subject.frame[name] for name in names}
    given = groups if isinstance(groups, dict) else {"group": groups}
    for name, values in given.items():
        if np.shape(values) != (len(subject),):
            raise DataError(
                f"check: groups must have a value for each of {len(subject)} rows; {name!r} has the shape "
                f"{np.shape(values)}."
            )
    return {str(name): pandas.Series(np.asarray(values)) for name, values in given.items()}

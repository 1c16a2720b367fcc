"""The rows that a study uses: features and target of all rows with a known target."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer._source.table.column_type import spell_categories
from mercer._source.table.table import Table
from mercer.app.study.metrics import choose_positive
from mercer.app.table.roles import Roles
from mercer.app.table.target import NoModelError
from mercer.model_selection.trials import Splitting


@dataclass(frozen=True)
class Dataset:
    """Features, target, and what else is known about each row.

    `rows` are indices into the table; `classes` are sorted, and `positive` is set if there are two of them.
    """

    task: str
    X: Any
    y: np.ndarray
    rows: np.ndarray
    kinds: dict[str, str]
    classes: list[str]
    positive: str | None = None
    weight: np.ndarray | None = None
    groups: np.ndarray | None = None
    time: np.ndarray | None = None
    cost: np.ndarray | None = None
    forms: dict[str, str] = field(default_factory=dict)  # how dates are written, by column
    directions: dict[str, int] = field(default_factory=dict)  # 1 where predictions may only rise with a column, else -1

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, chosen: np.ndarray) -> "Dataset":
        """Return some of the rows."""
        parts = {name: getattr(self, name) for name in ("y", "rows", "weight", "groups", "time", "cost")}
        kept: dict[str, Any] = {name: None if values is None else values[chosen] for name, values in parts.items()}
        return replace(self, X=self.X.iloc[chosen], **kept)

    def splitting(self) -> Splitting:
        """Return what a split of the rows must respect."""
        return Splitting(self.y if self.task == "classification" else None, self.groups, self.time)


def gather(table: Table, roles: Roles, positive: str | None = None) -> Dataset:
    """Take features and target from a table; rows without a target are left out.

    Raise `NoModelError` if no model can be fitted to the table.
    """
    if roles.obstacle:
        raise NoModelError(roles.obstacle)
    frame = table.frame
    if roles.target is not None:
        frame = frame[frame[roles.target].notna()]
    y, classes = np.zeros(len(frame)), []
    if roles.task == "classification":
        y = np.asarray(spell_categories(frame[roles.target]), dtype=str)
        classes = [str(name) for name in np.unique(y)]
    elif roles.task == "regression":
        y = frame[roles.target].to_numpy(dtype=float)
    return Dataset(
        roles.task,
        frame[roles.features],
        y,
        # The index keeps the place of a row in the table, for messages about single rows.
        frame.index.to_numpy(),
        dict(roles.kinds),
        classes,
        choose_positive(classes, _count_shares(y, classes), positive),
        _read_numbers(frame, roles.weight),
        read_groups(frame, roles.group),
        read_times(frame, roles.time),
        _read_numbers(frame, roles.cost),
        table.forms,
    )


def drop_rare_classes(dataset: Dataset, fewest: int) -> tuple[Dataset, list[str]]:
    """Return the rows of classes with at least `fewest` rows, and the names of the other classes.

    Raise `NoModelError` if fewer than two classes are left.
    """
    if not dataset.classes:
        return dataset, []
    counts = {name: int((dataset.y == name).sum()) for name in dataset.classes}
    rare = [name for name, count in counts.items() if count < fewest]
    kept = [name for name in dataset.classes if name not in rare]
    if not rare:
        return dataset, []
    if len(kept) < 2:
        raise NoModelError(
            f"at least two classes of the target need {fewest} rows or more; the second largest has "
            f"{sorted(counts.values())[-2]}. Add rows, or merge classes."
        )
    rows = np.flatnonzero(np.isin(dataset.y, kept))
    known = replace(dataset.take(rows), classes=kept)
    return replace(known, positive=choose_positive(kept, _count_shares(known.y, kept), None)), rare


def draw_rows(dataset: Dataset, most: int, seed: int) -> Dataset:
    """Draw at most `most` rows.

    Classes keep their shares, groups stay whole, and times are drawn evenly.
    """
    n_rows = len(dataset)
    if n_rows <= most:
        return dataset
    random = np.random.default_rng(seed)
    if dataset.time is not None:
        order = np.argsort(dataset.time, kind="stable")
        return dataset.take(np.sort(order[np.linspace(0, n_rows - 1, most).astype(int)]))
    if dataset.groups is not None:
        names, sizes = np.unique(dataset.groups, return_counts=True)
        order = random.permutation(len(names))
        taken = names[order[: max(10, int(np.searchsorted(np.cumsum(sizes[order]), most)))]]
        return dataset.take(np.flatnonzero(np.isin(dataset.groups, taken)))
    if dataset.task != "classification":
        return dataset.take(np.sort(random.choice(n_rows, most, replace=False)))
    kept = []
    for name in dataset.classes:
        members = np.flatnonzero(dataset.y == name)
        share = min(len(members), max(50, round(most * len(members) / n_rows)))
        kept.append(random.choice(members, share, replace=False))
    return dataset.take(np.sort(np.concatenate(kept)))


def _count_shares(y: np.ndarray, classes: list[str]) -> np.ndarray:
    """Return the share of the rows of each class."""
    return np.array([float((y == name).mean()) for name in classes])


def _read_numbers(frame: Any, name: str | None) -> np.ndarray | None:
    """Return a column as floats, or None without a name."""
    return None if name is None else frame[name].to_numpy(dtype=float)


def read_groups(frame: Any, name: str | None) -> np.ndarray | None:
    """Return the values of a column as names of groups, or None without a name; missing values form one group."""
    return None if name is None else np.asarray(spell_categories(frame[name]).fillna(""), dtype=str)


def read_times(frame: Any, name: str | None) -> np.ndarray | None:
    """Return a column of times as numbers, or None without a name; missing times come first."""
    if name is None:
        return None
    column = frame[name]
    if column.dtype.kind == "M":
        return column.to_numpy().astype("datetime64[ns]").astype(np.int64)
    return column.fillna(column.min()).to_numpy(dtype=float)

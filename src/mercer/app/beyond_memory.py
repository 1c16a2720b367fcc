"""Studies of tables beyond memory: models are compared on a sample, and the chosen one is fitted to all rows.

One pass draws rows at random and counts all. The study sees the sample. Its model is then fitted to the whole table
block by block, where its parts can do that, and the report says which rows each number comes from.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mercer._source.memory import count_allowed_bytes
from mercer.app.options import Options
from mercer.decision import DecisionClassifier
from mercer.errors import DataError

# Rows of a sample, if no number is given: more than are compared, so that some are left to judge by.
_ROWS = 500_000
# Times the bytes of a file that its rows take while a study reads them: texts become objects, and copies are made.
_UNFOLDED = {"gzip": 15.0, "delimited": 3.0, "parquet": 3.0, "folder": 3.0}
# The share of the free memory that the rows of a table may take before a sample is drawn instead.
_SHARE = 0.5
# Passes that a fit to the whole table takes at least: those of the encoder and a few of the model.
_FEWEST_PASSES = 4
# Passes for which a study with a budget leaves time.
_USUAL_PASSES = 12


@dataclass(frozen=True)
class Whole:
    """A table that was sampled.

    Attributes
    ----------
    source : path
    reading : dict
        How it is read.
    n_rows : int
        All rows.
    n_drawn : int
        Rows of the sample.
    seconds : float
        Of one pass.
    """

    source: Any
    reading: dict[str, Any]
    n_rows: int
    n_drawn: int
    seconds: float


def is_beyond_memory(source: Any, max_unpacked: Any) -> bool:
    """Return whether the rows of a file or a folder would take more than a share of the free memory."""
    if not isinstance(source, str | Path) or str(source) == "-":
        return False
    from mercer._source.table.format import find_format, find_place

    place = find_place(source, max_unpacked)
    if place.path is None:
        return False
    kind = find_format(place)
    return _count_bytes(place, kind) * _UNFOLDED.get(kind, 3.0) > _SHARE * count_allowed_bytes()


def _count_bytes(place: Any, kind: str) -> float:
    """Return the bytes of a table; of Parquet those that its columns unfold to."""
    if kind not in ("parquet", "folder"):
        return float(place.size)
    from pyarrow import parquet

    from mercer._source.table.format import report_damage
    from mercer._source.table.other_formats import list_parquet_files

    total = 0.0
    files: list[Any] = list_parquet_files(place) if kind == "folder" else [place.path]
    for file in files:
        with report_damage(place):
            footer = parquet.read_metadata(file)
        total += sum(footer.row_group(group).total_byte_size for group in range(footer.num_row_groups))
    return total


def draw_sample(source: Any, options: Options, reading: dict[str, Any]) -> tuple[Any, Whole]:
    """Return a frame of rows drawn at random, whose index holds their numbers in the table, and what the table is."""
    import pyarrow

    from mercer._source.table import Stream
    from mercer._source.table.reading import make_frame

    began = monotonic()
    given = {name: value for name, value in reading.items() if name != "columns"}
    stream = Stream.open(source, **given)
    columns = reading.get("columns")
    if columns:
        stream = replace(stream, columns=list(columns))
    random, most = np.random.default_rng([options.seed, 7]), options.sample or _ROWS
    drawn, n_rows = _Drawn(most), 0
    for table in stream.read_as_given():
        block = table if hasattr(table, "column_names") else pyarrow.Table.from_pandas(table, preserve_index=False)
        drawn.add(block, random.random(len(block)), n_rows)
        n_rows += len(block)
    if n_rows == 0:
        raise DataError(f"{stream.place.name}: the table has column names but no rows. Give a table with rows.")
    rows, numbers = drawn.finish()
    frame, _ = make_frame(rows.rename_columns(stream.names) if not columns else rows, stream.place.name)
    frame.index = numbers
    return frame, Whole(source, reading, n_rows, len(numbers), monotonic() - began)


class _Drawn:
    """The rows with the smallest of random keys: each set of `most` rows is as likely as any other."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.parts: list[Any] = []
        self.keys = np.empty(0)
        self.numbers = np.empty(0, np.int64)
        self.limit = np.inf

    def add(self, table: Any, keys: np.ndarray, start: int) -> None:
        """Take the rows of a block whose keys are small enough."""
        chosen = np.flatnonzero(keys < self.limit)
        if not len(chosen):
            return
        self.parts.append(table.take(chosen))
        self.keys = np.concatenate([self.keys, keys[chosen]])
        self.numbers = np.concatenate([self.numbers, start + chosen])
        # Rows in excess are dropped when they are as many as are kept.
        if len(self.keys) > 2 * self.most:
            self._prune()

    def _prune(self) -> None:
        import pyarrow

        table = pyarrow.concat_tables(self.parts, promote_options="permissive")
        if len(self.keys) > self.most:
            kept = np.sort(np.argpartition(self.keys, self.most - 1)[: self.most])
            table, self.keys, self.numbers = table.take(kept), self.keys[kept], self.numbers[kept]
            self.limit = float(self.keys.max())
        self.parts = [table]

    def finish(self) -> tuple[Any, np.ndarray]:
        """Return the rows in the order of the table, and their numbers."""
        self._prune()
        return self.parts[0], self.numbers


def describe_sample(whole: Whole) -> Any:
    """Return the notice that the study is of a sample."""
    from mercer._source.table.table import Notice

    text = (
        f"The table has {whole.n_rows} rows, which are not held in memory at once. Models are compared, and the "
        f"columns described, by {whole.n_drawn} rows that were drawn at random."
    )
    return Notice("note", "the table", text, "give --sample N to draw another number", told=True)


def describe_several(whole: Whole) -> Any:
    """Return the notice that models of several targets are fitted to the sample."""
    from mercer._source.table.table import Notice

    text = f"Of several targets the models are fitted to the {whole.n_drawn} rows of the sample."
    return Notice("warning", "the models", text, "give one --target at a time to fit its model to all rows")


def reserve_seconds(whole: Whole) -> float:
    """Return the seconds that a study leaves for the fit to the whole table."""
    return _USUAL_PASSES * whole.seconds + 1.0


def fit_to_whole(done: Any, whole: Whole, options: Options, left: float) -> Any:
    """Return the study with its model fitted to the whole table, and a notice about the rows that it was fitted to."""
    from mercer._source.table.table import Notice
    from mercer.app.study.final import describe_fit

    why = _find_obstacle(done, whole, left)
    if why:
        text = f"The model is fitted to the {whole.n_drawn} rows of the sample: {why}."
        return _add_notice(done, Notice("warning", "the model", text, "give --candidates or a larger --budget"))
    began = monotonic()
    with _connect(options.cluster):
        model = _fit_steps(done.model, _open_whole(done, whole, options), left)
    fit = describe_fit(_find_inside(model), {}, monotonic() - began)
    where = f"the workers of {options.cluster}" if options.cluster else "this process, block by block"
    text = f"The model is fitted to all {whole.n_rows} rows, by {where}."
    record = replace(done.record, fit=replace(fit, settings=done.record.fit.settings if done.record.fit else {}))
    return _add_notice(replace(done, model=model, record=record), Notice("note", "the model", text, told=True))


def _add_notice(done: Any, notice: Any) -> Any:
    data = done.record.data
    return replace(done, record=replace(done.record, data=replace(data, notices=[*data.notices, notice])))


def _find_obstacle(done: Any, whole: Whole, left: float) -> str:
    """Return why the model cannot be fitted to the whole table; empty if it can."""
    from mercer.preprocessing import TableEncoder

    steps = [step for _, step in getattr(done.model, "steps", [])]
    if not steps or not isinstance(steps[0], TableEncoder):
        return f"a {type(done.model).__name__} is not fitted block by block"
    for step in [*steps[1:-1], _find_inside(done.model)]:
        if "stream" not in getattr(step.__sklearn_tags__(), "places", ()):
            return f"{type(step).__name__} needs all rows at once"
    if left < _FEWEST_PASSES * whole.seconds:
        return f"one pass over the table takes {whole.seconds:.0f} s, for which the budget leaves no time"
    return ""


def _find_inside(model: Any) -> Any:
    """Return the last step of a pipeline, without the rule by which its probabilities become decisions."""
    last = model[-1]
    return last.estimator_ if isinstance(last, DecisionClassifier) else last


def _fit_steps(model: Any, rows: Any, left: float) -> Any:
    """Return a pipeline such as `model`, fitted to `rows` within the seconds that are left; it decides as `model`."""
    name, last = model.steps[-1]
    inside = clone(_find_inside(model))
    if np.isfinite(left) and "max_time" in inside.get_params():
        inside.set_params(max_time=left)
    fitted = Pipeline([*((label, clone(step)) for label, step in model.steps[:-1]), (name, inside)])
    fitted = fitted.fit(*rows) if isinstance(rows, tuple) else fitted.fit(rows)
    if not isinstance(last, DecisionClassifier):
        return fitted
    # The costs and the shares of the classes are those of the sample.
    decider = copy.copy(last)
    vars(decider).update(estimator_=inside, n_features_in_=inside.n_features_in_)
    return Pipeline([*fitted.steps[:-1], (name, decider)])


class _Rows:
    """Blocks of features, targets and weights of the whole table; each call begins a new pass."""

    def __init__(self, done: Any, whole: Whole) -> None:
        record, encoder = done.record, done.model[0]
        roles = {column.role: column.name for column in record.data.columns}
        self.source, self.kinds = whole.source, encoder.find_reading_kinds()
        self.reading = {name: value for name, value in whole.reading.items() if name != "columns"}
        self.target, self.weight = roles["target"], roles.get("weight")
        self.classes = [str(name) for name in getattr(done.model, "classes_", [])]

    def __call__(self) -> Iterator[tuple[Any, ...]]:
        from mercer._source.table import Stream

        others = [name for name in (self.target, self.weight) if name is not None]
        for frame in Stream.open(self.source, **self.reading).select(self.kinds, others):
            if (block := self.take(frame)) is not None:
                yield block

    def take(self, frame: Any) -> tuple[Any, ...] | None:
        """Return the rows of a frame with a known target: features, targets and, where there are some, weights."""
        from mercer._source.table.column_type import spell_categories

        if self.classes:
            y = spell_categories(frame[self.target])
            known = y.isin(self.classes).to_numpy()
            y = y.to_numpy()[known].astype(str)
        else:
            y = frame[self.target].to_numpy(dtype=float)
            known = np.isfinite(y)
            y = y[known]
        if not known.any():
            return None
        rows = frame[list(self.kinds)][known].reset_index(drop=True)
        return (rows, y) if self.weight is None else (rows, y, frame[self.weight].to_numpy(dtype=float)[known])


def _open_whole(done: Any, whole: Whole, options: Options) -> Any:
    """Return the rows of the whole table: blocks, or Dask dataframes of features and targets for a cluster."""
    rows = _Rows(done, whole)
    return _open_parts(rows, whole) if options.cluster else rows


@contextmanager
def _connect(address: str | None) -> Iterator[None]:
    """Let Dask compute on the cluster of a scheduler's address."""
    if address is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError('mercer: --cluster needs dask and distributed; pip install "mercer[dask]".') from error
    try:
        client = Client(address, timeout="30s")
    except (OSError, TimeoutError, ValueError) as error:
        raise DataError(
            f"--cluster: there is no Dask scheduler at {address} ({error}). Start one with `dask scheduler`, and "
            f"workers with `dask worker {address}`."
        ) from error
    with client:
        yield


def _open_parts(rows: _Rows, whole: Whole) -> tuple[Any, Any]:
    """Return features and targets of a Parquet table as Dask collections, a part for each group of rows of a file."""
    import dask.dataframe
    import pandas
    from pyarrow import parquet

    from mercer._source.table.format import find_format, find_place
    from mercer._source.table.other_formats import list_parquet_files

    place = find_place(whole.source, whole.reading.get("max_unpacked"))
    kind = find_format(place)
    if kind not in ("parquet", "folder") or rows.weight is not None:
        what = "a table with weights" if rows.weight is not None else f"{place.name}"
        raise DataError(f"--cluster: workers read Parquet files without weights; got {what}. Convert it to Parquet.")
    files: list[Any] = list_parquet_files(place) if kind == "folder" else [place.path]
    parts = [
        (str(Path(file).absolute()), group)
        for file in files
        for group in range(parquet.read_metadata(file).num_row_groups)
    ]
    read = _ReadPart(rows)
    first = read(parts[0])
    frame = dask.dataframe.from_map(read, parts, meta=first.iloc[:0])
    assert isinstance(first, pandas.DataFrame)
    return frame[list(rows.kinds)], frame[_TARGET]


# The column of the targets in a part; names of tables do not begin so.
_TARGET = "\x00target"


class _ReadPart:
    """Reads a group of rows of a Parquet file on a worker."""

    def __init__(self, rows: _Rows) -> None:
        self.rows = rows

    def __call__(self, part: tuple[str, int]) -> Any:
        import pandas
        from pyarrow import parquet

        from mercer._source.table.column_type import type_columns
        from mercer._source.table.reading import make_frame

        path, group = part
        names = [*self.rows.kinds, self.rows.target]
        with parquet.ParquetFile(path) as file:
            table = file.read_row_group(group, columns=names)
        kinds = {name: "category" if kind in ("numeral", "truth") else kind for name, kind in self.rows.kinds.items()}
        plain, _ = type_columns(make_frame(table, path)[0], kinds, copied=[self.rows.target])
        block = self.rows.take(plain)
        if block is None:
            return plain.iloc[:0][list(self.rows.kinds)].assign(**{_TARGET: np.empty(0)})
        frame, y = block[:2]
        return pandas.concat([frame, pandas.Series(y, name=_TARGET)], axis=1)

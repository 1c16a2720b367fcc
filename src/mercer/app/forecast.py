"""Say before a study begins how large the table is, and what memory and time the study will take."""

from typing import Any

from mercer._source.memory import count_allowed_bytes, readable
from mercer._source.threads import n_threads
from mercer.app.options import Options

# Bytes of a number in an encoded row.
_BYTES = 8
# Encoded copies of the rows that one thread holds at most: all rows, those of a fold, scaled ones and a solver's own.
_COPIES = 4
# The most columns that a category or a text becomes: rarer values share a column.
_MOST_INDICATORS = 50
# Columns that a date becomes: itself and sine and cosine of up to three cycles.
_DATE_COLUMNS = 7


def forecast_study(frame: Any, roles: Any, options: Options) -> str:
    """Return a sentence or two about the size of the table, the memory and the time."""
    rows, columns = frame.shape
    width = sum(_count_encoded(column) for column in roles.columns)
    compared = min(rows, options.max_rows)
    table = int(frame.memory_usage(deep=False).sum())
    needed = table + _BYTES * compared * max(width, 1) * _COPIES * n_threads(options.n_jobs)
    allowed = count_allowed_bytes()
    counts = [f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in ((rows, "row"), (columns, "column"))]
    size = f"{' and '.join(counts)} ({readable(table)})"
    memory = f"encoded rows will take up to about {readable(needed)} of memory"
    if needed > allowed:
        memory += f", but only {readable(allowed)} are free: give --max-rows or --ignore"
    if options.budget is not None:
        # Exactly as it was given: 90 s, not 2 min.
        limit = f"{options.budget:g} s" if options.budget < 600 else f"{options.budget / 60:.4g} min"
        time = f"The study will take at most {limit}."
    else:
        # The study tells its time after a short fit of each candidate.
        time = "There is no limit of time; --budget sets one."
    return f"{size}; {memory}. {time}"


def _count_encoded(column: Any) -> int:
    """Return the number of encoded columns that a column of the table becomes; 0 if models do not use it."""
    if column.role in ("category", "text"):
        return min(column.distinct, _MOST_INDICATORS) + 1
    return {"number": 2, "date": _DATE_COLUMNS}.get(column.role, 0)

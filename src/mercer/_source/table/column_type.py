"""Give columns plain types: numbers, dates and texts, from whatever a file or a frame holds."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._source.table.dialect import MISSING, NO_NUMBER
from mercer._source.table.numerals import FORMS, describe_sentinel, list_units, read_numeral, read_written_numbers
from mercer._source.table.table import Notice, quote

# Formats of dates, by the character between their parts; where day and month are both possible, the month is first.
_FORMATS = {
    "/": ("%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%Y/%m", "%m/%Y"),
    "-": ("%Y-%m-%d", "%m-%d-%Y", "%d-%m-%Y", "%d-%b-%Y", "%d-%b-%y", "%m-%d-%y", "%d-%m-%y", "%Y-%m", "%b-%Y"),
    ".": ("%d.%m.%Y", "%d.%m.%y", "%Y.%m.%d"),
    " ": (
        "%d %b %Y",
        "%b %d, %Y",
        "%b %d %Y",
        "%d %B %Y",
        "%B %d, %Y",
        "%B %d %Y",
        "%d %b %y",
        "%b %Y",
        "%B %Y",
        "%a, %d %b %Y",
    ),
}
_CLOCKS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p", "%H:%M:%S%z", "%H:%M:%S.%f%z", "%H:%MZ")
# Distinct values from which the format is found.
_SAMPLE = 200
# Years that eight digits such as 20200314 may begin with.
_COMPACT_YEARS = (1900, 2100)


def find_forms(values: np.ndarray, day_first: bool) -> list[str]:
    """Return the formats that some of the values have, the most frequent one first; among equals, as `_FORMATS` has."""
    import pandas

    head = pandas.Series(values[:_SAMPLE], dtype=object)
    example = str(values[0])
    # The first mark between the parts is the second to the fifth character: after a day, a month or a year.
    mark = next((mark for mark in _FORMATS if mark in example[1:5]), " ")
    clocks = [f"{between}{clock}" for clock in _CLOCKS for between in (" ", "T")] if ":" in example else [""]
    forms = _FORMATS[mark]
    if day_first:
        # The sort is stable and False comes before True: formats that begin with the month move to the end.
        forms = tuple(sorted(forms, key=lambda form: form.startswith("%m")))
    shares = {}
    for form in forms:
        for clock in clocks:
            share = _read(head, form + clock).notna().mean()
            if share > 0:
                shares[form + clock] = float(share)
    return sorted(shares, key=lambda form: -shares[form])


def _read(texts: Any, form: str) -> Any:
    import pandas

    parsed = pandas.to_datetime(texts, format=form, errors="coerce", utc="%z" in form or form.endswith("Z"))
    return parsed.dt.tz_localize(None) if parsed.dt.tz is not None else parsed


def is_compact_date(column: np.ndarray) -> bool:
    """Return whether whole numbers are dates such as 20200314; at least 20 of them, and several."""
    known = column[~np.isnan(column)]
    if len(known) < 20 or known.min() < _COMPACT_YEARS[0] * 10_000 or known.max() > _COMPACT_YEARS[1] * 10_000:
        return False
    whole = known.astype(np.int64)
    months, days = whole // 100 % 100, whole % 100
    fits = (whole == known) & (months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)
    return bool(fits.all()) and len(np.unique(months)) > 1


# If at least this share of a column are numbers or dates, the other values count as missing.
_MOSTLY = 0.9
# If at least this share are numbers, the user is told so.
_SOME = 0.5
# Dates outside these years are taken for mistakes.
_YEARS = (1500, 2500)


@dataclass
class Typing:
    """Converts columns to plain types, one after the other, and collects notices.

    `kinds` are the kinds that the user gave: all values of a number column are read as numbers, a category or a text is
    left as it is written, and a date or a number may come with its format ("date %d/%m/%Y", "number 1,234.5"). `forms`
    are the formats found.
    """

    kinds: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)  # further spellings of a missing value
    decimal: str | None = None  # the decimal mark of written numbers; None guesses it
    day_first: bool = False
    copied: list[str] = field(default_factory=list)  # columns that are only copied: written numbers stay as they are
    notices: list[Notice] = field(default_factory=list)
    forms: dict[str, str] = field(default_factory=dict)

    def convert(self, name: str, column: Any) -> Any:
        """Return the column as float64, int64, bool, datetime64 or text, without values that count as missing."""
        plain = self._convert(name, column)
        if plain.dtype.kind not in "if":
            return plain
        # Marks such as -999 arrive as numbers, after the texts were converted.
        marks = [number for text in self.missing if not np.isnan(number := _read_float(text))]
        if marks and plain.isin(marks).any():
            plain = plain.astype("float64").mask(plain.isin(marks))
        self._inspect_numbers(name, plain)
        return plain

    def _inspect_numbers(self, name: str, column: Any) -> None:
        """Add notices about numbers that may be dates or may mean missing values."""
        if name in self.kinds or name in self.copied:
            return
        numbers = column.to_numpy(dtype=float)
        if is_compact_date(numbers):
            text = f"The numbers look like dates ({quote(int(column.dropna().iloc[0]))}). They are used as numbers."
            self.notices.append(Notice("warning", name, text, f"give --date {name} to read them as dates"))
        elif (notice := describe_sentinel(name, numbers)) is not None:
            self.notices.append(notice)

    def _convert(self, name: str, column: Any) -> Any:
        """Return the column with a plain type."""
        import pandas

        given = self.kinds.get(name)
        kind = column.dtype
        if isinstance(kind, pandas.CategoricalDtype):
            return self._convert(name, column.astype(kind.categories.dtype if len(kind.categories) else "float64"))
        if isinstance(kind, pandas.DatetimeTZDtype):
            # Times are compared in UTC; pandas then drops the zone, which files and models do not take.
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        if column.dtype.kind == "M":
            return self._drop_far_dates(name, column)
        if column.dtype.kind == "m":
            # A duration is a number of seconds.
            return column.dt.total_seconds()
        if column.dtype.kind == "c":
            return self._convert(name, column.map(str))
        if column.dtype.kind in "iuf":
            if given is not None and given.startswith("date") and is_compact_date(column.to_numpy(dtype=float)):
                self.forms[name] = "%Y%m%d"
                texts = column.map(lambda value: f"{value:.0f}", na_action="ignore")
                return self._drop_far_dates(name, pandas.to_datetime(texts, format="%Y%m%d", errors="coerce"))
            return _convert_numbers(column)
        if column.dtype.kind == "b":
            # Booleans with gaps cannot stay booleans, and become texts.
            return column.astype(bool) if not column.isna().any() else _convert_texts(column.astype(object))
        return self._convert_objects(name, column, given)

    def _convert_objects(self, name: str, column: Any, given: str | None) -> Any:
        """Convert a column of texts, or of mixed types."""
        import pandas

        known = column.dropna()
        if len(known) == 0:
            return pandas.Series(np.full(len(column), np.nan), index=column.index)
        # Objects may be numbers with None between them, or dates of Python.
        if column.dtype == object and not isinstance(known.iloc[0], str):
            kinds = {type(value) for value in known}
            if kinds <= {int, float, np.float64, np.int64} or {kind.__name__ for kind in kinds} == {"Decimal"}:
                return _convert_numbers(column.astype(float))
            if all(hasattr(value, "year") for value in known):
                return self._convert(name, pandas.to_datetime(column, errors="coerce"))
        texts = _convert_texts(column, self.missing)
        if given in ("category", "text", "id", "ignored"):
            return texts
        words = texts == NO_NUMBER
        if words.any():
            others = pandas.Series(texts[~words].dropna().unique(), dtype=object)
            if len(others) and not pandas.to_numeric(others, errors="coerce").isna().any():
                texts = texts.mask(words)
        return self._type_texts(name, texts, given)

    def _type_texts(self, name: str, texts: Any, given: str | None) -> Any:
        """Find out whether texts are numbers or dates, and convert them."""
        import pandas

        counts = texts.value_counts()
        n_known = int(counts.sum())
        if n_known == 0:
            return pandas.Series(np.full(len(texts), np.nan), index=texts.index)
        values = counts.index.to_numpy(dtype=object)
        # The most frequent values show that most columns are texts; only the others are checked value by value.
        if given is None and not _has_digits(values[:200]):
            return texts
        numbers = pandas.to_numeric(pandas.Series(values, dtype=object), errors="coerce").to_numpy(dtype=float)
        share = counts.to_numpy()[~np.isnan(numbers)].sum() / n_known
        plain = given == "number" or (given is None and share >= _MOSTLY)
        if given in (None, "number") and share < 1.0 and name not in self.copied:
            forms = tuple(form for form in FORMS if self.decimal is None or form[-2] == self.decimal)
            written = read_written_numbers(values, counts.to_numpy(), forms, share + 1e-9 if plain else _MOSTLY)
            if written is not None:
                self.forms[name] = written.form
                changed = np.flatnonzero(np.isnan(numbers) & ~np.isnan(written.values))
                self.notices.append(written.describe(name, str(values[changed[0]])))
                numbers, share, plain = written.values, written.share, True
        elif given is not None and given.startswith("number "):
            form = given.removeprefix("number ")
            numbers = np.array([read_numeral(str(value), form) for value in values])
            share = counts.to_numpy()[~np.isnan(numbers)].sum() / n_known
            plain = True
        if plain:
            self._say_mixed(name, values[np.isnan(numbers)], round((1 - share) * n_known), n_known)
            return _convert_numbers(texts.map(dict(zip(values, numbers))).astype(float))
        if given in (None, "time") or given.startswith("date"):
            form = (given or "").removeprefix("date").strip() if given != "time" else ""
            dates = self._read_dates(name, values, counts.to_numpy(), given is not None, form)
            if dates is not None:
                return texts.map(dict(zip(values, dates))).astype("datetime64[s]")
        units = list_units(values) if given is None else []
        if 1 < len(units) <= 5:
            text = f"The values are numbers with different units ({quote(*units)}). The column is read as text."
            self.notices.append(Notice("warning", name, text, "write all of them in one unit"))
        if share >= _SOME:
            others = quote(*values[np.isnan(numbers)][:2])
            text = (
                f"Only {100 * share:.0f} % of the values are numbers; others are {others}. The column is read as text."
            )
            self.notices.append(Notice("warning", name, text, f"give --number {name} to count the texts as missing"))
        return texts

    def _say_mixed(self, name: str, wrong: np.ndarray, count: int, n_known: int) -> None:
        """Add a notice that some values of a number column are not numbers."""
        if count:
            verb, suffix = ("is not a number", "s") if count == 1 else ("are not numbers", "")
            text = f"{count} of {n_known} values {verb} ({quote(*wrong[:3], most=3)}) and count{suffix} as missing."
            cure = f"correct {'it' if count == 1 else 'them'}, or give --category {name}"
            self.notices.append(Notice("warning", name, text, cure))

    def _read_dates(
        self, name: str, values: np.ndarray, counts: np.ndarray, given: bool, form: str
    ) -> np.ndarray | None:
        """Return dates in the given format or in a common one; None if most values are not dates."""
        import pandas

        texts = pandas.Series(values, dtype=object)
        best: Any = None
        best_share, ties = 0.0, 0
        for pattern in [form] if form else find_forms(values, self.day_first):
            parsed = pandas.to_datetime(texts, format=pattern, errors="coerce", utc="%z" in pattern)
            parsed = parsed.dt.tz_localize(None) if "%z" in pattern else parsed
            share = counts[parsed.notna().to_numpy()].sum() / counts.sum()
            # Day-first and month-first formats read the same share where no day is above 12; such a tie is told.
            ties += int(share == best_share and share > 0)
            if share > best_share:
                best, best_share, ties = parsed, share, 0
                self.forms[name] = pattern
        if form and best is None:
            best = pandas.to_datetime(texts, format=form, errors="coerce")
        # A column that the user calls a date may hold more broken values than one that is only guessed.
        elif not form and (best is None or best_share < (_SOME if given else _MOSTLY)):
            self.forms.pop(name, None)
            return None
        # The first value that is a date; a given format may fit none.
        first = int(best.notna().to_numpy().argmax())
        if not best.notna().any():
            pass
        elif ties:
            example = f"{quote(values[first])} was read as {best.iloc[first].day} {best.iloc[first]:%B %Y}"
            text = f"The dates can be read with the day or the month first; {example}."
            other = "the month first" if self.day_first else "give --day-first to read the day first"
            cure = f"write dates as year-month-day, or leave out --day-first to read {other}"
            self.notices.append(Notice("warning", name, text, cure if self.day_first else other))
        elif "%y" in self.forms.get(name, ""):
            text = f"The years have two digits: {quote(values[first])} is read as {best.iloc[first]:%Y-%m-%d}."
            self.notices.append(Notice("note", name, text, f"give --category {name} if these are no dates"))
        self._say_out_of_range(name, values[best.isna().to_numpy()], int(counts[best.isna().to_numpy()].sum()))
        return self._drop_far_dates(name, best).to_numpy()

    def _drop_far_dates(self, name: str, column: Any) -> Any:
        """Replace dates outside `_YEARS` by missing ones."""
        column = column.astype("datetime64[s]")
        # Days, not years: a damaged file may hold years beyond pandas' 32 bits.
        days = column.to_numpy("datetime64[D]")
        first, end = (np.datetime64(str(year), "D") for year in (_YEARS[0], _YEARS[1] + 1))
        outside = (days < first) | (days >= end)
        if outside.any():
            self._say_out_of_range(name, np.datetime_as_string(np.unique(days[outside])), int(outside.sum()))
            column = column.mask(outside)
        return column

    def _say_out_of_range(self, name: str, values: Any, count: int) -> None:
        """Add a notice that some dates are out of range."""
        if count:
            verb, suffix = ("date is", "s") if count == 1 else ("dates are", "")
            text = f"{count} {verb} out of range ({quote(*values[:3], most=3)}) and count{suffix} as missing."
            self.notices.append(Notice("warning", name, text, "correct them"))


def _has_digits(values: np.ndarray) -> bool:
    """Return whether at least half of the values have a digit."""
    return sum(any(letter.isdigit() for letter in str(value)) for value in values) >= _SOME * len(values)


def _convert_numbers(column: Any) -> Any:
    """Return float64, or int64 if nothing is missing; infinities count as missing."""
    if column.dtype == np.uint64:
        # Half of the range of uint64 does not fit into int64.
        return column.astype("float64")
    if column.dtype.kind in "iu" and not hasattr(column.dtype, "numpy_dtype"):
        return column.astype("int64")
    values = column.to_numpy(dtype="float64", na_value=np.nan)
    if np.isinf(values).any():
        values = np.where(np.isinf(values), np.nan, values)
    if column.dtype.kind in "iu" and not np.isnan(values).any():
        return column.astype("int64")
    return column.__class__(values, index=column.index)


def _read_float(text: str) -> float:
    """Return the number that a text is, or NaN."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _convert_texts(column: Any, further: list[str] | None = None) -> Any:
    """Return texts without surrounding blanks; common spellings of a missing value, and `further`, count as missing."""
    import pandas

    if column.dtype == object:
        column = column.map(lambda value: value if isinstance(value, str) else str(value), na_action="ignore")
    column = column.astype("str").str.strip()
    missing = column.isin([*MISSING, *(further or [])])
    return column.mask(missing) if missing.any() else column.astype(pandas.StringDtype(na_value=np.nan))


def type_columns(frame: Any, kinds: dict[str, str] | None = None, **options: Any) -> tuple[Any, Typing]:
    """Return the frame with plain columns, and the notices and formats from the conversion.

    `options` are further fields of :class:`Typing`.
    """
    import pandas

    typing = Typing(dict(kinds or {}), **options)
    columns = {name: typing.convert(name, frame[name]) for name in frame.columns}
    return pandas.DataFrame(columns, index=frame.index), typing


def spell_categories(column: Any) -> Any:
    """Return the values of a column as names of categories; integers have no decimal point, whatever their type."""
    values = column
    if values.dtype.kind == "f":
        known = values.dropna()
        # Above 2**53 a float does not hold the last digits of an integer.
        if len(known) and (known == np.floor(known)).all() and (np.abs(known) < 2.0**53).all():
            values = values.astype("Int64")
    return values.astype(object).map(str, na_action="ignore")

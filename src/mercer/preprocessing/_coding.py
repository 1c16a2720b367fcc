"""How a column of each kind becomes numbers: what is learnt of it, and the columns it turns into."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._plain import plain
from mercer.preprocessing._columns import Columns

__all__ = ["CategoryCoding", "DateCoding", "NumberCoding", "TextCoding", "words_of"]

_DAY = 86_400.0
# Lengths of the cycles of the calendar, in days.
_CYCLES = {"year": 365.2425, "week": 7.0, "day": 1.0}
# The days since 1970 start on a Thursday: with this shift a week starts on Monday.
_SHIFTS = {"year": 0.0, "week": 3.0, "day": 0.0}
_WORD = re.compile(r"\w\w+")


def words_of(text: str | None) -> set[str]:
    """The distinct words of a text, in lower case; single letters are none."""
    return set(_WORD.findall(text.lower())) if text else set()


@plain
@dataclass(frozen=True, eq=False)
class NumberCoding:
    """A number is itself; a missing one is the middle number of the training rows."""

    fill: float
    missing: bool
    kind: ClassVar[str] = "number"
    density: ClassVar[float] = 1.0

    @classmethod
    def learn(cls, columns: Columns, number: int, missing: str) -> "NumberCoding":
        values = columns.numbers(number)
        unknown = np.isnan(values)
        known = values[~unknown] if unknown.any() else values
        fill = float(np.median(known)) if missing != "keep" and len(known) else 0.0
        return cls(np.nan if missing == "keep" else fill, bool(missing == "indicator" and unknown.any()))

    def names(self, column: str) -> list[str]:
        return [column, f"{column} is missing"] if self.missing else [column]

    def write(self, columns: Columns, number: int, out: np.ndarray) -> None:
        _write_filled(columns.numbers(number), self.fill, self.missing, out)


def _write_filled(values: np.ndarray, fill: float, missing: bool, out: np.ndarray) -> None:
    """The values with `fill` for the missing ones, and whether they are in the last column if that is asked for."""
    out[:, 0] = values
    unknown = np.isnan(values)
    if missing:
        out[:, -1] = unknown
    if unknown.any() and not np.isnan(fill):
        out[unknown, 0] = fill


@plain
@dataclass(frozen=True, eq=False)
class CategoryCoding:
    """One of c: a column for each category that is common enough, one for the others, one for missing.

    The others are the categories that were too rare in the training rows and those that were not there. They share a
    column where training rows had such, and are zero in all columns where none had. With `codes` there is one column:
    the place of the category in the order of names, then that of the others, then that of missing.
    """

    categories: Any  # names in their order
    others: bool
    missing: bool
    codes: bool
    keep: bool  # whether a missing code is NaN
    kind: ClassVar[str] = "category"

    @classmethod
    def learn(
        cls, columns: Columns, number: int, missing: str, codes: bool, min_frequency: int, max_categories: int
    ) -> "CategoryCoding":
        values, places = columns.factorised(number)
        counts = np.bincount(places[places >= 0], minlength=len(values))
        # Of equally common categories the first by name is kept, whatever the order of the rows.
        common = sorted((-count, value) for count, value in zip(counts.tolist(), values) if count >= min_frequency)
        kept = sorted(value for _, value in common[:max_categories])
        known = len(places) - int((places < 0).sum())
        others = known > int(-sum(count for count, _ in common[:max_categories]))
        unknown = known < len(places)
        names = np.array(kept, dtype=object)
        return cls(names, others, unknown, codes, missing == "keep")

    @property
    def density(self) -> float:
        return 1.0

    def names(self, column: str) -> list[str]:
        if self.codes:
            return [column]
        extra = ["(other)"] * self.others + ["(missing)"] * self.missing
        return [f"{column}={name}" for name in (*self.categories, *extra)]

    def places(self, columns: Columns, number: int) -> np.ndarray:
        """The output column of each row; -1 for none."""
        values, codes = columns.factorised(number)
        size = len(self.categories)
        other = size if self.others or self.codes else -1
        missing = size + int(self.others or self.codes) if self.missing or self.codes else other
        places = {name: place for place, name in enumerate(self.categories)}
        table = np.array([places.get(value, other) for value in values] + [missing], dtype=np.intp)
        return table[codes]

    def write(self, columns: Columns, number: int, out: np.ndarray) -> None:
        places = self.places(columns, number)
        if self.codes:
            out[:, 0] = places
            if self.keep:
                out[places == len(self.categories) + 1, 0] = np.nan
            return
        out[:] = 0.0
        rows = np.flatnonzero(places >= 0)
        out[rows, places[rows]] = 1.0


@plain
@dataclass(frozen=True, eq=False)
class DateCoding:
    """Days since the start of 1970, and where in the year, the week and the day a moment lies, as sine and cosine.

    ``form`` is how texts are read, in the letters of ``strptime``; None leaves that to NumPy, which reads ISO dates.
    """

    fill: float
    missing: bool
    cycles: tuple[str, ...]
    form: str | None = None
    kind: ClassVar[str] = "date"
    density: ClassVar[float] = 1.0

    @classmethod
    def learn(cls, columns: Columns, number: int, missing: str, cycles: bool, form: str | None = None) -> "DateCoding":
        days = columns.seconds(number, form) / _DAY
        known = days[~np.isnan(days)]
        fill = 0.0 if missing != "keep" else np.nan
        found: tuple[str, ...] = ()
        if len(known):
            fill = float(np.median(known)) if missing != "keep" else np.nan
            # A cycle seen less than twice cannot be told from a trend, and midnight has no hour.
            extent = float(known.max() - known.min())
            found = tuple(name for name in ("year", "week") if cycles and extent >= 2 * _CYCLES[name])
            found += ("day",) if cycles and (known != np.floor(known)).any() else ()
        return cls(fill, bool(missing == "indicator" and len(known) < len(days)), found, form)

    def names(self, column: str) -> list[str]:
        waves = [f"{column} {cycle} {wave}" for cycle in self.cycles for wave in ("sine", "cosine")]
        return [f"{column} days", *waves, *([f"{column} is missing"] if self.missing else [])]

    def write(self, columns: Columns, number: int, out: np.ndarray) -> None:
        days = columns.seconds(number, self.form) / _DAY
        _write_filled(days, self.fill, self.missing, out)
        for place, cycle in enumerate(self.cycles):
            angle = 2 * np.pi * np.mod(out[:, 0] + _SHIFTS[cycle], _CYCLES[cycle]) / _CYCLES[cycle]
            out[:, 1 + 2 * place] = np.sin(angle)
            out[:, 2 + 2 * place] = np.cos(angle)


@plain
@dataclass(frozen=True, eq=False)
class TextCoding:
    """Whether each word of a vocabulary is in the text; other words are ignored."""

    words: Any  # in their order
    mean_words: float
    kind: ClassVar[str] = "text"

    @classmethod
    def learn(cls, columns: Columns, number: int, most: int, min_frequency: int) -> "TextCoding":
        counts: Counter[str] = Counter()
        texts = columns.texts(number)
        for text in texts:
            counts.update(words_of(text))
        # A word of every text says nothing.
        useful = sorted((-count, word) for word, count in counts.items() if min_frequency <= count < len(texts))
        kept = useful[:most]
        mean = -sum(count for count, _ in kept) / max(1, len(texts))
        return cls(np.array(sorted(word for _, word in kept), dtype=object), float(mean))

    @property
    def density(self) -> float:
        return self.mean_words

    def names(self, column: str) -> list[str]:
        return [f"{column}: {word}" for word in self.words]

    def write(self, columns: Columns, number: int, out: np.ndarray) -> None:
        out[:] = 0.0
        rows, places = self.entries(columns, number)
        out[rows, places] = 1.0

    def entries(self, columns: Columns, number: int) -> tuple[list[int], list[int]]:
        """Rows and places of the words that are there."""
        known = {word: place for place, word in enumerate(self.words)}
        rows: list[int] = []
        places: list[int] = []
        for row, text in enumerate(columns.texts(number)):
            found = sorted(known[word] for word in words_of(text) if word in known)
            rows += [row] * len(found)
            places += found
        return rows, places

"""Turn columns of each kind into numbers: what is learned from a column, and its output columns."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._plain import plain
from mercer.preprocessing._columns import Columns, Tokens
from mercer.preprocessing._summaries import DateSummary, NameSummary, NumberSummary, count_names

# Seconds of a day.
_DAY = 86_400.0
# Lengths of the cycles of the calendar, in days.
_CYCLES = {"year": 365.2425, "week": 7.0, "day": 1.0}
# Days to add so that a week starts on Monday: day 0, 1970-01-01, was a Thursday.
_SHIFTS = {"year": 0.0, "week": 3.0, "day": 0.0}
# Decimals of sines and cosines.
_DECIMALS = 12
_WORD = re.compile(r"\w\w+")


def list_words(text: str | None) -> list[str]:
    """Return the words of a text in lower case, of two letters or more; of a list of words, those words."""
    if isinstance(text, Tokens):
        return list(text.words)
    return _WORD.findall(text.lower()) if text else []


def summarise(summary: Any, columns: Columns, index: int, kind: str) -> None:
    """Add a column of a block of rows to the summary for its kind; the kind may end with a form."""
    name, _, form = kind.partition(" ")
    match name:
        case "number":
            summary.add(columns.values(index, form or None))
        case "date":
            summary.add(columns.seconds(index, form or None) / _DAY)
        case "category":
            summary.add(*count_names(columns, index))
        case "text":
            texts = columns.texts(index)
            counts: Counter[str] = Counter()
            for text in texts:
                counts.update(find_words(text))
            summary.add(counts, len(texts), 0)


def find_words(text: str | None) -> set[str]:
    """Return the distinct words of a text; see `list_words`."""
    return set(list_words(text))


@plain
@dataclass(frozen=True, eq=False)
class NumberCoding:
    """A number; a missing one becomes the median of the training rows.

    ``form`` is how numbers that are texts are written, one of `numerals.FORMS`; None takes numbers only.
    """

    fill: float
    missing: bool
    form: str | None = None
    kind: ClassVar[str] = "number"
    density: ClassVar[float] = 1.0

    @classmethod
    def learn(cls, summary: NumberSummary, missing: str, form: str | None = None) -> "NumberCoding":
        fill = np.nan if missing == "keep" else summary.median()
        return cls(fill, missing == "indicator" and summary.n_missing > 0, form)

    def names(self, column: str) -> list[str]:
        return [column, f"{column} is missing"] if self.missing else [column]

    def write(self, columns: Columns, index: int, out: np.ndarray) -> None:
        _write_filled(columns.values(index, self.form), self.fill, self.missing, out)

    def read_back(self, block: np.ndarray) -> np.ndarray:
        """Return the numbers of output columns; those that are marked as missing are NaN."""
        return np.where(block[:, -1] > 0.5, np.nan, block[:, 0]) if self.missing else block[:, 0].copy()


def _write_filled(values: np.ndarray, fill: float, missing: bool, out: np.ndarray) -> None:
    """Write the values with `fill` for missing ones; mark these in the last column if `missing`."""
    out[:, 0] = values
    unknown = np.isnan(values)
    if missing:
        out[:, -1] = unknown
    if unknown.any() and not np.isnan(fill):
        out[unknown, 0] = fill


@plain
@dataclass(frozen=True, eq=False)
class CategoryCoding:
    """Indicators: one column for each frequent category, one for the other categories, and one for missing values.

    The other categories are those that were rare or absent in the training rows. If the training rows had any, they
    share a column; otherwise they are zero in all columns. With `codes` there is one column: the index of the category
    by name, then the index of the other categories, then that of missing values.
    """

    categories: Any  # sorted names
    others: bool
    missing: bool
    codes: bool
    keep: bool  # whether a missing code is NaN
    kind: ClassVar[str] = "category"

    @classmethod
    def learn(
        cls, summary: NameSummary, missing: str, codes: bool, min_frequency: int, max_categories: int
    ) -> "CategoryCoding":
        # Ties are broken by name, so that the order of the rows does not matter.
        # If none is frequent enough, all would share one column, which says nothing: those that come twice are kept, or
        # all where there are not rows enough for one of them to be frequent.
        most = max(summary.counts.values(), default=0)
        few = most == 1 and summary.n_rows < min_frequency
        least = min_frequency if most >= min_frequency else (1 if few else 2)
        common = sorted((-count, value) for value, count in summary.counts.items() if count >= least)
        kept = sorted(value for _, value in common[:max_categories])
        known = summary.n_rows - summary.n_missing
        others = known > -sum(count for count, _ in common[:max_categories])
        names = np.array(kept, dtype=object)
        return cls(names, others, summary.n_missing > 0, codes, missing == "keep")

    @property
    def density(self) -> float:
        return 1.0

    def names(self, column: str) -> list[str]:
        if self.codes:
            return [column]
        extra = ["(other)"] * self.others + ["(missing)"] * self.missing
        return [f"{column}={name}" for name in (*self.categories, *extra)]

    def find_places(self, columns: Columns, index: int) -> np.ndarray:
        """Return the index of the output column of each row; -1 for none."""
        values, codes = columns.factorise(index)
        size = len(self.categories)
        other = size if self.others or self.codes else -1
        missing = size + int(self.others or self.codes) if self.missing or self.codes else other
        places = {name: place for place, name in enumerate(self.categories)}
        table = np.array([places.get(value, other) for value in values] + [missing], dtype=np.intp)
        return table[codes]

    def count_new(self, columns: Columns, index: int) -> dict[str, int]:
        """Return the categories that no training row had, and the number of rows of each.

        Empty if the training rows had rare categories: their names are not kept, so that any other may be one of them.
        """
        if self.others:
            return {}
        values, codes = columns.factorise(index)
        known = set(self.categories)
        new = [place for place, value in enumerate(values) if value not in known]
        if not new:
            return {}
        counts = np.bincount(codes[codes >= 0], minlength=len(values))
        return {values[place]: int(counts[place]) for place in new}

    def write(self, columns: Columns, index: int, out: np.ndarray) -> None:
        places = self.find_places(columns, index)
        if self.codes:
            out[:, 0] = places
            if self.keep:
                # The code after those of all categories stands for a missing value.
                out[places == len(self.categories) + 1, 0] = np.nan
            return
        out[:] = 0.0
        # A place below zero marks a value without a column: its row stays zero throughout.
        rows = np.flatnonzero(places >= 0)
        out[rows, places[rows]] = 1.0

    def read_back(self, block: np.ndarray) -> np.ndarray:
        """Return the category of the highest indicator, or of the code; None where it is missing or none is known."""
        size = len(self.categories)
        names = np.append(self.categories, np.array([None] * 3, dtype=object))
        if self.codes:
            codes = np.where(np.isnan(block[:, 0]), size + 1, block[:, 0])
            return names[np.clip(np.rint(codes), 0, size + 1).astype(np.intp)]
        if block.shape[1] == 0:
            return np.full(len(block), None, dtype=object)
        # Rows without an indicator were of a category that the training rows did not have.
        found = names[block.argmax(axis=1)]
        found[block.max(axis=1) <= 0] = None
        return found


@plain
@dataclass(frozen=True, eq=False)
class DateCoding:
    """Days since the start of 1970, and sine and cosine of the position in the year, the week and the day.

    ``form`` is the format of dates that are texts, as ``strptime`` takes it; None lets NumPy read them, as ISO dates.
    """

    fill: float
    missing: bool
    cycles: tuple[str, ...]
    form: str | None = None
    kind: ClassVar[str] = "date"
    density: ClassVar[float] = 1.0

    @classmethod
    def learn(cls, summary: DateSummary, missing: str, cycles: bool, form: str | None = None) -> "DateCoding":
        fill = np.nan if missing == "keep" else summary.median()
        periods: tuple[str, ...] = ()
        if summary.n_known:
            # With less than two periods a cycle cannot be distinguished from a trend; dates without hours have no daily
            # cycle.
            first, last = summary.range()
            extent = last - first
            periods = tuple(name for name in ("year", "week") if cycles and extent >= 2 * _CYCLES[name])
            periods += ("day",) if cycles and summary.has_times else ()
        return cls(fill, missing == "indicator" and summary.n_missing > 0, periods, form)

    def names(self, column: str) -> list[str]:
        waves = [f"{column} {cycle} {wave}" for cycle in self.cycles for wave in ("sine", "cosine")]
        return [f"{column} days", *waves, *([f"{column} is missing"] if self.missing else [])]

    def write(self, columns: Columns, index: int, out: np.ndarray) -> None:
        days = columns.seconds(index, self.form) / _DAY
        _write_filled(days, self.fill, self.missing, out)
        for place, cycle in enumerate(self.cycles):
            angle = 2 * np.pi * np.mod(out[:, 0] + _SHIFTS[cycle], _CYCLES[cycle]) / _CYCLES[cycle]
            # Mondays of different years differ by rounding; trees would split between them.
            out[:, 1 + 2 * place] = np.round(np.sin(angle), _DECIMALS)
            out[:, 2 + 2 * place] = np.round(np.cos(angle), _DECIMALS)

    def read_back(self, block: np.ndarray) -> np.ndarray:
        """Return the moments, to the second; missing ones are NaT."""
        known = np.isfinite(block[:, 0])
        if self.missing:
            known &= block[:, -1] < 0.5
        seconds = np.rint(np.where(known, block[:, 0], 0.0) * _DAY).astype(np.int64)
        return np.where(known, seconds.astype("datetime64[s]"), np.datetime64("NaT", "s"))


@plain
@dataclass(frozen=True, eq=False)
class TextCoding:
    """Columns for the words of a vocabulary; other words are ignored.

    Without `weights` a word that a text holds gives 1. With them, which are inverse document frequencies, it gives the
    number of times it is in the text times its weight, and the numbers of each text are scaled to length 1 (TF-IDF).
    """

    words: Any  # sorted
    mean_words: float
    weights: Any = None
    kind: ClassVar[str] = "text"

    @classmethod
    def learn(cls, summary: NameSummary, most: int, min_frequency: int, weighted: bool = False) -> "TextCoding":
        counts, n_texts = summary.counts, summary.n_rows
        # If no word is frequent enough, those of two texts are kept: none would leave no column.
        least = min_frequency if max(counts.values(), default=0) >= min_frequency else 2
        # A word that is in every text carries no information.
        useful = sorted((-count, word) for word, count in counts.items() if least <= count < n_texts)
        kept = useful[:most]
        mean = -sum(count for count, _ in kept) / max(1, n_texts)
        words = sorted(word for _, word in kept)
        # The inverse document frequency log((1 + n) / (1 + n_w)) + 1: a rare word says more than a frequent one.
        rarity = np.log((1 + n_texts) / (1 + np.array([counts[word] for word in words], dtype=float))) + 1
        return cls(np.array(words, dtype=object), float(mean), rarity if weighted else None)

    @property
    def density(self) -> float:
        return self.mean_words

    def names(self, column: str) -> list[str]:
        return [f"{column}: {word}" for word in self.words]

    def write(self, columns: Columns, index: int, out: np.ndarray) -> None:
        out[:] = 0.0
        rows, places, values = self.list_entries(columns, index)
        out[rows, places] = values

    def read_back(self, block: np.ndarray) -> np.ndarray:
        """Return the words of the vocabulary that each text held, joined by spaces."""
        least = 0.5 if self.weights is None else 0.0
        return np.array([" ".join(self.words[row > least]) for row in block], dtype=object)

    def list_entries(self, columns: Columns, index: int) -> tuple[list[int], list[int], np.ndarray]:
        """Return the rows, output columns and values of the words that the texts hold."""
        known = {word: place for place, word in enumerate(self.words)}
        rows: list[int] = []
        places: list[int] = []
        values: list[float] = []
        for row, text in enumerate(columns.texts(index)):
            counts = Counter(known[word] for word in list_words(text) if word in known)
            held = sorted(counts)
            rows += [row] * len(held)
            places += held
            values += self._weigh(counts, held)
        return rows, places, np.array(values, dtype=float)

    def _weigh(self, counts: "Counter[int]", held: list[int]) -> list[float]:
        """Return the numbers of the words of one text."""
        if self.weights is None or not held:
            return [1.0] * len(held)
        numbers = np.array([counts[place] for place in held]) * self.weights[held]
        return (numbers / np.sqrt(numbers @ numbers)).tolist()


def learn_coding(encoder: Any, summary: Any, kind: str) -> Any:
    """Learn the coding of a column from its summary, as a TableEncoder says; None if the column is ignored."""
    name, _, form = kind.partition(" ")
    match name:
        case "number":
            return NumberCoding.learn(summary, encoder.missing, form or None)
        case "date":
            return DateCoding.learn(summary, encoder.missing, encoder.dates, form or None)
        case "text":
            return TextCoding.learn(summary, encoder.texts, encoder.min_frequency, encoder.text_values == "tfidf")
        case "category":
            limits = encoder.min_frequency, encoder.max_categories
            return CategoryCoding.learn(summary, encoder.missing, encoder.categories == "code", *limits)
    return None

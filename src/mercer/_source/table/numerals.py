"""Numbers as people write them: with currencies, units, per cent and separators of thousands.

The form of a column is written as an example: ``"1,234.5"`` has a comma between thousands and a decimal point. A
currency before the digits, and a currency, a unit or a per cent sign after them, are skipped.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mercer._source.table.table import Notice, quote

_CURRENCY = r"(?:US\$|[AC]\$|R\$|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|Rs\.?|Fr\.|[$€£¥₹₩₽₺])"
_UNIT = r"[A-Za-zµμ°%‰Ωℓ][A-Za-zµμ°%‰Ωℓ²³/·]{0,11}\.?"
_PARTS = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-+\u2212])?\s*(?P<before>{_CURRENCY})?\s*(?P<sign2>[-+\u2212])?"
    rf"(?P<digits>\d[\d.,'\u2019 \u00a0\u202f]*)\s*(?P<after>{_CURRENCY}|{_UNIT})?\s*(?P<close>\))?"
)
# Of equally many numbers the first form wins: 12,340 alone is read with a comma between thousands.
# Of each form: the pattern of its digits, the separators of thousands, and the decimal mark.
_SEPARATORS = {
    "1234.5": (re.compile(r"\d+(\.\d*)?"), "", "."),
    "1,234.5": (re.compile(r"(\d{1,3}(,\d{3})+|\d+)(\.\d*)?"), ",", "."),
    "1.234,5": (re.compile(r"(\d{1,3}(\.\d{3})+|\d+)(,\d*)?"), ".", ","),
    "1234,5": (re.compile(r"\d+(,\d*)?"), "", ","),
    "1 234.5": (re.compile(r"([1-9]\d{0,2}(\s\d{3})+|\d+)(\.\d*)?"), " \u00a0\u202f", "."),
    "1 234,5": (re.compile(r"([1-9]\d{0,2}(\s\d{3})+|\d+)(,\d*)?"), " \u00a0\u202f", ","),
    "1'234.5": (re.compile(r"(\d{1,3}(['\u2019]\d{3})+|\d+)(\.\d*)?"), "'\u2019", "."),
}
FORMS = tuple(_SEPARATORS)


class Numeral(NamedTuple):
    """A written number: its sign, its digits with separators, and what stands before or after them."""

    sign: float
    digits: str
    mark: str


def split_numeral(text: str) -> Numeral | None:
    """Return the parts of a written number, or None if `text` is none; the mark of ``3 days`` is ``day``."""
    match = _PARTS.fullmatch(text.strip())
    if match is None or (match["open"] is None) != (match["close"] is None):
        return None
    negative = match["open"] is not None or (match["sign"] or match["sign2"] or "+") not in "+"
    after = (match["after"] or "").rstrip(".")
    after = after.removesuffix("s") if len(after) > 3 else after
    return Numeral(-1.0 if negative else 1.0, match["digits"].strip(), match["before"] or after)


def read_numeral(text: str, form: str) -> float:
    """Return the value of a written number in one of the `FORMS`; NaN if it is not written so."""
    numeral = split_numeral(text)
    pattern, separators, point = _SEPARATORS[form]
    if numeral is None or pattern.fullmatch(numeral.digits) is None:
        return math.nan
    digits = numeral.digits
    for separator in separators:
        digits = digits.replace(separator, "")
    return numeral.sign * float(digits.replace(point, ".") if point != "." else digits)


# If at least this share of a column are numbers, the other values count as missing.
_MOSTLY = 0.9
# Distinct values from which the form is found; the others are read by it.
_SAMPLE = 2000
# Values that programs write where nothing was measured.
_SENTINELS = (-1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0, -999999.0, 999.0, 9999.0, 99999.0, 999999.0)
# A sentinel stands further away from the other values than their whole range, and occurs at least so often.
_FEWEST = 3


@dataclass(frozen=True)
class WrittenNumbers:
    """The values of distinct texts, their form, and what was skipped: a currency, a unit, a per cent sign."""

    values: np.ndarray
    share: float
    form: str
    marks: list[str]

    def describe(self, name: str, example: str) -> Notice:
        """Return the notice that the texts are read as numbers."""
        first = read_numeral(example, self.form)
        read = f"{quote(example)} is {first:.15g}"
        what = f", without {quote(*self.marks)}" if self.marks else ""
        text = f"The texts are read as numbers{what}: {read}."
        cure = f"give --category {name} to use them as they are written"
        if self.form not in ("1234.5", "1234,5"):
            cure += ", or --decimal comma or point if the marks are wrong"
        return Notice("note", name, text, cure)


def list_units(values: np.ndarray) -> list[str]:
    """Return the units that follow numbers, the most frequent first; empty if a text is no number with a unit."""
    numerals = [split_numeral(str(value)) for value in values[:_SAMPLE]]
    if any(numeral is None or not numeral.mark for numeral in numerals):
        return []
    return [mark for mark, _ in Counter(numeral.mark for numeral in numerals if numeral is not None).most_common()]


def read_written_numbers(
    values: np.ndarray, counts: np.ndarray, forms: tuple[str, ...] = FORMS, least: float = _MOSTLY
) -> WrittenNumbers | None:
    """Return distinct texts as numbers; None if most are none, or if they have different units."""
    head = [str(value) for value in values[:_SAMPLE]]
    shares = {}
    for form in forms:
        parsed = np.array([read_numeral(text, form) for text in head])
        shares[form] = counts[: len(head)][~np.isnan(parsed)].sum() / counts[: len(head)].sum()
    form = max(shares, key=lambda key: shares[key])
    if shares[form] < least:
        return None
    marks = Counter(numeral.mark.lower() for text in head if (numeral := split_numeral(text)) is not None)
    marks.pop("", None)
    if len(marks) > 1:
        return None
    numbers = np.array([read_numeral(str(value), form) for value in values])
    share = counts[~np.isnan(numbers)].sum() / counts.sum()
    if share < least:
        return None
    written = {numeral.mark for text in head if (numeral := split_numeral(text)) is not None and numeral.mark}
    return WrittenNumbers(numbers, float(share), form, sorted(written))


def describe_sentinel(name: str, column: np.ndarray) -> Notice | None:
    """Return a notice about a value such as -999 that probably means a missing one, or None."""
    known = column[~np.isnan(column)]
    if len(known) < 10 * _FEWEST:
        return None
    for value in _SENTINELS:
        times = int((known == value).sum())
        if times < _FEWEST or times == len(known):
            continue
        others = known[known != value]
        low, high = float(others.min()), float(others.max())
        apart = value < low - max(high - low, 1.0) or value > high + max(high - low, 1.0)
        # Among large numbers that are never negative a single negative value is suspect too.
        if apart or (value < 0 <= low and high > -20 * value):
            text = (
                f"The value {value:.0f} occurs {times} times and stands far from the others, which lie between "
                f"{low:.6g} and {high:.6g}: it may mean a missing value. It is used as a number."
            )
            return Notice("warning", name, text, f"give --missing {value:.0f} to count it as missing")
    return None

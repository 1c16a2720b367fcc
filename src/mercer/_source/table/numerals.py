"""Numbers as people write them: with currencies, units, per cent and separators of thousands.

The form of a column is written as an example: ``"1,234.5"`` has a comma between thousands and a decimal point. A
currency before the digits, and a currency, a unit or a per cent sign after them, are skipped.
"""

import math
import re
from typing import NamedTuple

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

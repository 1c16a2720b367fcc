"""Numbers in sentences: a few significant digits, without an exponent where a reader can do without."""

import math

# Powers of ten between which a number is written without an exponent.
_SMALLEST = -4
_LARGEST = 12


def spell_amount(value: float, digits: int = 3) -> str:
    """Return a number with `digits` significant digits and a true minus: 16700 instead of 1.67e+04.

    Examples
    --------
    >>> spell_amount(16724.3), spell_amount(-0.02614, 2)
    ('16700', '−0.026')
    """
    text = f"{value:.{digits}g}"
    rounded = float(text)
    if "e" in text and rounded != 0 and _SMALLEST <= math.floor(math.log10(abs(rounded))) < _LARGEST:
        text = f"{rounded:.0f}" if abs(rounded) >= 1 else f"{rounded:.{digits + 3}f}".rstrip("0")
    return text.replace("-", "\u2212")


def spell_range(low: float, high: float, digits: int = 3) -> str:
    """Return both ends of an interval, with the same number of decimals: "0.640 to 0.852"."""
    ends = [spell_amount(low, digits), spell_amount(high, digits)]
    decimals = max(len(end.partition(".")[2]) for end in ends)
    if decimals and not any("e" in end or not math.isfinite(value) for end, value in zip(ends, (low, high))):
        ends = [
            f"{end}{'' if '.' in end else '.'}".ljust(len(end.partition(".")[0]) + 1 + decimals, "0") for end in ends
        ]
    return " to ".join(ends)

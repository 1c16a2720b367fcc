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
    """Return both ends of an interval: "0.64 to 0.85"."""
    return f"{spell_amount(low, digits)} to {spell_amount(high, digits)}"

"""The formats in which dates are written, and which of them a column has."""

from typing import Any

import numpy as np

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
_YEARS = (1900, 2100)


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
    if len(known) < 20 or known.min() < _YEARS[0] * 10_000 or known.max() > _YEARS[1] * 10_000:
        return False
    whole = known.astype(np.int64)
    months, days = whole // 100 % 100, whole % 100
    fits = (whole == known) & (months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)
    return bool(fits.all()) and len(np.unique(months)) > 1

"""How exports write the encoding of categories and dates."""

from typing import Any

import numpy as np

# Length and offset of the cycles of dates, in days; day 0 was a Thursday, and weeks begin on Monday.
CYCLES = {"year": (365.2425, 0.0), "week": (7.0, 3.0), "day": (1.0, 0.0)}
# The key of the code of other categories; no text of a table is equal to it.
OTHER = "\0other"
# The key of the code of missing values.
MISSING = "\0missing"


def list_codes(coding: Any) -> tuple[dict[str, int], list[list[float]]]:
    """Return the code of each category, and the encoded columns of each code; two codes stand for other and missing."""
    size = len(coding.categories)
    codes = {str(name): place for place, name in enumerate(coding.categories)} | {OTHER: size, MISSING: size + 1}
    if coding.codes:
        last = np.nan if coding.keep else size + 1.0
        return codes, [[float(code)] for code in range(size + 1)] + [[last]]
    width = size + int(coding.others) + int(coding.missing)
    table = np.zeros((size + 2, width))
    table[np.arange(size), np.arange(size)] = 1.0
    if coding.others:
        table[size, size] = 1.0
    # A missing value where the training rows had none counts as another category.
    missing = width - 1 if coding.missing else size if coding.others else None
    if missing is not None:
        table[size + 1, missing] = 1.0
    return codes, table.tolist()

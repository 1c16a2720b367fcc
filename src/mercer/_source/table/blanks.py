"""Files whose columns are separated by runs of blanks, as R's ``write.table`` and many programs write them.

pyarrow takes a single character as delimiter. Such a file is therefore rewritten with tabs, in memory.
"""

import csv
import io
import re

from mercer._source.table.header import NUMBER, find_header

_FIELD = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
# Share of the lines that must have the same number of fields, and share of numbers in at least one column.
_REGULAR = 0.9
_NUMERIC = 0.9


def split_blanks(text: str) -> list[list[str]]:
    """Return the fields of each line that is not empty; a quoted field may hold blanks."""
    return [
        [match.group(2) if match.group(1) is None else match.group(1) for match in _FIELD.finditer(line)]
        for line in text.splitlines()
        if line.strip()
    ]


def looks_blank_separated(records: list[list[str]]) -> bool:
    """Return whether the lines have equally many fields, two or more, and one column holds numbers.

    Sentences may have equally many words too, but no column of numbers.
    """
    if len(records) < 3:
        return False
    header = find_header(records)
    width = len(header.names)
    rows = [record for record in records[header.place + 1 :] if len(record) == width]
    # Most lines must have the width of the header; a few may be broken.
    if width < 2 or len(rows) < max(2, _REGULAR * len(records[header.place + 1 :])):
        return False
    return any(
        sum(NUMBER.fullmatch(row[column]) is not None for row in rows) >= _NUMERIC * len(rows)
        for column in range(width)
    )


def join_by_tabs(text: str) -> bytes:
    """Return the text with one tab between two fields, in UTF-8."""
    written = io.StringIO()
    csv.writer(written, delimiter="\t", lineterminator="\n").writerows(split_blanks(text))
    return written.getvalue().encode()

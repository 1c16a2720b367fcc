"""Cells that a spreadsheet would run as formulas: an apostrophe before them makes them text."""

from typing import Any

# Signs that begin a formula in a spreadsheet; a tab or a line end before them does too.
_FORMULA = r"^[\t\r\n]*[=+\-@]"
_NUMBER = r"^[+\-]?(\d+\.?\d*|\.\d+)([eE][+\-]?\d+)?%?$"


def escape_formulas(table: Any) -> tuple[Any, int]:
    """Return an Arrow table whose texts and names are no formulas, and how many of them were changed."""
    from pyarrow import compute, types

    changed = 0
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if types.is_dictionary(field.type):
            column = compute.cast(column, field.type.value_type)
        if not (types.is_string(column.type) or types.is_large_string(column.type)):
            continue
        # Null where the text is null, which then stays null.
        formula = compute.and_not(
            compute.match_substring_regex(column, _FORMULA), compute.match_substring_regex(column, _NUMBER)
        )
        count = compute.sum(formula).as_py() or 0
        if count:
            # replace_substring_regex would meet line ends inside; a join by "" does not.
            marked = compute.binary_join_element_wise("'", column, "")
            table = table.set_column(place, field.name, compute.if_else(formula, marked, column))
            changed += count
    names = ["'" + name if name[:1] in ("=", "+", "-", "@") else name for name in table.column_names]
    return table.rename_columns(names), changed

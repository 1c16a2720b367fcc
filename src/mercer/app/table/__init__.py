"""Tables: read any format, find the role of each column, and read rows block by block."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
    from mercer.app.table.reading import read_table
    from mercer.app.table.roles import Roles, guess_roles
    from mercer.app.table.streaming import Stream, read_blocks
    from mercer.app.table.table import Table

__all__ = ["Roles", "Stream", "Table", "guess_roles", "read_blocks", "read_table"]

# Predictions read rows, but guess no roles.
__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "reading": ("read_table",),
        "roles": ("Roles", "guess_roles"),
        "streaming": ("Stream", "read_blocks"),
        "table": ("Table",),
    },
)

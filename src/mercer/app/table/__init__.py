"""Tables: read any format, find the role of each column, and read rows block by block."""

from mercer.app.table.reading import read_table
from mercer.app.table.roles import Roles, guess_roles
from mercer.app.table.streaming import Stream, read_blocks
from mercer.app.table.table import Table

__all__ = ["Roles", "Stream", "Table", "guess_roles", "read_blocks", "read_table"]

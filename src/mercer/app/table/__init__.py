"""Tables: reading any format, saying what each column is for, and going through rows block by block."""

from mercer.app.table.reading import read_table
from mercer.app.table.roles import Roles, guess_roles
from mercer.app.table.streaming import Stream, blocks
from mercer.app.table.table import Table

__all__ = ["Roles", "Stream", "Table", "blocks", "guess_roles", "read_table"]

# Written by `python -m tools.make_stubs` from the table in mercer.app.table.
from mercer.app.table.reading import read_table as read_table
from mercer.app.table.roles import Roles as Roles
from mercer.app.table.roles import guess_roles as guess_roles
from mercer.app.table.streaming import Stream as Stream
from mercer.app.table.streaming import read_blocks as read_blocks
from mercer.app.table.table import Table as Table

# Written by `python -m tools.make_stubs` from the table in mercer._source.table.
from mercer._source.table.reading import read_table as read_table
from mercer._source.table.streaming import Stream as Stream
from mercer._source.table.streaming import read_blocks as read_blocks
from mercer._source.table.table import Table as Table

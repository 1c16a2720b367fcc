"""Rows in files and streams: NumPy files, tables of Arrow columns, sparse files, iterators of blocks."""

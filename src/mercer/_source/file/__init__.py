"""Rows in files and streams: NumPy files, sparse files, iterators of blocks, and all that is read in order."""

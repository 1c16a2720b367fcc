"""The uncompiled twin of ``turns.pxd``."""


def turn(columns, j, at, rows, i):
    """Write four values from `at` on of four columns from `j` on to four rows from `i` on."""
    rows[i : i + 4, j : j + 4] = columns[j : j + 4, at : at + 4].T

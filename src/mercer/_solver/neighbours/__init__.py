"""Find the nearest rows of rows, exactly; shared by every family that needs neighbours."""

from mercer._solver.neighbours.search import RowSearch, nearest_rows, rows_within

__all__ = ["RowSearch", "nearest_rows", "rows_within"]

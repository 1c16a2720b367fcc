"""Find the nearest rows of rows, exactly; shared by every family that needs neighbours."""

from mercer._solver.neighbours.search import nearest_rows

__all__ = ["nearest_rows"]

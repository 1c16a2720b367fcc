"""Solvers: generators that yield what they want done. See :mod:`mercer._solver.driver`."""

from mercer._solver.driver import Outcome, Solver, drive
from mercer._solver.request import Dense, Map, OnBlock, Take, Tiles
from mercer._solver.step import Certificate, Solution, Step

__all__ = ["Certificate", "Dense", "Map", "OnBlock", "Outcome", "Solution", "Solver", "Step", "Take", "Tiles", "drive"]

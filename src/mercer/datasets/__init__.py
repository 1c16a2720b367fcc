"""Generators with known truth and small bundled tables. Nothing is ever downloaded."""

from mercer.datasets._failures import load_failures
from mercer.datasets._fish import load_fish, make_fish
from mercer.datasets._hiking import load_hiking
from mercer.datasets._ising import ising_critical_temperature, make_ising_chain, make_ising_lattice, pair_products
from mercer.datasets._rents import load_rents
from mercer.datasets._visitors import load_visitors

__all__ = [
    "ising_critical_temperature",
    "load_failures",
    "load_fish",
    "load_hiking",
    "load_rents",
    "load_visitors",
    "make_fish",
    "make_ising_chain",
    "make_ising_lattice",
    "pair_products",
]

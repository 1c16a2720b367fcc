"""Generators with known truth and small bundled tables. Nothing is ever downloaded."""

from mercer.datasets._fish import load_fish, make_fish
from mercer.datasets._hiking import load_hiking
from mercer.datasets._ising import ising_critical_temperature, make_ising_chain, make_ising_lattice, pair_products

__all__ = [
    "ising_critical_temperature",
    "load_fish",
    "load_hiking",
    "make_fish",
    "make_ising_chain",
    "make_ising_lattice",
    "pair_products",
]

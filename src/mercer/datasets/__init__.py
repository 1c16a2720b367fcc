"""Generators with known truth and small bundled tables. Nothing is ever downloaded."""

from mercer.datasets._fish import load_fish, make_fish

__all__ = ["load_fish", "make_fish"]

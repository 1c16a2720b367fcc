"""Attacks on the library: forged model files. ``python -m tools.fuzzing`` runs them and prints what got through."""

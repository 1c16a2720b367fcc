"""Attacks on the library: ``python -m tools.fuzzing ATTACK`` runs one and prints what got through."""

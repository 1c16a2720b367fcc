"""Attacks on the readers of tables: damaged and hostile files of every format."""

"""Attacks on model files: structure-aware forgeries whose checksums are right."""

"""Errors and warnings of scikit-learn, which mercer raises too; its own are in :mod:`mercer.errors`."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(__name__, {}, scikit="sklearn.exceptions")

"""Callbacks, objects that follow a fit: scikit-learn's own. Ours are in :mod:`mercer.watch`."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(__name__, {}, scikit="sklearn.callback")

"""Isotonic regression: the best fit that never falls, or never rises."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {"_isotonic": ("IsotonicRegression",)},
    scikit="sklearn.isotonic",
)

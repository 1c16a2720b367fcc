"""Learning from rows where only some have labels; scikit-learn's own."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(__name__, {}, scikit="sklearn.semi_supervised")

"""Decision trees."""

from mercer.tree._stump import DecisionStump

__all__ = [
    "DecisionStump",
]

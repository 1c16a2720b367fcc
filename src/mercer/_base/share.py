"""Shares of rows or features, which an integer is not."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from mercer._base.parameter import Real


@dataclass(frozen=True)
class Share(Real):
    """A number in a range that is not written as an integer: 1.0 means all rows, 1 one row."""

    def accepts(self, value: Any) -> bool:
        return super().accepts(value) and not isinstance(value, Integral)

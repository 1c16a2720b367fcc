"""From the outputs of a network to probabilities and names of classes, in any array library."""

from dataclasses import dataclass

import numpy as np

from mercer._source.namespace import namespace_of
from mercer._types import Array


@dataclass(frozen=True)
class Chances:
    """A function from outputs (..., k) to probabilities of the classes, by softmax; one class is certain."""

    n_classes: int

    def __call__(self, outputs: Array) -> Array:
        xp = namespace_of(outputs)
        if self.n_classes == 1:
            return xp.ones_like(outputs[..., :1])
        shares = xp.exp(outputs - xp.max(outputs, axis=-1, keepdims=True))
        return shares / xp.sum(shares, axis=-1, keepdims=True)


@dataclass(frozen=True, eq=False)
class ClassNames:
    """A function from outputs (..., k) to the class of the largest one."""

    classes: Array

    def __call__(self, outputs: Array) -> Array:
        xp = namespace_of(outputs)
        numbers = xp.argmax(outputs, axis=-1)
        if self.classes.shape[0] == 1:
            numbers = xp.zeros_like(numbers)
        if isinstance(self.classes, np.ndarray):
            return self.classes[numbers]
        return xp.reshape(xp.take(self.classes, xp.reshape(numbers, (-1,)), axis=0), tuple(numbers.shape))

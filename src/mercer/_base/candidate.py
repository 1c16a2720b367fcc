"""Candidates: what a family offers to a study, from simple to complex.

A family lists its own in ``_candidates.py`` as a tuple named ``CANDIDATES``; ``mercer.model_selection.candidates``
finds them there. A candidate says how its estimator is made for a table of a given size, the few settings worth
trying, what its columns must look like, for which sizes it is fit, and how complex a fitted model is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

TASKS = ("classification", "regression", "clustering")
# "dense": no sparse rows; "scaled": columns of one spread; "codes": categories as numbers and not as indicators;
# "missing": entries that are missing may stay so.
NEEDS = ("dense", "scaled", "codes", "missing")


@dataclass(frozen=True)
class Shape:
    """The size of what a candidate is to be fitted to, the seed it may draw from, and the spread of the target."""

    n_rows: int
    n_columns: int
    n_classes: int = 0
    seed: int = 0
    target_spread: float = 1.0


def _always(shape: Shape) -> str:
    return ""


def count_coefficients(model: Any) -> tuple[float, str]:
    """Count the coefficients of a linear model that are not zero, with its intercepts."""
    used = int(np.count_nonzero(model.coef_)) + int(np.size(getattr(model, "intercept_", ())))
    return float(used), f"{used} coefficient{'s' if used != 1 else ''}"


@dataclass(frozen=True)
class Candidate:
    """One kind of model that a study may try.

    Attributes
    ----------
    name : str
        In words, as the report prints it: "logistic regression".
    family : str
        The room it comes from, in words: "linear models".
    tasks : tuple of str
        Some of "classification", "regression", "clustering".
    rank : int
        Place in the order from simple to complex, by how many numbers a reader must take in to know the model. With d
        columns and c classes: 0 the constant; 10 to 19 one point a class; 30 to 44 linear, about d(c - 1) numbers; 45
        to 49 about twice as many (a mean and a variance for each column and class, or the leaves of one tree); 50 to 59
        several numbers a column (curves), or one for each pair of columns; 60 to 79 a covariance or several bell curves
        a class; 80 to 99 tables of probabilities; 180 to 199 all training rows; 200 to 299 committees, networks and
        kernels, which nobody reads number by number: those that depend less on their settings come first; 300 several
        models together.
    make : callable
        ``make(shape)`` returns the estimator, not fitted, for a :class:`Shape`.
    space : mapping of str to sequence, list of such mappings, or callable
        Few settings worth trying, as scikit-learn's ``ParameterGrid`` takes them, simple ones first; or
        ``space(shape)`` that returns them.
    needs : tuple of str
        What its columns must look like: some of ``NEEDS``.
    unfit : callable
        ``unfit(shape)`` returns why a table of this shape is not for it, or an empty text.
    complexity : callable or None
        ``complexity(model)`` returns the effective number of parameters of a fitted model, and what they are; None
        if there is no way to count them.
    text : str
        What it is, in a sentence.
    draw : callable or None
        ``draw(generator)`` returns one setting drawn at random, for a longer search in large tables; None if a search
        is not worth its time. Of candidates that can be searched the first one leads: it is tried first on many rows.
    """

    name: str
    family: str
    tasks: tuple[str, ...]
    rank: int
    make: Callable[[Shape], Any]
    space: (
        Mapping[str, Sequence[Any]]
        | Sequence[Mapping[str, Sequence[Any]]]
        | Callable[[Shape], Mapping[str, Sequence[Any]]]
    ) = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    unfit: Callable[[Shape], str] = _always
    complexity: Callable[[Any], tuple[float, str]] | None = None
    text: str = ""
    draw: Callable[[np.random.Generator], dict[str, Any]] | None = None

    def settings(self, shape: Shape) -> dict[str, list[Any]]:
        """List the settings worth trying for a table of this shape, if they form one grid."""
        grids = self.list_grids(shape)
        return grids[0] if len(grids) == 1 else {}

    def list_grids(self, shape: Shape) -> list[dict[str, list[Any]]]:
        """List the grids of settings worth trying for a table of this shape."""
        space = self.space(shape) if callable(self.space) else self.space
        grids = [space] if isinstance(space, Mapping) else space
        return [{name: list(values) for name, values in grid.items()} for grid in grids]

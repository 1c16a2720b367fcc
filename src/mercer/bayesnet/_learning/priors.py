"""Dirichlet priors of tables, as counts that are added to those of the rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.errors import ParameterError


def find_prior_counts(subject: str, prior: Any, name: str, shape: tuple[int, ...], sample_size: float) -> Array:
    """Return the prior counts of one table.

    Parameters
    ----------
    subject : str
        Who asks, for errors.
    prior : None, "bdeu", "k2", a number, or a mapping from names to counts
        None and variables that a mapping leaves out have none; "bdeu" spreads `sample_size` evenly over the entries;
        "k2" has one for each entry; a number is for each entry.
    name : str
        The variable.
    shape : tuple of int
    sample_size : float
    """
    if isinstance(prior, Mapping):
        counts = np.asarray(prior.get(name, 0.0), dtype=np.float64)
        if counts.ndim and counts.shape != shape:
            raise ParameterError(
                f"{subject}: prior[{name!r}] must have the shape {shape} of the table; got {counts.shape}. Parents "
                f"come first, in their order, and the variable's own states last."
            )
        if not (np.isfinite(counts).all() and (counts >= 0).all()):
            raise ParameterError(
                f"{subject}: prior[{name!r}] must hold counts in [0, inf); got {counts.min():g}. Correct them."
            )
        return np.broadcast_to(counts, shape).copy()
    if prior is None:
        return np.zeros(shape)
    if prior == "bdeu":
        return np.full(shape, sample_size / np.prod(shape))
    return np.full(shape, 1.0 if prior == "k2" else float(prior))


def normalise_counts(counts: Array) -> Array:
    """Return counts divided by their sums over the last axis; equal probabilities where a sum is zero."""
    totals = counts.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), 1.0 / counts.shape[-1])

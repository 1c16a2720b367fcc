"""A scatter that the user knows already, checked against the rows before it is trusted."""

import warnings
from collections.abc import Generator
from typing import Any

import numpy as np

from mercer._statistic import Moments, MomentSums
from mercer._types import Array
from mercer.errors import DataError


def adopt_gram(
    subject: str, gram: Array, moments: MomentSums, centre: bool, single: bool
) -> Generator[Any, Any, MomentSums]:
    """Return `moments`, which hold only the diagonal of the scatter, with the whole scatter `gram`.

    If the model has an intercept and the rows are not centred, their Gram matrix is not their scatter: the scatter is
    then computed, with a warning. `single` says that the rows, hence the matrix, may be rounded to float32.
    """
    # How much of the diagonal rounding may explain.
    d, tolerance = len(moments.mean), 1e-3 if single else 1e-6
    if gram.shape != (d, d):
        raise DataError(f"{subject}: precompute must be a Gram matrix of shape {(d, d)}; got {gram.shape}.")
    # The Gram matrix of rows that are not centred is the scatter plus n mean mean^T.
    if centre and (moments.mean**2 * moments.weight > tolerance**2 * moments.scatter).any():
        warnings.warn(
            "Gram matrix was provided but X was centered to fit intercept: recomputing Gram matrix. Centre X first, or "
            "set fit_intercept=False.",
            UserWarning,
            stacklevel=2,
        )
        return (yield Moments(centre))
    given, wanted = np.diagonal(gram), moments.scatter
    wrong = ~np.isclose(given, wanted, rtol=tolerance, atol=tolerance * wanted.max(initial=0.0))
    if wrong.any() or not np.allclose(gram, gram.T, rtol=tolerance, atol=tolerance * wanted.max(initial=0.0)):
        column = int(np.argmax(wrong))
        raise DataError(
            f"{subject}: the Gram matrix in precompute did not pass validation: it must be symmetric, with the sums of "
            f"squares of the columns (centred, weighted) on its diagonal; got {given[column]:g} for column {column}, "
            f"expected {wanted[column]:g}. Set precompute=True to have it computed."
        )
    return MomentSums(moments.weight, moments.mean, gram, moments.y_mean, moments.cross, moments.y_scatter)

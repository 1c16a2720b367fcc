"""Nystrom's features: coordinates in the span of a few rows' features."""

import warnings
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._base import seed_sequence
from mercer._base.kernel_choice import KernelChoice, KernelSum, prepare_for_kernel, wide_rows
from mercer._base.parameter import Choice, Function, Nothing, Real, parameter
from mercer._plain import plain
from mercer._solver.eigenpairs import find_eigenpairs
from mercer._solver.request import Dense, Take
from mercer._solver.tiled_matrix import kernel_matrix
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._stored import Stored, floats, integers, numbers
from mercer._types import Array
from mercer.errors import ParameterError
from mercer.kernel_approximation._mapped import FeatureMap
from mercer.kernels import KERNEL_NAMES, Kernel, as_kernel

# Eigenvalues below this are taken for it, as in scikit-learn: rounding alone made them.
_LEAST = 1e-12


@plain
@dataclass(frozen=True, eq=False)
class NystroemState:
    """The rows drawn, their numbers, and the inverse root of their kernels."""

    components: Any
    indices: Any
    normalization: Any


class Nystroem(KernelChoice, FeatureMap):
    r"""Features by Nystrom's method: the kernel restricted to the span of some rows.

    With M rows z drawn, the features are :math:`\phi(x) = K_{zz}^{-1/2} k_z(x)`, so that
    :math:`\phi(x) \cdot \phi(y) = k_z(x)^T K_{zz}^{-1} k_z(y)`, which is k(x, y) itself where x or y is a row drawn.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
        The rows drawn.
    component_indices_ : ndarray of shape (n_components,)
        Their numbers.
    normalization_ : ndarray of shape (n_components, n_components)
        The inverse root of their kernels.
    kernel_ : Kernel
        The kernel used.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    Fitting costs M^3, transforming n M (d + M). Rows in any place.

    References
    ----------
    C. Williams and M. Seeger, Using the Nystroem method to speed up kernel machines, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernel_approximation import Nystroem
    >>> from mercer.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> Z = Nystroem(gamma=0.5, n_components=60, random_state=0).fit_transform(X)
    >>> bool(np.abs(Z @ Z.T - RBF()(X)).mean() < 0.01)
    True
    """

    kernel: Any = parameter(Choice(*KERNEL_NAMES) | Function(), default="rbf", kw_only=False)
    coef0: float | None = parameter(
        Real() | Nothing(), default=None, after="gamma", doc="Of polynomials and of tanh; None means 1."
    )  # type: ignore[assignment]
    degree: float | None = parameter(Real(1) | Nothing(), default=None, doc="Of polynomials; None means 3.")  # type: ignore[assignment]

    _documents = {
        "gamma": "The factor gamma of kernels by name; None means 1 / d.",
        "kernel_params": "Further arguments of a kernel function.",
        "n_components": "The number M of rows drawn.",
        "max_time": "Accepted as by every estimator.",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": numbers("basis, columns"),
        "normalization_": floats("basis, basis"),
        "component_indices_": integers("basis", low=0),
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": "rows are drawn by number, so that rows in another order give other ones"
    }
    _depends_on_units = ("columns", "scale")

    def _choose_kernel(self, rows: Array) -> Kernel:
        given = [name for name in ("gamma", "coef0", "degree") if getattr(self, name) is not None]
        if given and (self._is_precomputed or not isinstance(self.kernel, str)):
            raise ParameterError(
                f"Nystroem: Don't pass gamma, coef0 or degree to Nystroem if using a callable or precomputed kernel; "
                f"got {given[0]}={getattr(self, given[0])!r}. Put it into kernel_params, or into the kernel object."
            )
        return as_kernel(
            self.kernel,
            gamma=self.gamma,
            degree=3 if self.degree is None else self.degree,
            coef0=1.0 if self.coef0 is None else self.coef0,
            rows=rows,
            parameters=self.kernel_params,
            pairs=True,
        )

    def _draw(self, source: Source) -> Generator[Any, Any, NystroemState]:
        n = source.n_rows
        count = min(n, self.n_components)
        if count < self.n_components:
            warnings.warn(
                f"Nystroem: n_components > n_samples. This is not possible.\nn_components was set to n_samples, which "
                f"results in inefficient evaluation of the full kernel; lower n_components (now {self.n_components}) "
                f"to at most {n}.",
                UserWarning,
                stacklevel=7,
            )
        # A random subset of rows spans the features.
        indices = np.random.default_rng(seed_sequence(self.random_state)).permutation(n)[:count]
        require_memory("Nystroem", 8.0 * count * source.n_features, f"{count} dense rows", "lower n_components")
        rows = yield Take(indices)
        kernel = self._choose_kernel(rows)
        require_memory("Nystroem", 24.0 * count * count, f"the {count} x {count} kernels", "lower n_components")
        if self._is_precomputed:
            # Precomputed kernels: the columns of the chosen rows.
            rows = rows[:, indices]
        normalization = yield Dense(lambda: self._compute_inverse_root(kernel, rows), heavy=count > 1000)
        return NystroemState(rows, indices, normalization.astype(source.host_dtype))

    def _compute_inverse_root(self, kernel: Kernel, rows: Array) -> Array:
        """Return K^(-1/2) of the kernel matrix K of `rows`; negative eigenvalues keep their sign."""
        if self._is_precomputed:
            matrix = rows.toarray() if hasattr(rows, "toarray") else np.array(rows, dtype=np.float64)
        else:
            matrix = kernel_matrix(kernel, kernel.prepare(wide_rows(rows)), self._threads())
        values, vectors = find_eigenpairs(matrix)
        # Eigenvalues near zero are raised to `_LEAST`, as in scikit-learn: their inverse roots stay bounded.
        size = np.where(values < 0, -1.0, 1.0) / np.sqrt(np.maximum(np.abs(values), _LEAST))
        return (vectors * size) @ vectors.T

    def _fitted(self, state: NystroemState) -> dict[str, Any]:
        return {
            "components_": state.components,
            "component_indices_": state.indices,
            "normalization_": state.normalization,
            "kernel_": self._choose_kernel(state.components),
        }

    def _map(self, ready: bool) -> KernelSum:
        if self._is_precomputed:
            # Rows of kernel values have a column for each row of the fit; only those of the components count.
            weights = np.zeros((self.n_features_in_, len(self.component_indices_)), dtype=self.normalization_.dtype)
            weights[self.component_indices_] = self.normalization_.T
            return KernelSum(self.kernel_, self.components_, weights)
        others = prepare_for_kernel(self, self.kernel_, self.components_) if ready else None
        return KernelSum(self.kernel_, self.components_, self.normalization_.T, 0.0, others)

    @property
    def _n_features_out(self) -> int:
        return int(self.normalization_.shape[0])

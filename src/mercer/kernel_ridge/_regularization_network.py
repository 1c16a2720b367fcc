"""Regularisation networks: smoothness asked for in the frequency domain."""

import math
from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Choice, Real, attribute, parameter
from mercer._stored import Stored, floats
from mercer.kernel_ridge._kernel_ridge import KernelRidge
from mercer.kernels import RBF, Kernel, Laplacian, Plummer


class RegularizationNetwork(KernelRidge):
    r"""Regression with a penalty on high frequencies.

    Minimises :math:`\sum_i w_i (t_i - y(x_i))^2 + \lambda \int |\tilde y(k)|^2 / \tilde G(k) \, dk`, constants aside,
    over all functions y. A low-pass filter G makes rough functions dear. The solution is a sum of one bump per row,
    :math:`y(x) = \sum_j c_j G(x - x_j)` with :math:`(G + \lambda I) c = t`: kernel ridge regression with the kernel G,
    the inverse Fourier transform of the filter.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n,) or (n, n_targets)
        The coefficients c.
    penalty_ : float
        Half of c^T G c: the penalty of the solution.
    X_fit_, intercept_, kernel_, solver_used_
        As in :class:`KernelRidge`.

    Notes
    -----
    Cost and memory as :class:`KernelRidge`. Rows in memory.

    References
    ----------
    F. Girosi, M. Jones and T. Poggio, Regularization theory and neural networks architectures, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernel_ridge import RegularizationNetwork
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.3 * np.random.default_rng(0).normal(size=40)
    >>> smooth, rough = (RegularizationNetwork(0.1, bandwidth=b).fit(X, y) for b in (1.0, 10.0))
    >>> bool(rough.score(X, y) > smooth.score(X, y))
    True
    """

    alpha: float = parameter(Real(0), default=1.0, kw_only=False, doc="The weight of the penalty.")
    bandwidth: float = parameter(
        Real(0, math.inf, "neither"),
        default=1.0,
        doc="The frequency b at which the filter falls off: larger ones allow rougher functions.",
    )
    filter: str = parameter(
        Choice("gaussian", "lorentzian", "exponential"),
        default="gaussian",
        doc="G(k): exp(-k^2 / 2 b^2), with Gaussian bumps; (1 + k^2 / b^2)^(-(d + 1) / 2), with bumps exp(-b r); or "
        "exp(-k / b), with bumps (1 + b^2 r^2)^(-(d + 1) / 2).",
    )

    _documents = {
        "max_time": "Accepted as by every estimator.",
    }

    coef0: Any = attribute()
    degree: Any = attribute()
    gamma: Any = attribute()
    kernel_params: Any = attribute()

    _places: ClassVar[tuple[str, ...]] = ("memory",)  # type: ignore[assignment]
    kernel: Any = attribute(None)
    fit_intercept: Any = attribute(False)
    leave_one_out: Any = attribute(False)
    solver: Any = attribute("auto")
    n_centres: Any = attribute(None)
    random_state: Any = attribute(None)
    tol: Any = attribute(1e-7)
    max_iter: Any = attribute(100)

    _stored: ClassVar[dict[str, Stored]] = {
        "penalty_": floats(),
    }

    def _choose_kernel(self, rows: Any) -> Kernel:
        d, b = rows.shape[1], float(self.bandwidth)
        if self.filter == "gaussian":
            return RBF(1.0 / b)
        if self.filter == "lorentzian":
            return Laplacian(1.0 / b)
        return b ** -(d + 1) * Plummer(1.0 / b, dimension=d + 1)

    def _describe(self, state: Any) -> None:
        super()._describe(state)
        dual = np.asarray(self.dual_coef_, dtype=np.float64).reshape(len(self.dual_coef_), -1)
        fitted = np.asarray(self._make_sum(ready=True).of_rows(self.X_fit_), dtype=np.float64).reshape(dual.shape)
        self.penalty_ = 0.5 * float((dual * fitted).sum())

    def response(self, frequencies: Any) -> np.ndarray:
        """Return the filter G at frequencies.

        Parameters
        ----------
        frequencies : array-like
            Lengths of wave vectors.

        Returns
        -------
        ndarray
            Between 0 and 1.
        """
        k = np.abs(np.asarray(frequencies, dtype=np.float64)) / self.bandwidth
        if self.filter == "gaussian":
            return np.exp(-0.5 * k**2)
        if self.filter == "exponential":
            return np.exp(-k)
        return (1.0 + k**2) ** (-0.5 * (self.n_features_in_ + 1))

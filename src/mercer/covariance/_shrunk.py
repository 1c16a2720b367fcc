"""Covariances shrunk towards a multiple of the identity: by a given share, by Ledoit and Wolf's, by OAS."""

from collections.abc import Generator
from typing import Any, ClassVar

from mercer._base.parameter import Integer, Real, parameter
from mercer._stored import Stored, floats
from mercer.covariance._empirical import CovarianceEstimator
from mercer.covariance._state import ledoit_wolf_share, oas_share


class ShrunkCovariance(CovarianceEstimator):
    """Covariance shrunk by a given share.

    With C the covariance of the rows and d columns,

        (1 - shrinkage) C + shrinkage (tr C / d) I

    which has the eigenvectors of C and eigenvalues drawn towards their mean.

    Attributes
    ----------
    location_, covariance_, precision_, rank_, condition_
        Mean, covariance, its inverse (None where it has none), rank and condition; see :class:`EmpiricalCovariance`.
    history_, converged_, n_iter_, certificate_
        How the fit went: one step, whose objective is the mean log-likelihood of the rows.

    Notes
    -----
    One pass, n d^2 multiplications, O(d^2) memory. Rows: NumPy, frames, files, streams, Dask, devices.

    References
    ----------
    J. H. Friedman, Regularized discriminant analysis, 1989.

    Examples
    --------
    >>> from mercer.covariance import ShrunkCovariance
    >>> from sklearn.datasets import load_iris
    >>> round(ShrunkCovariance().fit(load_iris().data).condition_, 1)
    28.9
    """

    shrinkage: float = parameter(Real(0, 1), default=0.1, after="assume_centered", doc="The share of the identity.")
    _depends_on_units = ("columns",)

    def _share(self, moments: Any) -> Generator[Any, Any, float | None]:
        yield from ()
        return float(self.shrinkage)

    def _attributes_of(self, state: Any, dtype: str) -> dict[str, Any]:
        attributes = super()._attributes_of(state, dtype)
        del attributes["shrinkage_"]  # a parameter here, not an estimate
        return attributes


class LedoitWolf(CovarianceEstimator):
    """Covariance shrunk by the share of least expected squared error, as Ledoit and Wolf estimate it.

    With C the covariance of n rows of d columns and m = tr C / d, the share of m I is

        min(beta, delta) / delta,    delta = |C - m I|^2 / d,    beta = sum_i (|x_i|^4 / n - |C|^2) / (d n)

    in which x_i is centred and | | the Frobenius norm: delta is how far C is from m I, beta how much of that is noise.
    No distribution is assumed.

    Attributes
    ----------
    location_, covariance_, precision_, rank_, condition_
        Mean, covariance, its inverse (None where it has none), rank and condition; see :class:`EmpiricalCovariance`.
    shrinkage_ : float
        The share of the identity, in [0, 1].
    history_, converged_, n_iter_, certificate_
        How the fit went: one step, whose objective is the mean log-likelihood of the rows.

    Notes
    -----
    Two passes, n d^2 multiplications, O(d^2) memory. Rows: NumPy, frames, files, streams that can be read again, Dask,
    devices.

    References
    ----------
    O. Ledoit and M. Wolf, A well-conditioned estimator for large-dimensional covariance matrices, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.covariance import LedoitWolf
    >>> X = np.random.default_rng(0).normal(size=(20, 50))
    >>> model = LedoitWolf().fit(X)
    >>> model.rank_, model.condition_ < 10, round(float(model.score(X)), 1)
    (50, True, -61.8)
    """

    block_size: int = parameter(
        Integer(1),
        default=1000,
        after="assume_centered",
        doc="Has no effect: no matrix beside the covariance is formed. Kept so that scikit-learn's calls run.",
    )

    _from_moments: ClassVar[bool] = False

    _stored: ClassVar[dict[str, Stored]] = {
        "shrinkage_": floats(),
    }
    _depends_on_units = ("columns",)

    def _share(self, moments: Any) -> Generator[Any, Any, float | None]:
        return (yield from ledoit_wolf_share(moments))


class OAS(CovarianceEstimator):
    """Covariance by oracle approximating shrinkage: the share of least expected squared error for Gaussian rows.

    With C the covariance of n rows of d columns and m = tr C / d, the share of m I is

        min(1, (a + m^2) / ((n + 1) (a - m^2 / d))),    a = mean of the squared entries of C

    to which the iteration that takes each estimate for the truth converges.

    Attributes
    ----------
    location_, covariance_, precision_, rank_, condition_
        Mean, covariance, its inverse (None where it has none), rank and condition; see :class:`EmpiricalCovariance`.
    shrinkage_ : float
        The share of the identity, in [0, 1].
    history_, converged_, n_iter_, certificate_
        How the fit went: one step, whose objective is the mean log-likelihood of the rows.

    Notes
    -----
    One pass, n d^2 multiplications, O(d^2) memory. The formula is that of the paper with 2 / d left out, as in
    scikit-learn. Rows: NumPy, frames, files, streams, Dask, devices.

    References
    ----------
    Y. Chen, A. Wiesel, Y. C. Eldar and A. O. Hero, Shrinkage algorithms for MMSE covariance estimation, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.covariance import OAS
    >>> X = np.random.default_rng(0).normal(size=(20, 50))
    >>> round(OAS().fit(X).shrinkage_, 2)
    0.92
    """

    _stored: ClassVar[dict[str, Stored]] = {
        "shrinkage_": floats(),
    }
    _depends_on_units = ("columns",)

    def _share(self, moments: Any) -> Generator[Any, Any, float | None]:
        return (yield from oas_share(moments))

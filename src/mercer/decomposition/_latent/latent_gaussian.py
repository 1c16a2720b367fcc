"""What Gaussian models with latent factors share: posterior, likelihood, covariance, samples, the density protocol."""

import math
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import LimitedEstimator, open_new_rows, seed_sequence
from mercer._base.linear_map import CentredMap, MethodOnBlock
from mercer._base.parameter import Integer, attribute, parameter
from mercer._base.reading import read_integer
from mercer._source import Block
from mercer._source.namespace import multiply_within_rows, namespace_of, to_numpy
from mercer._source.placement import Placement
from mercer._stored import Stored, floats
from mercer._types import Array


class LatentGaussian(CentredMap, LimitedEstimator):
    """x = mean + W^T z + e with z ~ N(0, I) and e ~ N(0, diag(noise)); W is ``components_``, (k, d)."""

    max_iter: int = parameter(Integer(1), default=1000)

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _objective_moves: ClassVar[str | None] = "up"
    mean_: Any = attribute()
    noise_variance_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": floats("components, columns"),
        "mean_": floats("columns"),
    }

    def _noise(self) -> np.ndarray:
        """Return the variances of the noise, one for each column, in host memory."""
        noise = np.asarray(to_numpy(self.noise_variance_), dtype=np.float64)
        return np.broadcast_to(noise, (self.components_.shape[1],))

    def _posterior(self) -> tuple[np.ndarray, np.ndarray]:
        """Return A of the posterior mean A (x - mean), (k, d), and the posterior covariance (I + W N^-1 W^T)^-1."""
        W = np.asarray(to_numpy(self.components_), dtype=np.float64)
        scaled = W / self._noise()
        covariance = np.linalg.inv(np.eye(len(W)) + scaled @ W.T)
        return covariance @ scaled, covariance

    def posterior(self, X: Any) -> tuple[Array, Array]:
        """Return the distribution of the factors of rows, given the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        mean : ndarray of shape (n_samples, n_components)
            What :meth:`transform` returns.
        covariance : ndarray of shape (n_components, n_components)
            The same for every row.
        """
        means = self.transform(X)
        return means, Placement.of(means).put(self._posterior()[1])

    def _map_few(self, rows: np.ndarray) -> Array:
        return (rows - self.mean_) @ self._posterior()[0].astype(rows.dtype, copy=False).T

    def _scores(self, block: Block) -> Array:
        A = Placement.of(block.X).put(self._posterior()[0])
        return block.xp.matmul(block.X - self.mean_, block.xp.astype(A, block.X.dtype, copy=False).T)

    def score_samples(self, X: Any) -> Array:
        """Return the log-density of each row.

        Returns
        -------
        ndarray of shape (n_samples,)
            In nats.
        """
        return open_new_rows(self, X, logarithms=True).map(MethodOnBlock.of(self, "_log_densities"))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-density of the rows; `y` is ignored."""
        densities = self.score_samples(X)
        return float(namespace_of(densities).mean(densities))

    def logpdf(self, X: Any) -> Array:
        """Return the log-density of each row: :meth:`score_samples` under the name of the density protocol."""
        return self.score_samples(X)

    def _log_densities(self, block: Block) -> Array:
        xp = block.xp
        precision = xp.astype(Placement.of(block.X).put(self._precision()), block.wide, copy=False)
        rows = block.centre(xp.astype(self.mean_, block.wide, copy=False))
        squares = multiply_within_rows(xp.matmul(rows, precision), rows, xp)
        constant = self._log_determinant() + self.components_.shape[1] * math.log(2.0 * math.pi)
        return xp.astype(-0.5 * (squares + constant), block.X.dtype, copy=False)

    def _log_determinant(self) -> float:
        """Return log |Sigma| = log |I + W N^-1 W^T| + sum log N, a determinant of k x k only."""
        W, noise = np.asarray(to_numpy(self.components_), dtype=np.float64), self._noise()
        small = np.eye(len(W)) + (W / noise) @ W.T
        return float(np.linalg.slogdet(small)[1]) + float(np.log(noise).sum())

    def _precision(self) -> np.ndarray:
        """Return Sigma^-1 = N^-1 - N^-1 W^T (I + W N^-1 W^T)^-1 W N^-1 (Woodbury) in host memory."""
        A, _ = self._posterior()
        noise = self._noise()
        scaled = np.asarray(to_numpy(self.components_), dtype=np.float64) / noise
        return np.diag(1.0 / noise) - scaled.T @ A

    def get_covariance(self) -> Array:
        """Return the covariance of the model, W^T W + diag(noise), (n_features, n_features)."""
        W = np.asarray(to_numpy(self.components_), dtype=np.float64)
        return Placement.of(self.components_).put(W.T @ W + np.diag(self._noise()))

    def get_precision(self) -> Array:
        """Return the inverse of :meth:`get_covariance`, from a k x k inverse."""
        return Placement.of(self.components_).put(self._precision())

    def sample(self, n: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw rows from the model.

        Parameters
        ----------
        n : int, default=1
            How many.
        random_state : None, int, RandomState or Generator, default=None
            The seed.

        Returns
        -------
        ndarray of shape (n, n_features)
            Rows.
        """
        check_is_fitted(self)
        n = read_integer(type(self).__name__, "n", n, 0)
        random = np.random.default_rng(seed_sequence(random_state).spawn(1)[0])
        W = np.asarray(to_numpy(self.components_), dtype=np.float64)
        factors, noise = random.standard_normal((n, len(W))), random.standard_normal((n, W.shape[1]))
        return to_numpy(self.mean_) + factors @ W + noise * np.sqrt(self._noise())

    def parameters(self) -> dict[str, Any]:
        """Return mean, loadings and noise variances by name."""
        return {"mean": self.mean_, "components": self.components_, "noise_variance": self.noise_variance_}

"""A function and a noise model make a generative model: it judges targets, and it can dream them up."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.density import as_density
from mercer.errors import DataError, ParameterError
from mercer.estimation._densities.continuous import GaussianDensity, LaplaceDensity

_NOISES = {"gaussian": GaussianDensity(), "laplace": LaplaceDensity()}


@dataclass(frozen=True, eq=False)
class GenerativeRegression:
    """Targets as a function of the inputs plus noise: p(y | x) = q(y - f(x)).

    With multiplicative noise y = f(x) (1 + e), and p(y | x) = q(y / f(x) - 1) / |f(x)|.

    Parameters
    ----------
    function : fitted regressor, or callable
        f: what has ``predict``, or a function of rows.
    noise : density
        q, of one number; with mean zero where f is to be the expected target.
    multiplicative : bool, default=False
        Whether the noise is relative to the function.

    Examples
    --------
    >>> from mercer.estimation import GaussianDensity, GenerativeRegression
    >>> model = GenerativeRegression(lambda X: 2 * X[:, 0], GaussianDensity(0.0, 0.25))
    >>> fantasies = model.sample(np.array([[1.0], [3.0]]), 10_000, random_state=0)
    >>> fantasies.mean(axis=0).round(1), fantasies.std(axis=0).round(1)
    (array([2., 6.]), array([0.5, 0.5]))
    """

    function: Any
    noise: Any
    multiplicative: bool = False

    @classmethod
    def fit(
        cls, function: Any, X: Any, y: Any, noise: Any = "gaussian", *, multiplicative: bool = False
    ) -> "GenerativeRegression":
        """Fit the noise to the residuals of a function.

        Parameters
        ----------
        function : fitted regressor, or callable
            Left as it is.
        X : array-like of shape (n, d)
            Inputs.
        y : array-like of shape (n,)
            Targets.
        noise : {"gaussian", "laplace"} or density, default="gaussian"
            The family; its ``fit`` is given the residuals.
        multiplicative : bool, default=False
            Whether residuals are relative to the function.

        Returns
        -------
        GenerativeRegression
        """
        if isinstance(noise, str) and noise not in _NOISES:
            raise ParameterError(
                f"GenerativeRegression: noise must be 'gaussian', 'laplace' or a density; got {noise!r}."
            )
        model = cls(function, _NOISES[noise] if isinstance(noise, str) else noise, multiplicative)
        fitted = as_density(model.noise, "GenerativeRegression").fit(model._residuals(X, y))
        return cls(function, fitted, multiplicative)

    def predict(self, X: Any) -> np.ndarray:
        """Return the function's value for each row."""
        value = self.function.predict(X) if hasattr(self.function, "predict") else self.function(np.asarray(X))
        return np.asarray(value, dtype=np.float64)

    def logpdf(self, X: Any, y: Any) -> np.ndarray:
        """Return the log-density of the target of each row.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        y : array-like of shape (n,)
            Targets.

        Returns
        -------
        ndarray of shape (n,)
        """
        logs = as_density(self.noise, "GenerativeRegression").logpdf(self._residuals(X, y))
        # y = f (1 + e) stretches the noise by |f|, so that its density is divided by it.
        return logs - np.log(np.abs(self.predict(X))) if self.multiplicative else logs

    def log_likelihood(self, X: Any, y: Any) -> float:
        """Return the log-density of all targets together; with Gaussian noise -SSE / (2 v) plus a constant."""
        return float(self.logpdf(X, y).sum())

    def sample(self, X: Any, n: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw targets for given inputs.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Inputs.
        n : int, default=1
            Draws for each row.
        random_state : None, int, RandomState or Generator, default=None
            The seed.

        Returns
        -------
        ndarray of shape (n, m)
        """
        centre = self.predict(X)
        noise = as_density(self.noise, "GenerativeRegression").sample(n * len(centre), random_state)
        noise = noise.reshape(n, len(centre))
        return centre * (1 + noise) if self.multiplicative else centre + noise

    def _residuals(self, X: Any, y: Any) -> np.ndarray:
        centre, y = self.predict(X), np.asarray(y, dtype=np.float64)
        if centre.shape != y.shape:
            raise DataError(
                f"GenerativeRegression: y must have the shape of the predictions, {centre.shape}; got {y.shape}."
            )
        if self.multiplicative and (centre == 0).any():
            raise DataError(
                "GenerativeRegression: multiplicative noise needs a function that is nowhere zero at the rows."
            )
        # Multiplicative noise: y = f(x) (1 + e), so e = y / f(x) - 1. Additive noise: e = y - f(x).
        return y / centre - 1 if self.multiplicative else y - centre

"""The density of a function of a variable."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._base.density import as_density


@dataclass(frozen=True, eq=False)
class TransformedDensity:
    """The density of y = f(x), where x has a known density and f rises or falls throughout.

    p(y) = q(x) / |f'(x)| at the x with f(x) = y. A Gaussian through the exponential is log-normal; through a sigmoid it
    is flat for one slope, and piles up at the ends for a steeper one.

    Parameters
    ----------
    density : density
        q, of one number.
    function : callable
        f, elementwise.
    inverse : callable
        From y back to x, elementwise.
    slope : callable
        f', a function of x, elementwise.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimation import GaussianDensity, TransformedDensity
    >>> log_normal = TransformedDensity(GaussianDensity(), np.exp, np.log, np.exp).fit([1.0, np.e, np.e**2])
    >>> log_normal.density
    GaussianDensity(mean=1.0, variance=0.6666666666666666)
    """

    density: Any
    function: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    slope: Callable[[Any], Any]

    def fit(self, X: Any, sample_weight: Any = None) -> "TransformedDensity":
        """Fit the inner density to the inverse of the observations; f has no parameters, so this is most likely."""
        x = self.inverse(np.asarray(X, dtype=np.float64))
        return replace(self, density=self._inner().fit(x, sample_weight=sample_weight))

    def logpdf(self, X: Any) -> np.ndarray:
        """Return the log-density of each number; minus infinity where f does not reach."""
        y = np.asarray(X, dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            x = np.asarray(self.inverse(y), dtype=np.float64)
            logs = self._inner().logpdf(x) - np.log(np.abs(self.slope(x)))
        # An inverse that is no number, as the logarithm of a negative one is not, says that f never gives that value.
        return np.where(np.isnan(logs) & ~np.isnan(y), -np.inf, logs)

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw `n` independent values."""
        return np.asarray(self.function(self._inner().sample(n, random_state)))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the inner density; f has none."""
        return self._inner().parameters()

    def fisher_information(self) -> np.ndarray:
        """Return that of the inner density: a function that can be inverted loses nothing about the parameters."""
        return self.density.fisher_information()

    def _inner(self) -> Any:
        return as_density(self.density, "TransformedDensity")

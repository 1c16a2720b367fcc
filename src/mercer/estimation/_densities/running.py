"""Densities that learn from one batch of observations after another, in memory that does not grow with their number."""

from typing import Any

import numpy as np

from mercer._base.reading import read_numbers, read_weight
from mercer.errors import DataError, ParameterError
from mercer.estimation._densities.continuous import ExponentialDensity, GaussianDensity, UniformDensity
from mercer.estimation._densities.density import NumberDensity
from mercer.estimation._densities.family import read_rows
from mercer.estimation._densities.multivariate import MultivariateGaussianDensity


class RunningDensity:
    """A density that is fitted batch by batch: the maximum likelihood estimate of all observations so far.

    It keeps sums that determine the estimate, never the observations: mean and scatter for Gaussians, the mean for the
    exponential density, the extremes for the uniform one, and the count of every distinct value for densities of whole
    numbers. With `forgetting` below one, old observations weigh less and less, so that the estimate follows a
    distribution that moves.

    Parameters
    ----------
    density : density
        The family: a :class:`GaussianDensity`, :class:`MultivariateGaussianDensity`, :class:`ExponentialDensity`,
        :class:`UniformDensity`, or one of whole numbers (Bernoulli, binomial, Poisson, geometric, categorical).
    forgetting : float in (0, 1], default=1.0
        The factor by which the weight of all earlier observations is multiplied for each new one; 1 - 1 / m remembers
        about m of them.

    Attributes
    ----------
    density_ : density
        The estimate.
    weight_ : float
        The weight of what is remembered.

    Examples
    --------
    >>> from mercer.estimation import GaussianDensity, RunningDensity
    >>> model = RunningDensity(GaussianDensity())
    >>> for batch in ([1.0, 2.0], [3.0], [6.0, 8.0]):
    ...     model = model.partial_fit(batch)
    >>> model.density_.mean, round(model.density_.variance, 6)  # of all five
    (4.0, 6.8)
    """

    def __init__(self, density: Any, *, forgetting: float = 1.0) -> None:
        self.density = density
        self.forgetting = float(
            read_numbers("RunningDensity", "forgetting", forgetting, 0.0, 1.0, closed="right", error=ParameterError)
        )
        self._summary = _choose_summary(density)
        self.weight_ = 0.0

    def partial_fit(self, X: Any, sample_weight: Any = None) -> "RunningDensity":
        """Add observations to those seen before.

        Parameters
        ----------
        X : array-like of shape (n, ...)
            Observations.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights; a weight of two is the observation twice.

        Returns
        -------
        RunningDensity
            The object itself.
        """
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim == 0 or not len(rows):
            raise DataError(f"RunningDensity: partial_fit needs at least one observation; got shape {rows.shape}.")
        # What the family cannot hold is refused before anything is added.
        rows = _read_batch(self.density, rows)
        weight = read_weight("RunningDensity", sample_weight, len(rows))
        # Within a batch too the last observation is the newest.
        ages = np.arange(len(rows))[::-1]
        weight = weight * self.forgetting**ages
        kept = self.forgetting ** len(rows)
        self._summary.add(rows, weight, kept)
        self.weight_ = kept * self.weight_ + float(weight.sum())
        return self

    @property
    def density_(self) -> Any:
        """The estimate; an error says what is missing where there is none yet, as of one observation of a Gaussian."""
        if not self.weight_ > 0:
            raise DataError("RunningDensity: density_ exists once observations of positive weight were seen.")
        return self.density.fit(*self._summary.make_points())

    def fit(self, X: Any, sample_weight: Any = None) -> "RunningDensity":
        """Return a new running density of these observations alone; takes what :meth:`partial_fit` takes."""
        return RunningDensity(self.density, forgetting=self.forgetting).partial_fit(X, sample_weight)

    def logpdf(self, X: Any) -> np.ndarray:
        """Return the log of the estimated density of each observation."""
        return self._estimate().logpdf(X)

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw `n` independent observations from the estimate."""
        return self._estimate().sample(n, random_state)

    def parameters(self) -> dict[str, Any]:
        """Return the estimated parameters by name."""
        return self._estimate().parameters()

    def _estimate(self) -> Any:
        return self.density_ if self.weight_ > 0 else self.density


class _Moments:
    """Weight, mean and scatter; a few points with the same mean and covariance stand for all observations."""

    def __init__(self) -> None:
        self.weight, self.mean, self.scatter = 0.0, np.zeros(()), np.zeros(())

    def add(self, rows: np.ndarray, weight: np.ndarray, kept: float) -> None:
        total = float(weight.sum())
        if total == 0:
            # `kept` below one forgets earlier batches.
            self.weight *= kept
            self.scatter = kept * self.scatter
            return
        mean = np.tensordot(weight, rows, axes=1) / total
        steps = rows - mean
        scatter = self._products(steps, weight)
        old = kept * self.weight
        # Two sets about their own means: the scatter of both about the common mean has the step between them too.
        gap = mean - self.mean if old > 0 else np.zeros_like(mean)
        # w1 w2 / (w1 + w2) times the squared step between the means.
        joint = old * total / (old + total)
        self.scatter = kept * self.scatter + scatter + self._products(gap[None], np.array([joint]))
        self.mean = self.mean + gap * total / (old + total) if old > 0 else mean
        self.weight = old + total

    def _products(self, steps: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.tensordot(weight, steps**2, axes=1)

    def make_points(self) -> tuple[np.ndarray, np.ndarray]:
        # Two points one standard deviation from the mean on either side have its variance.
        deviation = np.sqrt(self.scatter / self.weight)
        return np.stack([self.mean - deviation, self.mean + deviation]), np.full(2, self.weight / 2)


class _MatrixMoments(_Moments):
    """Mean and scatter matrix of rows."""

    def _products(self, steps: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return (steps * weight[:, None]).T @ steps

    def make_points(self) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = np.linalg.eigh(self.scatter / self.weight)
        d = len(values)
        # 2 d points at mean +- root(d l_k) v_k, weighted alike, have the covariance sum_k l_k v_k v_k^T.
        steps = np.sqrt(d * np.maximum(values, 0.0))[:, None] * vectors.T
        return np.concatenate([self.mean - steps, self.mean + steps]), np.full(2 * d, self.weight / (2 * d))


class _Mean(_Moments):
    """The mean alone."""

    def make_points(self) -> tuple[np.ndarray, np.ndarray]:
        return self.mean[None], np.array([self.weight])


class _Extremes:
    """The least and the largest observation of positive weight; these are never forgotten."""

    def __init__(self) -> None:
        self.low: Any = np.inf
        self.high: Any = -np.inf

    def add(self, rows: np.ndarray, weight: np.ndarray, kept: float) -> None:
        rows = rows[weight > 0]
        if len(rows):
            self.low, self.high = np.minimum(self.low, rows.min(axis=0)), np.maximum(self.high, rows.max(axis=0))

    def make_points(self) -> tuple[np.ndarray, np.ndarray]:
        return np.stack([self.low, self.high]), np.ones(2)


class _Counts:
    """The weight of every distinct value."""

    def __init__(self) -> None:
        self.counts: dict[float, float] = {}

    def add(self, rows: np.ndarray, weight: np.ndarray, kept: float) -> None:
        if rows.ndim != 1:
            raise DataError(
                f"RunningDensity: observations of whole numbers must have one axis; got shape {rows.shape}. Use one "
                "running density for each column."
            )
        # Forgetting multiplies old counts by `kept`, so a row of t steps ago weighs kept^t.
        for value in self.counts:
            self.counts[value] *= kept
        values, places = np.unique(rows, return_inverse=True)
        for value, total in zip(values.tolist(), np.bincount(places, weight).tolist(), strict=True):
            self.counts[value] = self.counts.get(value, 0.0) + total

    def make_points(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array(list(self.counts)), np.array(list(self.counts.values()))


def _read_batch(density: Any, rows: np.ndarray) -> np.ndarray:
    """Return the observations, or raise where the family cannot hold them."""
    if isinstance(density, NumberDensity):
        return density._read_observations(rows)
    return read_rows("RunningDensity", rows, len(density.mean))


def _choose_summary(density: Any) -> Any:
    # Each of these families has an estimate that is a function of sums, means or extremes alone.
    kinds = (
        (MultivariateGaussianDensity, _MatrixMoments),
        (GaussianDensity, _Moments),
        (ExponentialDensity, _Mean),
        (UniformDensity, _Extremes),
    )
    for family, summary in kinds:
        if isinstance(density, family):
            return summary()
    if isinstance(density, NumberDensity) and density._whole:
        return _Counts()
    raise ParameterError(
        f"RunningDensity: the family must be Gaussian, exponential, uniform or of whole numbers, whose estimates a few "
        f"sums determine; got {type(density).__name__}. Fit it to all observations."
    )

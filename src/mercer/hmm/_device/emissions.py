"""Log densities of steps and the sums of the M step, where the rows are: Gaussian, categorical and Poisson states."""

from functools import partial
from typing import Any

import numpy as np

from mercer._source.namespace import to_numpy
from mercer._source.placement import Placement
from mercer._types import Array
from mercer.errors import DataError
from mercer.hmm._count_emissions import CategoricalEmission, CountSums, PoissonEmission
from mercer.hmm._gaussian_emission import GaussianEmission, GaussianSums

_LOG_TWO_PI = float(np.log(2.0 * np.pi))
# Most numbers of a table of symbols, a column for each: 512 MiB in float64.
_MOST_TERMS = 2**26
# Stirling's series for log Gamma(z), coefficients of 1/z, 1/z^3, ...: B_2m / (2m (2m - 1)). At z >= 8 the first term
# left out is below 1e-14.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
# From this argument on the series is used as it is.
_LARGE = 8


class Rows:
    """The steps on a device, with the densities of some emission.

    Rows are in the widest type of the device, entries that are missing hold zero, and ``seen`` says which are not
    missing; it is None if none is.
    """

    def __init__(self, X: Array, placement: Placement, emission: Any) -> None:
        self.xp, self.placement, self.emission = placement.xp, placement, emission
        xp, self.put = self.xp, placement.put
        X = xp.astype(X, placement.wide, copy=False)
        self.seen: Array = None
        # A sum is finite unless a value is not: one pass finds NaN and infinity.
        if not bool(xp.isfinite(xp.sum(X))):
            if bool(xp.any(xp.isinf(X))):
                raise DataError(
                    f"{emission.subject}: Input X contains infinity or a value too large for dtype('float64'). Mark "
                    f"missing steps and entries by NaN, and correct the infinite ones."
                )
            self.seen = ~xp.isnan(X)
            X = xp.where(self.seen, X, xp.zeros_like(X))
        self.X = X
        if isinstance(emission, GaussianEmission):
            self._check_whole(emission)
        elif bool(xp.any(X < 0)):
            raise DataError(
                f"{emission.subject}: Negative values in data passed to X; rows must hold counts, and the smallest is "
                f"{float(xp.min(X)):g}. Number symbols from 0, and use GaussianHMM for measurements."
            )

    def score(self) -> Array:
        """Return the log density of each step in each state, (n, k); zero where all entries are missing."""
        match self.emission:
            case GaussianEmission():
                return self._score_gaussian(self.emission)
            case CategoricalEmission():
                return self._score_symbols(self.emission)
            case _:
                return self._score_counts(self.emission)

    def sum(self, shares: Array) -> Any:
        """Return the sums of the M step, in NumPy, for states that take the steps with `shares`, (n, k)."""
        match self.emission:
            case GaussianEmission():
                return self._sum_gaussian(self.emission, shares)
            case CategoricalEmission():
                return self._sum_symbols(self.emission, shares)
            case _:
                turned = self.xp.matrix_transpose(shares)
                constant = -float(self.xp.sum(self.xp.sum(shares, axis=1) * self._log_factorials()))
                return CountSums(self._fetch(turned @ self._present()), self._fetch(turned @ self.X), constant)

    def _fetch(self, array: Array) -> Array:
        """Return an array in NumPy and float64."""
        return to_numpy(array).astype(np.float64)

    def _present(self) -> Array:
        """Return one for each entry that is not missing, and zero for the others, (n, d)."""
        if self.seen is None:
            return self.xp.ones_like(self.X)
        return self.xp.astype(self.seen, self.X.dtype)

    def _check_whole(self, emission: GaussianEmission) -> None:
        """Raise for rows with some entries missing where columns depend on each other."""
        if self.seen is None or not emission.is_square:
            return
        xp = self.xp
        if bool(xp.any(xp.any(self.seen, axis=1) & ~xp.all(self.seen, axis=1))):
            raise DataError(
                f"{emission.subject}: a row on a device must be whole or missing throughout (NaN) with covariance_type="
                f"{emission.kind!r}; got rows with some NaN. Use covariance_type='diag', or move the rows to memory."
            )

    def _deviations(self, emission: GaussianEmission, state: int) -> Array:
        """Return rows less the mean of a state; zero for missing entries."""
        steps = self.X - self.put(emission.means[state])
        return steps if self.seen is None else self.xp.where(self.seen, steps, self.xp.zeros_like(steps))

    def _score_gaussian(self, emission: GaussianEmission) -> Array:
        xp, (factors, half_logs), d = self.xp, emission.roots, emission.n_columns
        columns = []
        for state in range(len(emission.means)):
            steps, factor = self._deviations(emission, state), self.put(factors[state])
            # L^-1 (x - mean) with L the Cholesky factor, or (x - mean) / sigma.
            along = steps @ xp.matrix_transpose(factor) if emission.is_square else steps * factor
            columns.append(-0.5 * xp.sum(along * along, axis=1))
        table = xp.stack(columns, axis=1)
        if self.seen is None:
            return table - self.put(half_logs + 0.5 * d * _LOG_TWO_PI)
        # A row that is missing throughout has no offset either.
        if emission.is_square:
            whole = xp.astype(self.seen[:, :1], table.dtype)
            return table - whole * self.put(half_logs + 0.5 * d * _LOG_TWO_PI)
        # Each entry that is present has an offset of its own: log sigma + log(2 pi) / 2.
        return table - self._present() @ self.put(np.ascontiguousarray((0.5 * _LOG_TWO_PI - np.log(factors)).T))

    def _sum_gaussian(self, emission: GaussianEmission, shares: Array) -> GaussianSums:
        xp = self.xp
        first, second = [], []
        for state in range(len(emission.means)):
            steps = self._deviations(emission, state)
            # Shares times deviations from the old mean: first and second moments about it.
            heavy = shares[:, state : state + 1] * steps
            first.append(xp.sum(heavy, axis=0))
            second.append(xp.matrix_transpose(heavy) @ steps if emission.is_square else xp.sum(heavy * steps, axis=0))
        mass = xp.matrix_transpose(shares) @ self._present()
        return GaussianSums(*map(self._fetch, (mass, xp.stack(first), xp.stack(second))))

    def _read_codes(self, emission: CategoricalEmission) -> Array:
        """Return codes as integers; a missing entry has the code after the last symbol."""
        xp, n_symbols = self.xp, emission.probabilities.shape[2]
        wrong = (xp.floor(self.X) != self.X) | (n_symbols <= self.X)
        if bool(xp.any(wrong)):
            value = float(xp.max(xp.where(wrong, self.X, xp.zeros_like(self.X))))
            raise DataError(
                f"{emission.subject}: symbols must be integers from 0 to {n_symbols - 1} for this model; got "
                f"{value:g}. Raise n_features before fit."
            )
        codes = xp.astype(self.X, xp.int64)
        return codes if self.seen is None else xp.where(self.seen, codes, xp.full_like(codes, n_symbols))

    def _score_symbols(self, emission: CategoricalEmission) -> Array:
        codes, k = self._read_codes(emission), len(emission.probabilities)
        tables = [self.put(np.ascontiguousarray(table[:, :k])) for table in emission.logs]
        columns = [self.xp.take(table, codes[:, column], axis=0) for column, table in enumerate(tables)]
        return sum(columns[1:], start=columns[0])

    def _sum_symbols(self, emission: CategoricalEmission, shares: Array) -> CountSums:
        xp, codes, (k, d, n_symbols) = self.xp, self._read_codes(emission), emission.probabilities.shape
        turned, counts = xp.matrix_transpose(shares), np.zeros((k, d, n_symbols))
        # A table of (rows, symbols) zeros and ones for each column, in parts that fit the memory.
        most = max(1, _MOST_TERMS // codes.shape[0])
        for begin in range(0, n_symbols, most):
            symbols = self.put(np.arange(begin, min(n_symbols, begin + most)))
            for column in range(d):
                chosen = xp.astype(codes[:, column : column + 1] == symbols, shares.dtype)
                counts[:, column, begin : begin + most] = self._fetch(turned @ chosen)
        return CountSums(counts.sum(axis=2), counts)

    def _log_factorials(self) -> Array:
        """Return the sum over the columns of log x!, (n,), by Stirling's series; the standard has no log Gamma."""
        xp = self.xp
        z = self.X + 1.0
        # Gamma(z) = Gamma(z + 8) / (z (z + 1) ... (z + 7)) brings small arguments to where the series is exact.
        small, factor = z < _LARGE, xp.ones_like(z)
        for number in range(_LARGE):
            factor = factor * xp.where(small, z + number, xp.ones_like(z))
        z = xp.where(small, z + _LARGE, z)
        inverse = 1.0 / z
        series = xp.zeros_like(z)
        for coefficient in reversed(_STIRLING):
            # Horner's scheme in 1 / z^2.
            series = series * inverse * inverse + coefficient
        values = (z - 0.5) * xp.log(z) - z + 0.5 * _LOG_TWO_PI + series * inverse - xp.log(factor)
        return xp.sum(values, axis=1)

    def _score_counts(self, emission: PoissonEmission) -> Array:
        xp, rates = self.xp, np.asarray(emission.rates)
        turn = partial(np.ascontiguousarray, dtype=np.float64)
        logs = np.log(np.where(rates > 0, rates, 1.0))
        table = self.X @ self.put(turn(logs.T)) - self._log_factorials()[:, None]
        table = table - self._present() @ self.put(turn(rates.T))
        if np.all(rates > 0):
            return table
        # A state whose rate is zero emits nothing but zeros.
        forbidden = self.X @ self.put(turn((rates == 0).T)) > 0
        return xp.where(forbidden, xp.full_like(table, -np.inf), table)

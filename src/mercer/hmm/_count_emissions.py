"""States that emit symbols, or counts: categorical, multinomial and Poisson."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln, xlogy

from mercer._plain import plain
from mercer._types import Array
from mercer.errors import DataError
from mercer.hmm._chain import pad_lanes
from mercer.hmm._emission import AddedSums, find_missing, normalise_counts, take_log_prior
from mercer.hmm._symbols import check_counts


@plain
@dataclass(frozen=True, eq=False)
class CountSums(AddedSums):
    """Per state, the weight of the steps and the weighted sum of what was counted; and what no parameter changes."""

    mass: Array
    counts: Array
    constant: float = 0.0


@plain
@dataclass(frozen=True, eq=False)
class CategoricalEmission:
    """Probabilities of symbols in each state and column, (k, d, symbols). Rows hold a code for each column.

    Columns are independent given the state. Symbols that a column does not have are zeros.
    """

    probabilities: Array

    subject = "CategoricalHMM"

    @property
    def n_columns(self) -> int:
        """The number of columns of a row."""
        return self.probabilities.shape[1]

    @cached_property
    def logs(self) -> Array:
        """Log probabilities by column and symbol, (d, symbols + 1, lanes); the last row stands for a missing entry."""
        k, d, n_symbols = self.probabilities.shape
        table = np.zeros((d, n_symbols + 1, k))
        with np.errstate(divide="ignore"):
            table[:, :-1] = np.transpose(self.probabilities, (1, 2, 0))
            table[:, :-1] = np.log(table[:, :-1])
        return pad_lanes(table, -np.inf)

    def _read_codes(self, X: Array) -> Array:
        """Return codes as integers; a missing entry has the code after the last symbol."""
        n_symbols = self.probabilities.shape[2]
        if find_missing(X, self.subject) is not None:
            X = np.where(np.isnan(X), n_symbols, X)
        codes = X.astype(np.intp)
        if codes.size and (codes.min() < 0 or codes.max() > n_symbols or not np.array_equal(codes, X)):
            self._refuse(X)
        return codes

    def _refuse(self, X: Array) -> None:
        """Raise for rows that are not codes of known symbols."""
        n_symbols = self.probabilities.shape[2]
        wrong = X[(X < 0) | (np.floor(X) != X) | (n_symbols < X)].flat[0]
        raise DataError(
            f"{self.subject}: symbols must be strings, or integers from 0 to {n_symbols - 1} for this model; got "
            f"{wrong:g}. Raise n_features before fit, or give rows as strings, which are numbered."
        )

    def scores(self, X: Array, out: Array) -> None:
        codes = self._read_codes(X)
        np.take(self.logs[0], codes[:, 0], axis=0, out=out)
        for column in range(1, codes.shape[1]):
            # Two impossible symbols in the lanes beyond the states stay minus infinity.
            out += self.logs[column][codes[:, column]]

    def sums(self, X: Array, shares: Array) -> CountSums:
        k, d, n_symbols = self.probabilities.shape
        codes = self._read_codes(X) + (n_symbols + 1) * np.arange(d)
        size = d * (n_symbols + 1)
        counts = [np.bincount(codes.reshape(-1), np.repeat(shares[:, state], d), size) for state in range(k)]
        table = np.stack(counts).reshape(k, d, n_symbols + 1)[:, :, :n_symbols]
        return CountSums(table.sum(axis=2), table)

    def maximise(self, sums: CountSums, params: str, prior: Array) -> "CategoricalEmission":
        return CategoricalEmission(normalise_counts(sums.counts, prior, self.probabilities)) if "e" in params else self

    def take_expected(self, sums: CountSums, reference: Any) -> float:
        return float(np.sum(xlogy(sums.counts, self.probabilities)))

    def log_prior(self, prior: Array) -> float:
        return take_log_prior(self.probabilities, prior)

    def draw(self, states: Array, generator: np.random.Generator) -> Array:
        # The number of cumulated probabilities below a uniform number has the wanted distribution.
        cumulated = np.cumsum(self.probabilities, axis=2)
        cumulated /= cumulated[:, :, -1:]
        below = cumulated[states, :, :-1] <= generator.random((len(states), cumulated.shape[1]))[:, :, None]
        return below.sum(axis=2)

    def count_parameters(self) -> int:
        return int((self.probabilities > 0).sum() - self.probabilities.shape[0] * self.probabilities.shape[1])


@plain
@dataclass(frozen=True, eq=False)
class MultinomialEmission:
    """Probabilities of categories in each state, (k, categories). Rows hold the counts of `n_trials` draws."""

    probabilities: Array
    n_trials: int

    subject = "MultinomialHMM"

    @property
    def n_columns(self) -> int:
        """The number of columns of a row."""
        return self.probabilities.shape[1]

    def scores(self, X: Array, out: Array) -> None:
        missing, k = find_missing(X, self.subject), len(self.probabilities)
        check_counts(self.subject, X)
        X = np.where(np.isnan(X), 0.0, X) if missing is not None else X
        X = np.asarray(X, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(self.probabilities)
            # log p = log n! - sum log x_j! + sum x_j log p_j; impossible categories are handled below.
            table = X @ np.where(np.isfinite(logs), logs, 0.0).T
        # A category that a state cannot emit must not have been counted.
        table[X @ ~np.isfinite(logs).T > 0] = -np.inf
        table += (gammaln(X.sum(axis=1) + 1.0) - gammaln(X + 1.0).sum(axis=1))[:, None]
        # Lanes beyond the states never win.
        out[:, k:] = -np.inf
        out[:, :k] = table

    def sums(self, X: Array, shares: Array) -> CountSums:
        k = len(self.probabilities)
        X = np.where(np.isnan(X), 0.0, X).astype(np.float64)
        constant = gammaln(X.sum(axis=1) + 1.0) - gammaln(X + 1.0).sum(axis=1)
        shares = shares[:, :k]
        return CountSums(shares.sum(axis=0), shares.T @ X, float(shares.sum(axis=1) @ constant))

    def maximise(self, sums: CountSums, params: str, prior: Array) -> "MultinomialEmission":
        if "e" not in params:
            return self
        return MultinomialEmission(normalise_counts(sums.counts, prior, self.probabilities), self.n_trials)

    def take_expected(self, sums: CountSums, reference: Any) -> float:
        return float(np.sum(xlogy(sums.counts, self.probabilities))) + sums.constant

    def log_prior(self, prior: Array) -> float:
        return take_log_prior(self.probabilities, prior)

    def draw(self, states: Array, generator: np.random.Generator) -> Array:
        return generator.multinomial(self.n_trials, self.probabilities[states])

    def count_parameters(self) -> int:
        return int((self.probabilities > 0).sum() - len(self.probabilities))


@plain
@dataclass(frozen=True, eq=False)
class PoissonEmission:
    """Rates of independent columns of counts in each state, (k, d)."""

    rates: Array

    subject = "PoissonHMM"

    @property
    def n_columns(self) -> int:
        """The number of columns of a row."""
        return self.rates.shape[1]

    def scores(self, X: Array, out: Array) -> None:
        missing, k = find_missing(X, self.subject), len(self.rates)
        check_counts(self.subject, X)
        X = np.asarray(X, dtype=np.float64)
        seen = None
        if missing is not None:
            seen = ~np.isnan(X)
            X = np.where(seen, X, 0.0)
        with np.errstate(divide="ignore"):
            logs = np.log(self.rates)
        # sum_j x_j log rate_j - log x_j! - rate_j; the rates of missing entries are left out.
        table = X @ np.where(self.rates > 0, logs, 0.0).T - gammaln(X + 1.0).sum(axis=1)[:, None]
        # A state of rate zero cannot emit a positive count.
        table[X @ (self.rates == 0).T > 0] = -np.inf
        table -= self.rates.sum(axis=1) if seen is None else seen @ self.rates.T
        out[:, k:] = -np.inf
        out[:, :k] = table

    def sums(self, X: Array, shares: Array) -> CountSums:
        shares, seen = shares[:, : len(self.rates)], ~np.isnan(X)
        X = np.asarray(X, dtype=np.float64)
        X = X if seen.all() else np.where(seen, X, 0.0)
        constant = -float(shares.sum(axis=1) @ gammaln(X + 1.0).sum(axis=1))
        return CountSums(shares.T @ seen, shares.T @ X, constant)

    def maximise(self, sums: CountSums, params: str, prior: tuple[Array, Array]) -> "PoissonEmission":
        if "l" not in params:
            return self
        shape, weight = prior
        total = sums.mass + weight
        return PoissonEmission(np.where(total > 1e-300, (shape + sums.counts) / np.maximum(total, 1e-300), self.rates))

    def take_expected(self, sums: CountSums, reference: Any) -> float:
        return float(np.sum(xlogy(sums.counts, self.rates) - sums.mass * self.rates)) + sums.constant

    def log_prior(self, prior: tuple[Array, Array]) -> float:
        return float(np.sum(xlogy(prior[0], self.rates) - prior[1] * self.rates))

    def draw(self, states: Array, generator: np.random.Generator) -> Array:
        return generator.poisson(self.rates[states])

    def count_parameters(self) -> int:
        return int(self.rates.size)

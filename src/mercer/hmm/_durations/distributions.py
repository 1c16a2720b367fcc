"""How long states last: geometric, Poisson and negative binomial durations, or a free table."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, stats

from mercer._plain import plain
from mercer._types import Array

KINDS = ("poisson", "geometric", "negative binomial", "table")
# Steps that a state lasts in the first guess, at most.
_FIRST_MEAN = 10.0
# Bounds of the logarithm of a mean or a size, and of the logit of a probability: far beyond what data can tell.
_BOUND = 18.0


@plain
@dataclass(frozen=True, eq=False)
class StateDurations:
    """The distribution of the duration d = 1, 2... of each state.

    Attributes
    ----------
    kind : str
        ``"geometric"``: (1 - r) r^(d - 1). ``"poisson"``: d - 1 has a Poisson distribution of mean m. ``"negative
        binomial"``: d - 1 has a negative binomial distribution of mean m and size s. ``"table"``: any probabilities.
    parameters : ndarray of shape (K, p)
        r; m; m and s; or the table itself.
    size : int
        D, the longest duration in the tables.
    truncated : bool
        Whether no state lasts longer than D; otherwise D is the length of the sequence and nothing is cut off.
    """

    kind: str
    parameters: Array
    size: int
    truncated: bool

    def tabulate(self) -> tuple[Array, Array]:
        """Return log P(duration = d) and log P(duration >= d), each (K, D)."""
        tables = [self._tabulate_state(row) for row in self.parameters]
        return np.array([table[0] for table in tables]), np.array([table[1] for table in tables])

    def _tabulate_state(self, row: Array) -> tuple[Array, Array]:
        # Durations begin at one: the distributions are of duration - 1.
        extra = np.arange(self.size, dtype=np.float64)
        with np.errstate(divide="ignore"):
            if self.kind == "table":
                logs = np.log(row)
                return logs, _sum_from_behind(logs)
            if self.kind == "geometric":
                # P(d) = (1 - q) q^(d - 1), and P(at least d) = q^(d - 1).
                logs, tails = np.log1p(-row[0]) + extra * np.log(row[0]), extra * np.log(row[0])
            elif self.kind == "poisson":
                logs, tails = stats.poisson.logpmf(extra, row[0]), stats.poisson.logsf(extra - 1.0, row[0])
            else:
                # The negative binomial with mean row[0] and size row[1].
                share = row[1] / (row[1] + row[0])
                logs, tails = stats.nbinom.logpmf(extra, row[1], share), stats.nbinom.logsf(extra - 1.0, row[1], share)
        if not self.truncated:
            return logs, tails
        # Cut off at D, the probabilities are scaled up to sum to one.
        logs = logs - _sum_from_behind(logs)[0]
        return logs, _sum_from_behind(logs)

    def means(self) -> Array:
        """Return the mean duration of each state."""
        if self.kind == "geometric" and not self.truncated:
            return 1.0 / (1.0 - self.parameters[:, 0])
        if self.kind in ("poisson", "negative binomial") and not self.truncated:
            return 1.0 + self.parameters[:, 0]
        return np.exp(self.tabulate()[0]) @ np.arange(1.0, self.size + 1.0)

    def maximise(self, counts: Array, open_counts: Array) -> "StateDurations":
        """Return the durations that maximise sum counts log P(= d) + sum open_counts log P(>= d), state by state."""
        rows = [
            self._maximise_state(old, seen, going)
            for old, seen, going in zip(self.parameters, counts, open_counts, strict=True)
        ]
        return StateDurations(self.kind, np.array(rows), self.size, self.truncated)

    def _maximise_state(self, old: Array, seen: Array, going: Array) -> Array:
        if self.kind == "table":
            return _complete_table(old, seen, going)

        def cost(coded: Any) -> float:
            logs, tails = self._tabulate_state(self._decode(np.atleast_1d(coded)))
            # Segments that end count with P(d), those that are cut off with P(at least d).
            total = np.sum(seen[seen > 0] * logs[seen > 0]) + np.sum(going[going > 0] * tails[going > 0])
            return -float(total) if np.isfinite(total) else 1e300

        start = self._encode(old)
        if len(old) == 1:
            # One parameter: a bounded search, on the coded scale.
            better = np.atleast_1d(
                optimize.minimize_scalar(cost, bounds=(-_BOUND, _BOUND), method="bounded", options={"xatol": 1e-9}).x
            )
        else:
            better = optimize.minimize(cost, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9}).x
            better = np.clip(better, -_BOUND, _BOUND)
        # A search that ends no higher than it began leaves the parameters alone: the likelihood never falls.
        return self._decode(better) if cost(better) < cost(start) else old

    def _encode(self, row: Array) -> Array:
        return np.log(row / (1.0 - row)) if self.kind == "geometric" else np.log(row)

    def _decode(self, coded: Array) -> Array:
        return 1.0 / (1.0 + np.exp(-coded)) if self.kind == "geometric" else np.exp(coded)

    def draw(self, state: int, random: np.random.Generator) -> int:
        """Draw a duration of a state."""
        row = self.parameters[state]
        if self.truncated or self.kind == "table":
            chances = np.cumsum(np.exp(self._tabulate_state(row)[0]))
            # Inverse of the cumulated probabilities, which may sum to less than one by rounding.
            return 1 + int(np.searchsorted(chances, random.random() * chances[-1], side="right"))
        if self.kind == "geometric":
            return int(random.geometric(1.0 - row[0]))
        if self.kind == "poisson":
            return 1 + int(random.poisson(row[0]))
        return 1 + int(random.negative_binomial(row[1], row[1] / (row[1] + row[0])))


def first_durations(kind: str, n_states: int, size: int, truncated: bool) -> StateDurations:
    """Return durations to begin with: some ten steps, or half of the longest."""
    mean = min(_FIRST_MEAN, max(1.0, 0.5 * size))
    row = {
        "geometric": np.array([1.0 - 1.0 / (mean + 1.0)]),
        "poisson": np.array([mean]),
        "negative binomial": np.array([mean, 2.0]),
        "table": np.full(size, 1.0 / size),
    }[kind]
    return StateDurations(kind, np.tile(row, (n_states, 1)), size, truncated or kind == "table")


def _sum_from_behind(logs: Array) -> Array:
    """Return the log of the sum of exp(logs) from each place on."""
    return np.logaddexp.accumulate(logs[::-1])[::-1]


def _complete_table(old: Array, seen: Array, going: Array) -> Array:
    """Return one EM step of a table: a segment that goes on has the old chances of its longer durations."""
    tails = np.cumsum(old[::-1])[::-1]
    shares = np.where(tails > 0, going / np.where(tails > 0, tails, 1.0), 0.0)
    completed = seen + old * np.cumsum(shares)
    total = completed.sum()
    return completed / total if total > 0 else old

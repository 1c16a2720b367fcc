"""First components: where EM begins.

Each start is a generator of requests, as a solver is. All rules but ``'random'`` find k centres and give each row to
the nearest; ``'random'`` gives each row to all components in random proportions. One M step then makes the components.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._solver.centres.assignment import Memory
from mercer._solver.centres.first_centres import column_moments, plus_plus, random_rows
from mercer._solver.centres.lloyd import Lloyd
from mercer._solver.centres.row_draw import Race
from mercer._solver.expectation_maximisation import CollapseError
from mercer._solver.relay import answer_requests, relay, return_at_once
from mercer._source import Block, Source, open_source
from mercer._source.block import rows_per_block
from mercer._statistic import Statistic
from mercer._statistic.expectation import Expectation, ExpectedSums, features, n_features_of
from mercer._types import Array
from mercer.mixture._components import FORM_OF, GaussianComponents, GaussianMoments
from mercer.mixture._gaussian_expectation import CentredExpectation

# Most rows, drawn at random, in which centres are searched for if entries are missing.
_MOST_ROWS = 2**15
# Most iterations of the k-means that finds the start: the default of KMeans.
_MAX_ITER = 300
# Its tolerance, relative to the mean variance of the columns: the default of KMeans.
_TOL = 1e-4
# Most values in the features of one tile of rows: 8 MiB.
_TILE = 2**20


@dataclass(frozen=True)
class _Remembered:
    """A request: a memory in which the passes of k-means keep labels and bounds."""

    def answer(self, source: Source) -> Memory:
        return Memory.of(source)


def first_centres(rule: str, k: int, seed: np.random.SeedSequence) -> Any:
    """Choose k centres by the rule in ``init_params``; a generator of requests."""
    generator = np.random.default_rng(seed)
    if rule == "random_from_data":
        return (yield from random_rows(k, generator))
    centres, _ = yield from plus_plus(k, generator)
    if rule == "k-means++":
        return centres
    memory = yield _Remembered()
    settings = column_moments, 1, _MAX_ITER, _TOL, memory, seed
    lloyd = Lloyd(lambda _: return_at_once(centres), *settings)
    # Mixtures report the steps of EM only.
    solution = yield from relay(lloyd.solve(), lambda step: None)
    return solution.state.best.centres


def nearest_scores(centres: Array, shift: Array, n_features: int) -> Array:
    """Return theta, (k, n_features), whose scores about `shift` are largest for the nearest centre."""
    steps = np.asarray(centres, dtype=np.float64) - shift
    theta = np.zeros((len(steps), n_features))
    # argmin |x - c|^2 = argmax x . c - |c|^2 / 2.
    theta[:, 0] = -0.5 * np.einsum("ij,ij->i", steps, steps)
    theta[:, 1 : steps.shape[1] + 1] = steps
    return theta


@dataclass(frozen=True, eq=False)
class RandomShares(Statistic):
    """Features weighted by random responsibilities, drawn for each block from a random stream of its own."""

    seed: tuple[int, ...]
    k: int
    shift: Array
    form: str

    def of(self, block: Any) -> ExpectedSums:
        shift, start, table = 0.0 if self.shift is None else self.shift, 0, 0.0
        shares = block.xp.asarray(self._shares(block), dtype=block.wide, device=block.device)
        for part in block.parts(max(1, _TILE // n_features_of(self.form, block.X.shape[1]))):
            # The shares are those of the whole block; `start` is the place of this part in it.
            heavy = part.weigh(shares[start : start + part.n, :])
            table = heavy.T @ features(part, part.centre(shift), self.form) + table
            start += part.n
        return ExpectedSums(table, 0.0)

    def _shares(self, block: Block) -> Array:
        """Draw shares, (n, k), from one stream for each block that an array in memory would have."""
        size, parts = rows_per_block(block.X.shape[1]), []
        for start in range(0, block.n, size):
            seed = np.random.SeedSequence(self.seed, spawn_key=(block.start + start,))
            parts.append(np.random.default_rng(seed).random((min(size, block.n - start), self.k)))
        shares = np.concatenate(parts)
        return shares / shares.sum(axis=1, keepdims=True)


def random_sums(k: int, seed: np.random.SeedSequence, shift: Array, form: str) -> RandomShares:
    """Return the request for features summed by random responsibilities."""
    return RandomShares(tuple(seed.generate_state(4).tolist()), k, shift, form)


def first_components(model: Any, rule: str, k: int, means: Array, seed: np.random.SeedSequence) -> Any:
    """Find the first components; if `means` are given, rows go to the nearest of them. A generator of requests."""
    if model.missing:
        return (yield from _among_missing(model, rule, k, means, seed))
    middle = np.broadcast_to(model.centre, (k, len(model.centre)))
    if rule == "random" and means is None:
        sums = yield random_sums(k, seed, model.centre, model.form)
        return model.components(_moments(model, sums, model.form, middle))
    if means is None and k == 1:
        # Every row belongs to the one component, wherever its centre is.
        means = model.centre[None, :]
    centres = np.asarray(means if means is not None else (yield from first_centres(rule, k, seed)), np.float64)
    if not model.is_wide:
        theta = nearest_scores(centres, model.centre, n_features_of(model.form, len(model.centre)))
        sums = yield Expectation(theta, model.centre, model.form, hard=True)
        moments = _moments(model, sums, model.form, middle)
        try:
            components = model.components(moments)
        except CollapseError:
            components = None
        if components is not None and not model.is_apart(components):
            return components
    # Clusters that are tiny beside the data keep their digits only in sums about their own centres.
    form = FORM_OF[model.kind]
    sums = yield CentredExpectation(np.zeros(k), centres, np.ones(centres.shape), form, hard=True)
    return model.components(_moments(model, sums, form, centres))


def _moments(model: Any, sums: ExpectedSums, form: str, reference: Array) -> GaussianMoments:
    """Return the moments of the rows given to each centre; a centre without rows has the variances of all rows."""
    alone = _round(model.kind, reference, _variances(model))
    return GaussianMoments.of(sums.table, form, reference, alone, model.scatter)


def _round(kind: str, means: Array, variances: Array) -> GaussianComponents:
    """Return components of equal weights with these means, and the variances of the columns as covariances."""
    k, d = means.shape
    # One variance for all columns is their mean: the trace of the covariance stays the same.
    level = float(np.mean(variances))
    covariances = {
        "full": np.broadcast_to(np.diag(variances), (k, d, d)),
        "tied": np.diag(variances),
        "diag": np.broadcast_to(variances, (k, d)),
        "spherical": np.full(k, level),
    }[kind]
    return GaussianComponents.of(kind, np.full(k, 1.0 / k), np.asarray(means, np.float64), np.array(covariances))


def _variances(model: Any) -> Array:
    """Return the variance of each column, (d,), with one in place of zero."""
    scatter = model.scatter if FORM_OF[model.kind] != "full" else np.diagonal(model.scatter)
    variances = scatter / model.weight
    return np.where(variances > 0, variances, 1.0)


def _among_missing(model: Any, rule: str, k: int, means: Array, seed: np.random.SeedSequence) -> Any:
    """Find first components in a sample of rows whose missing entries are replaced by column means."""
    rows = (yield Race(tuple(seed.generate_state(4).tolist()), _MOST_ROWS)).rows
    # A sample is enough for a start, and the mean of its column is the neutral value for a missing entry.
    rows = np.where(np.isnan(rows), model.centre, rows).astype(np.float64)
    variances = rows.var(axis=0)
    # A constant column has no spread; a variance of one keeps the first density finite.
    variances = np.where(variances > 0, variances, 1.0)
    if means is None:
        source = open_source(np.ascontiguousarray(rows))
        rule = "random_from_data" if rule == "random" else rule
        means = answer_requests(first_centres(rule, k, seed), source)
    return _round(model.kind, np.asarray(means, np.float64), variances)

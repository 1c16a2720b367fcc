"""A hidden Markov model whose states emit Gaussian mixtures."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy

from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Choice, Integer, Real, Text, parameter
from mercer._documentation import compose_docstring
from mercer._native.shared import elementary
from mercer._plain import plain
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError
from mercer.hmm._chain import count_lanes, pad_lanes
from mercer.hmm._density_hmm import SHARED
from mercer.hmm._emission import AddedSums, normalise_counts, take_log_prior
from mercer.hmm._gaussian_emission import GaussianEmission, GaussianPrior, GaussianSums
from mercer.hmm._gaussian_hmm import read_gaussian_prior
from mercer.hmm._hidden_markov_model import HiddenMarkovModel, read_prior
from mercer.hmm._starts import assign_nearest, check_probabilities, find_first_means


@plain
@dataclass(frozen=True, eq=False)
class MixturePrior:
    """The Dirichlet prior of shares, and that of the components."""

    weights: Array
    gaussian: GaussianPrior


@plain
@dataclass(frozen=True, eq=False)
class MixtureSums(AddedSums):
    """The weight that each component of each state takes, and the moments of its rows."""

    mass: Array
    gaussian: GaussianSums

    def recentre(self, old: "MixtureEmission", new: "MixtureEmission") -> "MixtureSums":
        """Return the moments about the means of `new`, in place of those of `old`."""
        return MixtureSums(self.mass, self.gaussian.recentre(old.gaussian, new.gaussian))


@plain
@dataclass(frozen=True, eq=False)
class MixtureEmission:
    """Shares (k, m), and components: (k, m, d) means; covariances (k, m) spherical, (k, m, d) diag, (k, m, d, d) full,
    or (k, d, d), one for the components of a state, tied.
    """

    kind: str
    weights: Array
    means: Array
    covars: Array

    @property
    def n_columns(self) -> int:
        """The number of columns of a row."""
        return self.means.shape[2]

    @cached_property
    def gaussian(self) -> GaussianEmission:
        """All components as if they were states, one state's after the other's."""
        k, m, d = self.means.shape
        covars = self.covars
        if self.kind == "tied":
            covars = np.repeat(covars[:, None], m, axis=1)
        kind = "full" if self.kind == "tied" else self.kind
        return GaussianEmission(kind, self.means.reshape(k * m, d), covars.reshape(k * m, *covars.shape[2:]))

    def _score_components(self, X: Array) -> tuple[Array, Array]:
        """Return log share + log density of the components, (n, k, m), and the log density of the states, (n, k)."""
        k, m, _ = self.means.shape
        table = np.empty((len(X), count_lanes(k * m)))
        self.gaussian.scores(X, table)
        with np.errstate(divide="ignore"):
            joint = table[:, : k * m].reshape(len(X) * k, m) + np.tile(np.log(self.weights), (len(X), 1))
        totals = np.empty(len(joint))
        elementary.logsumexp(joint, totals)
        return joint.reshape(len(X), k, m), totals.reshape(len(X), k)

    def scores(self, X: Array, out: Array) -> None:
        k = len(self.weights)
        out[:, k:] = -np.inf
        out[:, :k] = self._score_components(X)[1]

    def sums(self, X: Array, shares: Array) -> MixtureSums:
        k, m = self.weights.shape
        joint, totals = self._score_components(X)
        # A row that no component of a state can have made has a share of zero in that state.
        parts = np.exp(joint - np.where(np.isfinite(totals), totals, 0.0)[:, :, None]) * shares[:, :k, None]
        gaussian = self.gaussian.sums(X, pad_lanes(parts.reshape(len(X), k * m)))
        return MixtureSums(parts.sum(axis=0), gaussian)

    def maximise(self, sums: MixtureSums, params: str, prior: MixturePrior) -> "MixtureEmission":
        k, m, d = self.means.shape
        weights = normalise_counts(sums.mass, prior.weights, self.weights) if "w" in params else self.weights
        # All components of all states are one set of Gaussians; tied covariances are joined by state below.
        inner = "".join(letter for letter in params if letter in "mc" and (letter == "m" or self.kind != "tied"))
        better = self.gaussian.maximise(sums.gaussian, inner, prior.gaussian)
        covars = better.covars.reshape(k, m, *better.covars.shape[1:])
        if self.kind == "tied":
            covars = self._tie(sums, better.means, prior.gaussian) if "c" in params else self.covars
        mixture = MixtureEmission(self.kind, weights, better.means.reshape(k, m, d), covars)
        # A covariance without an inverse is found here.
        _ = mixture.gaussian.roots
        return mixture

    def _tie(self, sums: MixtureSums, means: Array, prior: GaussianPrior) -> Array:
        """Return one covariance for the components of each state."""
        k, m, d = self.means.shape
        away = means - prior.means
        scatter = self.gaussian.scatter_about(sums.gaussian, means)
        scatter = scatter + (prior.means_weight * away)[:, :, None] * away[:, None, :]
        # Each component brings its own prior, as it does in `log_prior`.
        weight = sums.mass.sum(axis=1) + m * max(prior.covars_weight - d, 0.0)
        ridge = m * prior.covars * np.eye(d)
        total = ridge + scatter.reshape(k, m, d, d).sum(axis=1)
        light = (weight < 1e-10)[:, None, None]
        return np.where(light, self.covars, total / np.maximum(weight, 1e-300)[:, None, None])

    def take_expected(self, sums: MixtureSums, reference: "MixtureEmission") -> float:
        shares = float(np.sum(xlogy(sums.mass, self.weights)))
        return shares + self.gaussian.take_expected(sums.gaussian, reference.gaussian)

    def log_prior(self, prior: MixturePrior) -> float:
        return take_log_prior(self.weights, prior.weights) + self.gaussian.log_prior(prior.gaussian)

    def draw(self, states: Array, generator: np.random.Generator) -> Array:
        m = self.weights.shape[1]
        cumulated = np.cumsum(self.weights, axis=1)
        below = cumulated[states, :-1] / cumulated[states, -1:] <= generator.random(len(states))[:, None]
        return self.gaussian.draw(states * m + below.sum(axis=1), generator)

    def count_parameters(self) -> int:
        k, m, d = self.means.shape
        free = {"spherical": k * m, "diag": k * m * d, "full": k * m * d * (d + 1) // 2, "tied": k * d * (d + 1) // 2}
        return k * (m - 1) + k * m * d + free[self.kind]


def spread_components(kind: str, k: int, m: int, variances: Array) -> Any:
    """Return first covariances: the variances of all rows, for every component."""
    d = len(variances)
    return {
        "spherical": np.full((k, m), float(variances.mean())),
        "diag": np.broadcast_to(variances, (k, m, d)).copy(),
        "full": np.broadcast_to(np.diag(variances), (k, m, d, d)).copy(),
        "tied": np.broadcast_to(np.diag(variances), (k, d, d)).copy(),
    }[kind]


class GMMHMM(HiddenMarkovModel):
    r"""Hidden Markov model with Gaussian mixtures as emissions.

    The density of a step in state k is :math:`\sum_m w_{km} \mathcal{N}(x; \mu_{km}, \Sigma_{km})` (``weights_``,
    ``means_``, ``covars_``). ``fit`` maximises the likelihood times the priors by expectation maximisation.

    Attributes
    ----------
    startprob_, transmat_ : arrays of shape (n_components,), (n_components, n_components)
    weights_ : array of shape (n_components, n_mix)
    means_ : array of shape (n_components, n_mix, n_features)
    covars_ : array
        Of shape (k, m), (k, m, d), (k, m, d, d) or (k, d, d) for the four covariance types.
    %(fitted)s

    Notes
    -----
    A row of NaN is a missing step; single NaN are treated as in ``GaussianHMM``. An iteration takes O(n (k^2 + k m d))
    operations.

    References
    ----------
    L. Rabiner, A tutorial on hidden Markov models, 1989.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.hmm import GMMHMM
    >>> generator = np.random.default_rng(0)
    >>> X = np.r_[generator.choice([-4.0, 4.0], 200), np.zeros(200)][:, None] + generator.normal(size=(400, 1))
    >>> model = GMMHMM(n_components=2, n_mix=2, n_init=5, random_state=0).fit(X)
    >>> int((np.diff(model.predict(X)) != 0).sum())
    1
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    n_mix: int = parameter(Integer(1), default=1, doc="The number of components of each state.")
    covariance_type: str = parameter(
        Choice("spherical", "diag", "full", "tied"),
        default="diag",
        doc="One variance for each component, a variance for each column, a covariance, or one covariance for the "
        "components of a state.",
    )
    min_covar: float = parameter(Real(0), default=1e-3, doc="Added to the variances of the first covariances.")
    weights_prior: Any = parameter(
        Real(1) | ArrayRule(), default=1.0, doc="Dirichlet parameters of the shares of components."
    )
    means_prior: Any = parameter(Real() | ArrayRule(), default=0, doc="The mean of the prior of means.")
    means_weight: Any = parameter(Real(0) | ArrayRule(), default=0, doc="Its weight, in steps.")
    covars_prior: Any = parameter(
        Real(0) | ArrayRule(),
        default=1e-2,
        doc="What is added to the scatter of each state: it keeps variances above zero.",
    )
    covars_weight: float = parameter(
        Real(0),
        default=1,
        doc="The weight of the prior of covariances; its excess over 1 (over the number of columns, with full "
        "covariances) counts as steps.",
    )
    params: str = parameter(
        Text(),
        default="stmcw",
        after="n_init",
        doc="What is learnt: s first states, t transitions, m means, c covariances, w shares of components. The "
        "rest stays as it began.",
    )
    init_params: str = parameter(Text(), default="stmcw")
    _letters: ClassVar[str] = "stmcw"
    _hides_more: ClassVar[bool] = True
    _emission_names: ClassVar[tuple[str, ...]] = ("weights_", "means_", "covars_")
    _stored: ClassVar[dict[str, Stored]] = {
        "startprob_": floats("states"),
        "transmat_": floats("states, states"),
        "weights_": floats("states, mixtures"),
        "means_": floats("states, mixtures, columns"),
        "covars_": floats(
            "states, mixtures, columns | states, mixtures, columns, columns | states, columns, columns | "
            "states, mixtures"
        ),
    }
    _depends_on_units = ("columns", "scale")

    def _emission(self) -> MixtureEmission:
        parts = (self.weights_, self.means_, self.covars_)
        return self._join(*(np.asarray(part, dtype=np.float64) for part in parts))

    def _join(self, weights: Array, means: Array, covars: Array) -> MixtureEmission:
        """Return the emission of given arrays, checked."""
        k, m, kind = self.n_components, self.n_mix, self.covariance_type
        weights = check_probabilities(type(self).__name__, "weights_", weights, (k, m))
        if means.ndim != 3 or means.shape[:2] != (k, m):
            raise DataError(f"GMMHMM: means_ must have shape ({k}, {m}, n_features); got {means.shape}.")
        d = means.shape[2]
        shape = {"spherical": (k, m), "diag": (k, m, d), "full": (k, m, d, d), "tied": (k, d, d)}[kind]
        if covars.shape != shape:
            raise DataError(f"GMMHMM: covars_ of type {kind!r} must have shape {shape}; got {covars.shape}.")
        return MixtureEmission(kind, weights, means, covars)

    def _first_emission(self, rows: Array, seed: np.random.SeedSequence) -> MixtureEmission:
        k, m = self.n_components, self.n_mix
        given = {"w": "weights_", "m": "means_", "c": "covars_"}
        parts = {
            letter: np.asarray(self._get_given(name, letter), dtype=np.float64)
            for letter, name in given.items()
            if letter not in self.init_params
        }
        if "w" not in parts:
            # Equal shares, means by k-means within each state, and the variance of all rows.
            parts["w"] = np.full((k, m), 1.0 / m)
        if "m" not in parts:
            parts["m"] = self._find_means(rows, seed)
        if "c" not in parts:
            variances = rows.var(axis=0) + max(self.min_covar, 1e-12)
            parts["c"] = spread_components(self.covariance_type, k, m, variances)
        return self._join(parts["w"], parts["m"], parts["c"])

    def _find_means(self, rows: Array, seed: np.random.SeedSequence) -> Array:
        """Return first means: the centres of states, and within the rows nearest to each those of its components."""
        k, m = self.n_components, self.n_mix
        means = np.empty((k, m, rows.shape[1]))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            centres = find_first_means(rows, k, seed)
            nearest = assign_nearest(rows, centres)
            for state in range(k):
                part = rows[nearest == state]
                means[state] = find_first_means(part if len(part) else rows, m, seed)
        if caught:
            # Equal rows make every one of these k + 1 searches warn: one warning says it all.
            warnings.warn(
                f"{type(self).__name__}: the k-means searches for first means gave {len(caught)} warnings; the first: "
                f"{caught[0].message}",
                caught[0].category,
                stacklevel=2,
            )
        return means

    def _emission_prior(self) -> MixturePrior:
        weights = read_prior(type(self).__name__, "weights_prior", self.weights_prior, None)
        return MixturePrior(weights, read_gaussian_prior(self))

    def _emission_attributes(self, emission: MixtureEmission, dtype: Any) -> dict[str, Any]:
        return {
            "weights_": emission.weights.astype(dtype),
            "means_": emission.means.astype(dtype),
            "covars_": emission.covars.astype(dtype),
        }

"""A hidden Markov model whose states have densities of any kind."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from mercer._base.density import Density, as_density
from mercer._base.parameter import HasFit, Nothing, Text, parameter
from mercer._documentation import compose_docstring
from mercer._plain import plain
from mercer._stored import Stored, floats, members, part
from mercer._types import Array
from mercer.errors import DataError
from mercer.hmm._emission import find_missing
from mercer.hmm._hidden_markov_model import HiddenMarkovModel
from mercer.hmm._starts import assign_nearest, find_first_means

SHARED = {
    "fitted": """log_likelihood_ : float
        Log-likelihood plus log prior of the fitted model.
    dead_states_ : ndarray of int
        States that explain no step.
    history_ : dict of ndarray
        Of the run that was kept, per iteration: ``objective``, ``change``, ``seconds``, ``restart``.
    certificate_ : Certificate
        ``"likelihood ascent"``: what one more iteration is certain to add.""",
}


# Rows whose share in a state is below this part of the largest share do not change the state's density.
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True, eq=False)
class RowSums:
    """The rows and shares of pieces; a density is fitted to all of them at once."""

    rows: tuple[Array, ...]
    shares: tuple[Array, ...]

    def __add__(self, other: "RowSums") -> "RowSums":
        return RowSums(self.rows + other.rows, self.shares + other.shares)


def copy_density(density: Any) -> Any:
    """Return an unfitted copy; an object that is no estimator is shared, and its ``fit`` must return a new one."""
    return clone(density) if hasattr(density, "get_params") else density


def evaluate_density(density: Any, X: Array) -> Array:
    """Return the log density of each row; a density of one number is that of independent columns."""
    # Objects of the user's own get rows; what has `rvs` is SciPy's, whose methods have other names.
    own = hasattr(density, "logpdf") and not hasattr(density, "rvs")
    evaluate = density.logpdf if own else as_density(density, "DensityHMM").logpdf
    return np.asarray(evaluate(X), dtype=np.float64).reshape(len(X), -1).sum(axis=1)


def fit_density(density: Any, X: Array, weight: Array) -> Any:
    """Return a copy of a density fitted to weighted rows."""
    chosen = weight > _NEGLIGIBLE * weight.max()
    fresh = copy_density(density)
    fitted = as_density(fresh, "DensityHMM").fit(X[chosen], sample_weight=weight[chosen])
    if isinstance(fresh, Density):
        return fitted
    # What as_density has wrapped is kept without its wrapper.
    return getattr(fitted, "density", fitted)


def draw_from(density: Any, count: int, generator: np.random.Generator) -> Array:
    """Draw rows from a density."""
    drawn = as_density(density, "DensityHMM").sample(count, random_state=int(generator.integers(2**31)))
    # Mixtures draw the rows of one component after the other: mix them.
    return generator.permutation(np.asarray(drawn).reshape(count, -1))


@plain
@dataclass(frozen=True, eq=False)
class DensityEmission:
    """One fitted density per state."""

    densities: tuple[Any, ...]
    n_columns: int

    subject = "DensityHMM"

    def scores(self, X: Array, out: Array) -> None:
        k = len(self.densities)
        find_missing(X, self.subject)  # raises for infinite entries
        seen = ~np.isnan(X).any(axis=1)
        out[:, k:] = -np.inf
        # A missing step says nothing: log density zero in every state.
        out[:, :k] = 0.0
        rows = X[seen]
        for state, density in enumerate(self.densities):
            if len(rows):
                out[seen, state] = evaluate_density(density, rows)

    def sums(self, X: Array, shares: Array) -> RowSums:
        seen = ~np.isnan(X).any(axis=1)
        return RowSums((X[seen].copy(),), (shares[seen, : len(self.densities)].copy(),))

    def maximise(self, sums: RowSums, params: str, prior: Any) -> "DensityEmission":
        if "d" not in params:
            return self
        X, shares = np.concatenate(sums.rows), np.concatenate(sums.shares)
        densities = [
            fit_density(density, X, shares[:, state]) if shares[:, state].sum() > _NEGLIGIBLE else density
            for state, density in enumerate(self.densities)
        ]
        return DensityEmission(tuple(densities), self.n_columns)

    def take_expected(self, sums: RowSums, reference: Any) -> float:
        return float("nan")

    def log_prior(self, prior: Any) -> float:
        return 0.0

    def draw(self, states: Array, generator: np.random.Generator) -> Array:
        out = np.empty((len(states), self.n_columns))
        for state, density in enumerate(self.densities):
            chosen = np.flatnonzero(states == state)
            if len(chosen):
                out[chosen] = draw_from(density, len(chosen), generator)
        return out

    def count_parameters(self) -> int:
        counted = [getattr(density, "_n_parameters", None) for density in self.densities]
        if not all(callable(count) for count in counted):
            raise DataError(
                "DensityHMM: the number of free parameters of these densities is not known, and AIC and BIC need it. "
                "Compare models by cross-validation: select_n_components(..., criterion='cv')."
            )
        return int(sum(count() for count in counted if count is not None))


class DensityHMM(HiddenMarkovModel):
    r"""Hidden Markov model with one density of any kind for each state.

    The density is an object with ``fit(X, sample_weight=...)``, ``logpdf`` or ``score_samples``, and, for sampling,
    ``sample``: a mixture, a kernel density, an object of your own. Each state has a copy of its own; the M step fits it
    to all steps weighted by the probability of the state.

    Attributes
    ----------
    startprob_, transmat_ : arrays of shape (n_components,), (n_components, n_components)
    densities_ : list
        The fitted density of each state.
    %(fitted)s

    Notes
    -----
    The M step holds all steps and the probabilities of all states in memory. It is a maximum only if the density's
    ``fit`` is one; so the engine does not assert that the likelihood rises, and the certificate is empty. A row
    with a NaN is a missing step.

    References
    ----------
    L. Rabiner, A tutorial on hidden Markov models, 1989.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.hmm import DensityHMM
    >>> from mercer.mixture import GaussianMixture
    >>> X = np.repeat([0.0, 5.0, 0.0], 50)[:, None] + np.random.default_rng(0).normal(size=(150, 1))
    >>> model = DensityHMM(n_components=2, density=GaussianMixture(1), random_state=0).fit(X)
    >>> int((np.diff(model.predict(X)) != 0).sum())
    2
    """

    _needs_rows: ClassVar[str] = "it passes along whole sequences, forwards and backwards"

    __doc__ = compose_docstring(__doc__, SHARED)
    density: Any = parameter(
        HasFit() | Nothing(), default=None, doc="The density to copy; None takes a Gaussian mixture of one component."
    )
    params: str = parameter(
        Text(),
        default="std",
        after="n_init",
        doc="What is learnt: s first states, t transitions, d densities. The rest stays as it began.",
    )
    init_params: str = parameter(Text(), default="std")
    _objective_moves: ClassVar[str | None] = None
    _letters: ClassVar[str] = "std"
    _learns_in_parts: ClassVar[bool] = False
    _exact: ClassVar[bool] = False
    _law_exceptions: ClassVar[dict[str, str]] = HiddenMarkovModel._law_exceptions | {
        "memory": "a density of any kind is fitted to all steps at once, with a weight for each"
    }
    _places: ClassVar[tuple[str, ...]] = ("memory",)
    _stored: ClassVar[dict[str, Stored]] = {
        "startprob_": floats("states"),
        "transmat_": floats("states, states"),
        "densities_": members(part("BaseEstimator"), "states"),
    }

    def _emission(self) -> DensityEmission:
        return DensityEmission(tuple(self.densities_), self.n_features_in_)

    def _first_emission(self, rows: Array, seed: np.random.SeedSequence) -> DensityEmission:
        if "d" not in self.init_params:
            return DensityEmission(tuple(self._get_given("densities_", "d")), self.n_features_in_)
        density = self.density
        if density is None:
            from mercer.mixture import GaussianMixture

            density = GaussianMixture(1)
        # Rows are divided by k-means first.
        centres = find_first_means(rows, self.n_components, seed)
        nearest = assign_nearest(rows, centres)
        # Every row counts a little everywhere, so that no first density is a single point.
        weights = 0.05 + 0.95 * (nearest[:, None] == np.arange(self.n_components))
        densities = [fit_density(density, rows, weights[:, state]) for state in range(self.n_components)]
        return DensityEmission(tuple(densities), rows.shape[1])

    def _emission_prior(self) -> None:
        return None

    def _emission_attributes(self, emission: DensityEmission, dtype: Any) -> dict[str, Any]:
        return {"densities_": list(emission.densities)}

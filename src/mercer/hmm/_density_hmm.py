"""A hidden Markov model whose states have densities of any kind."""

from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import HasFit, Nothing, Text, parameter
from mercer._documentation import compose_docstring
from mercer._stored import Stored, floats, members, part
from mercer._types import Array
from mercer.hmm._density_emission import DensityEmission, fit_density
from mercer.hmm._documentation import SHARED
from mercer.hmm._hidden_markov_model import HiddenMarkovModel
from mercer.hmm._starts import assign_nearest, find_first_means


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

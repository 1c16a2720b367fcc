"""A hidden Markov model whose states emit Poisson counts."""

from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Real, Text, parameter
from mercer._documentation import compose_docstring
from mercer._source.namespace import to_numpy
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError
from mercer.hmm._count_emissions import PoissonEmission
from mercer.hmm._documentation import SHARED
from mercer.hmm._hidden_markov_model import HiddenMarkovModel
from mercer.hmm._starts import find_first_means


class PoissonHMM(HiddenMarkovModel):
    r"""Hidden Markov model with Poisson counts as emissions.

    At each step the state k emits independent counts with rates ``lambdas_[k]``. ``fit`` maximises the likelihood times
    the priors by expectation maximisation (Baum and Welch).

    Attributes
    ----------
    startprob_, transmat_ : arrays of shape (n_components,), (n_components, n_components)
    lambdas_ : array of shape (n_components, n_features)
    %(fitted)s

    Notes
    -----
    A row of NaN is a missing step; single NaN are left out. An iteration takes O(n (k^2 + k d)) operations.

    References
    ----------
    L. Rabiner, A tutorial on hidden Markov models, 1989.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.hmm import PoissonHMM
    >>> X = np.r_[np.full(20, 2), np.full(20, 9)][:, None]
    >>> model = PoissonHMM(n_components=2, random_state=0).fit(X)
    >>> sorted(model.lambdas_[:, 0].round(1).tolist())
    [2.0, 9.0]
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    lambdas_prior: Any = parameter(
        Real(0) | ArrayRule(), default=0.0, doc="Counts that the gamma prior of the rates adds."
    )
    lambdas_weight: Any = parameter(Real(0) | ArrayRule(), default=0.0, doc="Steps that it adds.")
    params: str = parameter(
        Text(),
        default="stl",
        after="n_init",
        doc="What is learnt: s first states, t transitions, l rates. The rest stays as it began.",
    )
    init_params: str = parameter(Text(), default="stl")
    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _letters: ClassVar[str] = "stl"
    _emission_names: ClassVar[tuple[str, ...]] = ("lambdas_",)
    _stored: ClassVar[dict[str, Stored]] = {
        "startprob_": floats("states"),
        "transmat_": floats("states, states"),
        "lambdas_": floats("states, columns"),
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _emission(self) -> PoissonEmission:
        rates = np.asarray(to_numpy(self.lambdas_), dtype=np.float64)
        if rates.ndim != 2 or len(rates) != self.n_components or not np.all(rates >= 0):
            raise DataError(
                f"PoissonHMM: lambdas_ must have shape ({self.n_components}, n_features) and no negative entry; got "
                f"shape {rates.shape}."
            )
        return PoissonEmission(rates)

    def _first_emission(self, rows: Array, seed: np.random.SeedSequence) -> PoissonEmission:
        if "l" not in self.init_params:
            self._get_given("lambdas_", "l")
            return self._emission()
        # A rate of zero could never grow.
        return PoissonEmission(np.maximum(find_first_means(rows, self.n_components, seed), 1e-3))

    def _emission_prior(self) -> tuple[Array, Array]:
        return np.asarray(self.lambdas_prior, dtype=np.float64), np.asarray(self.lambdas_weight, dtype=np.float64)

    def _emission_attributes(self, emission: PoissonEmission, dtype: Any) -> dict[str, Any]:
        return {"lambdas_": emission.rates.astype(dtype)}

"""Hidden Markov models whose states emit counts: of categories, or of Poisson distributions."""

from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Integer, Nothing, Real, Text, parameter
from mercer._documentation import compose_docstring
from mercer._source.namespace import to_numpy
from mercer._stored import Stored, floats, integers
from mercer._types import Array
from mercer.errors import DataError
from mercer.hmm._count_emissions import MultinomialEmission, PoissonEmission
from mercer.hmm._density_hmm import SHARED
from mercer.hmm._hidden_markov_model import HiddenMarkovModel, read_prior
from mercer.hmm._starts import check_probabilities, find_first_means


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
    _depends_on_units = ("columns", "scale", "place")
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


class MultinomialHMM(HiddenMarkovModel):
    r"""Hidden Markov model with counts of categories as emissions.

    At each step the state k draws ``n_trials`` times among categories with probabilities ``emissionprob_[k]``, and the
    row holds how often each came. ``fit`` maximises the likelihood by expectation maximisation (Baum and Welch).

    Attributes
    ----------
    startprob_, transmat_ : arrays of shape (n_components,), (n_components, n_components)
    emissionprob_ : array of shape (n_components, n_features)
    n_trials_ : int
        Draws in a step of ``sample``.
    %(fitted)s

    Notes
    -----
    A row of NaN is a missing step. An iteration takes O(n (k^2 + k d)) operations.

    References
    ----------
    L. Rabiner, A tutorial on hidden Markov models, 1989.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.hmm import MultinomialHMM
    >>> X = np.repeat([[9, 1], [2, 8]], 10, axis=0)
    >>> model = MultinomialHMM(n_components=2, random_state=0).fit(X)
    >>> sorted(model.emissionprob_[:, 0].round(2).tolist())
    [0.2, 0.9]
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    n_trials: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        doc="How many draws ``sample`` makes in a step; None takes the mean of the rows that ``fit`` sees. "
        "Likelihoods take the sum of each row.",
    )
    emissionprob_prior: Any = parameter(
        Real(1) | ArrayRule(),
        default=1.0,
        doc="Dirichlet parameters of the categories; the excess over 1 counts as observed draws.",
    )

    _documents = {
        "params": "What is learnt: s first states, t transitions, e categories. The rest stays as it began.",
    }

    _letters: ClassVar[str] = "ste"
    _emission_names: ClassVar[tuple[str, ...]] = ("emissionprob_",)
    _stored: ClassVar[dict[str, Stored]] = {
        "startprob_": floats("states"),
        "transmat_": floats("states, states"),
        "emissionprob_": floats("states, columns | states, columns, symbols | states, symbols"),
        "n_trials_": integers(" | *", low=0),
    }
    _depends_on_units = ("columns", "scale", "place")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _emission(self) -> MultinomialEmission:
        table = np.asarray(self.emissionprob_, dtype=np.float64)
        shape = (self.n_components, table.shape[-1])
        table = check_probabilities(type(self).__name__, "emissionprob_", table, shape)
        return MultinomialEmission(table, int(self.n_trials or vars(self).get("n_trials_", 1)))

    def _emission_form(self) -> Any:
        return self.n_trials, vars(self).get("n_trials_")

    def _first_emission(self, rows: Array, seed: np.random.SeedSequence) -> MultinomialEmission:
        if "e" not in self.init_params:
            self._get_given("emissionprob_", "e")
            return self._emission()
        trials = self.n_trials if self.n_trials is not None else max(1, round(float(rows.sum(axis=1).mean())))
        shares = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0)
        table = np.maximum(find_first_means(shares, self.n_components, seed), 0.0) + 1e-3
        return MultinomialEmission(table / table.sum(axis=1, keepdims=True), trials)

    def _emission_prior(self) -> Any:
        return read_prior(type(self).__name__, "emissionprob_prior", self.emissionprob_prior, None)

    def _emission_attributes(self, emission: MultinomialEmission, dtype: Any) -> dict[str, Any]:
        return {"emissionprob_": emission.probabilities.astype(dtype), "n_trials_": emission.n_trials}

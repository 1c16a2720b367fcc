"""A hidden Markov model whose states emit counts of categories."""

from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Integer, Nothing, Real, parameter
from mercer._documentation import compose_docstring
from mercer._stored import Stored, floats, integers
from mercer._types import Array
from mercer.hmm._count_emissions import MultinomialEmission
from mercer.hmm._documentation import SHARED
from mercer.hmm._hidden_markov_model import HiddenMarkovModel, read_prior
from mercer.hmm._starts import check_probabilities, find_first_means


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

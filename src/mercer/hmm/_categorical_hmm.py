"""A hidden Markov model whose states emit symbols."""

from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Integer, Nothing, Real, parameter
from mercer._documentation import compose_docstring
from mercer._source.memory import require_memory
from mercer._source.namespace import to_numpy
from mercer._stored import Stored, floats, labels, members
from mercer._types import Array
from mercer.hmm._count_emissions import CategoricalEmission
from mercer.hmm._density_hmm import SHARED
from mercer.hmm._hidden_markov_model import HiddenMarkovModel, read_prior
from mercer.hmm._starts import check_probabilities
from mercer.hmm._symbols import check_codes, encode_symbols


class CategoricalHMM(HiddenMarkovModel):
    r"""Hidden Markov model with symbols as emissions.

    At each step the state k emits the symbol v with probability ``emissionprob_[k, v]``. ``fit`` maximises the
    likelihood summed over all paths, times the priors, by expectation maximisation (Baum and Welch).

    Attributes
    ----------
    startprob_, transmat_ : arrays of shape (n_components,), (n_components, n_components)
    emissionprob_ : array of shape (n_components, n_symbols)
        With several columns of shape (n_components, n_columns, n_symbols).
    categories_ : ndarray
        The symbols, where they are strings; codes are their places in it.
    %(fitted)s

    Notes
    -----
    Rows hold codes from 0, or strings. Several columns are independent given the state. NaN or None is a missing entry.
    An iteration takes O(n k^2) operations.

    References
    ----------
    L. Rabiner, A tutorial on hidden Markov models, 1989.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.hmm import CategoricalHMM
    >>> throws = np.array(["heads", "tails"])[np.repeat([0, 1, 0, 1], 10)][:, None]
    >>> model = CategoricalHMM(n_components=2, random_state=0).fit(throws)
    >>> model.categories_.tolist(), int((np.diff(model.predict(throws)) != 0).sum())
    (['heads', 'tails'], 3)
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    emissionprob_prior: Any = parameter(
        Real(1) | ArrayRule(),
        default=1.0,
        doc="Dirichlet parameters of the symbols; the excess over 1 counts as observed symbols.",
    )
    n_features: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        doc="The number of symbols 0, 1, 2...; None takes one more than the largest. Not for strings.",
    )

    _documents = {
        "params": "What is learnt: s first states, t transitions, e symbols. The rest stays as it began.",
    }

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _letters: ClassVar[str] = "ste"
    _emission_names: ClassVar[tuple[str, ...]] = ("emissionprob_",)
    _stored: ClassVar[dict[str, Stored]] = {
        "startprob_": floats("states"),
        "transmat_": floats("states, states"),
        "emissionprob_": floats("states, columns | states, columns, symbols | states, symbols"),
        "categories_": members(labels("*")),
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.positive_only = True
        return tags

    def _encode(self, X: Any, reset: bool) -> Any:
        X, categories = encode_symbols(type(self).__name__, X, None if reset else vars(self).get("categories_"))
        if reset:
            self.__dict__.pop("categories_", None)
            if categories is not None:
                self.categories_ = categories
        return X

    def _emission(self) -> CategoricalEmission:
        table = np.asarray(to_numpy(self.emissionprob_), dtype=np.float64)
        table = table[:, None, :] if table.ndim == 2 else table
        shape = (self.n_components, *table.shape[1:])
        return CategoricalEmission(check_probabilities(type(self).__name__, "emissionprob_", table, shape))

    def _first_emission(self, rows: Array, seed: np.random.SeedSequence) -> CategoricalEmission:
        if "e" not in self.init_params:
            self._get_given("emissionprob_", "e")
            return self._emission()
        check_codes(type(self).__name__, rows)
        d, known = rows.shape[1], vars(self).get("categories_")
        counts = [self.n_features or (len(known) if known is not None else int(rows[:, j].max()) + 1) for j in range(d)]
        size = 8.0 * self.n_components * d * max(counts)
        require_memory(type(self).__name__, size, f"the table of {max(counts)} symbols", "number the symbols from 0 on")
        generator = np.random.default_rng(seed.generate_state(4))
        table = np.zeros((self.n_components, d, max(counts)))
        for column, count in enumerate(counts):
            # Equal states would stay equal for ever: each begins with the frequencies of all symbols times noise.
            codes = np.minimum(rows[:, column].astype(np.intp), count - 1)
            # One pseudo-count for each symbol: none begins impossible.
            frequencies = np.bincount(codes, minlength=count) + 1.0
            noise = 0.2 + generator.dirichlet(np.ones(count), self.n_components)
            table[:, column, :count] = frequencies * noise
        return CategoricalEmission(table / table.sum(axis=2, keepdims=True))

    def _emission_prior(self) -> Any:
        prior = read_prior(type(self).__name__, "emissionprob_prior", self.emissionprob_prior, None)
        return prior[:, None, :] if prior.ndim == 2 else prior

    def _emission_attributes(self, emission: CategoricalEmission, dtype: Any) -> dict[str, Any]:
        table = emission.probabilities
        return {"emissionprob_": (table[:, 0] if table.shape[1] == 1 else table).astype(dtype)}

    def _decode_symbols(self, X: Array) -> Array:
        return self.categories_[X] if "categories_" in vars(self) else X

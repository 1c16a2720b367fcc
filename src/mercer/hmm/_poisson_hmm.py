"""A hidden Markov model whose states emit Poisson counts."""

from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Real, Rule
from mercer._source.namespace import to_numpy
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError
from mercer.hmm._count_emissions import PoissonEmission
from mercer.hmm._fitting import COMMON
from mercer.hmm._hidden_markov_model import HiddenMarkovModel
from mercer.hmm._starts import find_first_means

__all__ = ["PoissonHMM"]


class PoissonHMM(HiddenMarkovModel):
    r"""Hidden Markov model with Poisson counts as emissions.

    At each step the state k emits independent counts with rates ``lambdas_[k]``. ``fit`` maximises the likelihood times
    the priors by expectation maximisation (Baum and Welch).

    Parameters
    ----------
    n_components : an integer in [1, inf), default=1
        The number of states.
    lambdas_prior : a number in [0, inf) or an array-like, default=0.0
        Counts that the gamma prior of the rates adds.
    lambdas_weight : a number in [0, inf) or an array-like, default=0.0
        Steps that it adds.
    startprob_prior : a number in [1, inf) or an array-like, default=1.0
        Dirichlet parameters of the first state; its excess over 1 counts as observed sequences.
    transmat_prior : a number in [1, inf) or an array-like, default=1.0
        Dirichlet parameters of the transitions; the excess over 1 counts as observed transitions.
    topology : one of 'ergodic', 'left-right', 'banded' or an array-like, default='ergodic'
        The allowed transitions: all; to the same or the next state, beginning with the first; to the same or a
        neighbouring state; or those where an array of shape (n_components, n_components) is not zero. Other transitions
        stay zero.
    training : one of 'baum-welch', 'viterbi', default='baum-welch'
        Expected counts, or the counts of the best path (hard EM).
    algorithm : one of 'viterbi', 'map', default='viterbi'
        What ``predict`` and ``decode`` return: the best path, or the most probable state of each step.
    n_iter : an integer in [0, inf), default=100
        Most iterations of one run.
    tol : a number in [0, inf), default=0.01
        A run ends when the log-likelihood changes by less.
    n_init : an integer in [1, inf), default=1
        Runs from different first parameters; the likeliest is kept.
    params : a string, default='stl'
        What is learnt: s first states, t transitions, l rates. The rest stays as it began.
    init_params : a string, default='stl'
        What begins by itself. The rest must be set before ``fit``.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        Seed of first parameters and of ``sample``.
    verbose : an integer in [0, inf) or a boolean, default=False
        Whether to print the log-likelihood.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which the fit ends with what it has.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all cores. Changes no result.

    Attributes
    ----------
    startprob_, transmat_ : arrays of shape (n_components,), (n_components, n_components)
    lambdas_ : array of shape (n_components, n_features)
    log_likelihood_ : float
        Log-likelihood plus log prior of the fitted model.
    dead_states_ : ndarray of int
        States that explain no step.
    n_features_in_, feature_names_in_, n_iter_, converged_ :
        As in scikit-learn.
    history_ : dict of ndarray
        Of the run that was kept, per iteration: ``objective``, ``change``, ``seconds``, ``restart``.
    certificate_ : Certificate
        ``"likelihood ascent"``: what one more iteration is certain to add.

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

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _letters: ClassVar[str] = "stl"
    _emission_names: ClassVar[tuple[str, ...]] = ("lambdas_",)
    _parameters: ClassVar[dict[str, Rule]] = COMMON | {
        "lambdas_prior": Real(0) | ArrayRule(),
        "lambdas_weight": Real(0) | ArrayRule(),
    }
    _stored: ClassVar[dict[str, Stored]] = {
        "startprob_": floats("states"),
        "transmat_": floats("states, states"),
        "lambdas_": floats("states, columns"),
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        lambdas_prior: Any = 0.0,
        lambdas_weight: Any = 0.0,
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        topology: Any = "ergodic",
        training: str = "baum-welch",
        algorithm: str = "viterbi",
        n_iter: int = 100,
        tol: float = 1e-2,
        n_init: int = 1,
        params: str = "stl",
        init_params: str = "stl",
        random_state: Any = None,
        verbose: int = False,
        max_time: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.lambdas_prior = lambdas_prior
        self.lambdas_weight = lambdas_weight
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.topology = topology
        self.training = training
        self.algorithm = algorithm
        self.n_iter = n_iter
        self.tol = tol
        self.n_init = n_init
        self.params = params
        self.init_params = init_params
        self.random_state = random_state
        self.verbose = verbose
        self.max_time = max_time
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _emission(self) -> PoissonEmission:
        rates = np.asarray(to_numpy(self.lambdas_), dtype=np.float64)
        if rates.ndim != 2 or len(rates) != self.n_components or not np.all(rates >= 0):
            message = (
                f"PoissonHMM: lambdas_ must have shape ({self.n_components}, n_features) and no negative entry; got "
                f"shape {rates.shape}."
            )
            raise DataError(message)
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

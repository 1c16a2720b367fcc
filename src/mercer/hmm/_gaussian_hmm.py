"""A hidden Markov model whose states emit Gaussian vectors."""

from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Choice, Real, Text, parameter
from mercer._documentation import compose_docstring
from mercer._source.namespace import to_numpy
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.hmm._density_hmm import SHARED
from mercer.hmm._gaussian_emission import GaussianEmission, GaussianPrior
from mercer.hmm._hidden_markov_model import HiddenMarkovModel
from mercer.hmm._starts import find_first_means


class GaussianHMM(HiddenMarkovModel):
    r"""Hidden Markov model with Gaussian emissions.

    A state :math:`z_t` is drawn from :math:`\pi` (``startprob_``) at the first step and from row :math:`z_{t-1}` of
    :math:`A` (``transmat_``) afterwards; it emits :math:`x_t \sim \mathcal{N}(\mu_{z_t}, \Sigma_{z_t})` (``means_``,
    ``covars_``). ``fit`` maximises the likelihood summed over all paths

    .. math:: p(x) = \sum_z \pi_{z_1} \prod_{t > 1} A_{z_{t-1} z_t} \prod_t \mathcal{N}(x_t; \mu_{z_t}, \Sigma_{z_t})

    times the priors, by expectation maximisation (Baum and Welch): it never falls.

    Attributes
    ----------
    startprob_, transmat_ : arrays of shape (n_components,), (n_components, n_components)
    means_ : array of shape (n_components, n_features)
    covars_ : array
        Of shape (k,), (k, d), (k, d, d) or (d, d) for the four covariance types.
    %(fitted)s

    Notes
    -----
    An iteration takes O(n (k^2 + k d)) operations (k d^2 with full covariances) in native code; memory is bounded:
    some MiB per thread, however long the sequences; O(n k) where the rows are on a device. Threads work on many
    sequences at once, and on chunks of a long one. A row of NaN is a missing step; single NaN are left out (diag,
    spherical) or their expectation is taken (full, tied).

    References
    ----------
    L. Rabiner, A tutorial on hidden Markov models, 1989. L. Baum et al., A maximization technique occurring in the
    statistical analysis of probabilistic functions of Markov chains, 1970.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.hmm import GaussianHMM
    >>> X = np.repeat([0.0, 5.0, 0.0, 5.0], 25)[:, None] + np.random.default_rng(0).normal(size=(100, 1))
    >>> model = GaussianHMM(n_components=2, random_state=0).fit(X)
    >>> sorted(model.means_[:, 0].round(1).tolist())
    [0.0, 5.2]
    >>> int((np.diff(model.predict(X)) != 0).sum())
    3
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    covariance_type: str = parameter(
        Choice("spherical", "diag", "full", "tied"),
        default="diag",
        kw_only=False,
        after="n_components",
        doc="One variance for each state, a variance for each column, a covariance, or one covariance for all states.",
    )
    min_covar: float = parameter(Real(0), default=1e-3, doc="Added to the variances of the first covariances.")
    means_prior: Any = parameter(
        Real() | ArrayRule(), default=0, after="transmat_prior", doc="The mean of the prior of means."
    )
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
        default="stmc",
        after="n_init",
        doc="What is learnt: s first states, t transitions, m means, c covariances. The rest stays as it began.",
    )
    init_params: str = parameter(
        Text(),
        default="stmc",
        doc="What begins by itself. The rest must be set before ``fit`` (``model.means_ = ...``).",
    )
    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _depends_on_units = ("columns", "scale")
    _letters: ClassVar[str] = "stmc"
    _emission_names: ClassVar[tuple[str, ...]] = ("means_", "covars_")
    _stored: ClassVar[dict[str, Stored]] = {
        "startprob_": floats("states"),
        "transmat_": floats("states, states"),
        "means_": floats("states, columns"),
        "covars_": floats("states, columns | states, columns, columns | columns, columns | states"),
    }

    def _emission(self) -> GaussianEmission:
        means, covars = (np.asarray(to_numpy(part), dtype=np.float64) for part in (self.means_, self.covars_))
        k = self.n_components
        if means.ndim != 2 or len(means) != k:
            raise DataError(f"GaussianHMM: means_ must have shape ({k}, n_features); got {means.shape}.")
        return GaussianEmission(self.covariance_type, means, self._check_covariances(covars, means.shape[1]))

    def _check_covariances(self, covars: Array, d: int) -> Array:
        k, kind = self.n_components, self.covariance_type
        shape = {"spherical": (k,), "diag": (k, d), "full": (k, d, d), "tied": (d, d)}[kind]
        if covars.shape != shape:
            raise DataError(f"GaussianHMM: covars_ of type {kind!r} must have shape {shape}; got {covars.shape}.")
        return covars

    def _first_emission(self, rows: Array, seed: np.random.SeedSequence) -> GaussianEmission:
        k, kind = self.n_components, self.covariance_type
        if "m" in self.init_params:
            means = find_first_means(rows, k, seed)
        else:
            means = np.asarray(self._get_given("means_", "m"), dtype=np.float64)
        if "c" not in self.init_params:
            covars = np.asarray(self._get_given("covars_", "c"), dtype=np.float64)
            return GaussianEmission(kind, means, self._check_covariances(covars, means.shape[1]))
        # The variance of all rows for every state; the floor keeps constant columns regular.
        variances = rows.var(axis=0) + max(self.min_covar, 1e-12)
        if kind in ("spherical", "diag"):
            covars = np.tile(variances, (k, 1)) if kind == "diag" else np.full(k, variances.mean())
        else:
            whole = np.atleast_2d(np.cov(rows.T, bias=True)) + max(self.min_covar, 1e-12) * np.eye(rows.shape[1])
            covars = np.tile(whole, (k, 1, 1)) if kind == "full" else whole
        return GaussianEmission(kind, means, covars)

    def _emission_prior(self) -> GaussianPrior:
        return read_gaussian_prior(self)

    def _emission_attributes(self, emission: GaussianEmission, dtype: Any) -> dict[str, Any]:
        return {"means_": emission.means.astype(dtype), "covars_": emission.covars.astype(dtype)}


def read_gaussian_prior(estimator: Any) -> GaussianPrior:
    """Return the priors of means and covariances of an estimator's parameters."""
    values = {}
    for name in ("means_prior", "means_weight", "covars_prior"):
        values[name] = np.asarray(getattr(estimator, name), dtype=np.float64)
        if name != "means_prior" and values[name].min() < 0:
            raise ParameterError(
                f"{type(estimator).__name__}: {name} must not be negative; got {values[name].min():g}."
            )
    return GaussianPrior(
        values["means_prior"], values["means_weight"], values["covars_prior"], float(estimator.covars_weight)
    )

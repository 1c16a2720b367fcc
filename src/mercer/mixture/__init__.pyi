# Written by `python -m tools.make_stubs` from the table in mercer.mixture.
from mercer.mixture._bayesian_mixture import BayesianGaussianMixture as BayesianGaussianMixture
from mercer.mixture._bernoulli_mixture import BernoulliMixture as BernoulliMixture
from mercer.mixture._expectation_maximisation import EMResult as EMResult
from mercer.mixture._expectation_maximisation import expectation_maximisation as expectation_maximisation
from mercer.mixture._expectation_maximisation import expected_log_likelihood as expected_log_likelihood
from mercer.mixture._expectation_maximisation import free_energy as free_energy
from mercer.mixture._expectation_maximisation import responsibilities as responsibilities
from mercer.mixture._gaussian_mixture import GaussianMixture as GaussianMixture
from mercer.mixture._selection import MixtureSelection as MixtureSelection
from mercer.mixture._selection import select_mixture as select_mixture

"""Estimation: likelihood, beliefs and evidence, from densities as small frozen objects.

A density can be fitted, evaluated in log space and sampled. A conjugate belief is updated, predicts, and knows its
evidence, for one group or a million. Around them: maximum likelihood and maximum a posteriori for any log-density,
posteriors on grids, Fisher information, simulated risk, model comparison and averaging, information measures.
"""

from mercer._base.density import Density, as_density
from mercer._solver.quadrature import Integral, integrate_box
from mercer.estimation._averaging import ModelAveragingClassifier, ModelAveragingRegressor
from mercer.estimation._comparison import (
    DensitySelection,
    ModelComparison,
    akaike_criterion,
    bayes_factor,
    bayesian_criterion,
    compare_models,
    description_length,
    model_probabilities,
    select_density,
)
from mercer.estimation._conjugate import Conjugate, PredictiveDensity
from mercer.estimation._conjugate_families import (
    BetaBernoulli,
    BetaBinomial,
    BetaGeometric,
    DirichletCategorical,
    GammaExponential,
    GammaPoisson,
)
from mercer.estimation._data_likelihood import data_log_likelihood, log_likelihood_gradient
from mercer.estimation._densities.averaged import AveragedDensity
from mercer.estimation._densities.continuous import (
    ExponentialDensity,
    GaussianDensity,
    LaplaceDensity,
    UniformDensity,
)
from mercer.estimation._densities.density import IndependentDensity, MixtureDensity
from mercer.estimation._densities.discrete import (
    BernoulliDensity,
    BinomialDensity,
    CategoricalDensity,
    GeometricDensity,
    PoissonDensity,
)
from mercer.estimation._densities.gamma_beta import BetaDensity, GammaDensity
from mercer.estimation._densities.multivariate import MultivariateGaussianDensity
from mercer.estimation._densities.running import RunningDensity
from mercer.estimation._densities.transformed import TransformedDensity
from mercer.estimation._evidence import Evidence, laplace_evidence, monte_carlo_evidence, quadrature_evidence
from mercer.estimation._fisher import JeffreysPrior, cramer_rao_bound, fisher_information
from mercer.estimation._gaussian_mean import GaussianMean, GaussianVectorMean
from mercer.estimation._generative import GenerativeRegression
from mercer.estimation._grid import GridPosterior, grid_posterior
from mercer.estimation._information import (
    cross_entropy,
    entropy,
    gaussian_divergence,
    kl_divergence,
    mutual_information,
)
from mercer.estimation._james_stein import james_stein, james_stein_risk
from mercer.estimation._likelihood import Estimate, maximum_a_posteriori, maximum_likelihood
from mercer.estimation._maximum_entropy import MaximumEntropy, maximum_entropy
from mercer.estimation._prediction import optimal_prediction
from mercer.estimation._simulation import (
    EstimatorRisk,
    LargeSamples,
    excess_kurtosis,
    running_means,
    simulate_large_samples,
    simulate_risk,
    standardised_sums,
)

__all__ = [
    "AveragedDensity",
    "BernoulliDensity",
    "BetaBernoulli",
    "BetaBinomial",
    "BetaDensity",
    "BetaGeometric",
    "BinomialDensity",
    "CategoricalDensity",
    "Conjugate",
    "Density",
    "DensitySelection",
    "DirichletCategorical",
    "Estimate",
    "EstimatorRisk",
    "Evidence",
    "ExponentialDensity",
    "GammaDensity",
    "GammaExponential",
    "GammaPoisson",
    "GaussianDensity",
    "GaussianMean",
    "GaussianVectorMean",
    "GenerativeRegression",
    "GeometricDensity",
    "GridPosterior",
    "IndependentDensity",
    "Integral",
    "JeffreysPrior",
    "LaplaceDensity",
    "LargeSamples",
    "MaximumEntropy",
    "MixtureDensity",
    "ModelAveragingClassifier",
    "ModelAveragingRegressor",
    "ModelComparison",
    "MultivariateGaussianDensity",
    "PoissonDensity",
    "PredictiveDensity",
    "RunningDensity",
    "TransformedDensity",
    "UniformDensity",
    "akaike_criterion",
    "as_density",
    "bayes_factor",
    "bayesian_criterion",
    "compare_models",
    "cramer_rao_bound",
    "cross_entropy",
    "data_log_likelihood",
    "description_length",
    "entropy",
    "excess_kurtosis",
    "fisher_information",
    "gaussian_divergence",
    "grid_posterior",
    "integrate_box",
    "james_stein",
    "james_stein_risk",
    "kl_divergence",
    "laplace_evidence",
    "log_likelihood_gradient",
    "maximum_a_posteriori",
    "maximum_entropy",
    "maximum_likelihood",
    "model_probabilities",
    "monte_carlo_evidence",
    "mutual_information",
    "optimal_prediction",
    "quadrature_evidence",
    "running_means",
    "select_density",
    "simulate_large_samples",
    "simulate_risk",
    "standardised_sums",
]

"""Say which public names are stable; the others are experimental. The page *Stability* says what that promises.

Four rules and one table: a name of scikit-learn under scikit-learn's module is stable, all public names of some modules
are, the options of the command line are, and :data:`STABLE` lists the rest. ``python -m tools.make_interfaces`` writes
what is promised of each into ``tests/golden/stable_names.txt``.
"""

import importlib
import pkgutil
import types
from collections.abc import Iterator
from functools import cache
from typing import Any

import mercer

# Modules in which each public name is stable.
WHOLE_MODULES = ("mercer", "mercer.errors", "mercer.watch")
# Stable names that scikit-learn does not have: models in use for years, what they take, and what they return.
STABLE = {
    "mercer.bayesnet": (
        "BayesNetClassifier", "BayesNetLearner", "BayesianNetwork", "JunctionTree", "Marginals", "ProbabilityTable",
        "fit_tables", "learn_structure", "read_network", "write_network",
    ),
    "mercer.cluster": (
        "DENCLUE", "GrowingKMeans", "KMedoids", "KernelKMeans", "SelfOrganizingMap", "SoftKMeans", "cut_linkage",
        "k_distances", "linkage", "suggest_eps",
    ),
    "mercer.cross_decomposition": ("KernelCCA",),
    "mercer.datasets": (
        "load_failures", "load_fish", "load_hiking", "load_rents", "load_visitors", "make_rings", "make_xor",
    ),
    "mercer.decision": (
        "DecisionClassifier", "accuracy_costs", "add_reject", "correct_priors", "expected_cost", "optimal_action",
        "posterior",
    ),
    "mercer.decomposition": (
        "ICA", "OnlinePCA", "ProbabilisticPCA", "RobustPCA", "SecondOrderSeparation", "Whitening", "choose_n_axes",
        "rotate_loadings",
    ),
    "mercer.discriminant_analysis": ("KernelDiscriminantAnalysis",),
    "mercer.ensemble": ("LPBoostClassifier", "RegularizedAdaBoost"),
    "mercer.estimation": ("ModelAveragingClassifier", "ModelAveragingRegressor"),
    "mercer.hmm": (
        "CategoricalHMM", "GMMHMM", "GaussianHMM", "LinearGaussianModel", "MultinomialHMM", "PoissonHMM",
        "SemiMarkovHMM", "select_n_components",
    ),
    "mercer.kernel_approximation": ("OrthogonalRandomFeatures", "RBFNetworkClassifier", "RBFNetworkRegressor"),
    "mercer.kernel_ridge": ("KernelLogisticRegression", "KernelRidgeCV"),
    "mercer.kernels": (
        "Constant", "Cosine", "Kernel", "Laplacian", "Linear", "Matern", "Periodic", "Polynomial", "Power",
        "Product", "RBF", "RationalQuadratic", "Sigmoid", "Sum", "White", "as_kernel",
    ),
    "mercer.linear_model": (
        "GeneralizedLinearEstimator", "Inference", "hat_matrix", "inference", "leave_one_out_residuals", "leverages",
        "ridge_path",
    ),
    "mercer.manifold": ("continuity", "neighborhood_recall"),
    "mercer.metrics": (
        "choose_n_clusters", "conditional_entropy", "correlation", "dunn_index", "gap_statistic", "purity_score",
    ),
    "mercer.mixture": ("BernoulliMixture", "select_mixture"),
    "mercer.model_selection": (
        "NestedResult", "ScoreCurve", "ScoreInterval", "complexity_curve", "nested_cv", "one_standard_error",
        "pool_interval", "score_interval",
    ),
    "mercer.neighbors": ("HistogramDensity", "select_n_neighbors"),
    "mercer.neural_network": ("Autoencoder", "ConvClassifier", "Hopfield", "RecurrentClassifier", "RecurrentRegressor"),
    "mercer.objectives": (
        "Absolute", "Box", "ElasticNetPenalty", "EpsilonInsensitive", "Exponential", "GroupL1", "Hinge", "Huber", "L1",
        "L2", "Logistic", "NonNegative", "Pinball", "Poisson", "Softmax", "Squared", "SquaredEpsilonInsensitive",
        "SquaredHinge", "Tukey",
    ),
    "mercer.optim": (
        "Adam", "AdamW", "ConjugateGradient", "GradientDescent", "LBFGS", "Momentum", "Nesterov", "Newton", "RMSprop",
        "Result", "minimize", "minimize_stochastic",
    ),
    "mercer.outliers": (
        "ClusterOutlier", "DensityOutlier", "KNeighborsOutlier", "MahalanobisOutlier", "ReconstructionOutlier",
        "compare_outliers",
    ),
    "mercer.preprocessing": ("FourierBasis", "PolynomialBasis", "RadialBasis", "SplineBasis", "TableEncoder"),
    "mercer.random_projection": ("johnson_lindenstrauss_eps", "measure_distortion"),
    "mercer.svm": ("SVDD",),
    "mercer.tree": (
        "DecisionStump", "MultiwayTreeClassifier", "prune_cost_complexity", "rules", "tree_svg",
    ),
}  # fmt: skip


def list_public() -> Iterator[tuple[str, str, Any]]:
    """Yield the module, the name and the object of every public name; modules are no names."""
    modules = [found.name for found in pkgutil.walk_packages(mercer.__path__, "mercer.")]
    for module in ["mercer", *modules]:
        parts = module.split(".")
        if any(part.startswith("_") for part in parts) or parts[1:2] == ["app"]:
            continue
        for name in getattr(importlib.import_module(module), "__all__", ()):
            if (module, name) == ("mercer.serve", "app"):
                continue  # made of what the environment names
            thing = getattr(importlib.import_module(module), name)
            if not isinstance(thing, types.ModuleType):
                yield module, name, thing


def is_scikit_name(module: str, name: str) -> bool:
    """Return whether scikit-learn has this name in the module of the same name."""
    # Names of scikit-learn's that are there only once a switch was imported count as well.
    importlib.import_module("sklearn.experimental.enable_halving_search_cv")
    importlib.import_module("sklearn.experimental.enable_iterative_imputer")
    try:
        return hasattr(importlib.import_module(module.replace("mercer", "sklearn", 1)), name)
    except ImportError:
        return False


def is_stable(module: str, name: str) -> bool:
    """Return whether a public name is stable."""
    return module in WHOLE_MODULES or name in STABLE.get(module, ()) or is_scikit_name(module, name)


@cache
def list_experimental() -> frozenset[str]:
    """Return the addresses of the experimental names, such as "mercer.energy.IsingModel"."""
    return frozenset(f"{module}.{name}" for module, name, _ in list_public() if not is_stable(module, name))

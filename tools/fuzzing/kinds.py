"""The kinds of model by the shape of what their files hold: forged files of one kind meet the same checks."""

from mercer.errors import ParameterError

# Each kind, and the rooms (a family, or a folder or module of one) or the classes whose models are of it. A class that
# is named goes before its room.
KINDS: dict[str, tuple[str, ...]] = {
    "coefficients": ("linear_model", "svm._linear_svc", "svm._linear_svr", "discriminant_analysis"),
    "kernel machines": (
        *("svm", "kernel_ridge", "gaussian_process", "kernel_approximation", "KernelDiscriminantAnalysis"),
        *("KernelPCA", "KernelCCA", "KernelKMeans", "KernelCenterer"),
    ),
    "axes": ("decomposition", "cross_decomposition", "random_projection"),
    "moments": ("covariance", "naive_bayes", "NearestCentroid", "MahalanobisOutlier", "ReconstructionOutlier"),
    "mixtures and densities": (
        *("mixture", "ClassConditionalClassifier", "HistogramDensity", "KernelDensity", "DensityOutlier"),
        *("DecisionClassifier", "DENCLUE"),
    ),
    "centres": ("cluster", "ClusterOutlier"),
    "lattices": ("cluster._map",),
    "linkages": ("cluster._hierarchy", "HDBSCAN"),
    "box trees": ("neighbors", "outliers", "DBSCAN"),
    "maps": ("manifold",),
    "trees": ("tree", "ensemble._forest"),
    "isolation trees": ("ensemble._isolation",),
    "boosted trees": ("ensemble._gradient", "ensemble._histogram"),
    "weighted votes": ("ensemble._reweighting", "tree._stump"),
    "committees": (
        *("ensemble._committee", "estimation", "conformal", "calibration", "model_selection", "multiclass"),
        *("multioutput", "semi_supervised"),
    ),
    "layers": ("neural_network",),
    "chains": ("hmm",),
    "tables of networks": ("bayesnet",),
    "bases and encoders": ("preprocessing", "feature_selection", "impute", "isotonic"),
}


def find_kind(estimator: type) -> str:
    """Return the kind of an estimator's models: that of its name, else that of the longest room that holds it."""
    module = estimator.__module__.removeprefix("mercer.")
    for name in (estimator.__name__, *_list_rooms(module)):
        for kind, members in KINDS.items():
            if name in members:
                return kind
    raise ParameterError(
        f"find_kind: every estimator must have a kind; {estimator.__name__} has none. Add it to KINDS."
    )


def _list_rooms(module: str) -> list[str]:
    """Return a module and the rooms around it, from the innermost out."""
    parts = module.split(".")
    return [".".join(parts[:length]) for length in range(len(parts), 0, -1)]

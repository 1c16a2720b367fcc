"""Promise 3, any place: files and streams give the bits that an array of the same rows gives."""

import itertools
import signal
import threading
import warnings

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet
import pytest
import scipy.sparse

from mercer.errors import InterruptWarning
from mercer.watch import Checkpoint
from tests.laws.settings import OF_MANY_ROWS
from tests.laws.subjects import digest, fitted, outputs, subjects, without_names

NAMES = ["a", "b", "c", "d", "e"]
SUBJECTS = [subject for subject in subjects() if "file" in subject.places]
FIRST = {subject.name: subject for subject in reversed(SUBJECTS)}


# Rows of several blocks of 16384: three of them, the last one short.
SEVERAL_BLOCKS = 34_000
# Rows of one block.
FEW = 300
# Iterations of a fit: equal bits do not need a converged answer.
FEW_STEPS = 6
# Iterations over sequences, of which each takes two passes over all of them.
FEW_PASSES = 3
# Epochs of networks: the second goes on from where the first left the weights and the order of the rows.
FEW_EPOCHS = 2


def size(subject, place):
    """Several blocks for the first setting of each estimator in one place of each kind, few rows otherwise.

    How a place cuts its rows into blocks does not depend on the estimator: one file of numbers, one of a table and one
    stream show that an estimator adds up its blocks. Neighbours of all rows are searched for among all rows: few are
    enough there.
    """
    several = FIRST[subject.name] is subject and "Neighbors" not in subject.name and place in LARGE
    return SEVERAL_BLOCKS if several else FEW


def rows_and_targets(subject, place):
    X, y = subject.data(size(subject, place), 5)
    # What a text file keeps of a float is enough to read the same float again; few digits keep the file short.
    return np.round(X, 4), y if y is None or y.dtype.kind != "f" else np.round(y, 4)


def cuts(n):
    """Uneven pieces: a single row, and lengths that no block has."""
    ends = [0, 1, n // 7, n // 7 + 1, n // 2 + 5, n]
    return list(itertools.pairwise(ends))


def saved(folder, X, y):
    np.save(folder / "rows.npy", X)
    if y is not None:
        np.save(folder / "targets.npy", y)
    return str(folder / "rows.npy"), None if y is None else folder / "targets.npy"


def table(X, y):
    several = y is not None and y.ndim == 2
    targets = (
        {f"target{number}": one for number, one in enumerate(y.T)} if several else {} if y is None else {"target": y}
    )
    columns = dict(zip(NAMES, X.T, strict=True)) | targets
    return pyarrow.table(columns)


def parquet_folder(folder, X, y):
    for number, (start, stop) in enumerate(cuts(len(X))):
        part = table(X, y).slice(start, stop - start)
        pyarrow.parquet.write_table(part, folder / f"part-{number}.parquet", row_group_size=5000)
    return folder


def csv_file(folder, X, y):
    pyarrow.csv.write_csv(table(X, y), folder / "rows.csv")
    return folder / "rows.csv"


def blocks(X, y):
    return [X[start:stop] if y is None else (X[start:stop], y[start:stop]) for start, stop in cuts(len(X))]


def named(y):
    if y is None or y.ndim == 1:
        return None if y is None else "target"
    return [f"target{number}" for number in range(y.shape[1])]


# From a folder, rows and targets to what `fit` is given.
FILES = {
    "npy": saved,
    "npy in Fortran order": lambda folder, X, y: saved(folder, np.asfortranarray(X), y),
    "npy in float32": lambda folder, X, y: saved(folder, X.astype(np.float32), y),
    "Parquet folder": lambda folder, X, y: (parquet_folder(folder, X, y), named(y)),
    "CSV": lambda folder, X, y: (csv_file(folder, X, y), named(y)),
    "Arrow dataset": lambda folder, X, y: (pyarrow.dataset.dataset(table(X, y)), named(y)),
    "list of blocks": lambda folder, X, y: (blocks(X, y), None),
    "function that gives blocks": lambda folder, X, y: (lambda: iter(blocks(X, y)), None),
}
# Places of one kind each: a file of numbers, a table in several files, a stream, and sparse rows.
LARGE = ("npy", "Parquet folder", "function that gives blocks", "npz")
STREAMS = ("list of blocks", "function that gives blocks")
ONCE = {
    "generator": lambda X, y: ((block for block in blocks(X, y)), None),
    "record-batch reader": lambda X, y: (table(X, y).to_reader(max_chunksize=3000), named(y)),
}
# Estimators that visit rows in random order: where rows are read front to back, only within their blocks.
NETWORKS = ("Autoencoder", "ConvClassifier", "RecurrentClassifier", "RecurrentRegressor")
SHUFFLED = ("MLPClassifier", "MLPRegressor", "Perceptron", "SGDClassifier", "SGDOneClassSVM", "SGDRegressor", *NETWORKS)
SHUFFLED += ("PassiveAggressiveClassifier", "PassiveAggressiveRegressor")
# Which solver is content with one pass over five columns; others iterate, or look again at what rounding left.
SOLVERS_OF_ONE_PASS = {
    "BoltzmannMachine": ("auto",),
    "PCA": {"auto", "full", "covariance_eigh", "randomized", "arpack"},
    "TruncatedSVD": {"auto"},
    "FactorAnalysis": {"auto"},
    "Whitening": {"auto"},
    "ProbabilisticPCA": {"auto"},
    "Ridge": {"auto", "cholesky", "lbfgs"},
    "IncrementalPCA": {"auto"},
    "Lars": {"auto"},
    "OrthogonalMatchingPursuit": {"auto"},
    "LassoLars": {"auto"},
    "BayesianRidge": {"auto"},
    "ARDRegression": {"auto"},
    "FourierBasis": {"auto"},
    "TableEncoder": {"auto"},
    "GaussianConditionalRegressor": {"auto"},
    "Lasso": {"auto"},
    "GraphicalLasso": {"auto"},
    "ElasticNet": {"auto"},
    **{name: {"auto"} for name in ("MultiTaskElasticNet", "MultiTaskLasso")},
    "LinearDiscriminantAnalysis": {"auto", "lsqr", "eigen"},
    "QuadraticDiscriminantAnalysis": {"auto", "eigen"},
    "StandardScaler": {"auto"},
    **{name: {"auto"} for name in ("Binarizer", "MaxAbsScaler", "MinMaxScaler", "Normalizer", "RobustScaler")},
    **{
        name: {"auto"}
        for name in (
            "KBinsDiscretizer",
            "MissingIndicator",
            "OneHotEncoder",
            "OrdinalEncoder",
            "QuantileTransformer",
            *("GenericUnivariateSelect", "SelectFdr", "SelectFpr", "SelectFwe", "SelectKBest", "SelectPercentile"),
            "SimpleImputer",
            "VarianceThreshold",
        )
    },
    **{name: {"auto"} for name in ("EmpiricalCovariance", "OAS", "ShrunkCovariance", "NearestCentroid", "GaussianNB")},
    **{name: {"auto"} for name in ("CCA", "PLSCanonical", "PLSRegression", "PLSSVD")},
    **{name: {"auto"} for name in ("BernoulliNB", "BayesNetLearner", "CategoricalNB", "ComplementNB", "MultinomialNB")},
}


def expected(subject, place, kept):
    """Digests of the fitted attributes and of the outputs that the same rows give in memory; kept for other places."""
    X, y = rows_and_targets(subject, place)
    X = X.astype(np.float32) if place == "npy in float32" else X
    key = X.dtype, len(X)
    if key not in kept:
        model = fit(subject, X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kept[key] = digest(learnt(model)), digest(outputs(model, X))
    return kept[key]


def make(subject):
    """An estimator of few iterations."""
    steps = FEW_EPOCHS if subject.name in NETWORKS else FEW_STEPS
    return subject.make(
        max_iter=min(steps, subject.settings.get("max_iter", steps)),
        n_iter=min(FEW_PASSES, subject.settings.get("n_iter", FEW_PASSES)),
        **OF_MANY_ROWS.get(subject.name, {}),
    )


def fit(subject, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(subject).fit(X, y)


def learnt(model):
    """All that is learnt, but the labels of rows that are not at hand and the names of columns that arrays lack."""
    state = without_names(fitted(model))
    return {name: value for name, value in state.items() if name not in ("labels_", "outliers_")}


def needs_one_pass(subject):
    solver = subject.settings.get("svd_solver") or subject.settings.get("solver", "auto")
    if subject.name == "ElasticNet" and subject.settings.get("l1_ratio") == 0:
        return False  # a closed form, and the pass that tells its duality gap
    if subject.settings.get("shrinkage") == "auto":
        return False
    least_squares = subject.name == "LinearRegression" and subject.settings.get("positive")
    polynomials = subject.name == "PolynomialBasis" and subject.settings.get("basis") != "orthonormal"
    waves = subject.name in ("OrthogonalRandomFeatures", "RBFSampler", "GaussianRandomProjection")
    waves |= subject.name in ("SparseRandomProjection", "AdditiveChi2Sampler", "SkewedChi2Sampler")
    waves |= subject.name == "PolynomialCountSketch"
    return least_squares or polynomials or waves or solver in SOLVERS_OF_ONE_PASS.get(subject.name, ())


def equal_only_to_itself(subject, place):
    """Batches drawn at random where rows can be reached in any order are taken in turn where they cannot.

    Scores of predictions in single precision, which searches keep, are summed in another order than in memory.
    """
    if subject.name.endswith("SearchCV"):
        return place == "npy in float32"
    if subject.name in SHUFFLED:
        return subject.settings.get("shuffle", True)
    return subject.name == "MiniBatchKMeans" and not place.startswith("npy")


@pytest.fixture(scope="module")
def put(tmp_path_factory):
    """Rows of a subject in a place, written once for all subjects that learn from the same."""
    written = {}

    def put(subject, place):
        X, y = rows_and_targets(subject, place)
        # Targets of one kind differ too: counts and amounts are positive.
        total = float(y.sum()) if y is not None and y.dtype.kind in "fiu" else None
        key = place, subject.kind, X.shape, float(X.sum()), total
        if key not in written:
            written[key] = FILES[place](tmp_path_factory.mktemp("rows"), X, y)
        return written[key]

    return put


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_files_and_streams_give_the_bits_of_the_array(subject, put):
    kept = {}
    for place in FILES:
        # A list of arrays is a list of sequences for models of sequences.
        if place != "list of blocks" or not getattr(subject.estimator, "_lists_are_sequences", False):
            check_place(subject, place, put, kept)


def check_place(subject, place, put, kept):
    """Check that rows in one place give the bits of memory, or the sentence that names the places to use."""
    X, y = put(subject, place)
    if place in STREAMS and "stream" not in subject.places:
        with pytest.raises(ValueError, match="rows must be in memory or file"):
            fit(subject, X, y)
        return
    if subject.needs_memory:
        with pytest.raises(ValueError, match="needs all rows in memory"):
            fit(subject, X, y)
        return
    found = fit(subject, X, y)
    if equal_only_to_itself(subject, place):
        assert digest(learnt(found)) == digest(learnt(fit(subject, X, y))), place
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (digest(learnt(found)), digest(outputs(found, X))) == expected(subject, place, kept), place


# What needs all rows at once brings them to memory from any other place.
GATHERING = {subject.name: subject for subject in reversed(subjects()) if "file" not in subject.places}


@pytest.mark.parametrize("name", GATHERING)
def test_what_needs_all_rows_brings_them_from_any_place_and_says_why(name, tmp_path):
    subject = GATHERING[name]
    X, y = subject.data(100, 5)
    model = fit_whole(subject, X, y)
    assert model.__sklearn_tags__().needs_rows
    expected = digest(learnt(model)), digest(outputs(model, X))
    given = [saved(tmp_path, X, y)]
    # A list of arrays is a list of sequences for models of sequences.
    if not getattr(subject.estimator, "_lists_are_sequences", False):
        given.append((blocks(X, y), None))
    (tmp_path / "parts").mkdir()
    given.append((parquet_folder(tmp_path / "parts", X, y), named(y)))
    for rows, targets in given:
        found = fit_whole(subject, rows, targets)
        asked = [part[0] if isinstance(part, tuple) else part for part in rows] if isinstance(rows, list) else rows
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert (digest(learnt(found)), digest(outputs(found, asked))) == expected, rows


def fit_whole(subject, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return subject.make().fit(X, y)


WEIGHTED = [subject for subject in FIRST.values() if subject.fit_takes("sample_weight") and not subject.needs_memory]


@pytest.mark.parametrize("subject", WEIGHTED, ids=repr)
def test_weights_come_along_from_every_place(subject, tmp_path):
    X, y = subject.data(700, 5)
    weight = np.random.default_rng(0).integers(0, 3, 700).astype(float)
    columns = [X, np.zeros(700) if y is None else y, weight]
    weighted = table(X, y).append_column("weight", pyarrow.array(weight))
    np.save(tmp_path / "weight.npy", weight)
    given = [
        (*saved(tmp_path, X, y), tmp_path / "weight.npy"),
        (pyarrow.dataset.dataset(weighted), named(y), "weight"),
        ([tuple(column[start:stop] for column in columns) for start, stop in cuts(700)], None, None),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = subject.make().fit(X, y, sample_weight=weight)
        for place, (rows, targets, weights) in zip(("npy", "table", "blocks"), given, strict=True):
            found = subject.make().fit(rows, targets, sample_weight=weights)
            if not equal_only_to_itself(subject, place):
                assert digest(learnt(found)) == digest(learnt(model)), place


@pytest.mark.parametrize("place", ONCE)
@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_what_is_read_once_is_enough_for_one_pass_and_a_sentence_for_more(subject, place):
    X, y = rows_and_targets(subject, place)
    if "stream" not in subject.places:
        with pytest.raises(ValueError, match="rows must be in memory or file"):
            fit(subject, *ONCE[place](X, y))
    elif subject.needs_memory:
        with pytest.raises(ValueError, match="needs all rows in memory"):
            fit(subject, *ONCE[place](X, y))
    elif needs_one_pass(subject):
        assert digest(learnt(fit(subject, *ONCE[place](X, y)))) == expected(subject, place, {})[0]
    else:
        with pytest.raises(ValueError, match="can be read only once"):
            fit(subject, *ONCE[place](X, y))


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_sparse_files_give_the_bits_of_the_sparse_matrix(subject, tmp_path):
    X, y = rows_and_targets(subject, "npz")
    X = scipy.sparse.csr_array(subject.spread(X))
    path = tmp_path / "rows.npz"
    scipy.sparse.save_npz(path, X)
    if subject.needs_memory or not subject.make().__sklearn_tags__().input_tags.sparse:
        with pytest.raises(ValueError, match=r"needs all rows in memory|[Ss]parse"):
            fit(subject, path, y)
        return
    found, model = fit(subject, path, y), fit(subject, X, y)
    if not equal_only_to_itself(subject, "npz"):
        assert digest(learnt(found)) == digest(learnt(model))
        name = next(one for one in ("predict", "transform", "mahalanobis", "kneighbors") if hasattr(found, one))
        # A transformer returns sparse rows of a matrix, and those of a file when they are asked for.
        outside, inside = (getattr(found, name)(rows) for rows in (path, X))
        if hasattr(outside, "__array__") and scipy.sparse.issparse(inside):
            outside, inside = np.asarray(outside), inside.toarray()
        elif hasattr(outside, "encode"):
            outside = np.asarray(outside)
        assert digest(outside) == digest(inside)


class EndAt:
    """A callback that ends the fit after the step of a given number, in one of two ways."""

    def __init__(self, number, end):
        self.number, self.end, self.seen = number, end, 0

    def setup(self, estimator, context):
        self.seen = 0

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.seen += 1
        if self.seen == self.number:
            self.end()
        return False


def crash():
    raise RuntimeError("killed")


def press_ctrl_c():
    signal.raise_signal(signal.SIGINT)


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "mercer-read-ahead"]


@pytest.mark.parametrize("place", FILES)
@pytest.mark.parametrize("name", ["KMeans", "LogisticRegression"])
def test_a_fit_that_was_killed_resumes_in_its_place_and_one_interrupted_keeps_its_state(name, place, put, tmp_path):
    subject, path = FIRST[name], tmp_path / "fit.checkpoint"
    X, y = put(subject, place)
    with pytest.raises(RuntimeError, match="killed"):
        make(subject).set_callbacks(Checkpoint(path, every=0), EndAt(3, crash)).fit(X, y)
    assert readers() == []
    checkpoint = Checkpoint(path, every=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        resumed = make(subject).set_callbacks(checkpoint).fit(X, y)
    assert checkpoint.resumed_from_ == 2
    assert digest(learnt(resumed)) == digest(learnt(fit(subject, X, y)))
    model = make(subject).set_callbacks(EndAt(2, press_ctrl_c))
    with pytest.warns(InterruptWarning), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert len(model.history_["step"]) == 2
    assert readers() == []

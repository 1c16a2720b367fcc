"""The scan on devices gives what the passes in memory give, in torch and in the strict array standard."""

import array_api_strict
import numpy as np
import pytest
import torch

import mercer
from mercer._source.namespace import to_numpy
from mercer._source.placement import is_on_device
from mercer.errors import DataError
from mercer.hmm import GMMHMM, CategoricalHMM, DensityHMM, GaussianHMM, MultinomialHMM, PoissonHMM
from mercer.hmm._chain import ImpossibleSequenceError
from mercer.hmm._device import passes, scan

STRICT = array_api_strict.Device("device1")
LIBRARIES = {
    "torch": lambda array: torch.asarray(np.array(array)),
    "strict": lambda array: array_api_strict.asarray(array, device=STRICT),
}
LENGTHS = np.array([1, 2, 97, 500])
METHODS = ("predict_proba", "filter", "score_samples", "predict")
STATES = np.repeat(np.random.default_rng(0).integers(0, 3, 60), 10)
GAUSSIAN = np.random.default_rng(1).normal(size=(600, 2)) + 2.0 * STATES[:, None]
COUNTS = np.random.default_rng(2).poisson(1.0 + 3.0 * STATES[:, None] * [1.0, 0.5]).astype(float)
GAUSSIAN[np.random.default_rng(3).random(600) < 0.05] = np.nan
COUNTS[np.random.default_rng(4).random(600) < 0.05] = np.nan
KINDS = {
    **{
        kind: (lambda kind=kind, **given: GaussianHMM(3, kind, random_state=0, n_iter=5, **given), GAUSSIAN)
        for kind in ("spherical", "diag", "full", "tied")
    },
    "poisson": (lambda **given: PoissonHMM(3, random_state=0, n_iter=5, **given), COUNTS),
    "categorical": (
        lambda **given: CategoricalHMM(3, n_features=6, random_state=0, n_iter=5, **given),
        np.minimum(COUNTS, 5),
    ),
}
QUIET = pytest.mark.filterwarnings("ignore:.*not converged")


# Torch scans groups of groups of chunks, the strict library all chunks one by one.
BOTH = pytest.mark.parametrize(
    ("library", "levels"), [("torch", "many levels"), ("strict", "one group")], indirect=["levels"]
)


@pytest.fixture
def levels(request, monkeypatch):
    """Chunks of four steps in groups of four chunks make several levels of 600 steps."""
    if request.param == "many levels":
        monkeypatch.setattr(passes, "_MOST_STEPS", 4)
        monkeypatch.setattr(scan, "_FEW", 4)
        monkeypatch.setattr(scan, "_GROUP", 4)


def compare(memory, there, X, rows, tolerance=1e-9, lengths=LENGTHS):
    for name in METHODS:
        expected, found = getattr(memory, name)(X, lengths), getattr(there, name)(rows, lengths)
        assert is_on_device(found), name
        assert to_numpy(found).dtype == expected.dtype, name
        np.testing.assert_allclose(to_numpy(found), expected, rtol=tolerance, atol=tolerance, err_msg=name)
    assert there.score(rows, lengths=lengths) == pytest.approx(memory.score(X, lengths=lengths), rel=tolerance)
    assert there.decode(rows, lengths)[0] == pytest.approx(memory.decode(X, lengths)[0], rel=tolerance)


@QUIET
@pytest.mark.parametrize("kind", KINDS)
@BOTH
@pytest.mark.parametrize("training", ["baum-welch", "viterbi"])
def test_fits_on_a_device_agree_with_memory(kind, library, training, levels):
    make, X = KINDS[kind]
    if training == "viterbi":
        # Paths through missing steps tie: a state may change before or after them.
        X = np.where(np.isnan(X), 1.0 + np.arange(600)[:, None] % 2, X)
    weight = [0.5, 2.0, 1.0, 3.0]
    memory, there = make(training=training), make(training=training)
    memory.fit(X, lengths=LENGTHS, sequence_weight=weight)
    rows = LIBRARIES[library](X)
    there.fit(rows, lengths=LENGTHS, sequence_weight=weight)
    for name in ("startprob_", "transmat_", *memory._emission_names):
        found = to_numpy(getattr(there, name))
        np.testing.assert_allclose(found, getattr(memory, name), rtol=1e-9, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(there.history_["objective"], memory.history_["objective"], rtol=1e-9)
    compare(memory, there, X, rows)


@QUIET
@pytest.mark.parametrize("kind", ["diag", "poisson", "categorical"])
def test_float32_rows_agree_to_their_precision(kind):
    make, X = KINDS[kind]
    X = X.astype(np.float32)
    memory, there = make().fit(X, lengths=LENGTHS), make().fit(torch.asarray(X), lengths=LENGTHS)
    assert there.transmat_.dtype == torch.float32
    compare(memory, there, X, torch.asarray(X), 1e-3)


@QUIET
def test_single_missing_entries_are_left_out_where_columns_are_independent():
    X = GAUSSIAN.copy()
    X[::7, 0] = np.nan
    memory, there = (KINDS["diag"][0]().fit(rows, lengths=LENGTHS) for rows in (X, torch.asarray(X)))
    compare(memory, there, X, torch.asarray(X))
    with pytest.raises(DataError, match=r"covariance_type='full'; got rows with some NaN. Use covariance_type='diag'"):
        KINDS["full"][0]().fit(torch.asarray(X))


@QUIET
@pytest.mark.parametrize("kind", KINDS)
def test_known_states_are_counted_there(kind):
    make, X = KINDS[kind]
    memory = make().fit(X, lengths=LENGTHS, states=STATES)
    there = make().fit(torch.asarray(X), lengths=LENGTHS, states=torch.asarray(STATES))
    compare(memory, there, X, torch.asarray(X))
    assert there.log_likelihood_ == pytest.approx(memory.log_likelihood_, rel=1e-9)


def outliers():
    """A left-right chain whose second state explains steps that only the first can have made."""
    model = GaussianHMM(2, "diag", topology="left-right", params="", init_params="", n_iter=1)
    model.startprob_, model.transmat_ = np.array([1.0, 0.0]), np.array([[0.5, 0.5], [0.0, 1.0]])
    model.means_, model.covars_ = np.array([[0.0], [100.0]]), np.ones((2, 1))
    # Step 0 is 100 times nearer to the state that cannot be first: exp(-5000) is zero in doubles.
    return model, np.array([[100.0], [0.0], [0.0], [100.0], [100.0], [0.0], [50.0]] * 30)


@QUIET
@BOTH
def test_probabilities_beyond_the_range_of_doubles_are_passed_in_logarithms(library, levels):
    model, X = outliers()
    lengths, rows = np.full(30, 7), LIBRARIES[library](X)
    # A fit that learns nothing sets the attributes that say how many columns there are.
    there = mercer.to_device(model.fit(X, lengths=lengths), rows)
    compare(model, there, X, rows, lengths=lengths)
    start = {"startprob_": model.startprob_, "transmat_": model.transmat_}
    learnt = []
    for table in (X, rows):
        other = GaussianHMM(2, params="st", init_params="", n_iter=2)
        vars(other).update(start | {"means_": model.means_, "covars_": model.covars_})
        learnt.append(to_numpy(other.fit(table, lengths=lengths).transmat_))
    np.testing.assert_allclose(learnt[1], learnt[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("library", LIBRARIES)
def test_impossible_sequences_are_named(library):
    model = CategoricalHMM(2, n_features=2)
    model.startprob_, model.transmat_ = np.array([1.0, 0.0]), np.eye(2)
    model.emissionprob_ = np.eye(2)
    rows = LIBRARIES[library](np.array([[0.0], [0.0], [0.0], [1.0]]))
    there = mercer.to_device(model, rows)
    assert there.score(rows, lengths=[1, 3]) == -np.inf
    with pytest.raises(ImpossibleSequenceError, match=r"sequence 1 has probability zero: .* at step 2"):
        there.predict_proba(rows, [1, 3])


@pytest.mark.parametrize("n", [1, 2, 5])
def test_very_short_sequences(n):
    X = GAUSSIAN[3 : 3 + n]
    memory = GaussianHMM(2, random_state=0).fit(GAUSSIAN)
    compare(memory, mercer.to_device(memory, "torch:cpu"), X, torch.asarray(X), lengths=None)


def test_large_counts_have_their_factorials():
    X = np.array([[0.0], [1.0], [6.0], [7.0], [1e3], [1e6]])
    model = PoissonHMM(1)
    model.startprob_, model.transmat_, model.lambdas_ = np.ones(1), np.ones((1, 1)), np.array([[100.0]])
    rows = torch.asarray(X)
    np.testing.assert_allclose(
        mercer.to_device(model, rows).score_samples(rows), model.score_samples(X), rtol=1e-13, atol=1e-12
    )


@pytest.mark.parametrize("model", [GMMHMM(2), DensityHMM(2), MultinomialHMM(2)], ids=lambda model: type(model).__name__)
def test_other_models_say_where_rows_must_be(model):
    with pytest.raises(DataError, match=r"rows must be in memory.* got rows in device .* Load them into memory"):
        model.fit(torch.ones(10, 2))


def test_what_cannot_be_there_is_refused_with_a_cure():
    with pytest.raises(DataError, match=r"must be one array with `lengths`; got a list of 2 arrays. Concatenate"):
        GaussianHMM(2).fit([torch.ones(4, 2), torch.ones(3, 2)])
    with pytest.raises(DataError, match="contains infinity"):
        GaussianHMM(2).fit(torch.full((4, 2), torch.inf))
    with pytest.raises(DataError, match=r"Negative values in data passed to X; .* the smallest is -1"):
        PoissonHMM(2).fit(torch.asarray([[1.0], [-1.0]]))
    words = CategoricalHMM(2, random_state=0).fit(np.array([["a"], ["b"]] * 9))
    rows = torch.zeros(4, 1)
    with pytest.raises(DataError, match="fitted to strings, which no device holds"):
        mercer.to_device(words, rows).predict(rows)
    model = CategoricalHMM(2, random_state=0).fit(torch.asarray([[0.0], [1.0]] * 9))
    with pytest.raises(DataError, match=r"integers from 0 to 1 for this model; got 2.5. Raise n_features"):
        model.predict(torch.asarray([[2.5], [0.0]]))


def test_samples_and_the_stationary_distribution_are_where_the_model_is():
    model = GaussianHMM(2, random_state=0).fit(torch.asarray(GAUSSIAN))
    assert all(isinstance(part, torch.Tensor) for part in model.sample(3))
    assert float(model.get_stationary_distribution().sum()) == pytest.approx(1.0)
    home = mercer.to_device(model, "cpu")
    np.testing.assert_array_equal(model.sample(3)[0], home.sample(3)[0])


@pytest.mark.parametrize("seed", range(12))
def test_random_chains_with_zeros_agree_with_memory(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    for module, name, sizes in ((scan, "_FEW", [2, 5]), (scan, "_GROUP", [2, 5]), (passes, "_MOST_STEPS", [1, 3, 17])):
        monkeypatch.setattr(module, name, int(rng.choice(sizes)))
    k, n = int(rng.integers(1, 12)), int(rng.integers(10, 300))
    model = CategoricalHMM(k, n_features=4)
    tables = [rng.dirichlet(np.full(size, 0.3), rows) for size, rows in ((k, 1), (k, k), (4, k))]
    for table in tables:
        table[table < 0.05] = 0.0
        table /= table.sum(axis=1, keepdims=True)
    model.startprob_, model.transmat_, model.emissionprob_ = tables[0][0], tables[1], tables[2]
    X = model.sample(n, random_state=seed)[0].astype(float)
    X[rng.random(n) < 0.1] = np.nan
    rows = torch.asarray(X)
    there = mercer.to_device(model, rows)
    for name in ("predict_proba", "filter", "score_samples"):
        np.testing.assert_allclose(getattr(there, name)(rows), getattr(model, name)(X), rtol=1e-9, atol=1e-10)
    # Paths may tie where steps are missing; their probability may not differ.
    assert there.decode(rows)[0] == pytest.approx(model.decode(X)[0], rel=1e-9)

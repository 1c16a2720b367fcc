"""How sequences are given, what is refused and in which words, and what survives saving and cloning."""

import warnings

import numpy as np
import pandas
import pyarrow.dataset
import pytest
import scipy.stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import mercer
from mercer.errors import DataError, ParameterError
from mercer.estimation import GaussianDensity
from mercer.hmm import (
    GMMHMM,
    CategoricalHMM,
    DensityHMM,
    GaussianHMM,
    MultinomialHMM,
    PoissonHMM,
    select_n_components,
)
from tests.hmm.models import EVERY, build, categorical, gaussian, poisson

X = gaussian().sample(60, random_state=0)[0]
LENGTHS = [10, 30, 20]


@pytest.fixture(autouse=True)
def _few_iterations():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _fit(*args, **kwargs):
    return gaussian(init_params="", n_iter=3).fit(*args, **kwargs)


def test_lengths_lists_groups_and_tables_are_the_same_sequences(tmp_path):
    expected = _fit(X, lengths=LENGTHS)
    parts = [X[:10], X[10:40], X[40:]]
    groups = np.repeat(["b", "a", "c"], LENGTHS)
    table = pandas.DataFrame(X, columns=["x", "y"])
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    given = [
        _fit(X, LENGTHS),  # hmmlearn's second place
        _fit(parts),
        _fit(tuple(parts)),
        _fit(X, groups=groups),
        _fit(table.assign(who=groups), groups="who"),
        _fit(mapped, lengths=LENGTHS),
        _fit(str(tmp_path / "rows.npy"), lengths=LENGTHS),
    ]
    for model in given:
        np.testing.assert_array_equal(model.transmat_, expected.transmat_)
        np.testing.assert_array_equal(model.means_, expected.means_)
    assert given[4].feature_names_in_.tolist() == ["x", "y"]
    assert expected.score(X, LENGTHS) == expected.score(parts) == expected.score(X, groups=groups)
    assert expected.score(parts) == pytest.approx(sum(expected.score(part) for part in parts), rel=1e-12)
    np.testing.assert_array_equal(expected.predict(parts), expected.predict(X, LENGTHS))
    np.testing.assert_array_equal(
        given[4].predict_proba(table.assign(who=groups), groups="who"), expected.predict_proba(X, LENGTHS)
    )
    np.testing.assert_array_equal(expected.filter(str(tmp_path / "rows.npy"), LENGTHS), expected.filter(X, LENGTHS))


def test_labels_in_second_place_are_ignored_as_scikit_learn_does():
    np.testing.assert_array_equal(_fit(X, np.zeros(60, dtype=int)).means_, _fit(X).means_)


def test_sequences_of_one_step_are_taken():
    model = _fit(X[:5], lengths=[1, 1, 1, 2])
    assert np.isfinite(model.score(X[:5], lengths=[1] * 5))
    assert model.predict(X[:1]).shape == (1,)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"lengths": [10, 20]}, r"GaussianHMM: `lengths` must sum to the number of rows, 60; got 30. Pass one length"),
        ({"lengths": [60, 0]}, r"every sequence needs at least one step; sequence 1 has 0. Leave empty sequences out"),
        ({"lengths": []}, r"every sequence needs at least one step|integers"),
        ({"lengths": [30.0, 30.0]}, r"`lengths` must be a list of integers, one per sequence; got an array of float64"),
        (
            {"groups": np.arange(60) % 3},
            r"the rows of a group must follow each other; 60 runs belong to 3 groups. Sort",
        ),
        ({"groups": np.zeros((60, 1))}, r"`groups` must be one-dimensional"),
        ({"groups": "who"}, r"which needs a data frame or a table in a file; got ndarray. Pass"),
        ({"groups": np.zeros(60), "lengths": [60]}, r"must be given in one way; got lengths and groups. Leave one out"),
        ({"sequence_weight": [1.0, 2.0]}, r"`sequence_weight` must have shape \(1,\); got \(2,\). Pass one weight per"),
        (
            {"sequence_weight": [-1.0]},
            r"weights must be finite, non-negative and not all zero; got a smallest one of -1",
        ),
        (
            {"states": np.full(60, 3)},
            r"must hold an integer from 0 to 2 for each of the 60 rows; got values from 3 to 3",
        ),
        ({"states": np.zeros(5, int)}, r"for each of the 60 rows; got int64 of shape \(5,\). Set n_components"),
    ],
)
def test_sequences_that_make_no_sense_are_refused(arguments, words):
    with pytest.raises(DataError, match=words):
        _fit(X, **arguments)


def test_lists_must_have_the_same_columns():
    with pytest.raises(
        DataError, match=r"every sequence of a list must be an array of shape \(n_steps, 2\); sequence 1"
    ):
        _fit([X[:10], X[10:20, :1]])
    with pytest.raises(DataError, match=r"sequence 1 has 0\. Leave empty sequences out"):
        _fit([X[:10], X[:0]])
    with pytest.raises(DataError, match="must be given in one way; got a list and lengths"):
        _fit([X[:10]], lengths=[10])
    with pytest.raises(DataError, match="the frame has no column 'who'; its columns are x, y"):
        _fit(pandas.DataFrame(X, columns=["x", "y"]), groups="who")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"startprob_": [0.5, 0.5]}, r"startprob_ must have shape \(3,\); got \(2,\)"),
        ({"startprob_": [0.5, 0.2, 0.2]}, r"the rows of startprob_ must sum to one; row 0 sums to 0.9. Divide"),
        ({"transmat_": np.zeros((3, 3))}, r"row 0 of transmat_ holds zeros only: no state can follow state 0"),
        ({"transmat_": np.eye(3) - 0.1 + 0.1 * np.eye(3)}, r"transmat_ must hold probabilities; got a smallest entry"),
        ({"means_": np.zeros((2, 2))}, r"means_ must have shape \(3, n_features\); got \(2, 2\)"),
        ({"covars_": np.ones((3, 3))}, r"covars_ of type 'diag' must have shape \(3, 2\); got \(3, 3\)"),
    ],
)
def test_parameters_set_by_hand_are_checked(change, words):
    model = gaussian()
    for name, value in change.items():
        setattr(model, name, np.asarray(value))
    with pytest.raises(DataError, match=words):
        model.score(X)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"params": "stx"}, r"GaussianHMM: params must consist of letters of 'stmc'; got 'x' in 'stx'"),
        ({"startprob_prior": 0.5}, r"startprob_prior must be a number in \[1, inf\) or an array-like; got 0.5"),
        ({"transmat_prior": [[0.5]]}, r"transmat_prior must be at least 1 everywhere; got 0.5. Forbid transitions by"),
        ({"transmat_prior": np.ones(5)}, r"transmat_prior must be a number or an array of shape \(3, 3\); got shape"),
        ({"topology": np.ones((2, 2))}, r"topology must be a word or an array of shape \(3, 3\), one row per state"),
        ({"topology": np.diag([1, 1, 0])}, r"state 2 has no allowed transition in topology. Allow at least the one"),
        ({"means_weight": [-1.0]}, r"means_weight must not be negative; got -1"),
        ({"algorithm": "best"}, r"algorithm must be one of 'viterbi', 'map'; got 'best'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, words):
    with pytest.raises(ParameterError, match=words):
        GaussianHMM(3, random_state=0).set_params(**settings).fit(X)


def test_what_init_params_leaves_out_must_be_set():
    with pytest.raises(DataError, match=r"init_params='st' leaves out 'm', so that means_ must be set before fit. Set"):
        GaussianHMM(3, init_params="st").fit(X)
    with pytest.raises(NotFittedError):
        GaussianHMM(3).score(X)
    with pytest.raises(ParameterError, match="algorithm must be one of 'viterbi', 'map'; got 'x'"):
        gaussian().decode(X, algorithm="x")
    with pytest.raises(ParameterError, match=r"n_samples must be an integer in \[1, inf\); got 0"):
        gaussian().sample(0)
    with pytest.raises(ParameterError, match=r"currstate must be an integer in \[0, 2\]; got 3"):
        gaussian().sample(1, currstate=3)


def test_rows_of_another_kind_are_refused():
    with pytest.raises(DataError, match="PoissonHMM: Negative values in data passed to X; rows must hold counts"):
        PoissonHMM(2).fit([[1.0], [-2.0], [3.0]])
    with pytest.raises(DataError, match=r"CategoricalHMM: symbols must be strings or integers from 0 on; got 0.5"):
        CategoricalHMM(2).fit([[1.0], [0.5]])
    with pytest.raises(DataError, match=r"symbols must be strings, or integers from 0 to 3 for this model; got 7"):
        categorical().score([[0], [7]])
    with pytest.raises(DataError, match="contains infinity"):
        gaussian().score([[np.inf, 0.0]])
    with pytest.raises(DataError, match=r"every step is missing \(NaN\)"):
        GaussianHMM(2).fit(np.full((5, 2), np.nan))
    with pytest.raises(ValueError, match="3 features"):
        _fit(X).score(np.zeros((4, 3)))


def test_columns_that_do_not_fit_the_states_are_refused():
    with pytest.raises(DataError, match="X has 3 features, but the parameters of the states are for 2 features"):
        gaussian().score(np.zeros((4, 3)))
    with pytest.raises(DataError, match="X has 1 features, but the parameters of the states are for 2 features"):
        gaussian(init_params="").fit(np.zeros((4, 1)))
    with pytest.raises(DataError, match="X has 1 features, but the parameters of the states are for 2 features"):
        gaussian().start_filter().update([1.0])
    stuck = categorical()
    stuck.startprob_, stuck.transmat_ = np.array([1.0, 0.0, 0.0]), np.eye(3)
    with pytest.raises(DataError, match="sequence 0 has probability zero"):
        stuck.start_filter().update([3])


@pytest.mark.parametrize(
    "model",
    [
        GaussianHMM(2, means_prior=np.ones(7)),
        GaussianHMM(2, "full", covars_prior=np.ones(7)),
        GMMHMM(2, n_mix=2, weights_prior=np.ones(5)),
    ],
)
def test_a_prior_of_another_shape_is_refused(model):
    with pytest.raises(ParameterError, match="a prior of the emissions does not have the shape of the parameters"):
        model.fit(X)
    with pytest.raises(ParameterError, match="does not have the shape"):
        CategoricalHMM(2, emissionprob_prior=np.ones((5, 5))).fit([[0], [1], [2]])


def test_strings_are_symbols():
    words = np.array(["rain", "sun", "sun", "rain", "rain", "sun", "sun", "sun"])[:, None]
    model = CategoricalHMM(2, random_state=0).fit(words)
    assert model.categories_.tolist() == ["rain", "sun"]
    same = CategoricalHMM(2, random_state=0).fit((words == "sun").astype(int))
    np.testing.assert_array_equal(model.emissionprob_, same.emissionprob_)
    np.testing.assert_array_equal(model.predict(words), same.predict((words == "sun").astype(int)))
    assert set(model.sample(20, random_state=0)[0][:, 0]) <= {"rain", "sun"}
    gap = words.astype(object)
    gap[2] = None
    assert np.isfinite(CategoricalHMM(2, random_state=0).fit(gap).score(gap))
    with pytest.raises(DataError, match=r"unknown symbol 'snow' at step 1; known are rain, sun. Fit with sequences"):
        model.predict(np.array([["sun"], ["snow"]]))
    table = pandas.DataFrame({"weather": words[:, 0]})
    np.testing.assert_array_equal(CategoricalHMM(2, random_state=0).fit(table).transmat_, model.transmat_)


def test_several_columns_of_symbols_are_independent_given_the_state():
    generator = np.random.default_rng(0)
    table = generator.integers(0, 3, size=(40, 2))
    model = CategoricalHMM(2, random_state=0, n_iter=5).fit(table)
    assert model.emissionprob_.shape == (2, 2, 3)
    message = model.startprob_.copy()
    total = 0.0
    for step, (first, second) in enumerate(table):
        message = message if step == 0 else message @ model.transmat_
        message = message * model.emissionprob_[:, 0, first] * model.emissionprob_[:, 1, second]
        total, message = total + np.log(message.sum()), message / message.sum()
    assert model.score(table) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize(("maker", "kind"), EVERY)
def test_models_survive_cloning_saving_and_loading(maker, kind, tmp_path):
    rows, _ = build(maker, kind).sample(50, random_state=0)
    model = build(maker, kind, n_iter=2, init_params="").fit(rows)
    assert clone(model).get_params() == model.get_params()
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))
    assert loaded.score(rows) == model.score(rows)


def test_densities_survive_saving(tmp_path):
    model = DensityHMM(2, random_state=0, n_iter=2).fit(X)
    mercer.save(model, tmp_path / "model.mercer")
    assert mercer.load(tmp_path / "model.mercer").score(X) == model.score(X)


def test_criteria_count_the_free_parameters():
    model = gaussian("full")
    assert model.count_parameters() == 2 + 6 + 6 + 9
    assert GaussianHMM(3, "tied", random_state=0).fit(X).count_parameters() == 2 + 6 + 6 + 3
    assert model.aic(X) == pytest.approx(-2 * model.score(X) + 2 * 23)
    assert model.bic(X) == pytest.approx(-2 * model.score(X) + np.log(60) * 23)
    assert poisson().count_parameters() == 2 + 6 + 6
    assert GMMHMM(2, n_mix=3, random_state=0).fit(X).count_parameters() == 1 + 2 + 4 + 12 + 12
    left = GaussianHMM(3, topology="left-right", random_state=0).fit(X)
    assert left.count_parameters() == 0 + 2 + 6 + 6
    with pytest.raises(DataError, match="the number of free parameters of these densities is not known"):
        DensityHMM(2, density=_Flat(), random_state=0, n_iter=1).fit(X).bic(X)


class _Flat:
    def fit(self, X, sample_weight):
        return self

    def logpdf(self, X):
        return np.zeros(len(X))


@pytest.mark.parametrize("criterion", ["bic", "aic", "cv"])
def test_the_number_of_states_is_found(criterion):
    rows = np.repeat([0.0, 6.0] * 4, 25)[:, None] + np.random.default_rng(0).normal(size=(200, 1))
    base = GaussianHMM(random_state=0, n_init=2, n_iter=30)
    choice = select_n_components(base, rows, n_components=[1, 2], criterion=criterion, cv=4)
    assert choice.best.n_components == 2
    assert choice.table["n_components"] == [1, 2]
    split = select_n_components(base, [rows[:100], rows[100:]], n_components=[1, 2], criterion=criterion, cv=2)
    assert split.best.n_components == 2
    assert not hasattr(base, "means_")


def test_a_choice_of_nothing_is_refused():
    with pytest.raises(ParameterError, match="n_components must name at least one number of states; got none"):
        select_n_components(GaussianHMM(), X, n_components=[])
    with pytest.raises(DataError, match="5 folds need at least 5 sequences; got 2"):
        select_n_components(GaussianHMM(), [X[:30], X[30:]], n_components=[1], criterion="cv")


def test_history_and_callbacks_tell_of_every_iteration():
    model = _fit(X)
    assert model.history_["objective"].shape == (3,)
    assert model.n_iter_ == 3
    assert not model.converged_
    assert MultinomialHMM(2, random_state=0, max_time=0.0).fit(np.array([[3, 1], [1, 3], [2, 2]])).n_iter_ == 1


@pytest.mark.parametrize("kind", ["parquet", "csv", "feather", "dataset", "folder"])
@pytest.mark.parametrize("labels", [["b", "a", "c"], [7, 3, 5]], ids=["text", "numbers"])
def test_a_column_of_a_table_in_files_says_which_rows_belong_together(tmp_path, kind, labels):
    table = pandas.DataFrame(X, columns=["x", "y"])
    table.insert(1, "who", np.repeat(labels, LENGTHS))
    path = tmp_path / f"rows.{kind}"
    if kind == "csv":
        table.to_csv(path, index=False, float_format="%.17g")
    elif kind == "feather":
        table.to_feather(path)
    else:
        path = tmp_path / "rows"
        path.mkdir()
        # The second group begins in one file and ends in the other.
        table[:25].to_parquet(path / "0.parquet")
        table[25:].to_parquet(path / "1.parquet")
    if kind == "parquet":
        path = tmp_path / "rows.parquet"
        table.to_parquet(path)
    rows = pyarrow.dataset.dataset(path) if kind == "dataset" else path
    model, expected = _fit(rows, groups="who"), _fit(table[["x", "y"]], lengths=LENGTHS)
    assert model.feature_names_in_.tolist() == ["x", "y"]
    np.testing.assert_allclose(model.means_, expected.means_, rtol=1e-12)
    np.testing.assert_allclose(model.transmat_, expected.transmat_, rtol=1e-12)
    np.testing.assert_allclose(
        model.predict_proba(rows, groups="who"), expected.predict_proba(table[["x", "y"]], LENGTHS), atol=1e-12
    )
    assert model.score(rows, groups="who") == pytest.approx(expected.score(table[["x", "y"]], LENGTHS), rel=1e-12)


def test_a_wrong_column_of_a_table_in_files_is_named(tmp_path):
    table = pandas.DataFrame(X, columns=["x", "y"]).assign(who=np.arange(60) % 3)
    table.to_parquet(tmp_path / "rows.parquet")
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(DataError, match=r"has no column 'when'; its columns are x, y, who"):
        _fit(tmp_path / "rows.parquet", groups="when")
    with pytest.raises(DataError, match=r"the rows of a group must follow each other; 60 runs belong to 3 groups"):
        _fit(tmp_path / "rows.parquet", groups="who")
    with pytest.raises(DataError, match=r"which needs a data frame or a table in a file; got PosixPath|WindowsPath"):
        _fit(tmp_path / "rows.npy", groups="who")
    table.assign(who=None).to_parquet(tmp_path / "nulls.parquet")
    with pytest.raises(DataError, match="has nulls in column 'who'"):
        _fit(tmp_path / "nulls.parquet", groups="who")


@pytest.mark.parametrize("lengths", [None, [700, 50, 1250]])
def test_streams_give_the_bits_of_the_array(lengths):
    generator = np.random.default_rng(4)
    X = np.repeat(3.0 * generator.normal(size=(40, 1)), 50, axis=0) + generator.normal(size=(2000, 2))
    X[17] = np.nan
    model = GaussianHMM(3, random_state=0, n_iter=3, tol=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        wanted = clone(model).fit(X, lengths=lengths)

        def rows():
            return iter(np.array_split(X, 7))

        found = clone(model).fit(rows, lengths=lengths)
    np.testing.assert_array_equal(found.transmat_, wanted.transmat_)
    np.testing.assert_array_equal(found.predict(rows, lengths=lengths), wanted.predict(X, lengths=lengths))
    assert found.score(rows, lengths=lengths) == wanted.score(X, lengths=lengths)


def test_states_may_have_the_densities_of_a_family_of_scipy():
    """SciPy's fits take no weights: the likelihood of weighted rows is maximised, as the Gaussian's own fit does."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(0.0, 1.0, 60), rng.normal(6.0, 2.0, 60)])[:, None]
    theirs = DensityHMM(2, density=scipy.stats.norm, n_iter=15, random_state=0, tol=0).fit(rows)
    ours = DensityHMM(2, density=GaussianDensity(), n_iter=15, random_state=0, tol=0).fit(rows)
    assert theirs.score(rows) == pytest.approx(ours.score(rows), abs=1e-6)
    for one, other in zip(theirs.densities_, ours.densities_, strict=True):
        mean, scale = one.arguments
        assert (mean, scale**2) == (pytest.approx(other.mean, abs=1e-5), pytest.approx(other.variance, abs=1e-4))


def test_lengths_in_the_place_of_targets_that_do_not_fit_are_refused():
    rows = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(DataError, match=r"lengths that sum to their number; got 2 values\. Pass lengths=\.\.\."):
        GaussianHMM(2, random_state=0).fit(rows, [20, 20])

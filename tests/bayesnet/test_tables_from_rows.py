"""Tables from rows: conditional frequencies, priors, experts, and EM where values are missing."""

import numpy as np
import pandas
import pytest

from mercer.bayesnet import BayesianNetwork, BayesNetLearner, fit_tables
from mercer.errors import DataError, ParameterError

NETWORK = BayesianNetwork(
    {"a": ("x", "y"), "b": ("u", "v", "w"), "c": ("no", "yes")},
    {"b": ("a",), "c": ("a", "b")},
    {
        "a": np.array([0.3, 0.7]),
        "b": np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]]),
        "c": np.array([[[0.9, 0.1], [0.4, 0.6], [0.5, 0.5]], [[0.2, 0.8], [0.7, 0.3], [0.1, 0.9]]]),
    },
)


def draw(n, seed=0):
    learner = BayesNetLearner(NETWORK)
    learner.__dict__.update({"_network": NETWORK, "edges_": None})
    return pandas.DataFrame(learner.sample(n, seed), columns=list(NETWORK.variables))


def lose(rows, share, seed=0):
    random = np.random.default_rng(seed)
    return rows.mask(random.random(rows.shape) < share, None)


@pytest.mark.catalogue("GM-05")
def test_tables_are_conditional_frequencies():
    rows = draw(200)
    network = fit_tables(NETWORK, rows)
    for a in "xy":
        for j, b in enumerate("uvw"):
            here = rows[(rows.a == a) & (rows.b == b)]
            share = (here.c == "yes").mean()
            assert network.tables["c"]["xy".index(a), j, 1] == pytest.approx(share)


@pytest.mark.catalogue("GM-05")
def test_the_generating_tables_are_recovered_as_rows_grow():
    errors = [
        max(np.abs(fit_tables(NETWORK, draw(n, n)).tables[name] - NETWORK.tables[name]).max() for name in "abc")
        for n in (300, 60_000)
    ]
    assert errors[1] < 0.02 < errors[0]


def test_priors_add_counts():
    rows = {"a": ["x", "x", "y"], "b": ["u", "v", "u"]}
    structure = {"b": ["a"]}
    assert fit_tables(structure, rows).tables["b"].tolist() == [[0.5, 0.5], [1.0, 0.0]]
    assert fit_tables(structure, rows, prior="k2").tables["b"][1].tolist() == [2 / 3, 1 / 3]
    assert fit_tables(structure, rows, prior="bdeu", sample_size=4.0).tables["b"][1].tolist() == [2 / 3, 1 / 3]
    assert fit_tables(structure, rows, prior={"b": [[0, 0], [1, 2]]}).tables["b"][1].tolist() == [0.5, 0.5]


def test_parents_without_rows_give_equal_probabilities_and_states_can_be_declared():
    network = fit_tables({"b": ["a"]}, {"a": ["x"], "b": ["u"]}, states={"a": ["x", "y"], "b": ["u", "v", "w"]})
    np.testing.assert_allclose(network.tables["b"], [[1, 0, 0], [1 / 3, 1 / 3, 1 / 3]])
    frame = pandas.DataFrame({"a": pandas.Categorical(["lo", "hi"], categories=["lo", "mid", "hi"])})
    assert fit_tables({"a": []}, frame).variables["a"] == ("lo", "mid", "hi")


def test_states_of_a_file_are_texts_and_match_numbers():
    from mercer.bayesnet import format_bif, read_bif

    rows = {"a": [0, 1, 1, 1], "b": [0, 0, 1, 1]}
    numbers = fit_tables({"b": ["a"]}, rows)
    texts = read_bif(format_bif(numbers))
    assert texts.variables["a"] == ("0", "1")
    assert fit_tables(texts, rows).tables["b"].tolist() == numbers.tables["b"].tolist()


def test_tables_of_an_expert_are_kept_beside_learnt_ones():
    rows = draw(500)
    network = fit_tables(NETWORK, rows, tables={"a": [0.5, 0.5]})
    assert network.tables["a"].tolist() == [0.5, 0.5]
    np.testing.assert_allclose(network.tables["b"], fit_tables(NETWORK, rows).tables["b"])


def test_weights_are_repetitions():
    rows = draw(50)
    weights = np.random.default_rng(0).integers(0, 4, 50)
    weighted = fit_tables(NETWORK, rows, weights)
    repeated = fit_tables(NETWORK, rows.loc[np.repeat(rows.index, weights)])
    for name in "abc":
        np.testing.assert_allclose(weighted.tables[name], repeated.tables[name])


def test_em_equals_counting_when_nothing_is_missing_and_beats_it_otherwise():
    rows = draw(40_000)
    complete = fit_tables(NETWORK, rows)
    # Values go missing more often where a is x: complete rows are a biased sample, EM is not fooled.
    gone = (rows.a == "x") & (np.random.default_rng(1).random(40_000) < 0.7)
    gaps = rows.copy()
    gaps.loc[gone, "b"] = None
    em = fit_tables(NETWORK, gaps)
    assert np.abs(em.tables["a"] - complete.tables["a"]).max() < 1e-12
    # Shares of the rows where b is left err by six deviations from those of all rows at most; EM has c beside them.
    whole, left = (rows.a == "x").sum(), (rows.a == "x").sum() - gone.sum()
    assert np.abs(em.tables["b"] - complete.tables["b"]).max() < 6 * np.sqrt(0.25 * (1 / left - 1 / whole))
    biased = fit_tables(NETWORK, gaps[~gone])
    assert np.abs(biased.tables["a"] - complete.tables["a"]).max() > 0.1


def test_the_likelihood_of_em_never_falls_and_its_limit_is_stationary():
    rows = lose(draw(600), 0.25)
    model = BayesNetLearner(dict(NETWORK.parents), tol=1e-10).fit(rows)
    objective = model.history_["objective"]
    assert len(objective) > 3
    assert (np.diff(objective) >= -1e-12).all()
    assert model.converged_
    assert model.certificate_.kind == "likelihood ascent"
    assert model.certificate_.value < 1e-8
    assert objective[-1] == pytest.approx(model.score(rows), abs=1e-7)


def test_the_expected_counts_equal_those_over_the_whole_joint_table():
    rows = lose(draw(40), 0.4, 3)
    once = BayesNetLearner(dict(NETWORK.parents), max_iter=1)
    with pytest.warns(UserWarning, match=r"stopped by max_iter"):
        once.fit(rows)
    # One EM step by hand, from the tables that the learner starts with: frequencies of the observed families, plus one.
    start = {}
    for name, above in NETWORK.parents.items():
        seen = rows[[*above, name]].dropna()
        table = np.ones(NETWORK.tables[name].shape)
        for _, row in seen.iterrows():
            table[tuple(NETWORK.variables[key].index(row[key]) for key in (*above, name))] += 1
        start[name] = table / table.sum(axis=-1, keepdims=True)
    joint = np.einsum("a,ab,abc->abc", start["a"], start["b"], start["c"])
    counts = np.zeros_like(joint)
    for _, row in rows.iterrows():
        place = tuple(
            slice(None)
            if row[key] is None or row[key] != row[key]
            else slice(code := NETWORK.variables[key].index(row[key]), code + 1)
            for key in "abc"
        )
        part = np.zeros_like(joint)
        part[place] = joint[place]
        counts += part / part.sum()
    np.testing.assert_allclose(once.network_.tables["a"], counts.sum(axis=(1, 2)) / counts.sum())
    pair = counts.sum(axis=2)
    np.testing.assert_allclose(once.network_.tables["b"], pair / pair.sum(axis=1, keepdims=True))


def test_the_junction_tree_gives_the_result_of_listed_combinations(monkeypatch):
    from mercer.bayesnet._learning import incomplete_rows

    rows = lose(draw(60), 0.5, 4)
    listed = BayesNetLearner(dict(NETWORK.parents)).fit(rows)
    scores, filled = listed.score_samples(rows), listed.impute(rows)
    monkeypatch.setattr(incomplete_rows, "_MOST_COMBINATIONS", 1)
    compiled = BayesNetLearner(dict(NETWORK.parents)).fit(rows)
    for name in "abc":
        np.testing.assert_allclose(compiled.network_.tables[name], listed.network_.tables[name], rtol=1e-9)
    np.testing.assert_allclose(listed.score_samples(rows), scores, atol=1e-12)
    assert listed.impute(rows).equals(filled)


def test_a_hidden_variable_is_learnt_by_em():
    random = np.random.default_rng(0)
    hidden = random.random(3000) < 0.4
    flip = lambda: hidden ^ (random.random(3000) < 0.1)  # noqa: E731
    rows = {"p": flip(), "q": flip(), "r": flip()}
    structure = {"p": ["h"], "q": ["h"], "r": ["h"]}
    network = fit_tables(structure, rows, states={"h": [0, 1]}, max_iter=500, tol=1e-9)
    assert sorted(network.tables["h"])[0] == pytest.approx(0.4, abs=0.05)
    assert sorted(network.tables["q"][:, 0])[0] == pytest.approx(0.1, abs=0.05)


def test_bad_input_is_refused_with_a_cure():
    rows = {"a": ["x", "y"], "b": ["u", "v"]}
    with pytest.raises(DataError, match=r"'z' is none of a, b. Add the column, or pass its states"):
        fit_tables({"a": ["z"]}, rows)
    with pytest.raises(ParameterError, match=r"prior\['b'\] must have the shape \(2, 2\) of the table"):
        fit_tables({"b": ["a"]}, rows, prior={"b": [1, 2, 3]})
    with pytest.raises(DataError, match=r"tables\['a'\] must hold probabilities that sum to 1"):
        fit_tables({"b": ["a"]}, rows, tables={"a": [0.5, 0.6]})
    with pytest.raises(DataError, match=r"column 'a' must hold one of its states 'x'; got 'y', an unknown state"):
        fit_tables({"b": ["a"]}, rows, states={"a": ["x"]})
    with pytest.raises(DataError, match=r"one number per row, 2; got 3"):
        fit_tables({"b": ["a"]}, rows, [1, 1, 1])
    with pytest.raises(DataError, match=r"cycle"):
        fit_tables([("a", "b"), ("b", "a")], rows)

"""Probability tables: the dentist, events, conditioning, counts, growth, and many axes."""

import numpy as np
import pytest

import mercer
from mercer.bayesnet import (
    Event,
    Factor,
    GrowthWarning,
    ProbabilityTable,
    conditional_independence,
    conditional_mutual_information,
    load_dentist,
    load_meningitis,
)
from mercer.errors import DataError, MemoryForecastError, ParameterError

YES_NO = ("yes", "no")


@pytest.mark.catalogue("GM-01")
def test_the_dentist_table_has_the_given_marginals_and_sums_to_one():
    table = load_dentist()
    assert table.total() == pytest.approx(1, abs=1e-15)
    assert table.probability(Event("cavity", "yes")) == pytest.approx(0.01, abs=1e-15)
    assert table.probability({"weather": "sunny"}) == pytest.approx(0.3, abs=1e-15)


@pytest.mark.catalogue("GM-01")
def test_propositions_obey_the_laws_of_probability():
    table, a, b = load_dentist(), Event("cavity", "yes"), Event("toothache", "yes")
    either = table.probability(a) + table.probability(b) - table.probability(a & b)
    assert table.probability(a | b) == pytest.approx(either, abs=1e-15)
    assert table.probability(~a) == pytest.approx(0.99, abs=1e-15)
    assert table.probability(~(a | b)) == pytest.approx(table.probability(~a & ~b), abs=1e-15)
    assert table.probability(a & ~a) == 0
    assert table.probability(Event("weather", "rain", "snow")) == pytest.approx(0.3, abs=1e-15)


@pytest.mark.catalogue("GM-01")
def test_conditioning_divides_and_the_product_rule_multiplies_back():
    random = np.random.default_rng(0)
    table = ProbabilityTable(
        {"a": range(3), "b": range(2), "c": range(4)}, random.dirichlet(np.ones(24)).reshape(3, 2, 4)
    )
    given = table.condition({"b": 1})
    np.testing.assert_allclose(given.array, table.array[:, 1] / table.array[:, 1].sum(), rtol=1e-14)
    back = table.marginal(["b"]).product(table.conditional(["a", "c"], ["b"])).reorder(["a", "b", "c"])
    np.testing.assert_allclose(back.array, table.array, rtol=1e-14)


@pytest.mark.catalogue("GM-01")
def test_a_table_fitted_to_rows_has_their_frequencies():
    rows = {"a": ["x", "y", "x", "x"], "b": [1, 0, 1, 0]}
    table = ProbabilityTable.fit(rows)
    assert table.to_dict() == {("x", 0): 0.25, ("x", 1): 0.5, ("y", 0): 0.25, ("y", 1): 0.0}
    weighted = ProbabilityTable.fit(rows, sample_weight=[1, 2, 0, 1], prior=1.0)
    assert weighted.value({"a": "y", "b": 0}) == pytest.approx(3 / 8)
    from_frame = pytest.importorskip("pandas").DataFrame(rows)
    np.testing.assert_array_equal(ProbabilityTable.fit(from_frame).values, table.values)
    counts = ProbabilityTable.from_counts({"a": YES_NO}, [3, 1])
    assert counts.to_dict() == {"yes": 0.75, "no": 0.25}


@pytest.mark.catalogue("GM-01")
def test_a_large_table_warns_of_its_growth_and_one_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr("mercer.bayesnet._tables.factor.GROWTH", 1024)
    half = Factor({"y": YES_NO}, [0.5, 0.5])
    uniform = Factor({f"x{v}": YES_NO for v in range(9)}, np.full(512, 1 / 512))
    with pytest.warns(GrowthWarning, match="the table over 10 variables has 1024 values; its size is the product"):
        uniform.product(half)
    network = mercer.bayesnet.random_network(60, 0)
    with pytest.raises(MemoryForecastError, match="use a BayesianNetwork and its junction tree"):
        network.joint_table()


def test_a_factor_may_have_more_variables_than_numpy_has_axes():
    observed = {f"o{v}": ("seen",) for v in range(100)}
    factor = Factor({"a": YES_NO, **observed, "b": (0, 1, 2)}, np.arange(6.0))
    other = Factor({**observed, "b": (0, 1, 2)}, [1.0, 2.0, 3.0])
    product = factor.product(other)
    np.testing.assert_array_equal(product.values, [0, 2, 6, 3, 8, 15])
    np.testing.assert_array_equal(product.sum_out([*observed, "b"]).values, [8, 26])
    np.testing.assert_array_equal(product.maximise_out(["a"]).values, [3, 8, 15])
    assert product.reduce({"a": "no", "o7": "seen"}).values.tolist() == [3, 8, 15]
    assert product.reorder([*observed, "b", "a"]).values.tolist() == [0, 3, 2, 8, 6, 15]
    assert product.normalise().most_probable()["b"] == 2
    with pytest.raises(DataError, match="NumPy arrays have at most 64 axes; this table has 102"):
        _ = product.array


@pytest.mark.catalogue("GM-02")
def test_a_common_cause_and_a_collider_are_told_apart():
    flips = np.array([[0.9, 0.1], [0.2, 0.8]])
    cause = np.array([0.3, 0.7])
    common = ProbabilityTable(
        {"z": YES_NO, "x": YES_NO, "y": YES_NO}, cause[:, None, None] * flips[:, :, None] * flips[:, None, :]
    )
    assert not conditional_independence(common, "x", "y")
    assert conditional_independence(common, "x", "y", "z")
    assert conditional_mutual_information(common, "x", "y", ["z"]) == pytest.approx(0, abs=1e-15)
    alarm = np.zeros((2, 2, 2))
    alarm[..., 0] = [[0.95, 0.6], [0.5, 0.01]]
    alarm[..., 1] = 1 - alarm[..., 0]
    collider = ProbabilityTable(
        {"x": YES_NO, "y": YES_NO, "z": YES_NO}, cause[:, None, None] * np.array([0.4, 0.6])[:, None] * alarm
    )
    assert conditional_independence(collider, "x", "y")
    assert not conditional_independence(collider, ["x"], ["y"], ["z"])
    assert conditional_mutual_information(collider, "x", "y", "z") > 0.01


def test_mutual_information_of_equal_variables_is_their_entropy():
    table = ProbabilityTable({"x": range(3), "y": range(3)}, np.diag([0.5, 0.25, 0.25]))
    assert conditional_mutual_information(table, "x", "y") == pytest.approx(1.5 * np.log(2))
    assert table.entropy() == pytest.approx(1.5 * np.log(2))


@pytest.mark.catalogue("GM-03")
def test_meningitis_a_doubled_base_rate_changes_the_symptoms_frequency_too():
    usual, epidemic = load_meningitis(), load_meningitis(prior=2 / 50_000)
    assert usual.query("stiff_neck").values[0] == pytest.approx(0.01, abs=1e-15)
    assert usual.query("meningitis", {"stiff_neck": "yes"}).values[0] == pytest.approx(0.0014, abs=1e-15)
    symptom = 0.7 * 2 / 50_000 + (0.01 - 0.7 / 50_000) / (1 - 1 / 50_000) * (1 - 2 / 50_000)
    assert epidemic.query("stiff_neck").values[0] == pytest.approx(symptom, rel=1e-14)
    posterior = epidemic.query("meningitis", {"stiff_neck": "yes"}).values[0]
    assert posterior == pytest.approx(0.7 * 2 / 50_000 / symptom, rel=1e-14)
    assert posterior < 0.0028


def test_tables_survive_in_model_files(tmp_path):
    mercer.save(load_dentist(), tmp_path / "table.mercer")
    again = mercer.load(tmp_path / "table.mercer")
    assert again.variables == load_dentist().variables
    np.testing.assert_array_equal(again.values, load_dentist().values)


def make_unsummed():
    return ProbabilityTable({"a": YES_NO}, [0.5, 0.6])


def make_negative():
    return Factor({"a": YES_NO}, [-1.0, 2.0])


def make_misshapen():
    return Factor({"a": YES_NO, "b": YES_NO}, np.ones((2, 3)))


def repeat_states():
    return Factor({"a": ("x", "x")}, [1.0, 1.0])


def pass_text_as_states():
    return Factor({"a": "yes"}, [1.0])


def ask_for_unknown_state():
    return load_dentist().condition({"cavity": "maybe"})


def ask_for_misspelt_variable():
    return load_dentist().marginal("cavety")


def condition_on_the_impossible():
    return ProbabilityTable({"a": YES_NO, "b": YES_NO}, [[0.5, 0.5], [0, 0]]).condition({"a": "no"})


def multiply_two_joints():
    return load_dentist().product(load_dentist().marginal("cavity"))


def read_absent_column():
    return ProbabilityTable.fit({"a": [1]}, {"a": [1], "b": [2]})


def read_missing_value():
    return ProbabilityTable.fit({"a": ["x", None]}, {"a": ["x", "y"]})


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (make_unsummed, r"`values` must sum to 1; got 1\.1\. Divide by the sum, or use a Factor\."),
        (make_negative, r"`values` must be finite and at least 0; got -1\.0"),
        (make_misshapen, r"must have the shape \(2, 2\) of the variables \['a', 'b'\]"),
        (repeat_states, r"the states of 'a' must differ from each other; got \['x', 'x'\]"),
        (pass_text_as_states, r"the states of 'a' must be a sequence; got str 'yes'"),
        (ask_for_unknown_state, r"'cavity' has the states \['yes', 'no'\]; got 'maybe'"),
        (ask_for_misspelt_variable, r"'cavety' is not a variable\. Did you mean 'cavity'\?"),
        (condition_on_the_impossible, r"the evidence \{'a': 'no'\} has probability zero in this table"),
        (multiply_two_joints, r"a product of probabilities must sum to 1; this one sums to 0\.98"),
        (read_absent_column, r"`rows` must have a column for each variable; \['b'\] are missing"),
        (read_missing_value, r"row 1 holds None\. Fill in or drop rows with missing values\."),
    ],
)
def test_wrong_tables_are_refused(call, text):
    with pytest.raises(DataError, match=text):
        call()


def test_propositions_cannot_be_joined_by_words_and_tolerances_are_checked():
    with pytest.raises(DataError, match="propositions are joined by &"):
        _ = Event("a", "x") and Event("b", "y")
    with pytest.raises(DataError, match="a proposition is made of Events"):
        load_dentist().probability(3)
    with pytest.raises(ParameterError, match="`tol` must be at least 0"):
        conditional_independence(load_dentist(), "cavity", "weather", tol=-1.0)

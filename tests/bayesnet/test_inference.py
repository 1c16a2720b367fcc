"""Exact inference: every method against the joint table, on many small random networks."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mercer
from mercer.bayesnet import BayesianNetwork, load_burglary, make_network, random_network
from mercer.bayesnet._inference.plan import make_plan
from mercer.errors import DataError, MemoryForecastError
from tests.bayesnet.networks import draw_case, draw_network, enumerate_case

# Random networks for each seed; each is asked several questions about all its variables.
TRIALS = 60


@pytest.mark.catalogue("GM-06", "GM-13")
@pytest.mark.parametrize("seed", range(6))
def test_marginals_evidence_and_explanations_equal_the_joint_tables(seed):
    random = np.random.default_rng(seed)
    for trial in range(TRIALS):
        network = draw_network(random, int(random.integers(1, 8)), zeros=trial % 2 == 0)
        tree = network.compile()
        evidence, likelihoods = draw_case(random, network)
        truth = enumerate_case(network, evidence, likelihoods)
        tree.set_evidence(evidence, likelihoods)
        assert tree.probability() == pytest.approx(truth.total(), rel=1e-12)
        if truth.total() == 0:
            with pytest.raises(DataError, match="the evidence has probability zero"):
                tree.marginals()
            continue
        posterior = truth.normalise()
        for name, table in tree.marginals().items():
            np.testing.assert_allclose(table.values, posterior.marginal([name]).values, rtol=0, atol=1e-13)
        assert tree.calibration_residual() < 1e-13
        states, log_probability = tree.most_probable()
        assert log_probability == pytest.approx(np.log(truth.values.max()), rel=1e-12, abs=1e-12)
        assert truth.value(states) == pytest.approx(truth.values.max(), rel=1e-12)


@pytest.mark.catalogue("GM-06")
def test_all_methods_answer_joint_queries_alike():
    random = np.random.default_rng(10)
    for trial in range(80):
        network = draw_network(random, int(random.integers(2, 7)), zeros=trial % 2 == 0)
        evidence, likelihoods = draw_case(random, network)
        truth = enumerate_case(network, evidence, likelihoods)
        if truth.total() == 0:
            continue
        targets = random.permutation(list(network.variables))[: int(random.integers(1, 4))].tolist()
        expected = truth.normalise().marginal(targets)
        for method in ("junction_tree", "elimination", "enumeration"):
            table = network.query(targets, evidence, soft_evidence=likelihoods, method=method)
            assert list(table.variables) == targets
            np.testing.assert_allclose(table.values, expected.values, rtol=0, atol=1e-13)


@pytest.mark.catalogue("GM-13")
def test_evidence_entered_bit_by_bit_and_retracted_gives_the_same_bits():
    random = np.random.default_rng(11)
    for trial in range(60):
        network = draw_network(random, int(random.integers(3, 9)), zeros=trial % 3 == 0)
        evidence, likelihoods = draw_case(random, network)
        fresh, walked = network.compile(), network.compile()
        fresh.set_evidence(evidence, likelihoods)
        detour, _ = draw_case(random, network)
        walked.update(detour)
        if walked.probability() > 0:
            walked.marginal(next(iter(network.variables)))
        walked.update(dict.fromkeys(detour))
        for name, state in evidence.items():
            walked.update({name: state})
        walked.update(None, likelihoods)
        assert walked.evidence == evidence
        assert walked.log_evidence() == fresh.log_evidence()
        if fresh.probability() > 0:
            for name, table in fresh.marginals().items():
                np.testing.assert_array_equal(walked.marginal(name).values, table.values)


@pytest.mark.catalogue("GM-13")
def test_many_cases_at_once_have_the_bits_of_single_cases_on_any_number_of_threads():
    network = make_network("alarm_size")
    tree = network.compile()
    random = np.random.default_rng(12)
    rows = network.sample(70, random_state=1)
    names = list(network.variables)
    cases = [{name: rows[name][row] for name in random.choice(names, 5, replace=False)} for row in range(70)]
    one = tree.marginals_many(cases, n_jobs=1)
    for threads in (2, 3, 4):
        other = tree.marginals_many(cases, n_jobs=threads)
        np.testing.assert_array_equal(other.posteriors, one.posteriors)
        np.testing.assert_array_equal(other.log_evidence, one.log_evidence)
    for row in (0, 17, 69):
        tree.set_evidence(cases[row])
        assert tree.log_evidence() == one.log_evidence[row]
        for name, table in tree.marginals().items():
            np.testing.assert_array_equal(one[name][row], table.values)


def test_cases_come_from_frames_with_missing_values_and_impossible_ones_are_nan():
    pandas = pytest.importorskip("pandas")
    network = BayesianNetwork(
        {"a": ["x", "y"], "b": ["x", "y"]}, {"b": ["a"]}, {"a": [1.0, 0.0], "b": [[0.3, 0.7], [0.5, 0.5]]}
    )
    cases = pandas.DataFrame({"a": [None, "y", "x"], "b": ["x", None, None]})
    answers = network.compile().marginals_many(cases)
    np.testing.assert_allclose(np.exp(answers.log_evidence), [0.3, 0.0, 1.0])
    assert np.isnan(answers["a"][1]).all()
    np.testing.assert_allclose(answers["b"][2], [0.3, 0.7])
    with pytest.raises(DataError, match=r"case 1: 'b' has the states \['x', 'y'\]; got 'z'"):
        network.compile().marginals_many([{}, {"b": "z"}])


@pytest.mark.catalogue("GM-12", "GM-13")
def test_compiled_trees_have_running_intersection_and_place_each_table_once():
    random = np.random.default_rng(13)
    for _ in range(60):
        network = draw_network(random, int(random.integers(1, 12)), density=0.3)
        tree = network.compile()
        public = mercer.bayesnet.CliqueTree(tree.cliques, tree.edges, tree.separators)
        assert public.has_running_intersection()
        weight = sum(len(separator) for separator in mercer.bayesnet.junction_tree(tree.cliques).separators)
        assert sum(len(separator) for separator in tree.separators) == weight
        plan, names = tree.plan, list(network.variables)
        for v, name in enumerate(names):
            family = {names.index(member) for member in (*network.parents[name], name)}
            assert family <= set(plan.cliques[plan.table_clique[v]])


@pytest.mark.catalogue("GM-12")
def test_a_decomposable_joint_is_the_product_of_cliques_over_separators():
    network = load_burglary()
    tree = network.compile()
    values = np.ones(1)
    product = mercer.bayesnet.Factor({}, values)
    for clique in tree.cliques:
        product = product.product(network.joint_table().marginal(clique))
    for separator in tree.separators:
        product = product.divide(network.joint_table().marginal(separator))
    np.testing.assert_allclose(
        product.reorder(list(network.variables)).values, network.joint_table().values, atol=1e-16
    )


@pytest.mark.catalogue("GM-13")
def test_the_initial_place_of_tables_does_not_matter(monkeypatch):
    random = np.random.default_rng(14)
    network = draw_network(random, 8, density=0.35)
    evidence, _ = draw_case(random, network, hard=0.2)
    expected = network.query("x0", evidence).values

    def place_elsewhere(parents, rank, nodes):
        """Put each table into the last clique that holds its family instead of the first."""
        families = [{own, *above} for own, above in enumerate(parents)]
        return tuple(
            max(c for c, node in enumerate(nodes) if all(node.members >> v & 1 for v in family)) for family in families
        )

    make_plan.cache_clear()
    monkeypatch.setattr("mercer.bayesnet._inference.plan._place_tables", place_elsewhere)
    try:
        tree = network.compile()
        tree.set_evidence(evidence)
        np.testing.assert_allclose(tree.marginal("x0").values, expected, atol=1e-14)
        assert tree.calibration_residual() < 1e-14
    finally:
        make_plan.cache_clear()


def test_a_variable_with_a_thousand_children_does_not_underflow():
    n = 1000
    variables = {"class": ["p", "q"], **{f"x{v}": ["u", "w"] for v in range(n)}}
    table = [[1e-3, 1 - 1e-3], [1e-4, 1 - 1e-4]]
    network = BayesianNetwork(
        variables,
        {f"x{v}": ["class"] for v in range(n)},
        {"class": [0.5, 0.5], **{f"x{v}": table for v in range(n)}},
    )
    evidence = {f"x{v}": "u" for v in range(n)}
    expected = np.logaddexp(n * np.log(1e-3), n * np.log(1e-4)) + np.log(0.5)
    assert network.log_evidence(evidence) == pytest.approx(expected, rel=1e-12)
    assert network.compile().plan.cells[-1] <= 16
    half = {f"x{v}": "u" if v < 500 else "w" for v in range(n)}
    assert network.query("class", half).values[0] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.catalogue("GM-06")
def test_maxima_of_a_subset_sum_out_the_rest_first():
    random = np.random.default_rng(15)
    for trial in range(60):
        network = draw_network(random, int(random.integers(2, 7)), zeros=trial % 2 == 0)
        evidence, _ = draw_case(random, network)
        truth = enumerate_case(network, evidence, {})
        if truth.total() == 0:
            continue
        targets = random.permutation(list(network.variables))[: int(random.integers(1, 5))].tolist()
        table = truth.normalise().marginal(targets)
        answer = network.most_probable(evidence, targets)
        assert answer.posterior == pytest.approx(table.values.max(), rel=1e-11)
        assert table.value(answer.states) == pytest.approx(table.values.max(), rel=1e-11)


def test_sensitivities_equal_difference_quotients_and_the_quotient_of_lines():
    random = np.random.default_rng(16)
    for _ in range(12):
        network = draw_network(random, 5)
        name = str(random.choice([key for key, states in network.variables.items() if len(states) > 1] or ["x0"]))
        parameter = {key: network.variables[key][0] for key in (*network.parents[name], name)}
        target = {"x0": network.variables["x0"][-1]}
        evidence = {"x4": network.variables["x4"][0]}
        answer = network.sensitivity(target, evidence, parameter=parameter)
        row = (0,) * len(network.parents[name])

        def change(entry, name=name, row=row, network=network, target=target, evidence=evidence):
            table = network.tables[name].copy()
            rest = np.delete(table[row], 0)
            table[row] = [entry, *(rest / rest.sum() * (1 - entry))] if len(rest) else [1.0]
            return network.with_tables({name: table}).query("x0", evidence).value(target)

        if len(network.variables[name]) == 1:
            continue
        assert answer.posterior == pytest.approx(change(answer.entry), rel=1e-12)
        for entry in (0.05, 0.9):
            assert answer.at(entry) == pytest.approx(change(entry), rel=1e-10)
        step = 1e-6
        slope = (change(answer.entry + step) - change(answer.entry - step)) / (2 * step)
        assert answer.derivative == pytest.approx(slope, abs=1e-7)


def test_contradicting_findings_are_named():
    network = BayesianNetwork(
        {"rain": ["yes", "no"], "wet": ["yes", "no"], "late": ["yes", "no"], "cold": ["yes", "no"]},
        {"wet": ["rain"], "late": ["wet"]},
        {
            "rain": [0.5, 0.5],
            "wet": [[1.0, 0.0], [0.1, 0.9]],
            "late": [[0.5, 0.5], [0.2, 0.8]],
            "cold": [1.0, 0.0],
        },
    )
    text = r"'rain' = 'yes' and 'wet' = 'no' contradict each other\. Drop one of them"
    for ask in (
        lambda evidence: network.query("late", evidence),
        network.marginals,
        network.most_probable,
        lambda evidence: network.sample(3, 0, evidence),
        lambda evidence: network.query("late", evidence, method="enumeration"),
        lambda evidence: network.query(["late", "cold"], evidence),
    ):
        with pytest.raises(DataError, match=text):
            ask({"cold": "yes", "rain": "yes", "wet": "no"})
    with pytest.raises(DataError, match=r"'cold' = 'no' has probability zero\."):
        network.marginals({"cold": "no", "rain": "yes"})
    assert network.probability({"cold": "no"}) == 0


@pytest.mark.catalogue("GM-13")
def test_the_forecast_counts_cells_and_a_network_too_wide_is_refused_before_memory_is_taken():
    tree = load_burglary().compile()
    forecast = tree.forecast()
    assert (forecast.n_cliques, forecast.largest_cells, forecast.total_cells) == (3, 8, 16)
    assert set(forecast.largest_clique) == {"burglary", "earthquake", "alarm"}
    assert 0 < forecast.largest_operations < forecast.n_operations
    wide = random_network(120, 340, n_states=4, max_parents=3, random_state=0)
    assert wide.forecast().n_bytes > 2**45
    with pytest.raises(MemoryForecastError, match=r"the largest with \d+ cells, needs .* use `approximate`"):
        wide.query("x0")


def test_soft_evidence_may_be_a_mapping_and_must_be_likelihoods():
    network = load_burglary()
    first = network.query("burglary", soft_evidence={"alarm": [0.8, 0.1]}).values
    second = network.query("burglary", soft_evidence={"alarm": {"yes": 0.8, "no": 0.1}}).values
    np.testing.assert_array_equal(first, second)
    hard = network.query("burglary", {"alarm": "yes"}).values
    np.testing.assert_allclose(
        network.query("burglary", soft_evidence={"alarm": {"yes": 3.0}}).values, hard, atol=1e-15
    )
    with pytest.raises(DataError, match="must be 2 finite likelihoods of at least 0, not all 0"):
        network.query("burglary", soft_evidence={"alarm": [0.0, 0.0]})


def test_large_cliques_are_cut_into_chunks_with_the_same_bits_on_any_number_of_threads(monkeypatch):
    network = make_network("barley_size")
    evidence = {"x40": "s1"}
    answers = {}
    for threads in (1, 2, 3, 4):
        monkeypatch.setattr("mercer.bayesnet._inference.workspace.available_threads", lambda threads=threads: threads)
        tree = network.compile()
        assert tree.plan.large
        tree.set_evidence({"x40": "s0", "x3": "s0"})
        tree.log_evidence()
        tree.set_evidence(evidence)
        answers[threads] = (tree.log_evidence(), *(table.values for table in tree.marginals().values()))
    for threads in (2, 3, 4):
        for one, other in zip(answers[1], answers[threads], strict=True):
            np.testing.assert_array_equal(one, other)
    many = tree.marginals_many([evidence])
    np.testing.assert_array_equal(many.posteriors[0], np.concatenate(answers[1][1:]))
    for name in ("x5", "x30"):
        expected = network.query(name, evidence, method="elimination").values
        np.testing.assert_allclose(many[name][0], expected, atol=1e-13)
    assert tree.calibration_residual() < 1e-13


def test_a_tree_survives_pickling_with_its_evidence():
    tree = load_burglary().compile()
    tree.set_evidence({"john": "yes"}, {"mary": [0.7, 0.2]})
    again = pickle.loads(pickle.dumps(tree))
    assert again.evidence == {"john": "yes"}
    assert again.log_evidence() == tree.log_evidence()
    np.testing.assert_array_equal(again.marginal("burglary").values, tree.marginal("burglary").values)


def test_tiny_likelihoods_do_not_underflow():
    network = load_burglary()
    tiny = {name: np.array([0.8, 0.1]) * 1e-250 for name in ("burglary", "earthquake", "alarm")}
    plain = {name: [0.8, 0.1] for name in tiny}
    shift = 3 * 250 * np.log(10)
    assert network.log_evidence(None, tiny) == pytest.approx(network.log_evidence(None, plain) - shift, rel=1e-14)
    np.testing.assert_allclose(
        network.query("john", soft_evidence=tiny).values, network.query("john", soft_evidence=plain).values, rtol=1e-13
    )


def test_threads_may_ask_one_network_at_the_same_time():
    network = make_network("insurance_size")
    rows = network.sample(40, random_state=0)
    cases = [{name: rows[name][row] for name in ("x3", "x20", "x26")} for row in range(40)]
    expected = [network.marginals(case)["x10"].values for case in cases]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda case: network.marginals(case)["x10"].values, cases))
    for one, other in zip(expected, answers, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.catalogue("GM-12")
def test_groups_of_children_do_not_show_in_the_public_tree():
    names = [f"x{v}" for v in range(30)]
    network = BayesianNetwork(
        {"class": ("p", "q"), **dict.fromkeys(names, ("u", "w"))},
        {name: ["class"] for name in names},
        {"class": [0.4, 0.6], **dict.fromkeys(names, ((0.3, 0.7), (0.8, 0.2)))},
    )
    tree = network.compile()
    assert len(tree.cliques) == 30
    assert len(tree.plan.cliques) > 30
    assert set(tree.separators) == {("class",)}
    assert mercer.bayesnet.CliqueTree(tree.cliques, tree.edges, tree.separators).has_running_intersection()
    tree.set_evidence(dict.fromkeys(names[:20], "u"))
    odds = 0.4 * 0.3**20 / (0.6 * 0.8**20)
    assert tree.marginal("class").values[0] == pytest.approx(odds / (1 + odds), rel=1e-12)
    assert tree.calibration_residual() < 1e-14

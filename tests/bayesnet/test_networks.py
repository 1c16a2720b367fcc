"""Networks: the joint table, parameters, dicts, blankets, d-separation, samples, generators, files, errors."""

import itertools
import pickle

import numpy as np
import pytest

import mercer
from mercer.bayesnet import (
    BayesianNetwork,
    conditional_independence,
    load_burglary,
    make_network,
    random_network,
)
from mercer.errors import DataError, ModelFileError, ParameterError
from tests.bayesnet.networks import draw_network


@pytest.mark.catalogue("GM-04")
def test_the_joint_table_is_the_product_of_the_tables_and_sums_to_one():
    network = draw_network(np.random.default_rng(0), 6)
    joint = network.joint_table()
    assert joint.total() == pytest.approx(1, abs=1e-14)
    for states in itertools.islice(itertools.product(*network.variables.values()), 50):
        row = dict(zip(network.variables, states, strict=True))
        product = 1.0
        for name in network.variables:
            family = [*network.parents[name], name]
            place = tuple(network.variables[member].index(row[member]) for member in family)
            product *= network.tables[name][place]
        assert joint.value(row) == pytest.approx(product, rel=1e-14)
        assert network.log_probability([row])[0] == pytest.approx(np.log(product), rel=1e-13)


@pytest.mark.catalogue("GM-04")
def test_the_number_of_parameters_follows_the_formula():
    network = load_burglary()
    assert network.n_parameters == 10
    assert network.joint_table().values.size - 1 == 31
    other = draw_network(np.random.default_rng(1), 7)
    count = {name: len(states) for name, states in other.variables.items()}
    expected = sum((count[name] - 1) * np.prod([count[p] for p in other.parents[name]]) for name in other.variables)
    assert other.n_parameters == expected


@pytest.mark.catalogue("GM-07")
def test_burglary_the_textbook_numbers():
    network = load_burglary()
    calls = {"john": "yes", "mary": "yes"}
    assert network.query("burglary", calls).values[0] == pytest.approx(0.284172, abs=5e-7)
    row = {**calls, "alarm": "yes", "burglary": "no", "earthquake": "no"}
    assert network.probability(row) == pytest.approx(0.000628111, abs=5e-10)
    assert network.query("alarm").values[0] == pytest.approx(0.002516442, abs=5e-10)
    assert network.query("john").values[0] == pytest.approx(0.0521389757, abs=5e-11)
    graph = network.moral_graph()
    assert "earthquake" in graph["burglary"]
    assert sum(len(around) for around in graph.values()) // 2 == len(network.edges) + 1
    tree = network.compile()
    cliques = {frozenset(clique) for clique in tree.cliques}
    assert cliques == {
        frozenset({"alarm", "burglary", "earthquake"}),
        frozenset({"alarm", "john"}),
        frozenset({"alarm", "mary"}),
    }
    assert tree.separators == (("alarm",), ("alarm",))


@pytest.mark.catalogue("GM-08")
def test_blankets_shield_a_variable_from_all_others():
    burglary = load_burglary()
    assert burglary.blanket("alarm") == {"burglary", "earthquake", "john", "mary"}
    assert burglary.blanket("burglary") == {"alarm", "earthquake"}
    random = np.random.default_rng(2)
    for _ in range(20):
        network = draw_network(random, 5)
        joint = network.joint_table()
        for name in network.variables:
            blanket = network.blanket(name)
            others = [other for other in network.variables if other != name and other not in blanket]
            if others:
                assert conditional_independence(joint, name, others, sorted(blanket), tol=1e-12)


@pytest.mark.catalogue("GM-08")
def test_non_descendants_are_independent_given_the_parents():
    random = np.random.default_rng(3)
    for _ in range(20):
        network = draw_network(random, 5)
        joint = network.joint_table()
        for name in network.variables:
            below, stack = {name}, [name]
            while stack:
                fresh = set(network.children[stack.pop()]) - below
                below |= fresh
                stack.extend(fresh)
            others = [o for o in network.variables if o not in below and o not in network.parents[name]]
            if others:
                assert conditional_independence(joint, name, others, network.parents[name], tol=1e-12)


@pytest.mark.catalogue("GM-08")
def test_d_separation_agrees_with_all_paths_and_with_the_joint_table():
    random = np.random.default_rng(4)
    counts = {True: 0, False: 0}
    for _ in range(150):
        network = random_network(6, int(random.integers(4, 9)), random_state=random)
        names = random.permutation(list(network.variables)).tolist()
        x, y, given = names[0], names[1], names[2 : 2 + int(random.integers(4))]
        separated = network.d_separated(x, y, given)
        counts[separated] += 1
        assert separated == (not has_active_path(network, x, y, set(given)))
        # Random tables have no independence that the graph does not imply.
        assert network.is_independent(x, y, given, tol=1e-12) == separated
    assert min(counts.values()) > 20


def has_active_path(network, x, y, given):
    """Whether one of all simple paths from x to y is active: every chain or fork open, every collider opened."""
    around = {name: {*network.parents[name], *network.children[name]} for name in network.variables}
    stack = [[x]]
    while stack:
        path = stack.pop()
        if path[-1] == y:
            if all(is_open(network, *step, given) for step in zip(path, path[1:], path[2:], strict=False)):
                return True
            continue
        stack.extend([*path, other] for other in around[path[-1]] if other not in path)
    return False


def is_open(network, before, middle, after, given):
    if before in network.parents[middle] and after in network.parents[middle]:
        below, stack = {middle}, [middle]
        while stack:
            fresh = set(network.children[stack.pop()]) - below
            below |= fresh
            stack.extend(fresh)
        return bool(below & given)
    return middle not in given


@pytest.mark.catalogue("GM-04")
def test_samples_have_the_joint_distribution_and_the_posterior():
    network = draw_network(np.random.default_rng(5), 5)
    n = 40_000
    for evidence in ({}, {"x1": network.variables["x1"][-1]}):
        rows = network.sample(n, random_state=0, evidence=evidence)
        for pair in itertools.combinations(network.variables, 2):
            expected = network.query(pair, evidence)
            found = mercer.bayesnet.ProbabilityTable.fit(
                {name: rows[name] for name in pair}, {name: network.variables[name] for name in pair}
            )
            bound = 5 * np.sqrt(expected.values * (1 - expected.values) / n) + 1e-12
            assert (np.abs(found.values - expected.values) <= bound).all()
    again = network.sample(100, random_state=7)
    assert all((again[name] == column).all() for name, column in network.sample(100, random_state=7).items())


def test_dicts_give_the_same_network_as_arrays():
    network = load_burglary()
    tables = {
        "burglary": {"yes": 0.001, "no": 0.999},
        "earthquake": {"yes": 0.002, "no": 0.998},
        "alarm": {
            ("yes", "yes"): {"yes": 0.95, "no": 0.05},
            ("yes", "no"): {"yes": 0.94, "no": 0.06},
            ("no", "yes"): {"yes": 0.29, "no": 0.71},
            ("no", "no"): {"yes": 0.001, "no": 0.999},
        },
        "john": {"yes": {"yes": 0.9, "no": 0.1}, "no": {"yes": 0.05, "no": 0.95}},
        "mary": {("yes",): {"yes": 0.7, "no": 0.3}, ("no",): {"yes": 0.01, "no": 0.99}},
    }
    assert BayesianNetwork.from_dicts(tables, network.parents) == network
    del tables["alarm"]["no", "yes"]
    with pytest.raises(DataError, match=r"must have a row for the parents' states \('no', 'yes'\)"):
        BayesianNetwork.from_dicts(tables, network.parents)


def test_states_may_be_numbers_and_truth_values():
    network = BayesianNetwork(
        {"rain": [True, False], "drops": range(3)},
        {"drops": ["rain"]},
        {"rain": [0.2, 0.8], "drops": [[0.1, 0.3, 0.6], [0.9, 0.1, 0.0]]},
    )
    assert network.query("rain", {"drops": np.int64(2)}).to_dict() == {True: 1.0, False: 0.0}
    assert network.sample(5, 0)["rain"].dtype == bool


@pytest.mark.parametrize(
    ("name", "nodes", "edges"), [("alarm_size", 37, 46), ("hailfinder_size", 56, 66), ("andes_size", 223, 338)]
)
def test_generated_networks_have_the_published_sizes(name, nodes, edges):
    network = make_network(name)
    assert (len(network.variables), len(network.edges)) == (nodes, edges)
    assert make_network(name) == network


def test_networks_survive_files_pickles_and_hostile_shapes(tmp_path):
    network = make_network("asia_size")
    network.query("x0")
    mercer.save(network, tmp_path / "network.mercer")
    assert mercer.load(tmp_path / "network.mercer") == network
    assert pickle.loads(pickle.dumps(network)) == network
    hostile = object.__new__(BayesianNetwork)
    for field, value in (("variables", {"a": ("x", "y")}), ("parents", {"a": ()}), ("tables", {"a": np.ones(1)})):
        object.__setattr__(hostile, field, value)
    mercer.save(hostile, tmp_path / "hostile.mercer")
    with pytest.raises(ModelFileError, match="its values do not fit together"):
        mercer.load(tmp_path / "hostile.mercer")


def build(variables, parents, tables):
    return lambda: BayesianNetwork(variables, parents, tables)


TWO = {"a": ["x", "y"], "b": ["x", "y"]}
EVEN = [0.5, 0.5]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (build(TWO, {"a": ["b"], "b": ["a"]}, {"a": [EVEN] * 2, "b": [EVEN] * 2}), "it has b -> a -> b"),
        (build(TWO, {}, {"a": EVEN}), r"must have one table per variable; \['b'\] have none. Add them"),
        (build(TWO, {}, {"a": EVEN, "b": [0.5, 0.6]}), r"the table of 'b' must sum to 1; got 1\.1"),
        (
            build(TWO, {"b": ["a"]}, {"a": EVEN, "b": [EVEN, [0.5, 0.4]]}),
            r"must sum to 1 given \{'a': 'y'\}; got 0\.9\. Divide the row by its sum\.",
        ),
        (build(TWO, {"b": ["a"]}, {"a": EVEN, "b": EVEN}), r"the table of 'b' must have the shape \(2, 2\)"),
        (build(TWO, {}, {"a": EVEN, "b": [-0.5, 1.5]}), r"must hold probabilities in \[0, 1\]; got -0\.5"),
        (build(TWO, {"b": ["c"]}, {"a": EVEN, "b": EVEN}), r"`parents` must name variables; got 'c' at 'b'"),
        (build(TWO, {}, {"a": EVEN, "b": ["p", "q"]}), r"the table of 'b' must hold numbers; got list"),
        (build(["a"], {}, {}), "`variables` must be a mapping from names to states; got list"),
        (lambda: load_burglary().query("burglar"), r"'burglar' is not a variable\. Did you mean 'burglary'\?"),
        (lambda: load_burglary().query("alarm", {"john": "maybe"}), r"has the states \['yes', 'no'\]; got 'maybe'"),
        (lambda: load_burglary().query([]), "`targets` must name at least one variable"),
        (lambda: load_burglary().d_separated("john", "mary", ["john"]), "must have no common member"),
        (lambda: load_burglary().log_probability({"john": ["yes"]}), "`rows` must have a column for each variable"),
    ],
)
def test_wrong_networks_and_questions_are_refused(call, text):
    with pytest.raises(DataError, match=text):
        call()


def test_wrong_parameters_are_refused():
    with pytest.raises(ParameterError, match=r"`method` must be one of .*; got 'guess'. Use `approximate`"):
        load_burglary().query("alarm", method="guess")
    with pytest.raises(ParameterError, match=r"`n` must be a whole number of at least 0; got -1"):
        load_burglary().sample(-1)
    with pytest.raises(ParameterError, match=r"allow 0 to 3 edges"):
        random_network(3, 9)
    with pytest.raises(ParameterError, match="`name` must be one of"):
        make_network("titanic")

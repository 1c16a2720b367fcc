"""All posteriors of Bayesian networks of published sizes, for many cases of evidence."""

import math
from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Contestant, Data, scaled

# Observed variables in each case of evidence.
FINDINGS = 5


def make(name: str, n_cases: int, scale: float) -> dict[str, np.ndarray]:
    """A generated network as arrays, with cases of evidence that it drew itself."""
    from mercer.bayesnet import make_network

    network = make_network(name)
    names = list(network.variables)
    widest = max(len(above) for above in network.parents.values())
    parents = np.full((len(names), widest), -1)
    for v, node in enumerate(names):
        above = [names.index(parent) for parent in network.parents[node]]
        parents[v, : len(above)] = above
    rows = scaled(n_cases, scale, at_least=3)
    draws = network.sample(rows, random_state=1)
    random = np.random.default_rng(0)
    evidence = np.full((rows, len(names)), -1)
    for row in range(rows):
        for v in random.choice(len(names), FINDINGS, replace=False):
            evidence[row, v] = network.variables[names[v]].index(str(draws[names[v]][row]))
    return {
        "counts": np.array([len(states) for states in network.variables.values()]),
        "parents": parents,
        "tables": np.concatenate([network.tables[node].reshape(-1) for node in names]),
        "evidence": evidence,
        "X": evidence,
        "X_test": evidence[:1],
    }


def read_network(data: Data) -> tuple[dict[str, list[str]], dict[str, list[str]], dict[str, np.ndarray]]:
    """States, parents and tables by name."""
    counts = data["counts"].tolist()
    names = [f"x{v}" for v in range(len(counts))]
    states = {name: [f"s{state}" for state in range(count)] for name, count in zip(names, counts, strict=True)}
    parents = {name: [names[v] for v in data["parents"][place] if v >= 0] for place, name in enumerate(names)}
    tables, start = {}, 0
    for name in names:
        shape = [len(states[member]) for member in (*parents[name], name)]
        tables[name] = data["tables"][start : start + math.prod(shape)].reshape(shape)
        start += math.prod(shape)
    return states, parents, tables


def list_cases(evidence: np.ndarray) -> list[dict[str, str]]:
    """Evidence as states by name."""
    return [{f"x{v}": f"s{row[v]}" for v in np.flatnonzero(row >= 0)} for row in evidence]


def fit_mercer(tool: Any, data: Data, threads: int) -> Any:
    """Make the network, compile it, and compute all posteriors of all cases."""
    tree = tool(*read_network(data)).compile()
    return tree, tree.marginals_many(list_cases(data["evidence"]), n_jobs=threads).posteriors


def fit_agrum(tool: Any, data: Data, threads: int, engine: str) -> Any:
    """The same by pyAgrum: one inference for each case, all posteriors read."""
    import pyagrum

    states, parents, tables = read_network(data)
    network = tool()
    for name, labels in states.items():
        network.add(pyagrum.LabelizedVariable(name, name, labels))
    for name, above in parents.items():
        for parent in above:
            network.addArc(parent, name)
    for name, table in tables.items():
        family = [*parents[name], name]
        order = list(reversed(network.cpt(name).names))
        network.cpt(name)[:] = np.ascontiguousarray(table.transpose([family.index(member) for member in order]))
    inference = getattr(pyagrum, engine)(network)
    inference.setNumberOfThreads(threads)
    return inference, np.array([read_posteriors(inference, case, states) for case in list_cases(data["evidence"])])


def read_posteriors(inference: Any, case: dict[str, str], states: dict[str, list[str]]) -> np.ndarray:
    """All posteriors of one case, by pyAgrum."""
    inference.setEvidence(case)
    inference.makeInference()
    return np.concatenate([inference.posterior(name).toarray() for name in states])


def fit_pgmpy(tool: Any, data: Data, threads: int) -> Any:
    """The same by pgmpy: one query for each case and variable."""
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    states, parents, tables = read_network(data)
    network = DiscreteBayesianNetwork()
    network.add_nodes_from(states)
    for name, above in parents.items():
        network.add_edges_from((parent, name) for parent in above)
    for name, table in tables.items():
        above = parents[name]
        network.add_cpds(
            TabularCPD(
                name,
                len(states[name]),
                table.reshape(-1, len(states[name])).T,
                evidence=above or None,
                evidence_card=[len(states[parent]) for parent in above] or None,
                state_names={member: states[member] for member in (*above, name)},
            )
        )
    inference = tool(network)
    answers = []
    for case in list_cases(data["evidence"]):
        parts = []
        for name, labels in states.items():
            if name in case:
                parts.append([float(label == case[name]) for label in labels])
            else:
                parts.append(inference.query([name], evidence=case, show_progress=False).values)
        answers.append(np.concatenate(parts))
    return inference, np.array(answers)


def solution(model: Any) -> dict[str, np.ndarray]:
    return {"posteriors": model[1]}


def predict(model: Any, rows: np.ndarray) -> np.ndarray:
    """The posteriors were computed before; the field must be filled."""
    return np.zeros(len(rows))


def quality(answer: Data, data: Data) -> dict[str, float]:
    """The entropies of all posteriors, added up: equal for everyone who is exact."""
    positive = answer["posteriors"][answer["posteriors"] > 0]
    return {"entropy": float(-(positive * np.log(positive)).sum())}


def make_case(suffix: str, title: str, name: str, n_cases: int, with_pgmpy: bool = False) -> Case:
    """A case for one network; pgmpy, which asks for one variable at a time, would need hours for the largest."""
    slow = Contestant("pgmpy_elimination", "pgmpy.inference.VariableElimination", fit_pgmpy, solution, predict)
    return Case(
        f"bayes_net_marginals{suffix}",
        title,
        partial(make, name, n_cases),
        (
            Contestant("mercer", "mercer.bayesnet.BayesianNetwork", fit_mercer, solution, predict),
            Contestant(
                "pyagrum_lazy", "pyagrum.BayesNet", partial(fit_agrum, engine="LazyPropagation"), solution, predict
            ),
            Contestant(
                "pyagrum_shafer",
                "pyagrum.BayesNet",
                partial(fit_agrum, engine="ShaferShenoyInference"),
                solution,
                predict,
            ),
            *((slow,) if with_pgmpy else ()),
        ),
        quality,
        Agreement("entropy", "lower", 1e-9),
    )


CASES = (
    make_case("", "all posteriors of 37 variables (ALARM's size), 200 cases of 5 findings", "alarm_size", 200, True),
    make_case("_hailfinder", "all posteriors of 56 variables (HAILFINDER's), 50 cases", "hailfinder_size", 50, True),
    make_case("_andes", "all posteriors of 223 variables (ANDES' size), 50 cases", "andes_size", 50),
    make_case("_wide", "all posteriors of 48 variables in wide cliques (BARLEY's size), 5 cases", "barley_size", 5),
)

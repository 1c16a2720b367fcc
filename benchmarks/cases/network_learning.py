"""Structures of Bayesian networks: everybody climbs the BIC of the same rows, one edge at a time.

The BIC is recomputed here from the edges that each contestant returns.
"""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Contestant, Data, scaled, split

ROWS = 25_000
COLUMNS = 30
STATES = 3


def make(scale: float) -> dict[str, np.ndarray]:
    """Rows of a network of 30 variables with up to three parents each and random tables."""
    random = np.random.default_rng(0)
    test_rows = scaled(1_000, scale)
    n = scaled(ROWS, scale, at_least=3_000) + test_rows
    X = np.zeros((n, COLUMNS), np.int64)
    for node in range(COLUMNS):
        parents = random.choice(node, min(node, int(random.integers(0, 4))), replace=False)
        code = np.zeros(n, np.int64)
        for parent in parents:
            code = code * STATES + X[:, parent]
        table = np.cumsum(random.dirichlet(np.full(STATES, 0.7), STATES ** len(parents)), axis=1)
        X[:, node] = (random.uniform(size=(n, 1)) > table[code, :-1]).sum(axis=1)
    return split(X, test_rows)


def quality(solution: Data, data: Data) -> dict[str, float]:
    """The BIC of the edges, counted in the plainest way, per row."""
    X, edges = data["X"], solution["edges"].astype(bool)
    total = 0.0
    for node in range(X.shape[1]):
        parents = np.flatnonzero(edges[:, node])
        code = np.zeros(len(X), np.int64)
        for parent in parents:
            code = code * STATES + X[:, parent]
        counts = np.bincount(code * STATES + X[:, node], minlength=STATES ** (len(parents) + 1)).reshape(-1, STATES)
        sums = counts.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            total += float(np.nansum(np.where(counts > 0, counts * np.log(counts / sums), 0.0)))
        total -= 0.5 * np.log(len(X)) * STATES ** len(parents) * (STATES - 1)
    return {"bic": total / len(X), "edges": float(edges.sum())}


def list_edges(pairs: Any) -> dict[str, np.ndarray]:
    edges = np.zeros((COLUMNS, COLUMNS))
    for parent, child in pairs:
        edges[int(str(parent)[1:]), int(str(child)[1:])] = 1.0
    return {"edges": edges}


def predict(model: Any, rows: np.ndarray) -> np.ndarray:
    """Nothing is predicted by a structure: the rows are returned, so that the column of times reads zero."""
    return rows


def fit_mercer(tool: Any, data: Data, threads: int, **options: Any) -> Any:
    return tool(data["X"], n_jobs=threads, **options).edges


def frame(data: Data) -> Any:
    import pandas

    return pandas.DataFrame({f"x{column}": values for column, values in enumerate(data["X"].T)})


def fit_pyagrum(tool: Any, data: Data, threads: int, tabu: bool) -> Any:
    learner = tool(frame(data).astype(str))
    learner.setNumberOfThreads(threads)
    learner.useScoreBIC()
    learner.useNoPrior()
    if tabu:
        learner.useLocalSearchWithTabuList(100, 2)
    else:
        learner.useGreedyHillClimbing()
    return [(learner.nameFromId(parent), learner.nameFromId(child)) for parent, child in learner.learnDAG().arcs()]


def fit_pgmpy(tool: Any, data: Data, threads: int) -> Any:
    return list(tool(frame(data)).estimate(scoring_method="bic-d", show_progress=False).edges())


CASES = (
    Case(
        "bayes_net_structure",
        "structure of a Bayesian network by hill climbing on BIC, 25 000 x 30, three states",
        make,
        (
            Contestant("mercer", "mercer.bayesnet.learn_structure", fit_mercer, list_edges, predict),
            Contestant(
                "mercer_greedy",
                "mercer.bayesnet.learn_structure",
                partial(fit_mercer, tabu_length=0),
                list_edges,
                predict,
            ),
            Contestant("pyagrum_tabu", "pyagrum.BNLearner", partial(fit_pyagrum, tabu=True), list_edges, predict),
            Contestant("pyagrum_greedy", "pyagrum.BNLearner", partial(fit_pyagrum, tabu=False), list_edges, predict),
            Contestant("pgmpy", "pgmpy.estimators.HillClimbSearch", fit_pgmpy, list_edges, predict),
        ),
        quality,
        # Local maxima of different paths differ in the third digit.
        Agreement("bic", "higher", 2e-2),
    ),
)

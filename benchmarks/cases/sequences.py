"""Hidden Markov models: ten Gaussian states, five columns; everybody starts from the same given parameters.

Training makes ten iterations of Baum-Welch, decoding finds best paths under the true parameters. The log-likelihood, or
the score of the paths, is recomputed here in float64.
"""

import warnings
from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Contestant, Data, scaled

STATES, COLUMNS = 10, 5
ITERATIONS = 10
STEPS = 200_000
NAMES = ("startprob", "transmat", "means", "covars")


def make(scale: float, length: int) -> dict[str, np.ndarray]:
    """Sequences of `length` steps, one of all steps if it is zero: states that last ten steps, means two apart."""
    random = np.random.default_rng(0)
    steps = scaled(STEPS, scale, at_least=4_000) // 1000 * 1000
    moves = 0.9 * np.eye(STATES) + 0.1 * random.dirichlet(np.ones(STATES), STATES)
    means = random.normal(scale=2.0, size=(STATES, COLUMNS))
    states, cumulated = np.zeros(steps, dtype=np.intp), np.cumsum(moves, axis=1)
    for step, value in enumerate(random.random(steps - 1)):
        states[step + 1] = min(np.searchsorted(cumulated[states[step]], value), STATES - 1)
    X = means[states] + random.normal(size=(steps, COLUMNS))
    lengths = np.full(steps // (length or steps), length or steps)
    first = {"startprob": np.full(STATES, 1 / STATES), "transmat": np.full((STATES, STATES), 1 / STATES)}
    first |= {"means": X[random.choice(steps, STATES, replace=False)], "covars": np.ones((STATES, COLUMNS))}
    truth = {"true_startprob": first["startprob"], "true_transmat": moves, "true_means": means}
    truth["true_covars"] = np.ones((STATES, COLUMNS))
    return {"X": X, "X_test": X[:1000], "lengths": lengths, "states": states} | first | truth


def start(tool: Any, data: Data, prefix: str, threads: int, settings: dict[str, Any]) -> Any:
    """Return a model with given parameters, in the form that hmmlearn and mercer share."""
    model = tool(n_components=STATES, n_iter=ITERATIONS, tol=0.0, init_params="", **settings)
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=threads)
    else:
        model.n_features = COLUMNS
    for name in NAMES:
        setattr(model, f"{name}_", np.array(data[prefix + name]))
    return model


def train(tool: Any, data: Data, threads: int, settings: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        # Ten iterations are all that is asked for.
        warnings.simplefilter("ignore")
        return start(tool, data, "", threads, settings).fit(data["X"], lengths=data["lengths"])


def decode(tool: Any, data: Data, threads: int, settings: dict[str, Any]) -> Any:
    model = start(tool, data, "true_", threads, settings)
    return model, model.decode(data["X"], data["lengths"])[1]


def trained(model: Any) -> dict[str, np.ndarray]:
    covars = np.asarray(model.covars_)
    covars = np.einsum("kii->ki", covars) if covars.ndim == 3 else covars
    parts = {"startprob": model.startprob_, "transmat": model.transmat_, "means": model.means_, "covars": covars}
    return {name: np.asarray(part) for name, part in parts.items()}


def scores(means: np.ndarray, covars: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Log densities, (n, states)."""
    columns = [-0.5 * np.sum((X - m) ** 2 / c + np.log(2 * np.pi * c), axis=1) for m, c in zip(means, covars)]
    return np.stack(columns, axis=1)


def likelihood(solution: Data, data: Data) -> dict[str, float]:
    """The mean log-likelihood of a step, by a scaled filter over all sequences at once."""
    table = scores(solution["means"], solution["covars"], data["X"])
    tops = table.max(axis=1)
    densities = np.exp(table - tops[:, None]).reshape(len(data["lengths"]), -1, STATES)
    message, total = np.tile(solution["startprob"], (len(densities), 1)), float(tops.sum())
    for step in range(densities.shape[1]):
        message = message if step == 0 else message @ solution["transmat"]
        message = message * densities[:, step]
        sums = message.sum(axis=1, keepdims=True)
        total, message = total + float(np.log(sums).sum()), message / sums
    return {"log_likelihood": total / len(data["X"])}


def path_score(solution: Data, data: Data) -> dict[str, float]:
    """The mean log probability of a step and its state, and the share of states that are right."""
    path, begins = solution["path"], np.cumsum(data["lengths"]) - data["lengths"]
    steps = scores(data["true_means"], data["true_covars"], data["X"])[np.arange(len(path)), path]
    moves = np.append(0.0, np.log(data["true_transmat"])[path[:-1], path[1:]])
    moves[begins] = np.log(data["true_startprob"])[path[begins]]
    return {"log_probability": float((steps + moves).mean()), "right": float((path == data["states"]).mean())}


def contestants(work: Any, solution: Any, predict: Any) -> tuple[Contestant, ...]:
    kinds = {
        "mercer": ("mercer.hmm.GaussianHMM", {}),
        "hmmlearn_scaling": ("hmmlearn.hmm.GaussianHMM", {"implementation": "scaling"}),
        "hmmlearn_log": ("hmmlearn.hmm.GaussianHMM", {}),
    }
    return tuple(
        Contestant(name, path, partial(work, settings=settings), solution, predict)
        for name, (path, settings) in kinds.items()
    )


FITS = contestants(train, trained, lambda model, rows: model.predict(rows))
PATHS = contestants(decode, lambda found: {"path": found[1]}, lambda found, rows: found[0].predict(rows))
CASES = tuple(
    Case(f"hmm_{verb}_{kind}", f"{words}, 10 states, 5 columns, {sequences}", partial(make, length=length), *rest)
    for kind, sequences, length in (("many", "200 sequences of 1 000 steps", 1000), ("long", "one of 200 000 steps", 0))
    for verb, words, *rest in (
        (
            "fit",
            "Gaussian hidden Markov model, 10 iterations of Baum-Welch",
            FITS,
            likelihood,
            Agreement("log_likelihood", "higher", 1e-6),
        ),
        ("viterbi", "Best paths", PATHS, path_score, Agreement("log_probability", "higher", 1e-9)),
    )
)

"""Linear-Gaussian state-space models: smoothed states under given parameters, without and with missing entries.

The answer is judged by the log-likelihood that each contestant reports, and by the distance of its smoothed states to
the true ones.
"""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Contestant, Data, scaled

STATES, COLUMNS = 4, 3
STEPS = 100_000


def make(scale: float, gaps: float) -> dict[str, np.ndarray]:
    """One sequence of two turning planes, with a share of missing entries."""
    random = np.random.default_rng(0)
    steps = scaled(STEPS, scale, at_least=2_000)
    turn = 0.98 * np.array([[np.cos(0.2), np.sin(0.2)], [-np.sin(0.2), np.cos(0.2)]])
    transition = np.kron(np.eye(2), turn) + 0.01
    observation = random.normal(size=(COLUMNS, STATES))
    states = np.zeros((steps, STATES))
    for step, noise in enumerate(random.normal(scale=0.3, size=(steps - 1, STATES))):
        states[step + 1] = transition @ states[step] + noise
    X = states @ observation.T + random.normal(size=(steps, COLUMNS))
    X[random.random(X.shape) < gaps] = np.nan
    return {"X": X, "X_test": X[:100], "states": states, "transition": transition, "observation": observation}


def smooth_here(tool: Any, data: Data, threads: int) -> Any:
    given = {"transition": data["transition"], "observation": data["observation"]}
    noises = {"transition_noise": 0.09, "observation_noise": 1.0, "start_mean": 0.0, "start_covariance": 1.0}
    # All parameters are given: a fit of two rows only checks them.
    model = tool(STATES, **given, **noises, n_jobs=threads).fit(np.zeros((2, COLUMNS)))
    return model, model.smooth(data["X"])


def smooth_there(tool: Any, data: Data, threads: int) -> Any:
    model = tool(COLUMNS, STATES)
    model.bind(np.array(data["X"].T, order="F"))
    model["design"], model["transition"], model["selection"] = data["observation"], data["transition"], np.eye(STATES)
    model["state_cov"], model["obs_cov"] = 0.09 * np.eye(STATES), np.eye(COLUMNS)
    model.initialize_known(np.zeros(STATES), np.eye(STATES))
    return model, model.smooth()


def judge(solution: Data, data: Data) -> dict[str, float]:
    error = float(np.sqrt(np.mean((solution["means"] - data["states"]) ** 2)))
    return {"log_likelihood": float(solution["log_likelihood"]) / len(data["X"]), "rmse": error}


CONTESTANTS = (
    Contestant(
        "mercer",
        "mercer.hmm.LinearGaussianModel",
        smooth_here,
        lambda found: {"means": found[1].means, "log_likelihood": np.array(found[1].log_likelihood)},
        lambda found, rows: found[0].predict(rows),
    ),
    Contestant(
        "statsmodels",
        "statsmodels.tsa.statespace.kalman_smoother.KalmanSmoother",
        smooth_there,
        lambda found: {"means": found[1].smoothed_state.T, "log_likelihood": np.array(found[1].llf)},
        lambda found, rows: found[0].filter().forecasts.T[: len(rows)],
    ),
)
CASES = tuple(
    Case(
        f"state_space_{name}",
        f"Kalman smoother, 4 states, 3 columns, one of 100 000 steps{words}",
        partial(make, gaps=gaps),
        CONTESTANTS,
        judge,
        Agreement("log_likelihood", "higher", 1e-8),
    )
    for name, words, gaps in (("smooth", "", 0.0), ("smooth_gaps", ", one entry in ten missing", 0.1))
)

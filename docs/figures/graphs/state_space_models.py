"""A state-space model: filtered and smoothed level with gaps, a forecast, and the gain that settles."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.hmm import LinearGaussianModel


def draw() -> Figure:
    random = np.random.default_rng(1)
    level = np.cumsum(random.normal(scale=0.6, size=80))
    y = (level + random.normal(size=80))[:, None]
    y[35:48] = np.nan
    model = LinearGaussianModel.local_level(max_iter=500).fit(y)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10.0, 2.8))
    time = np.arange(80)
    for ax, estimates, name in ((left, model.filter(y), "filtered"), (middle, model.smooth(y), "smoothed")):
        mean, spread = estimates.means[:, 0], 2.0 * np.sqrt(estimates.covariances[:, 0, 0])
        ax.plot(time, y[:, 0], ".", color="black", markersize=3, label="observed")
        ax.plot(time, level, color="grey", linewidth=0.8, label="true level")
        ax.plot(time, mean, color="C0", label=name)
        ax.fill_between(time, mean - spread, mean + spread, color="C0", alpha=0.2)
        ax.set(xlabel="step", title=f"{name}, 2 standard deviations")
    ahead = np.arange(80, 100)
    mean, covariance = model.predict(y, horizon=20, return_cov=True)
    spread = 2.0 * np.sqrt(covariance[:, 0, 0])
    middle.plot(ahead, mean[:, 0], color="C1", label="forecast")
    middle.fill_between(ahead, mean[:, 0] - spread, mean[:, 0] + spread, color="C1", alpha=0.2)
    left.legend()
    middle.legend()
    for noise in (0.01, 0.1, 1.0):
        steady = LinearGaussianModel.local_level(transition_noise=noise, observation_noise=1.0, start_covariance=10.0)
        steady.fit(np.zeros((30, 1)))
        variance = steady.filter(np.zeros((30, 1))).covariances[:, 0, 0]
        right.plot(np.arange(30), variance, label=f"Q = {noise:g}")
    right.set(xlabel="step", title="gain (R = 1)")
    right.legend()
    return figure

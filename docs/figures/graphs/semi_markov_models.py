"""Explicit durations: what states last under a hidden Markov and a semi-Markov model, and both segmentations."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.hmm import SemiMarkovHMM


def draw() -> Figure:
    random = np.random.default_rng(2)
    lasting = 1 + random.poisson(9, size=60)
    states = np.repeat(np.arange(60) % 2, lasting)
    X = (1.6 * states + random.normal(size=len(states)))[:, None]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 2.8), width_ratios=(1, 1.8))
    left.hist(lasting, bins=np.arange(0.5, 30.5), density=True, color="lightgrey", label="true segments")
    models = {
        "geometric": SemiMarkovHMM(2, durations="geometric", max_duration=60, random_state=0).fit(X),
        "poisson": SemiMarkovHMM(2, durations="poisson", max_duration=60, random_state=0).fit(X),
    }
    shown = slice(0, 160)
    right.plot(X[shown, 0], ".", color="black", markersize=3, label="observed")
    right.plot(states[shown] * 1.6, color="grey", linewidth=0.8, label="true level")
    for number, (name, model) in enumerate(models.items()):
        chances = np.exp(model._prepare_passes(60).durations[0])
        left.plot(np.arange(1, 31), chances[:30], color=f"C{number}", label=name)
        level = model.emission_.means_[model.predict(X), 0]
        right.plot(level[shown] - 3.0 - 2.5 * number, color=f"C{number}", label=name)
    left.set(xlabel="duration", ylabel="probability")
    right.set(xlabel="step", ylabel="value; decoded levels below", yticks=[0, 2])
    left.legend()
    right.legend(loc="upper right", ncols=4, fontsize=7)
    return figure

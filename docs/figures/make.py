"""Draw all figures: ``python docs/figures/make.py [FOLDER]``; the documentation build does the same."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from figures import (
    annealing,
    bases,
    bayesian_regression,
    choosing_penalties,
    coefficient_paths,
    condition_number,
    ising_chain,
    ising_phases,
    k_means,
    lasso,
    learning_rates,
    least_squares,
    linear_svm,
    logistic,
    losses,
    optimisers,
    penalty_geometry,
    polynomial_order,
    principal_components,
    stochastic,
)

DRAWINGS = {
    "k_means": k_means.draw,
    "principal_components": principal_components.draw,
    "least_squares": least_squares.draw,
    "lasso": lasso.draw,
    "logistic": logistic.draw,
    "losses": losses.draw,
    "linear_svm": linear_svm.draw,
    "optimisers": optimisers.draw,
    "learning_rates": learning_rates.draw,
    "annealing": annealing.draw,
    "bayesian_regression": bayesian_regression.draw,
    "choosing_penalties": choosing_penalties.draw,
    "bases": bases.draw,
    "condition_number": condition_number.draw,
    "polynomial_order": polynomial_order.draw,
    "ising_chain": ising_chain.draw,
    "ising_phases": ising_phases.draw,
    "penalty_geometry": penalty_geometry.draw,
    "coefficient_paths": coefficient_paths.draw,
    "stochastic": stochastic.draw,
}
STYLE = {
    "figure.figsize": (8.0, 3.2),
    "figure.constrained_layout.use": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 9,
    "legend.frameon": False,
    # Without a fixed salt and date the same figure would differ from build to build.
    "svg.hashsalt": "mercer",
}


def draw_all(folder: Path) -> None:
    """Write every figure to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWINGS.items():
        with plt.rc_context(STYLE):
            figure = draw()
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
            plt.close(figure)


if __name__ == "__main__":
    draw_all(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/_build/figures"))

"""What naive Bayes offers to a study."""

import numpy as np

from mercer._base.candidate import Candidate, Shape
from mercer.naive_bayes._gaussian import GaussianNB


def _gaussian(shape: Shape) -> GaussianNB:
    return GaussianNB()


def _count(model: GaussianNB) -> tuple[float, str]:
    n_numbers = 2 * int(np.size(model.theta_))
    return float(n_numbers), f"{n_numbers} means and variances"


CANDIDATES = (
    Candidate(
        "naive Bayes",
        "naive Bayes",
        ("classification",),
        45,
        _gaussian,
        # Indicators that are nearly constant in a class make its density a spike: variances are smoothed towards the
        # largest one.
        {"var_smoothing": [1e-1, 1e-3, 1e-9]},
        ("scaled", "dense"),
        complexity=_count,
        text="A bell curve for each column in each class, as if columns were independent.",
    ),
)

"""What Bayesian networks offer to a study."""

from mercer._base.candidate import Candidate, Shape
from mercer.bayesnet._classifier.classifier import BayesNetClassifier

# Columns from which a tree takes long: it counts each pair of columns.
_MOST_COLUMNS = 300


def _classifier(shape: Shape) -> BayesNetClassifier:
    return BayesNetClassifier()


def _judge_shape(shape: Shape) -> str:
    if shape.n_columns > _MOST_COLUMNS:
        return f"it compares each pair of {shape.n_columns} columns"
    return ""


def _count(model: BayesNetClassifier) -> tuple[float, str]:
    n_numbers = model.network_.n_parameters
    return float(n_numbers), f"{n_numbers} probabilities"


CANDIDATES = (
    Candidate(
        "Bayesian network",
        "Bayesian networks",
        ("classification",),
        80,
        _classifier,
        {"structure": ["naive", "tree"], "n_bins": [4, 8]},
        ("dense", "missing"),
        unfit=_judge_shape,
        complexity=_count,
        text="Tables of probabilities: each column in bins, given the class and one other column.",
    ),
)

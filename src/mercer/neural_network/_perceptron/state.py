"""The state of a fit of a perceptron after an epoch: enough to go on with the same bits, and to predict."""

import itertools
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._stored import Stored, floats, integers, members, part, texts
from mercer.errors import ModelFileError

# What a fitted perceptron stores.
PERCEPTRON: dict[str, Stored] = {
    "n_layers_": integers(low=0),
    "n_outputs_": integers(low=1),
    "out_activation_": texts(),
    "input_coding_": part("ColumnCoding", "none"),
    "coefs_": members(floats("*, *"), "layers"),
    "embeddings_": members(floats("*, *")),
    "categorical_columns_": integers("*", low=0, below="columns"),
    "intercepts_": members(floats("*"), "layers"),
    "t_": integers(low=0),
    "loss_curve_": members(floats()),
    "loss_": floats(" | none"),
    "best_loss_": floats(" | none"),
    "validation_scores_": members(floats()) | floats("* | none"),
    "best_validation_score_": floats(" | none"),
    "_state": part("PerceptronState"),
}


@plain
@dataclass(frozen=True, eq=False)
class PerceptronState:
    """Weights after an epoch, and all that the next one needs.

    ``theta`` are the weights, ``carried`` what the method carries along, ``statistics`` what batch norm keeps,
    ``average`` the mean of the weights over ``n_averaged`` epochs. ``rate`` is the learning rate, ``best`` the best
    loss (or minus the best validation score), ``best_theta`` and ``best_statistics`` the weights that had it,
    ``stale`` the epochs since. ``losses`` and ``scores`` are those of all epochs. ``inner`` is the state of a method
    that takes all rows in each step, and ``evaluations`` counts its passes.
    """

    theta: np.ndarray
    carried: tuple[np.ndarray, ...]
    statistics: dict[str, Any]
    seed: tuple[int, ...]
    rate: float
    epochs: int = 0
    steps: int = 0
    seen: int = 0
    average: np.ndarray = field(default_factory=lambda: np.empty(0))
    n_averaged: int = 0
    best: float = float("inf")
    best_loss: float = float("inf")
    stale: int = 0
    best_theta: np.ndarray = field(default_factory=lambda: np.empty(0))
    best_statistics: dict[str, Any] = field(default_factory=dict)
    losses: tuple[float, ...] = ()
    scores: tuple[float, ...] = ()
    inner: Any = None
    evaluations: int = 0

    def choose_model(self) -> tuple[np.ndarray, dict[str, Any]]:
        """Return the weights to predict with: the average, those of the best validation score, or the last ones."""
        if self.n_averaged > 0:
            return self.average, self.statistics
        if self.best_theta.size:
            return self.best_theta, self.best_statistics
        return self.theta, self.statistics

    def replace_weights(self, theta: np.ndarray) -> "PerceptronState":
        """Return the state with other weights; averages, best weights and the memory of steps are forgotten."""
        empty = np.empty(0)
        carried = tuple(np.zeros_like(array) for array in self.carried)
        return replace(
            self, theta=theta, carried=carried, average=empty, n_averaged=0, best_theta=empty, best_statistics={}
        )

    def restart(self, rate: float | None = None, keep_scores: bool = False) -> "PerceptronState":
        """Return the state as the start of further epochs: the stopping rule begins anew."""
        return replace(
            self,
            stale=0,
            rate=self.rate if rate is None else rate,
            # The average of the weights starts with the epochs to come.
            average=np.empty(0),
            n_averaged=0,
            best=self.best if keep_scores else float("inf"),
        )


def check_chain(model: Any) -> None:
    """Raise ModelFileError unless each layer of a loaded perceptron takes what the one before it gives."""
    coefs, intercepts = vars(model).get("coefs_"), vars(model).get("intercepts_")
    if coefs is None or intercepts is None:
        return
    # Codes of categories and embeddings make other inputs of the columns.
    is_plain = "embeddings_" not in vars(model) and vars(model).get("input_coding_") is None
    widths = [model.n_features_in_ if is_plain or not coefs else coefs[0].shape[0], *(W.shape[1] for W in coefs)]
    is_chain = [W.shape for W in coefs] == list(itertools.pairwise(widths)) and [len(b) for b in intercepts] == widths[
        1:
    ]
    labels = vars(model).get("classes_") if not vars(model).get("_several_labels") else None
    has_classes = labels is None or len(labels) == widths[-1] or (widths[-1] == 1 and 1 <= len(labels) <= 2)
    if not is_chain or not has_classes or widths[-1] != model.n_outputs_ or len(widths) != model.n_layers_:
        raise ModelFileError(
            f"{type(model).__name__}: coefs_ and intercepts_ must fit together layer by layer, from {widths[0]} inputs "
            f"to {model.n_outputs_} outputs; the file's do not."
        )

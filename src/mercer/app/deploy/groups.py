"""Groups of rows as classes: a clustering that is exported predicts the names of the groups."""

from typing import Any

import numpy as np

from mercer.app.study.grouping import name_groups


def list_groups(model: Any) -> list[str]:
    """Return the names of the groups of a clustering that can be exported; none for other models."""
    kind = type(model).__name__
    if kind == "KMeans":
        return name_groups(np.arange(len(model.cluster_centers_)))
    return name_groups(np.arange(len(model.means_))) if kind == "GaussianMixture" else []


class NamedGroups:
    """A pipeline whose last step groups rows, with the names of the groups as its classes."""

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline
        self.steps = pipeline.steps

    def predict(self, frame: Any) -> np.ndarray:
        """Return the name of the group of each row."""
        return np.array(name_groups(self.pipeline.predict(frame)), dtype=object)

    def predict_proba(self, frame: Any) -> np.ndarray:
        """Return the probability of each group; of k-means, 1 for the group of the row."""
        if hasattr(self.pipeline, "predict_proba"):
            return np.asarray(self.pipeline.predict_proba(frame), dtype=float)
        indicators: np.ndarray = np.eye(len(list_groups(self.steps[-1][1])))
        return indicators[self.pipeline.predict(frame)]

"""scikit-learn's tags, with the places in which an estimator runs."""

from dataclasses import dataclass, fields
from typing import Any

from sklearn.utils import Tags


@dataclass
class PlacedTags(Tags):
    """Tags that also say where the rows may be that an estimator is fitted to."""

    places: tuple[str, ...] = ("memory",)


def add_places(tags: Any, places: tuple[str, ...]) -> PlacedTags:
    """Return the tags with `places` added."""
    parts = {part.name: getattr(tags, part.name) for part in fields(tags)}
    return PlacedTags(**parts | {"array_api_support": "device" in places}, places=places)

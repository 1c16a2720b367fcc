"""Losses by their names, which the classes of losses give themselves."""

from dataclasses import fields
from functools import cache
from typing import Any

from mercer._objective.loss import LOSS_CLASSES, Loss


def list_losses(target: str | None = None) -> dict[str, Loss]:
    """Return the losses that fits can minimise by each of their names, with their default parameters.

    `target` is "numbers" or "labels", or None for both.
    """
    return {name: kind() for name, kind in LOSS_CLASSES.items() if kind.has_optimum and target in (None, kind.target)}


def find_loss(loss: Any, **settings: float) -> Loss:
    """Return `loss`, or the loss of that name with those of the `settings` that are parameters of it."""
    if isinstance(loss, Loss):
        return loss
    kind = LOSS_CLASSES[loss]
    return kind(**{name: settings[name] for name in _list_parameters(kind) if name in settings})  # type: ignore[arg-type]


@cache
def _list_parameters(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))

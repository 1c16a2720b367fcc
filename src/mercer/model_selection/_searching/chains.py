"""The order in which settings are tried, so that a fit can go on from that of the setting before.

A class of mercer's names in ``_grows_with`` the parameters along which a fit with ``warm_start`` goes on from the one
before: the number of trees of a forest or of rounds of a boosting, upwards, and the penalty of a convex problem, from
strong to weak. Settings that differ in such a parameter alone make a chain, unless the fits may stop early: a fit that
has stopped goes on where it is asked for more rounds, and a longer fit would have stopped as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from mercer.model_selection._searching.judge import Judge, Setting, key_of

# A fit with early_stopping="auto" stops early if it has more rows.
_EARLY_ROWS = 10_000


@dataclass(frozen=True)
class Chain:
    """Settings, by their numbers; each goes on from the fit of the one before, and a chain may have one member."""

    members: tuple[int, ...]
    # The parameter that changes along the chain, without the name of the pipeline's step; None in chains of one.
    parameter: str | None = None


def arrange(judge: Judge, settings: Sequence[Setting]) -> list[Chain]:
    """Return chains that hold every setting once; those that share the first steps of a pipeline are neighbours."""
    groups: dict[Any, list[int]] = {}
    for number, setting in enumerate(settings):
        groups.setdefault(key_of(judge.split_setting(setting)[0]), []).append(number)
    chains = []
    for members in groups.values():
        first, _ = judge.split_setting(settings[members[0]])
        own = {number: judge.split_setting(settings[number])[1] for number in members}
        model = _find_model(judge, first)
        chains += _link(_find_growth(model, own, judge.n_rows), own)
    return chains


def _find_model(judge: Judge, first: Setting) -> Any:
    """Return what the settings of a group are set on: the estimator, or the last step of a pipeline."""
    if judge.last is None:
        return judge.estimator
    # A setting may put another estimator in the place of the last step.
    return first.get(judge.last, judge.estimator.steps[-1][1])


def _find_growth(model: Any, settings: dict[int, Setting], n_rows: int) -> dict[str, int]:
    """Return the parameters along which the model grows: 1 upwards, -1 downwards."""
    grows: dict[str, int] = getattr(type(model), "_grows_with", {})
    seed = getattr(model, "random_state", None)
    # A generator moves on with each fit: a longer fit would not begin as the shorter one did.
    fixed = seed is None or isinstance(seed, int | np.integer)
    if not fixed or not hasattr(model, "warm_start"):
        return {}
    return {} if any(_may_stop_early(model, setting, n_rows) for setting in settings.values()) else grows


def _may_stop_early(model: Any, setting: Setting, n_rows: int) -> bool:
    """Return whether a fit may end before the rounds that it is given."""
    early = setting.get("early_stopping", getattr(model, "early_stopping", None))
    if early is None:
        return setting.get("n_iter_no_change", getattr(model, "n_iter_no_change", None)) is not None
    return n_rows > _EARLY_ROWS if isinstance(early, str) else bool(early)


def _link(grows: dict[str, int], settings: dict[int, Setting]) -> list[Chain]:
    """Return the chains of some settings of one model."""
    singles = [Chain((number,)) for number in settings]
    for parameter, direction in grows.items():
        if len(settings) < 2 or not all(_can_grow(setting, parameter) for setting in settings.values()):
            continue
        groups: dict[Any, list[int]] = {}
        for number, setting in settings.items():
            rest = {name: value for name, value in setting.items() if name != parameter}
            groups.setdefault(key_of(rest), []).append(number)
        return [_order_chain(members, settings, parameter, direction) for members in groups.values()]
    return singles


def _order_chain(members: list[int], settings: dict[int, Setting], parameter: str, direction: int) -> Chain:
    """Return settings in the order in which a fit grows."""
    ordered = sorted(members, key=lambda number: direction * settings[number][parameter])
    return Chain(tuple(ordered), parameter if len(ordered) > 1 else None)


def _can_grow(setting: Setting, parameter: str) -> bool:
    """Return whether a setting has a number for the parameter, and leaves alone what would make a fit start anew."""
    value = setting.get(parameter)
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    return number and "warm_start" not in setting and not isinstance(setting.get("random_state"), np.random.RandomState)

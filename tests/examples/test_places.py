"""The example of all places runs, and its answers agree."""

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "places.py"


def load_script():
    specification = importlib.util.spec_from_file_location("places", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_every_place_gives_the_answer_of_the_array(capsys):
    worst = load_script().main(40_000)
    said = capsys.readouterr().out
    assert worst < 1e-6, said
    for place in ("array", "memory map", ".npy file", "blocks", "Parquet folder", "Arrow dataset", "Dask array"):
        line = next(line for line in said.splitlines() if line.startswith(place))
        assert line.count("same bits") == 4, line
    for place in ("CSV file", "torch on cpu"):
        assert any(line.startswith(place) for line in said.splitlines()), said

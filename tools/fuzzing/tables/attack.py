"""Attack the readers of tables: ``python -m tools.fuzzing tables --cases 2000``.

Files of every format are read with damaged bytes, wrong encodings, deep nesting, huge numbers and bombs. A reader must
give a table or a sentence (an error of mercer). A child process reads the files; a crash or a hang costs one file.
"""

import argparse
import re
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mercer._source.table import Stream, read_table
from mercer.app.commands.run import read_config
from mercer.errors import MercerError
from tools.fuzzing.children import try_in_children
from tools.fuzzing.tables.forgery import make_file

# Seconds that one file may take before it counts as a hang.
_LIMIT = 60.0
# The most bytes that a packed file may unpack to here, below the size of the bombs.
_MOST = "50 MB"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this attack."""
    parser.add_argument("--cases", type=int, default=500, help="hostile files")
    parser.add_argument("--seed", type=int, default=0, help="number of the first file")
    parser.add_argument("--limit", type=float, default=_LIMIT, help="seconds that one file may take")


def try_file(number: int, folder: Path) -> tuple[str, list[str]]:
    """Return the name and the faults of one file, read whole and in parts."""
    name, ending, content = make_file(number)
    path = folder / f"t{ending}"
    path.write_bytes(content)
    faults = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for read in (_read_options,) if ending == ".toml" else (_read_whole, _read_parts):
            try:
                read(path)
            except MercerError as error:
                if not str(error):
                    faults.append("empty sentence")
            except Exception as error:
                frame = traceback.extract_tb(error.__traceback__)[-1]
                place = frame.filename.rpartition("/mercer/")[2].rpartition("site-packages/")[2]
                faults.append(f"raw: {type(error).__name__}: {str(error)[:120]} ({place}:{frame.lineno})")
    return name, faults


def _read_options(path: Path) -> None:
    read_config(str(path))


def _read_whole(path: Path) -> None:
    read_table(path, max_unpacked=_MOST)


def _read_parts(path: Path) -> None:
    for _ in Stream.open(path, max_unpacked=_MOST):
        pass


def _try_all(first: int, last: int) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, last):
            yield {"case": make_file(number)[0]}
            name, faults = try_file(number, Path(folder))
            yield {"case": name, "faults": faults}


def run(options: argparse.Namespace) -> int:
    """Attack, print each kind of fault with one file that shows it, and return 1 if there was one."""
    findings = try_in_children(_try_all, options.seed, options.cases, options.limit)
    shown: set[str] = set()
    for fault, case in findings:
        kind = fault if fault in ("crash", "hang") else re.sub(r"\d+", "#", fault)
        if kind not in shown or kind in ("crash", "hang"):
            shown.add(kind)
            print(f"    {fault} [{case}]", flush=True)
    counts = Counter(fault.partition(":")[0] for fault, _ in findings)
    print(f"total: {dict(sorted((counts + Counter({'files': options.cases})).items()))}")
    return 1 if findings else 0

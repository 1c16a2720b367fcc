"""Forge and load files of one subject, in a process of its own."""

import json
import sys
import tempfile
import warnings
from pathlib import Path

from tests.laws.subjects import subjects
from tools.fuzzing.files.forgery import Original, forge
from tools.fuzzing.files.outcome import try_file

# Rows of the fit, and of the questions.
_ROWS = 60
_ASKED = 12


def main(number: int, first: int, last: int) -> None:
    """Try the forgeries with seeds from `first` to `last` of one subject."""
    subject = subjects()[number]
    X, y = subject.data(_ROWS, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        original = Original(subject.make().fit(X, y))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.mercer")
        for seed in range(first, last):
            change = forge(original, seed, path)
            print(json.dumps({"seed": seed, "change": change}), flush=True)
            outcome = try_file(path, X[:_ASKED])
            print(json.dumps({"outcome": outcome, "change": change}), flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:4]))

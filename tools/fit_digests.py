#!/usr/bin/env python3
"""Check that a change of the code leaves the bits of every fit as they were.

``python -m tools.fit_digests store FILE`` fits every public estimator in every setting of the laws, in float64 and
float32, and stores a checksum of the fitted attributes and predictions. ``compare FILE`` fits again and prints each
difference. Bits depend on the BLAS and on the CPU, so the file is for one machine and is not kept in the repository.
"""

import argparse
import json
import sys
import warnings
from pathlib import Path

import numpy as np

from tests.laws.subjects import Subject, digest, fitted, outputs, subjects

# Rows of a fit: the second size reaches block plans, working sets and teams of threads that small data do not.
SMALL = 300
LARGE = 3_000


def digest_fit(subject: Subject, n_rows: int, dtype: type) -> str:
    """Fit one estimator and return the checksum of what it learnt and predicts, or the name of the error."""
    X, y = subject.data(n_rows, 5, dtype)
    try:
        model = subject.make(n_jobs=2).fit(X) if y is None else subject.make(n_jobs=2).fit(X, y)
        return digest([fitted(model), outputs(model, X[:50])])
    except Exception as error:  # an estimator that refuses these rows must refuse them after the change too
        return type(error).__name__


def digest_all(pattern: str) -> dict[str, str]:
    """Return the checksum of every fit whose subject contains the pattern."""
    found = {}
    for subject in subjects():
        if pattern not in repr(subject):
            continue
        for dtype in (np.float64, np.float32):
            for n_rows in (SMALL, min(LARGE, subject.most_rows)):
                name = f"{' '.join(repr(subject).split())} {np.dtype(dtype).name} {n_rows}"
                found[name] = digest_fit(subject, n_rows, dtype)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["store", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", help="part of an estimator's name")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    found = digest_all(arguments.only)
    if arguments.action == "store":
        arguments.file.write_text(json.dumps(found, indent=1) + "\n")
        return 0
    stored = json.loads(arguments.file.read_text())
    changed = [name for name, value in found.items() if stored.get(name) != value]
    print("\n".join(f"{name}: was {stored.get(name)}, is {found[name]}" for name in changed))
    print(f"{len(found)} fits compared, {len(changed)} differ.")
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main())

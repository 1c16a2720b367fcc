"""What a fit may change around it while it runs, and must have put back when it ends, however it ends."""

import threading
import warnings
from typing import Any

import numpy as np
import sklearn
from threadpoolctl import threadpool_info

import mercer
from mercer._base.guard.fits import is_inside_fit
from mercer._source import threads


def note_surroundings() -> dict[str, Any]:
    """Return the settings of this process that fits change for a while."""
    return {
        "NumPy's error settings": np.geterr(),
        "scikit-learn's configuration": sklearn.get_config(),
        "mercer's configuration": mercer.get_config(),
        "the filters of warnings": list(warnings.filters),
        "the BLAS's threads": [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"],
        "the holders of the BLAS": threads._guard.inside,
        "the place of this thread": getattr(threads._place, "inside", False),
        "the guard of fits": is_inside_fit(),
        "a lock": threads._guard.lock.locked(),
        "threads that are not daemons": sum(
            not thread.daemon and not thread.name.startswith("mercer") for thread in threading.enumerate()
        ),
    }


def find_traces(before: dict[str, Any]) -> str:
    """Return which settings differ from those before, in words; nothing if none does."""
    now = note_surroundings()
    return ", ".join(
        f"{name} changed from {before[name]} to {now[name]}" for name in before if now[name] != before[name]
    )

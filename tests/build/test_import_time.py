"""``import mercer`` costs next to nothing on top of ``import numpy``: it loads a handful of small modules."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# The rebuild that an editable install does on its first import is no part of the package, nor are modules it loads.
CODE = """
import importlib.util, json, numpy, sys
importlib.util.find_spec("mercer")
before = set(sys.modules)
import mercer
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def test_importing_mercer_loads_no_family_and_no_other_package():
    ran = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    loaded = json.loads(ran.stdout)
    # Settings, errors, the version and the table of families: 1 ms in all. Families load when they are first used.
    assert {name for name in loaded if name not in sys.stdlib_module_names} <= {
        "mercer",
        "mercer._config",
        "mercer._families",
        "mercer._version",
        "mercer.errors",
    }
    assert len(loaded) <= 10


def test_importing_mercer_loads_neither_scikit_learn_nor_scipy():
    code = "import sys, mercer; print([name for name in ('sklearn', 'scipy', 'pandas') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_importing_the_modules_that_scikit_learn_has_too_loads_neither_scikit_learn_nor_scipy():
    # Each loads a class when it is first asked for, so that none takes longer than scikit-learn's of the same name.
    code = (
        "import importlib, sys\n"
        "from benchmarks.import_times import find_pairs\n"
        "names = [name for name in find_pairs() if name]\n"
        "for name in names: importlib.import_module(f'mercer.{name}')\n"
        "print(len(names), [name for name in ('sklearn', 'scipy', 'pandas') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    count, loaded = ran.stdout.split(maxsplit=1)
    assert int(count) >= 23
    assert loaded == "[]\n"

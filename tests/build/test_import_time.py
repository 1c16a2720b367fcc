"""``import mercer`` costs next to nothing on top of ``import numpy``: it loads a handful of small modules."""

import json
import subprocess
import sys

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

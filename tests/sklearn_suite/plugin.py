"""Run scikit-learn's own tests with mercer's classes in the place of its own.

    python -m pytest -p tests.sklearn_suite.plugin --pyargs sklearn.cluster.tests.test_k_means

Public names are replaced before the test module is imported, so its ``from sklearn.cluster import KMeans`` gets ours.
Tests that differ on purpose are listed in :mod:`mercer.app.switch.differences`, each with its reason; they are
expected to fail, and one that passes is reported. Those of :mod:`tests.sklearn_suite.slow` are marked slow. Tests that
name none of the replaced classes and functions would test scikit-learn with scikit-learn: they are left out
(:mod:`tests.sklearn_suite.reach`).
"""

import fnmatch
import gc
import importlib
import os

import pytest

from mercer.app.switch.differences import DIFFERENCES, REPLACED
from tests.sklearn_suite.reach import reaches_mercer
from tests.sklearn_suite.slow import SLOW

# As in tests/conftest.py: threads of OpenMP and OpenBLAS wait asleep. Both read this when they are first loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

# scikit-learn hides some searches and an imputer until these modules are imported.
for _switch in ("enable_halving_search_cv", "enable_iterative_imputer"):
    importlib.import_module(f"sklearn.experimental.{_switch}")
for family, names in REPLACED.items():
    theirs = importlib.import_module(f"sklearn.{family}")
    ours = importlib.import_module(f"mercer.{family.partition('.')[0]}")
    for name in names:
        setattr(theirs, name, getattr(ours, name))


def _find_their_loss(model, xp=None, device=None):
    """Return scikit-learn's own loss of a model of the same name, which tests of generalized linear models read."""
    theirs = getattr(importlib.import_module("sklearn.linear_model._glm.glm"), type(model).__name__)
    given = model.get_params()
    return theirs(**{name: given[name] for name in theirs().get_params()})._get_loss(xp, device)


for name in ("GammaRegressor", "PoissonRegressor", "TweedieRegressor"):
    getattr(importlib.import_module("mercer.linear_model"), name)._get_loss = _find_their_loss


# As in tests/conftest.py: what is made until all tests are listed lives until the end, and is not searched for garbage.
gc.disable()


def pytest_collection_finish():
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_configure(config):
    config.addinivalue_line("markers", "no_check_spmatrix: scikit-learn's own mark, for a check that is not run here")


# First, so that tests marked slow are left out where the command line asks for that.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    replaced = {name for names in REPLACED.values() for name in names}
    kept = [item for item in items if reaches_mercer(item, replaced)]
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept
    for item in items:
        identity = f"{item.module.__name__.rpartition('.')[2]}::{item.name}"
        if any(fnmatch.fnmatchcase(identity, pattern) for pattern in SLOW):
            item.add_marker(pytest.mark.slow)
        for pattern, reason in DIFFERENCES.items():
            if fnmatch.fnmatchcase(identity, pattern):
                # Ahead of scikit-learn's own marks, one of which may expect a failure that mercer does not have.
                item.add_marker(pytest.mark.xfail(reason=reason, strict=False), append=False)
                break

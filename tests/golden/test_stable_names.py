"""Stable names keep their interface: parameters, defaults, methods, fitted attributes, options of commands."""

import difflib
from dataclasses import dataclass, field

import pytest

from mercer._base.estimator import Estimator
from tools.make_interfaces import PAGE, describe, describe_all
from tools.stable_names import STABLE, is_scikit_name, is_stable, list_experimental, list_public

CURE = """

The interface of a stable name differs from tests/golden/stable_names.txt ('-' is stored, '+' is what it is now).
No program should stop working because of a new minor version. If something was only added, run
`python -m tools.make_interfaces` and commit the file. If something is renamed, removed or gets another default, keep
the old form working with a FutureWarning for two minor versions (CONTRIBUTING.md, "Deprecate a public name"), say so
in CHANGELOG.md, and then run the tool.
"""


def test_no_stable_interface_has_changed_unnoticed():
    stored, now = PAGE.read_text(encoding="utf-8").splitlines(), describe_all().splitlines()
    difference = list(difflib.unified_diff(stored, now, n=0, lineterm=""))[2:]
    changed = [line for line in difference if not line.startswith("@@")]
    assert not changed, "\n".join(changed) + CURE


def test_the_table_lists_public_names_that_no_rule_gives():
    public = {(module, name) for module, name, _ in list_public()}
    listed = [(module, name) for module, names in STABLE.items() for name in names]
    assert len(listed) == len(set(listed))
    assert [place for place in listed if place not in public] == []
    assert [place for place in listed if is_scikit_name(*place)] == []


def test_scikit_learns_names_are_stable_and_most_others_experimental():
    assert is_stable("mercer.cluster", "KMeans")
    assert is_stable("mercer", "save")
    assert not is_stable("mercer.energy", "IsingModel")
    assert "mercer.energy.IsingModel" in list_experimental()
    # Each class of scikit-learn's that comes adds to the stable names; those of mercer's own stay the smaller part.
    own = [(module, name) for module, name, _ in list_public() if not is_scikit_name(module, name)]
    stable = [place for place in own if is_stable(*place)]
    assert 100 <= len(stable) <= 200 < len(own) / 3


@dataclass
class Record:
    first: int = 1
    rest: list = field(default_factory=list)

    @property
    def total(self):
        """Return nothing."""


class Later(Estimator):
    """Fit nothing.

    Attributes
    ----------
    solver_used_ : str
        The solver.
    """

    __module__ = "mercer.later"
    _stored = {"coef_": None, "_private": None}

    def predict(self, X, *, deep=max):
        """Predict nothing."""

    predict.__module__ = __module__

    def _hide(self):
        """Hide."""


def test_an_interface_lists_parameters_attributes_and_methods():
    first, attributes, *methods = describe("mercer.later.Later", Later)
    assert first == "mercer.later.Later()"
    assert "certificate_, coef_, converged_" in attributes
    assert "solver_used_" in attributes
    assert "_private" not in attributes
    assert "classes_" not in attributes
    assert "    Later.predict(X, *, deep=max)" in methods
    assert not [line for line in methods if "_hide" in line]
    assert list(describe("mercer.Record", Record)) == ["mercer.Record(first=1, rest=<made anew>)"]


@pytest.mark.parametrize("address", ["mercer.kernels.Later", "mercer.objectives.Later"])
def test_methods_of_what_is_handed_to_estimators_are_not_promised(address):
    assert not [line for line in describe(address, Later) if line.startswith("    Later.")]

"""The package as a whole: names, laziness, versions."""

import importlib
import inspect
import subprocess
import sys

import pytest

import mercer
from mercer._documentation import compose_docstring
from mercer._families import FAMILIES


@pytest.mark.parametrize(
    "name", ["mercer", "mercer.optim", "mercer.watch", *(f"mercer.{family}" for family in FAMILIES)]
)
def test_every_public_name_exists(name):
    module = importlib.import_module(name)
    assert len(module.__all__) == len(set(module.__all__))
    for public in module.__all__:
        assert getattr(module, public) is not None


def test_families_load_on_first_use_only():
    code = "import sys, mercer; print([m for m in sys.modules if m.startswith(('sklearn', 'scipy', 'mercer.'))])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = eval(ran.stdout)
    assert not [name for name in loaded if name.startswith(("sklearn", "scipy"))]
    assert not [name for name in loaded if name.split(".")[-1] in FAMILIES]


def test_a_family_loads_what_is_asked_for():
    code = "import sys, mercer.ensemble as e, mercer.svm; before = set(sys.modules); e.RandomForestClassifier; "
    code += "print([name for name in before if name.startswith(('sklearn', 'mercer.ensemble._', 'mercer.svm._'))]); "
    code += "print([name for name in sys.modules if 'ensemble._histogram' in name or 'mercer.linear_model' in name])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [eval(line) for line in ran.stdout.splitlines()] == [[], []]
    assert "SVC" in dir(importlib.import_module("mercer.svm"))
    with pytest.raises(AttributeError, match=r"module 'mercer.cluster' has no attribute 'KMean'"):
        importlib.import_module("mercer.cluster").KMean  # noqa: B018


def test_unknown_names_are_refused_with_the_list_of_known_ones():
    with pytest.raises(AttributeError, match=r"module 'mercer' has no attribute 'clusters'; it has .*cluster"):
        mercer.clusters  # noqa: B018


def test_show_versions_tells_level_threads_and_blas(capsys):
    mercer.show_versions()
    text = capsys.readouterr().out
    for word in (mercer.__version__, "native code", "threads", "blas", "scikit-learn"):
        assert word in text


def test_the_error_tree_in_the_documentation_is_the_real_one():
    for name in mercer.errors.__all__:
        assert f"+-- {name}" in mercer.errors.__doc__ or name == "MercerError"


def test_a_composed_docstring_has_one_indentation_in_every_version_of_python():
    text = "Say it.\n\n    Parameters\n    ----------\n    %(parts)s\n    last : int\n        100 %% of it.\n    "
    parts = {"parts": "first : int\n        One.\n    second : int\n        Two."}
    whole = compose_docstring(text, parts)
    assert whole.splitlines()[4:] == [
        "first : int", "    One.", "second : int", "    Two.", "last : int", "    100 % of it.",
    ]  # fmt: skip
    # Python 3.13 hands over docstrings without their indentation, and -OO none at all.
    assert compose_docstring(inspect.cleandoc(text), parts) == whole
    assert compose_docstring(None, parts) == ""

"""``mercer migrate``: imports are rewritten, and nothing else."""

import re

import pytest
import sklearn.linear_model

from mercer.app.command import main
from mercer.app.switch.differences import DIFFERENCES, REPLACED
from mercer.app.switch.migration import migrate_source
from mercer.app.switch.subjects import _SUBJECTS, list_differences

_PROGRAM = '''\
"""Uses sklearn.svm."""  # sklearn
import sklearn.svm, os
import sklearn.linear_model as lm  # keep
from sklearn import datasets, metrics as m
from sklearn.linear_model import (
    Ridge,   # two
    LogisticRegression as LR,
)

def main():
    from  sklearn.ensemble import RandomForestClassifier; é = "sklearn"; model = sklearn.svm.SVC()
    return lm.Lasso(), m.accuracy_score, RandomForestClassifier, Ridge, LR, model
'''


def test_imports_are_rewritten_and_the_text_around_them_stays():
    found = migrate_source(_PROGRAM)
    wanted = _PROGRAM
    for old in (
        "import sklearn.svm,",
        "import sklearn.linear_model as",
        "from sklearn import",
        "from sklearn.linear_model",
        "from  sklearn.ensemble",
        "= sklearn.svm.SVC",
    ):
        assert wanted.count(old) == 1
        wanted = wanted.replace(old, old.replace("sklearn", "mercer"))
    assert found.source == wanted
    assert found.left == []
    assert found.used == {
        "ensemble.RandomForestClassifier",
        "linear_model.Lasso",
        "linear_model.LogisticRegression",
        "linear_model.Ridge",
        "svm.SVC",
    }
    scope: dict = {}
    exec(compile(found.source, "program", "exec"), scope)
    lasso, score, *_, model = scope["main"]()
    assert type(lasso).__module__.startswith("mercer.")
    assert type(model).__module__.startswith("mercer.")
    assert score is sklearn.metrics.accuracy_score
    again = migrate_source(found.source)
    assert again.source == found.source
    assert again.used == set()


def test_what_mercer_does_not_have_stays_and_is_said():
    text = "if 1:\n    from sklearn.datasets import make_blobs, fetch_openml\n"
    text += "from sklearn.linear_model._base import LinearModel\n"
    found = migrate_source(text)
    assert found.source.splitlines()[1:3] == [
        "    from mercer.datasets import make_blobs",
        "    from sklearn.datasets import fetch_openml",
    ]
    assert found.source.endswith("\nfrom sklearn.linear_model._base import LinearModel\n")
    assert [line for line, _ in found.left] == [2, 3]


@pytest.mark.parametrize("use", ["sklearn.utils._testing", "print(sklearn)", "sklearn.linear_model._base.x"])
def test_a_module_is_left_if_one_use_of_it_has_no_counterpart(use):
    text = f"import sklearn\nimport sklearn.svm\nsklearn.svm.SVC()\n{use}\n"
    found = migrate_source(text)
    assert found.source == text
    assert len(found.left) == 2


def test_line_ends_stay_and_a_file_that_is_no_python_is_left():
    found = migrate_source("from sklearn.svm import SVC\r\nx = 1\r\n")
    assert found.source == "from mercer.svm import SVC\r\nx = 1\r\n"
    broken = migrate_source("from sklearn.svm import\n")
    assert broken.source == "from sklearn.svm import\n"
    assert broken.left[0][0] == 1


def test_the_command_shows_a_diff_or_writes_and_lists_what_differs(tmp_path, capsys):
    path = tmp_path / "deep" / "program.py"
    path.parent.mkdir()
    path.write_text(_PROGRAM, encoding="utf-8")
    assert main(["migrate", "--check", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert path.read_text(encoding="utf-8") == _PROGRAM
    assert "\n-import sklearn.svm, os\n" in printed
    assert "\n+import mercer.svm, os\n" in printed
    assert re.search(
        r"\nsvm\.SVC:\n(  - .*\n)*  - a machine fitted to dense rows also predicts for sparse ones", printed
    )
    assert main(["migrate", str(path)]) == 0
    assert "rewritten" in capsys.readouterr().out
    assert path.read_text(encoding="utf-8") == migrate_source(_PROGRAM).source
    assert main(["migrate", str(tmp_path / "none")]) == 2


def test_every_difference_belongs_to_a_class_that_mercer_replaces():
    names = {name for listed in REPLACED.values() for name in listed} | {family.split(".")[0] for family in REPLACED}
    for pattern in DIFFERENCES:
        subjects = _SUBJECTS[pattern.partition("::")[0].removeprefix("test_")].split()
        assert subjects, pattern
        assert set(subjects) <= names, pattern
    assert any("sparse" in reason for reason in list_differences("svm.SVC"))
    assert not any("private" in reason for reason in list_differences("svm.SVC"))
    assert list_differences("neighbors.KernelDensity") == [DIFFERENCES["test_kde::test_kernel_density_sampling"]]

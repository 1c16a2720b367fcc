"""The switch: each test runs a program of its own, because the switch changes modules of the whole process."""

import os
import subprocess
import sys
import textwrap

import pytest

_DATA = """
import numpy as np
rng = np.random.default_rng(3)
X = rng.normal(size=(40, 3))
y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=40)
labels = (X[:, 0] > 0).astype(int)
"""


def run_program(text, *words, **environment):
    """Run a program with some words before it, and return what it prints; fail if it fails."""
    given = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, *words, "-c", _DATA + textwrap.dedent(text)], capture_output=True, text=True, env=given
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_file(folder, text, *words, program=("program.py",)):
    """Run a file by ``python -m mercer accelerate``."""
    (folder / "program.py").write_text(_DATA + textwrap.dedent(text), encoding="utf-8")
    command = [sys.executable, "-m", "mercer", "accelerate", *words, *program]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def test_objects_are_of_the_class_that_a_program_imports_in_both_libraries():
    run_program("""
        import mercer, sklearn.linear_model
        from sklearn.base import BaseEstimator, clone, is_regressor
        import sklearn.linear_model._ridge as private
        before = sklearn.linear_model.Ridge()
        mercer.accelerate()
        from sklearn.linear_model import Lasso, Ridge
        model = Ridge(alpha=0.5).fit(X, y)
        assert type(model).__module__.startswith("mercer.")
        assert isinstance(model, Ridge) and isinstance(model, sklearn.linear_model.Ridge) and isinstance(before, Ridge)
        assert not isinstance(model, Lasso) and not isinstance(3, Ridge)
        assert not isinstance(model, private.Ridge)  # scikit-learn's own code reads private attributes of its objects
        assert issubclass(Ridge, BaseEstimator) and issubclass(type(model), Ridge) and is_regressor(model)
        assert Ridge()._get_param_names is not None and clone(model).alpha == 0.5 and isinstance(clone(model), Ridge)
        theirs = private.Ridge(alpha=0.5).fit(X, y)
        assert np.allclose(model.coef_, theirs.coef_)
    """)


def test_families_that_are_not_used_are_not_loaded():
    printed = run_program("""
        import sys, mercer
        mercer.accelerate()
        import sklearn.cluster, sklearn.svm
        from sklearn.linear_model import Ridge
        isinstance(3, Ridge), isinstance(sklearn.svm.SVC, type)
        loaded = {name.split(".")[1] for name in sys.modules if name.startswith("mercer.")}
        assert not loaded & {"cluster", "svm", "linear_model", "_base"}, loaded
        Ridge()
        assert "mercer.linear_model" in sys.modules and "mercer.cluster" not in sys.modules
        print("done")
    """)
    assert printed == "done\n"


def test_modules_that_have_imported_a_name_get_it_and_give_it_back():
    run_program("""
        import sys, types, mercer, sklearn.cluster
        from sklearn.cluster import KMeans
        own = KMeans
        library = types.ModuleType("library")
        library.Clusters = KMeans
        sys.modules["library"] = library
        kind = type(sklearn.cluster)
        with mercer.accelerate("cluster"):
            assert type(library.Clusters()).__module__.startswith("mercer.")
            assert type(KMeans()).__module__.startswith("mercer.")
            assert vars(sklearn.cluster)["KMeans"] is sys.modules["sklearn.cluster._kmeans"].KMeans
            kept = KMeans
            import sklearn.svm
            assert type(sklearn.svm.SVC()).__module__.startswith("sklearn.")
        from sklearn.cluster import KMeans as after
        assert after is library.Clusters is vars(sklearn.cluster)["KMeans"] and type(sklearn.cluster) is kind
        assert type(kept()) is after
        mercer.accelerate("KMeans", "svm.SVC")
        assert type(sklearn.svm.SVC()).__module__.startswith("mercer.")
        assert type(sklearn.svm.SVR()).__module__.startswith("sklearn.")
        mercer.accelerate(False)
        assert sklearn.cluster.KMeans is after
        assert not any(type(finder).__module__.startswith("mercer") for finder in sys.meta_path)
    """)


def test_what_a_program_assigns_stays():
    run_program("""
        import mercer, sklearn.linear_model
        from unittest import mock
        mercer.accelerate()
        with mock.patch("sklearn.linear_model.Ridge", 3):
            assert sklearn.linear_model.Ridge == 3
        assert type(sklearn.linear_model.Ridge()).__module__.startswith("mercer.")
    """)


@pytest.mark.parametrize("name", ["isotonic.IsotonicRegression", "linear_model.Ridge"])
def test_pickles_are_read_with_and_without_the_switch(tmp_path, name):
    family, kind = name.split(".")
    run_program(f"""
        import copy, io, joblib, mercer, pickle
        from pathlib import Path
        from sklearn.{family} import {kind}
        mercer.accelerate(False)
        before = {kind}().fit(X[:, :1], y)
        switch = mercer.accelerate()
        answer = before.predict(X[:, :1])
        after = {kind}().fit(X[:, :1], y)
        assert np.allclose(after.predict(X[:, :1]), answer)
        for one in (before, after):
            for again in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
                assert type(again) is type(one) and np.allclose(again.predict(X[:, :1]), answer)
            stream = io.BytesIO()
            joblib.dump(one, stream)
            stream.seek(0)
            assert type(joblib.load(stream)) is type(one)
        assert pickle.loads(pickle.dumps({kind})) is {kind}
        Path(r"{tmp_path}/before").write_bytes(pickle.dumps((before, {kind})))
    """)
    run_program(f"""
        import pickle, sys
        from pathlib import Path
        model, kind = pickle.loads(Path(r"{tmp_path}/before").read_bytes())
        assert type(model) is kind and "mercer" not in sys.modules
        model.predict(X[:, :1])
    """)


def test_classes_derive_from_mercers_unless_they_use_what_is_private_to_scikit_learns():
    printed = run_program("""
        import mercer
        switch = mercer.accelerate()
        from sklearn.base import clone
        from sklearn.linear_model import Ridge
        from sklearn.svm import SVC

        class Doubled(Ridge):
            def __init__(self, alpha=2.0):
                super().__init__(alpha=alpha)

            def fit(self, X, y):
                return Ridge.fit(self, X, 2 * y)

        class Old(Ridge):
            def __init__(self, alpha=2.0):
                Ridge.__init__(self, alpha=alpha)

        class Checked(Ridge):
            _parameter_constraints = {**Ridge._parameter_constraints}

        class Dense(SVC):
            def fit(self, X, y):
                return self._dense_fit(X, y)

        model = clone(Doubled()).fit(X, y)
        assert isinstance(model, Ridge) and issubclass(Doubled, Ridge) and type(Doubled) is not type(Ridge)
        assert np.allclose(model.coef_, 2 * Ridge(alpha=2.0).fit(X, y).coef_)
        assert np.allclose(Old().fit(X, y).coef_, Ridge(alpha=2.0).fit(X, y).coef_)
        print(*(one.__mro__[1].__module__.split(".")[0] for one in (Doubled, Old, Checked, Dense)))
        assert isinstance(Checked().fit(X, y), Ridge)
        assert any("_parameter_constraints" in reason for _, reason in switch.record.fallbacks)
    """)
    assert printed.split() == ["mercer", "mercer", "sklearn", "sklearn"]


def test_an_option_that_mercer_refuses_is_scikit_learns_and_said():
    printed = run_program("""
        import mercer, pickle, warnings
        warnings.simplefilter("ignore")
        switch = mercer.accelerate()
        from sklearn.base import clone
        from sklearn.neural_network import MLPClassifier
        from sklearn.pipeline import make_pipeline
        model = MLPClassifier(solver="lbfgs", early_stopping=True, max_iter=5, hidden_layer_sizes=(2,))
        assert type(model).__module__.startswith("mercer.")
        line = make_pipeline(model).fit(X, labels)
        assert line[-1] is model and type(model).__module__.startswith("sklearn.") and isinstance(model, MLPClassifier)
        assert model.predict(X).shape == (40,) and model.hidden_layer_sizes == (2,)
        assert type(pickle.loads(pickle.dumps(model))) is type(model) and isinstance(clone(model), MLPClassifier)
        try:
            MLPClassifier(alpha=-1.0).fit(X, labels)
        except mercer.errors.ParameterError as error:
            assert "alpha" in str(error)  # scikit-learn refuses it too, so the error is mercer's
        else:
            raise AssertionError
        print(switch.record)
    """)
    assert "neural_network.MLPClassifier, 1 x: MLPClassifier: early_stopping" in printed


def test_functions_are_mercers_and_refused_models_are_scikit_learns():
    run_program("""
        import mercer, pickle
        from sklearn.tree._classes import DecisionTreeClassifier as Theirs
        switch = mercer.accelerate()
        from sklearn.metrics import accuracy_score, make_scorer, silhouette_score
        from sklearn.tree import DecisionTreeClassifier, export_text
        assert accuracy_score([1], [1]) == 1.0
        ours = silhouette_score(X, labels)
        assert switch.record.uses["metrics.silhouette_score"].calls == 1
        assert pickle.loads(pickle.dumps(silhouette_score)) is silhouette_score
        text = export_text(DecisionTreeClassifier(max_depth=1).fit(X, labels))
        assert export_text(Theirs(max_depth=1).fit(X, labels)) == text
        mercer.accelerate(False)
        from sklearn.metrics import silhouette_score as plain
        assert abs(plain(X, labels) - ours) < 1e-9 and abs(silhouette_score(X, labels) - ours) < 1e-9
    """)


def test_the_pattern_of_a_gallery_example_runs_with_the_report(tmp_path):
    program = """
        import sys
        import sklearn
        from sklearn import datasets, svm, tree
        from sklearn.decomposition import PCA
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.experimental import enable_halving_search_cv
        from sklearn.linear_model import *
        from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, cross_val_score, train_test_split
        from sklearn.pipeline import Pipeline, make_pipeline
        from sklearn.preprocessing import StandardScaler

        rows, kinds = datasets.load_iris(return_X_y=True)
        train, test, a, b = train_test_split(rows, kinds, random_state=0)
        for name, model in {
            "scaled": make_pipeline(StandardScaler(), PCA(2), svm.SVC(gamma=2, C=1)),
            "forest": RandomForestClassifier(10, random_state=0),
            "logistic": Pipeline([("model", LogisticRegression(max_iter=500))]),
        }.items():
            assert model.fit(train, a).score(test, b) > 0.85, name
        search = GridSearchCV(Ridge(), {"alpha": [0.1, 10.0]}, cv=2).fit(X, y)
        assert isinstance(search.best_estimator_, Ridge) and sklearn.linear_model.Ridge is Ridge
        HalvingGridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=2).fit(X, y)
        assert cross_val_score(tree.DecisionTreeClassifier(max_depth=2), rows, kinds).mean() > 0.9
        print(sys.argv[1:], __name__)
    """
    done = run_file(tmp_path, program, "--report", program=("program.py", "--report", "word"))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['--report', 'word'] __main__\n"
    rows = {line.split()[0]: line.split()[1:] for line in done.stderr.splitlines() if line.count(".") > 2}
    assert rows["decomposition.PCA"][:2] == ["1", "1"]
    assert {"svm.SVC", "ensemble.RandomForestClassifier", "tree.DecisionTreeClassifier"} <= set(rows)
    assert "scikit-learn's own was used" not in done.stderr


def test_a_module_is_run_and_the_exit_status_and_errors_are_the_programs_own(tmp_path):
    text = "import sys\nfrom sklearn.svm import SVC\nprint(type(SVC()).__module__.split('.')[0])\n"
    text += "sys.exit(len(sys.argv) + 2)"
    done = run_file(tmp_path, text, program=("-m", "program", "-x"))
    assert (done.stdout, done.returncode) == ("mercer\n", 4)
    done = run_file(tmp_path, "from sklearn.svm import SVC\nSVC(C=-1).fit(X, labels)")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "ParameterError" in done.stderr
    done = run_file(tmp_path, "print(1)", "--only", "lnear_model")
    assert done.returncode == 2
    assert "The nearest is 'linear_model'" in done.stderr
    assert not done.stdout
    done = run_file(tmp_path, "print(1)", program=("missing.py",))
    assert done.returncode == 2
    assert "there is no file 'missing.py'" in done.stderr


def test_the_variable_and_the_extension_of_ipython_switch_on():
    text = """
        import mercer
        from sklearn.cluster import KMeans
        from sklearn.svm import SVC
        print(type(KMeans()).__module__.split(".")[0], type(SVC()).__module__.split(".")[0])
    """
    assert run_program(text, MERCER_ACCELERATE="1").split() == ["mercer", "mercer"]
    assert run_program(text, MERCER_ACCELERATE="svm").split() == ["sklearn", "mercer"]
    assert run_program(text, MERCER_ACCELERATE="0").split() == ["sklearn", "sklearn"]
    run_program("""
        import mercer
        mercer.load_ipython_extension(None)
        import sklearn.svm
        assert type(sklearn.svm.SVC()).__module__.startswith("mercer.")
        mercer.unload_ipython_extension(None)
        assert type(sklearn.svm.SVC()).__module__.startswith("sklearn.")
    """)

"""Promise 5, you stay in charge: Ctrl-C, time limits, callbacks, early stopping, checkpoints."""

import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import mercer.cluster
import mercer.linear_model
import mercer.neighbors
import mercer.svm
from mercer._native import level
from mercer.errors import CheckpointError, InterruptWarning
from mercer.feature_selection import RFECV
from mercer.watch import Checkpoint, EarlyStopping, TimeLimit
from tests.laws.ends_at_once import ENDS_AT_ONCE
from tests.laws.subjects import digest, first_settings, fit_once, fitted, outputs, subjects


def fit(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


STEPWISE = [subject for subject in subjects() if not {subject.name, repr(subject)} & ENDS_AT_ONCE]
# Kinds of targets that the scoring monitor compares predictions with.
PREDICTED = ("classes", "two classes", "numbers")
each_setting = pytest.mark.parametrize("iterative", STEPWISE, ids=repr)
each_class = pytest.mark.parametrize("subject", first_settings(), ids=repr)


class At:
    """A callback that does something after the step of a given number."""

    def __init__(self, number, action):
        self.number, self.action, self.seen = number, action, 0

    def setup(self, estimator, context):
        self.seen = 0

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.seen += 1
        if self.seen == self.number:
            return self.action()
        return False


def press_ctrl_c():
    signal.raise_signal(signal.SIGINT)
    return False


def crash():
    raise RuntimeError("killed")


def says_something(model, X):
    """Whether a model answers about rows, has labels of the rows of its fit, or the best setting of a search so far."""
    if isinstance(model, RFECV) and "estimator_" not in vars(model):
        scores = model.cv_results_["mean_test_score"]
        return model.n_features_ == model.cv_results_["n_features"][scores.argmax()]
    if "best_params_" in vars(model) and "best_estimator_" not in vars(model):
        return model.best_params_ == model.cv_results_["params"][model.best_index_]
    return bool(outputs(model, X)) or len(model.labels_) == len(X)


@pytest.mark.parametrize("subject", subjects(), ids=repr)
def test_fits_take_three_steps_unless_they_are_listed(subject):
    assert (len(fit_once(subject).history_["step"]) >= 3) == any(subject is one for one in STEPWISE)


@each_setting
def test_ctrl_c_keeps_the_last_complete_state_and_is_raised_again(iterative):
    X, y = iterative.data()
    model = iterative.make().set_callbacks(At(2, press_ctrl_c))
    with pytest.warns(InterruptWarning, match="the last complete state was kept"), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not model.converged_
    assert len(model.history_["step"]) == 2
    assert says_something(model, X)


@each_setting
def test_ctrl_c_returns_when_asked_to_keep(iterative):
    X, y = iterative.data()
    with mercer.config_context(on_interrupt="keep"), pytest.warns(InterruptWarning):
        model = iterative.make().set_callbacks(At(1, press_ctrl_c)).fit(X, y)
    assert not model.converged_
    assert says_something(model, X)


@each_setting
def test_max_time_ends_the_fit_with_a_usable_model(iterative):
    X, y = iterative.data()
    assert iterative.takes("max_time")
    with pytest.warns(ConvergenceWarning, match="stopped by max_time after 1 steps"):
        model = iterative.make(max_time=0.0).fit(X, y)
    assert not model.converged_
    assert says_something(model, X)
    limited = fit(iterative.make().set_callbacks(TimeLimit(0.0)), X, y)
    assert digest(outputs(limited, X)) == digest(outputs(model, X))


@each_setting
def test_a_crashed_fit_resumes_from_its_checkpoint_with_the_same_bits(iterative, tmp_path):
    X, y = iterative.data()
    path = tmp_path / "fit.checkpoint"
    with pytest.raises(RuntimeError, match="killed"):
        fit(iterative.make().set_callbacks(Checkpoint(path, every=0), At(3, crash)), X, y)
    checkpoint = Checkpoint(path, every=0)
    resumed = fit(iterative.make().set_callbacks(checkpoint), X, y)
    assert checkpoint.resumed_from_ == 2
    assert not path.exists()
    assert digest(fitted(resumed)) == digest(fitted(fit_once(iterative)))


@pytest.mark.parametrize("name", ["KMeans", "LogisticRegression", "GaussianMixture"])
def test_a_checkpoint_of_another_fit_is_refused(name, tmp_path):
    subject = next(subject for subject in first_settings() if subject.name == name)
    X, y = subject.data()
    path = tmp_path / "fit.checkpoint"
    with pytest.raises(RuntimeError, match="killed"):
        fit(subject.make().set_callbacks(Checkpoint(path, every=0), At(3, crash)), X, y)
    with pytest.raises(CheckpointError, match="written by another fit"):
        fit(subject.make().set_callbacks(Checkpoint(path)), X + 1.0, y)


@pytest.mark.parametrize("iterative", [one for one in STEPWISE if hasattr(one.make(), "score")], ids=repr)
def test_early_stopping_keeps_the_best_state_on_the_validation_set(iterative):
    X, y = iterative.data()
    judge = EarlyStopping(X[::2], None if y is None else y[::2], patience=2)
    model = fit(iterative.make().set_callbacks(judge), X[1::2], None if y is None else y[1::2])
    score = model.score(X[::2]) if y is None else model.score(X[::2], y[::2])
    assert score == max(judge.scores_)


@each_class
def test_scikit_learns_progress_bar_follows_the_fit(subject, capsys):
    X, y = subject.data()
    fit(subject.make().set_callbacks(ProgressBar()), X, y)
    assert subject.name in capsys.readouterr().out


@pytest.mark.parametrize(
    "iterative", [one for one in STEPWISE if one.kind in PREDICTED and hasattr(one.make(), "predict")], ids=repr
)
def test_scikit_learns_scoring_monitor_sees_every_step(iterative):
    X, y = iterative.data()
    monitor = ScoringMonitor(scoring="r2" if iterative.kind == "numbers" else "accuracy")
    model = fit(iterative.make().set_callbacks(monitor), X, y)
    seen = [row for row in monitor.get_logs().data if row["task_name"] == "step"]
    assert len(seen) == len(model.history_["step"])
    # The score of a model of counts or amounts is a share of the deviance.
    if iterative.kind == "numbers":
        assert seen[-1]["r2"] == pytest.approx(r2_score(y, model.predict(X)))
    else:
        assert seen[-1]["accuracy"] == pytest.approx(model.score(X, y))


@each_class
def test_pipelines_and_searches_carry_callbacks_and_clones(subject, capsys):
    X, y = subject.data(200, 5)
    pipeline = make_pipeline(subject.scaler(), subject.make())
    fit(clone(pipeline).set_callbacks(ProgressBar()), X, y)
    assert "Pipeline" in capsys.readouterr().out
    if y is None or not hasattr(subject.make(), "score"):
        return
    values = {"C": [0.1, 1.0], "alpha": [0.1, 1.0], "fit_intercept": [True], "n_jobs": [1, 2], "priors": [None]}
    values |= {"coverage": [0.8, 0.9], "threshold": [0.75, 0.9]}
    parameter = next(name for name in values if subject.takes(name))
    grid = {f"{subject.name.lower()}__{parameter}": values[parameter]}
    search = fit(GridSearchCV(pipeline, grid, cv=2).set_callbacks(ProgressBar()), X, y)
    assert search.best_score_ > 0
    assert "GridSearchCV" in capsys.readouterr().out


# Fits that take many calls of native functions in one thread, each a piece of at most about 50 ms.
LONG = {
    "KMeans": (mercer.cluster, {"n_clusters": 30, "n_init": 5, "init": "random", "n_jobs": 1}),
    "LogisticRegression": (mercer.linear_model, {"solver": "saga", "tol": 1e-30, "max_iter": 300, "n_jobs": 1}),
    "Ridge": (mercer.linear_model, {"solver": "sag", "tol": 1e-30, "max_iter": 300, "n_jobs": 1}),
    "SGDClassifier": (mercer.linear_model, {"tol": None, "max_iter": 300}),
    "KernelDensity": (mercer.neighbors, {"bandwidth": "cross_validation", "n_jobs": 1}),
    "SVC": (mercer.svm, {"C": 1e3, "tol": 1e-9, "n_jobs": 1}),
}


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_in_the_middle_of_a_step_ends_the_work_before_its_next_piece(name, monkeypatch):
    """Ctrl-C is pressed as a native function is called, and none may be called after it.

    `test_interrupt_times` measures the seconds that this takes.
    """
    family, settings = LONG[name]
    X = np.random.default_rng(0).normal(size=(3000, 10))
    y = (X[:, 0] > 0).astype(int)
    model = getattr(family, name)(**settings)
    fit(clone(model), X[:100], y[:100])  # loads the native modules
    begun = []

    def watch(function):
        def begin(*arguments, **options):
            begun.append(function.__name__)
            if len(begun) == 6:
                press_ctrl_c()
            return function(*arguments, **options)

        return begin

    for native in [module for key, module in sys.modules.items() if key.startswith(f"mercer._native.{level()}.")]:
        for key, value in vars(native).copy().items():
            if type(value).__name__ in ("cython_function_or_method", "fused_cython_function"):
                monkeypatch.setattr(native, key, watch(value))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterruptWarning)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    assert len(begun) == 6


def test_a_fit_killed_outright_resumes_with_the_same_bits(tmp_path):
    from mercer.cluster import KMeans

    program = f"""
import numpy as np
from mercer.cluster import KMeans
from mercer.watch import Checkpoint
X = np.random.default_rng(0).normal(size=(20_000, 10))
KMeans(50, n_init=2, tol=0, random_state=0).set_callbacks(Checkpoint({str(tmp_path / "c")!r}, every=0)).fit(X)
"""
    process = subprocess.Popen([sys.executable, "-c", program])
    while process.poll() is None and not (tmp_path / "c").exists():
        time.sleep(0.005)
    process.kill()
    process.wait()
    X = np.random.default_rng(0).normal(size=(20_000, 10))
    checkpoint = Checkpoint(tmp_path / "c")
    resumed = fit(KMeans(50, n_init=2, tol=0, random_state=0).set_callbacks(checkpoint), X, None)
    assert checkpoint.resumed_from_ is not None
    undisturbed = fit(KMeans(50, n_init=2, tol=0, random_state=0), X, None)
    assert digest(fitted(resumed)) == digest(fitted(undisturbed))

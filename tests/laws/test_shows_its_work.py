"""Promise 4: history, convergence and certificate on every fit, and they are true."""

import warnings

import numpy as np
import pytest

from mercer._solver import Certificate
from tests.laws.certificates import RECOMPUTED
from tests.laws.ends_at_once import ENDS_AT_ONCE
from tests.laws.subjects import first_settings, fit_once, subjects

SUBJECTS = subjects()


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_every_fit_has_a_history_a_verdict_and_a_certificate(subject):
    model = fit_once(subject)
    columns = {name: len(column) for name, column in model.history_.items()}
    assert {"step", "objective", "seconds"} <= set(columns)
    assert len(set(columns.values())) == 1
    assert columns["step"] >= 1
    assert model.history_["step"].tolist() == list(range(columns["step"]))
    assert np.all(np.diff(model.history_["seconds"]) >= 0)
    assert np.isfinite(model.history_["objective"]).all()
    assert isinstance(model.converged_, bool)
    assert isinstance(model.certificate_, Certificate)
    assert model.certificate_.statement
    assert hasattr(model, "n_iter_")


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_the_objective_moves_in_its_proper_direction(subject):
    model = fit_once(subject)
    direction = {"down": -1, "up": 1, None: 0}[subject.estimator._objective_moves]
    changes = direction * np.diff(model.history_["objective"])
    slack = 1e-9 * np.abs(model.history_["objective"]).max()
    assert (changes >= -slack).all()


def check_certificate(subject, model, X, y):
    """Compare a certificate with what public attributes and the rows alone say, in float64, by other code."""
    certificate = model.certificate_
    if certificate.kind == "none":
        assert np.isnan(certificate.value)
        assert certificate.satisfied is None
        return
    asked = not np.isnan(certificate.tolerance)
    assert certificate.satisfied is (bool(certificate.value <= certificate.tolerance) if asked else None)
    if model.converged_:
        assert certificate.satisfied is not False
    value = RECOMPUTED[certificate.kind, subject.name](model, X, y)
    # A solver may report a bound it can compute cheaply; it must not be smaller than the truth, nor far above it.
    assert value <= certificate.value * 1.01 + 1e-9 * (1 + abs(model.history_["objective"][-1]))


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_the_certificate_is_honest(subject):
    check_certificate(subject, fit_once(subject), *subject.data())


CERTIFIED = [subject for subject in first_settings() if any(name == subject.name for _, name in RECOMPUTED)]


@pytest.mark.parametrize("subject", CERTIFIED, ids=repr)
@pytest.mark.parametrize("seed", [7, pytest.param(8, marks=pytest.mark.slow), pytest.param(9, marks=pytest.mark.slow)])
def test_the_certificate_is_honest_on_other_rows(subject, seed):
    X, y = subject.data()
    n = np.shape(X)[0]
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.shape == (n, n):
        pytest.skip("rows are no table whose rows may be left out")
    if y is not None and np.shape(y)[:1] != (n,):
        pytest.skip("targets are not one for each row")
    kept = np.sort(np.random.default_rng(seed).permutation(n)[: 2 * n // 3])
    X, y = X[kept], None if y is None else y[kept]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = subject.make().fit(X, y)
    check_certificate(subject, model, X, y)


STEPWISE = [subject for subject in SUBJECTS if not {subject.name, repr(subject)} & ENDS_AT_ONCE]


@pytest.mark.parametrize("subject", [one for one in STEPWISE if one.takes("max_iter")], ids=repr)
def test_a_run_cut_short_says_so(subject):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        short = subject.make(max_iter=1).fit(*subject.data())
    assert not short.converged_

"""Large machines by a team: the bits of block descent without one, for any number of threads."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1

from mercer._solver import dual_machines
from mercer._source import threads
from mercer.svm import SVC, SVR, NuSVC, OneClassSVM


@pytest.fixture(scope="module")
def classes():
    return make_classification(2600, 6, n_informative=4, flip_y=0.05, random_state=0)


MACHINES = {
    "classes": SVC(gamma=0.2),
    "exact values": SVC(gamma=0.2, tol=1e-5),
    "squared slacks": SVC(gamma=0.2, loss="squared_hinge"),
    "two groups": NuSVC(nu=0.3, gamma=0.2),
    "one class": OneClassSVM(nu=0.1, gamma=0.2),
    "no room for rows": SVC(gamma=0.2, cache_size=1),
}


@pytest.mark.parametrize("name", MACHINES)
def test_a_team_gives_the_bits_of_one_thread_without_it(classes, name, monkeypatch):
    X, y = classes
    found = [MACHINES[name].set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3)]
    found = [(one.dual_coef_.copy(), one.intercept_.copy(), one.history_["objective"]) for one in found]
    monkeypatch.setattr(dual_machines.TeamDescent, "serves", staticmethod(lambda gram, dtype: False))
    plain = MACHINES[name].set_params(n_jobs=1).fit(X, y)
    for one, other in zip(found[0], (plain.dual_coef_, plain.intercept_, plain.history_["objective"]), strict=True):
        if name == "squared slacks":
            # Here they are added to slopes before kernel rows, there after.
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
        else:
            np.testing.assert_array_equal(one, other)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_regression_whose_rows_leave_and_return_ends_at_its_optimum():
    X, y = make_friedman1(3000, noise=1.0, random_state=0)
    model = SVR(C=10.0, gamma=0.1, n_jobs=2).fit(X, y)
    assert model.converged_
    assert model.certificate_.value <= model.certificate_.tolerance
    again = SVR(C=10.0, gamma=0.1, shrinking=False).fit(X, y)
    assert model.history_["objective"][-1] == pytest.approx(again.history_["objective"][-1], rel=1e-5)


def test_a_team_goes_home_when_a_fit_is_ended(classes):
    X, y = classes
    with pytest.warns(UserWarning, match="max_time"):
        SVC(gamma=0.2, n_jobs=3, max_time=0.0).fit(X, y)
    seen = set()
    barrier = threads.threading.Barrier(3, timeout=20.0)

    def meet(number):
        barrier.wait()
        seen.add(threads.threading.get_ident())

    # All three threads are free to meet: members who stayed would be missing.
    threads.run_numbered(meet, 3, 3)
    assert len(seen) == 3

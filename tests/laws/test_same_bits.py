"""Promise 2, same seed, same bits: threads, BLAS settings and processes leave no trace in a result."""

import json
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.laws.subjects import digest, first_settings, fitted, outputs, subjects

SUBJECTS = subjects()
# 64 columns make blocks of 2048 rows, so these rows fill more than two of them: the sums of blocks are added along a
# tree of two levels, and more threads than blocks ask for work.
SHAPE = (4300, 64)


def digest_of_fit(subject, n_jobs):
    # Where all pairs of rows are decomposed, as many rows as have several tiles.
    X, y = subject.data(min(1_100, subject.most_rows) if subject.is_cubic else SHAPE[0], SHAPE[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = subject.make(n_jobs=n_jobs, max_iter=5).fit(X, y)
        return digest([fitted(model), outputs(model, X[:100])])


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_threads_and_fits_that_run_at_the_same_time_do_not_change_a_bit(subject):
    alone = digest_of_fit(subject, 1)
    with ThreadPoolExecutor(2) as users:
        assert set(users.map(lambda n_jobs: digest_of_fit(subject, n_jobs), (2, 5))) == {alone}


@pytest.mark.parametrize("subject", [one for one in first_settings() if one.takes("random_state")], ids=repr)
def test_generators_are_accepted_and_two_of_one_seed_agree(subject):
    """Whole numbers as seeds are proven in every setting: a clone that is fitted again has the same bits."""
    X, y = subject.data(300, 5)
    for seed in (np.random.RandomState, np.random.default_rng):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first, second = (subject.make(random_state=seed(3)).fit(X, y) for _ in range(2))
        assert digest(fitted(first)) == digest(fitted(second))


@pytest.mark.parametrize("name", ["GaussianNB", "KMeans", "LogisticRegression", "PCA", "Ridge"])
def test_answers_about_many_rows_do_not_depend_on_threads_or_order_in_memory(name):
    """As many rows as fill three blocks, which threads share and which are put in C order one by one."""
    subject = next(one for one in first_settings() if one.name == name)
    X, y = subject.data(9000, 20)
    model = subject.make(n_jobs=1).fit(X[:200], None if y is None else y[:200])
    expected = digest(outputs(model, X))
    for jobs in (1, 2, 5):
        if "n_jobs" in model.get_params():
            model.set_params(n_jobs=jobs)
        for rows in (X, np.asfortranarray(X)):
            assert digest(outputs(model, rows)) == expected


def test_fresh_processes_with_other_thread_settings_give_the_same_bits():
    """One process per setting fits every class; the BLAS's own threads are part of the setting."""
    answers = []
    for threads in ("1", "5"):
        environment = os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        command = [sys.executable, "-c", "from tests.laws.test_same_bits import report; report()"]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=3600)
        answers.append(json.loads(ran.stdout))
    for name, found in answers[0].items():
        assert found == answers[1][name], name


def report():
    """Print the digest of a fit of every class; called in a fresh process."""
    # One setting of each class: the other settings run in this process with other numbers of threads above.
    sys.stdout.write(json.dumps({subject.name: digest_of_fit(subject, None) for subject in first_settings()}))

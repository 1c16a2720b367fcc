"""The bundled tables are drawn from the truth they state, and have what a report should find."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, roc_auc_score

from mercer._source.table import read_table
from mercer.app.table import guess_roles
from mercer.datasets import load_failures, load_rents, load_visitors
from mercer.mixture import GaussianMixture


def test_failures_follow_their_probabilities_which_no_model_can_beat():
    table = load_failures(n_samples=20_000, random_state=1)
    failed = (table.frame["failure"] == "yes").to_numpy()
    spread = np.sqrt((table.probability * (1 - table.probability)).sum())
    assert abs(failed.sum() - table.probability.sum()) < 3 * spread
    assert 0.83 < roc_auc_score(failed, table.probability) < 0.9
    assert 0.05 < failed.mean() < 0.12
    assert ((table.frame[table.leak] > 0) == failed).all()


def test_rents_differ_from_their_expectation_by_the_stated_noise():
    table = load_rents(n_samples=20_000, random_state=1)
    noise = table.frame["rent"] - table.expected
    assert abs(noise.mean()) < 1.5
    assert noise.std() == pytest.approx(70, rel=0.02)
    with_lift = table.frame["lift"]
    slopes = [
        np.polyfit(part["storey"], part["rent"], 1)[0] for part in (table.frame[with_lift], table.frame[~with_lift])
    ]
    np.testing.assert_allclose(slopes, [30, -25], atol=4)


def test_visitors_fall_into_four_groups_and_a_few_odd_rows():
    table = load_visitors(n_samples=2000, random_state=1)
    known = table.groups != "odd"
    rows = np.log1p(table.frame.iloc[:, :4].to_numpy()[known])
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    found = GaussianMixture(4, n_init=5, random_state=0).fit_predict(rows)
    assert adjusted_rand_score(table.groups[known], found) > 0.9
    assert 0.005 < 1 - known.mean() < 0.03


def test_the_roles_of_the_bundled_columns_are_the_ones_they_were_made_for():
    failures = load_failures()
    roles, notices = guess_roles(read_table(failures.frame), target=failures.target)
    found = {column.name: column.role for column in roles.columns}
    assert found["machine_id"] == "id"
    assert found["repair_cost"] == "leak"
    assert roles.kinds["installed"] == "date"
    assert [notice.subject for notice in notices if notice.level == "danger"] == ["repair_cost"]
    rents = load_rents()
    roles, _ = guess_roles(read_table(rents.frame), target=rents.target, group=rents.group)
    assert (roles.task, roles.group) == ("regression", "building")
    assert all(column.role != "leak" for column in roles.columns)


def test_the_same_seed_draws_the_same_table():
    assert load_failures().frame.equals(load_failures().frame)
    assert not load_visitors().frame.equals(load_visitors(random_state=1).frame)

"""Studies of tables beyond memory: a sample is compared, the model is fitted to all rows, and that is said."""

import os
from dataclasses import replace

import numpy as np
import pandas
import pytest
from distributed import LocalCluster

import mercer
from mercer.app.beyond_memory import Whole, _Drawn, fit_to_whole, is_beyond_memory
from mercer.app.options import Options
from mercer.app.study.record import Column
from mercer.decision import DecisionClassifier
from mercer.ensemble import RandomForestRegressor
from mercer.errors import DataError
from mercer.linear_model import LogisticRegression
from mercer.pipeline import make_pipeline
from mercer.preprocessing import TableEncoder

N = 6000


@pytest.fixture(scope="module")
def cars(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cars")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"maker": rng.choice(["Audi", "BMW", "VW"], N), "age": rng.gamma(3, 2, N).round(2)})
    frame["price"] = 30 - 2 * frame.age + 3 * (frame.maker == "BMW") + rng.normal(size=N)
    frame["sold"] = np.where(frame.price + rng.normal(size=N) > 18, "yes", "no")
    frame.loc[::9, "age"] = None
    (folder / "parts").mkdir()
    frame.iloc[:2500].to_parquet(folder / "parts" / "a.parquet", row_group_size=1000)
    frame.iloc[2500:].to_parquet(folder / "parts" / "b.parquet")
    frame.to_csv(folder / "cars.csv", index=False)
    return frame, folder


def told(done):
    return [notice.text for notice in done.record.data.notices]


@pytest.fixture(scope="module")
def priced(cars):
    options = {"quick": True, "folds": 2, "inner": 2, "no_rows": True, "ignore": ["sold"]}
    return mercer.run(str(cars[1] / "parts"), target="price", sample=700, candidates=["ridge regression"], **options)


def test_models_are_compared_on_a_sample_and_the_chosen_one_is_fitted_to_all_rows(cars, priced):
    assert any("has 6000 rows" in text and "by 700 rows that were drawn at random" in text for text in told(priced))
    assert "The model is fitted to all 6000 rows, by this process, block by block." in told(priced)
    assert priced.model[0].schema_.n_rows == N
    frame = cars[0]
    assert priced.model.score(frame[["maker", "age"]], frame.price) > 0.85


def whole_of(path):
    return Whole(str(path), {}, N, 700, 0.01)


def test_classes_are_learnt_from_all_rows_of_a_csv_and_decided_as_in_the_study(cars, priced):
    frame = cars[0]
    decider = DecisionClassifier(LogisticRegression(), costs="balanced")
    model = make_pipeline(TableEncoder(handle_unknown="ignore"), decider).fit(
        frame[["maker", "age"]][:500], frame.sold[:500]
    )
    data = replace(priced.record.data, columns=[Column("sold", "target", "", 0, 2, "")])
    study = replace(priced, model=model, record=replace(priced.record, data=data))
    done = fit_to_whole(study, whole_of(cars[1] / "cars.csv"), Options("sold"), np.inf)
    assert done.model[0].schema_.n_rows == N
    assert done.model[-1].costs_.tolist() == model[-1].costs_.tolist()
    expected = make_pipeline(TableEncoder(), LogisticRegression()).fit(frame[["maker", "age"]], frame.sold)
    rows = frame[["maker", "age"]]
    np.testing.assert_allclose(done.model.predict_proba(rows), expected.predict_proba(rows), rtol=1e-6)


def test_a_model_that_needs_all_rows_keeps_those_of_the_sample_and_says_why(cars, priced):
    forest = make_pipeline(TableEncoder(), RandomForestRegressor(2, random_state=0))
    model = forest.fit(cars[0][["maker", "age"]], cars[0].price)
    done = fit_to_whole(replace(priced, model=model), whole_of(cars[1] / "parts"), Options("price"), np.inf)
    assert done.model is model
    assert told(done)[-1].endswith(
        "fitted to the 700 rows of the sample: RandomForestRegressor needs all rows at once."
    )
    late = fit_to_whole(priced, whole_of(cars[1] / "parts"), Options("price"), 0.0)
    assert "for which the budget leaves no time" in told(late)[-1]


def test_workers_of_a_cluster_fit_the_model_to_parquet(cars, priced):
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        options = Options("price", cluster=cluster.scheduler_address)
        done = fit_to_whole(priced, whole_of(cars[1] / "parts"), options, np.inf)
        with pytest.raises(DataError, match=r"workers read Parquet files without weights; got .*cars.csv"):
            fit_to_whole(priced, whole_of(cars[1] / "cars.csv"), options, np.inf)
    assert f"fitted to all 6000 rows, by the workers of {options.cluster}" in told(done)[-1]
    frame = cars[0][["maker", "age"]]
    np.testing.assert_allclose(done.model.predict(frame), priced.model.predict(frame), rtol=1e-6)


def test_a_sample_draws_each_row_as_likely_as_any_other():
    import pyarrow

    counts = np.zeros(60)
    for seed in range(400):
        random, drawn = np.random.default_rng(seed), _Drawn(10)
        for start in range(0, 60, 15):
            drawn.add(pyarrow.table({"x": np.arange(start, start + 15)}), random.random(15), start)
        rows, numbers = drawn.finish()
        assert rows.column("x").to_pylist() == numbers.tolist() == sorted(set(numbers.tolist()))
        assert len(numbers) == 10
        counts[numbers] += 1
    # Each count has the mean 400 / 6 and, for a binomial count, five times its standard deviation as a bound.
    assert np.abs(counts - 400 / 6).max() < 5 * np.sqrt(400 * 1 / 6 * 5 / 6)


def test_a_table_is_beyond_memory_if_its_rows_take_more_than_half_of_it(cars):
    path = str(cars[1] / "cars.csv")
    assert not is_beyond_memory(path, None)
    with mercer.config_context(max_memory=2 * os.path.getsize(path)):
        assert is_beyond_memory(path, None)

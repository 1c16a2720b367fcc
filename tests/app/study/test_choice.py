"""The choice among candidates: paired differences, trustworthy probabilities, races and the use of time."""

from types import SimpleNamespace

import numpy as np
import pandas
import pytest

import mercer
from mercer._base.candidate import Candidate, Shape
from mercer._source.table import read_table
from mercer.app.options import Options
from mercer.app.study.choice import intervals, schedule, selection, trying, winner
from mercer.app.study.choice.trying import find_lagging, list_rounds, race
from mercer.app.study.choice.winner import make_measure
from mercer.app.study.clock import Clock
from mercer.app.study.dataset import gather
from mercer.app.study.description import list_lacking
from mercer.app.study.metrics import find_metric
from mercer.app.table import guess_roles
from mercer.model_selection import candidates
from mercer.naive_bayes import GaussianNB


def _draw(n_rows=120, seed=0):
    random = np.random.default_rng(seed)
    kind = np.array(["u", "v"])[random.integers(0, 2, n_rows)]
    x = random.normal(size=n_rows) + 1.5 * (kind == "v")
    return pandas.DataFrame({"x": x, "z": random.random(n_rows), "y": kind})


def _gather(frame, target="y"):
    table = read_table(frame)
    return gather(table, guess_roles(table, target=target)[0])


def test_a_model_with_worse_probabilities_than_the_constant_is_not_chosen():
    """Ten copies of one column make naive Bayes certain of what it does not know."""
    frame = _draw(200)
    for copy in range(10):
        frame[f"x{copy}"] = frame["x"] + 1e-3 * np.random.default_rng(copy).normal(size=len(frame))
    frame["y"] = np.where(np.random.default_rng(9).random(200) < 0.4, frame["y"].iloc[::-1], frame["y"])
    options = {"quick": True, "folds": 3, "inner": 2}
    record = mercer.run(frame, "y", candidates=["naive Bayes", "logistic regression"], **options).record
    bayes = next(candidate for candidate in record.candidates if candidate.name == "naive Bayes")
    assert "Its probabilities are worse than those of the constant guess." in bayes.text
    assert bayes.status in ("worse", "best")
    chosen = next(candidate for candidate in record.candidates if candidate.status == "chosen")
    assert chosen.name != "naive Bayes"
    assert record.sureness.other_metrics["Brier score"][0] < 0.55


def test_the_brier_score_is_the_squared_distance_to_the_true_class():
    trial = SimpleNamespace(predictions=np.array([[1.0, 0.0], [0.5, 0.5], [np.nan, np.nan]]))
    dataset = SimpleNamespace(classes=["u", "v"], y=np.array(["u", "v", "u"]), weight=None)
    assert winner.measure_brier(trial, dataset) == pytest.approx((0.0 + 0.5) / 2)


def test_the_record_says_what_simplicity_costs():
    record = mercer.run(_draw(), "y", quick=True, candidates=["nearest centroid", "logistic regression"]).record
    lags = {candidate.name: candidate.lag for candidate in record.candidates}
    assert min(lags.values()) == 0.0
    best = max(record.candidates, key=lambda candidate: candidate.score)
    for candidate in record.candidates:
        differences = np.subtract(best.fold_scores, candidate.fold_scores)
        assert candidate.lag == pytest.approx(differences.mean())
        error = np.sqrt((1 / 5 + 1 / 4) * differences.var(ddof=1))
        assert candidate.lag_error == pytest.approx(error, rel=0.02)
    chosen = next(candidate for candidate in record.candidates if candidate.status == "chosen")
    assert chosen.lag <= chosen.lag_error + 1e-12
    if chosen is not best:
        assert any(sentence.startswith("A simpler model was chosen: its score is") for sentence in record.findings)


def _measure(metric, task, **known):
    y = np.array(["u", "v"]) if task == "classification" else np.array([1.0, 3.0])
    plan = SimpleNamespace(classes=np.array(["u", "v"]), rows=SimpleNamespace(y=y))
    dataset = SimpleNamespace(**{"weight": None, "groups": None, "time": None} | known)
    return make_measure(plan, find_metric(metric, task), dataset)


@pytest.mark.parametrize(
    ("metric", "task", "answers", "losses"),
    [
        ("r2", "regression", [3.0, 3.0], [4.0, 0.0]),
        ("rmse", "regression", [3.0, np.nan], [4.0, np.nan]),
        ("mae", "regression", [3.0, 2.0], [2.0, 1.0]),
        ("log_loss", "classification", [[0.5, 0.5], [1.0, 0.0]], [np.log(2), np.log(1e4)]),
    ],
)
def test_rows_have_the_loss_of_the_metric(metric, task, answers, losses):
    answers = np.array(answers)
    trial = SimpleNamespace(predictions=answers, inner_predictions=np.stack([answers, answers]).astype(np.float32))
    measure = _measure(metric, task)
    for fold in (None, 1):
        np.testing.assert_allclose(measure(trial, fold), losses, rtol=1e-6)
    assert measure(SimpleNamespace(predictions=answers, inner_predictions=None), 0) is None
    # Rows of one group depend on each other, so that a standard error over rows would be too small.
    assert _measure(metric, task, groups=np.array([0, 0])) is None


def test_scores_that_are_no_means_over_rows_are_compared_on_folds_alone():
    assert _measure("balanced_accuracy", "classification") is _measure("roc_auc", "classification") is None


@pytest.mark.fixed_seed("the extreme row must make the lags uncertain")
def test_a_candidate_that_is_worse_row_by_row_is_listed_so():
    """A row with an extreme value makes the lags on five folds so uncertain that they alone decide nothing."""
    random = np.random.default_rng(3)
    x = np.append(random.uniform(-2, 2, 119), 9.0)
    frame = pandas.DataFrame(
        {"x": x, "z": random.random(120), "y": np.abs(x) + 0.1 * x + 0.2 * random.normal(size=120)}
    )
    record = mercer.run(frame, "y", quick=True, candidates=["ridge regression", "one tree"]).record
    constant, ridge, tree = record.candidates
    assert (constant.status, ridge.status, tree.status) == ("worse", "worse", "chosen")
    assert constant.lag < 2.8 * constant.lag_error  # the quantile of t with four degrees of freedom for 95 %
    assert ridge.text.endswith("Row by row its predictions are worse than those of one tree.")


def test_candidates_that_lag_beyond_chance_drop_out_of_the_race():
    noise = np.array([0.0, 0.01, -0.01, 0.005, -0.005])
    scores = {"constant": 0.5 + 0 * noise, "best": 0.9 + noise, "near": 0.89 - 2 * noise, "far": 0.6 + noise}
    scores["forest"] = 0.6 + noise
    assert find_lagging(scores, "constant", ["constant", "forest"]) == ["far"]
    assert find_lagging({"constant": noise, "one": noise}, "constant", []) == []
    assert list_rounds(2000) == []
    assert list_rounds(3000) == [1000]
    assert list_rounds(60_000) == [1000, 4000, 16_000]


def test_a_race_compares_on_few_rows_and_says_so(monkeypatch):
    monkeypatch.setattr("mercer.app.study.choice.trying._FIRST", 200)
    random = np.random.default_rng(0)
    x = random.normal(size=(800, 2))
    frame = pandas.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": np.where(x[:, 0] * x[:, 1] > 0, "u", "v")})
    wanted = ("the constant guess", "nearest centroid", "quadratic discriminant", "one tree")
    offers = [offer for offer in candidates("classification") if offer.name in wanted]
    metric = find_metric(None, "classification")
    dropped = race(offers, _gather(frame), metric, Options(seed=1), Clock(None, None, True), 2)
    assert "nearest centroid" in dropped
    assert "one tree" not in dropped  # the best one, or close to it
    assert dropped["nearest centroid"].startswith("dropped early: 0.")
    assert "on 200 rows, where the best one has" in dropped["nearest centroid"]


class _Clock(Clock):
    """A clock on which every trial takes some seconds, whatever the machine does."""

    def __init__(self, budget):
        super().__init__(budget, None, True)
        self.now = 0.0

    def measure_spent(self):
        return self.now


@pytest.fixture
def fake_time(monkeypatch):
    """Return a function that tries candidates of given seconds within a budget, and returns the order of the trials."""

    def try_all(seconds, budget):
        offers = [
            Candidate(
                name, family, ("classification",), rank, lambda shape: GaussianNB(), {"var_smoothing": [1e-9, 0.1]}
            )
            for rank, (name, (family, _)) in enumerate(seconds.items())
        ]
        monkeypatch.setattr(selection, "candidates", lambda task: offers)
        clock, order = _Clock(budget), []
        names = {offer.name: seconds[offer.name][1] for offer in offers}

        def predict(contender, plan, threads, probes=()):
            return names[contender.name], names[contender.name] / 2

        def run(plan, contender, **options):
            clock.now += names[contender.name] / (1 if contender.space else 2)
            order.append(contender.name)
            return original(plan, contender, threads=1, keep=True)

        original = selection.Plan.run
        monkeypatch.setattr(schedule, "predict_seconds", predict)
        monkeypatch.setattr(selection.Plan, "run", run)
        dataset, options = _gather(_draw(60)), Options(folds=3, inner=2, budget=budget)
        selected = trying.select(dataset, options, clock)
        monkeypatch.undo()
        return selected, order, clock.now

    return try_all


def test_ensembles_have_their_turn_before_slow_candidates(fake_time):
    seconds = {
        "guess": ("baseline", 1),
        "products": ("bases", 60),
        "line": ("linear models", 5),
        "kernel": ("kernel machines", 4),
        "trees": ("ensembles", 30),
    }
    selected, order, spent = fake_time(seconds, 60.0)
    assert order[:4] == ["guess", "line", "trees", "kernel"]
    assert [trial.name for trial in selected.trials][:2] == ["guess", "line"]
    assert "products" in selected.skipped
    assert spent <= 60


def test_the_quickest_ensembles_have_their_turn_first(fake_time):
    seconds = {
        "guess": ("baseline", 1),
        "forest": ("ensembles", 20),
        "boosted": ("ensembles", 8),
        "kernel": ("kernel machines", 2),
    }
    assert fake_time(seconds, 100.0)[1] == ["guess", "boosted", "forest", "kernel"]
    assert fake_time(seconds, None)[1] == ["guess", "forest", "boosted", "kernel"], "without a limit, simple ones first"


def test_a_race_whose_time_is_over_judges_those_that_ran(monkeypatch):
    monkeypatch.setattr("mercer.app.study.choice.trying._FIRST", 100)
    noise = np.array([0.0, 0.01, -0.01, 0.005, -0.005])
    means = {"nearest centroid": 0.52, "logistic regression": 0.9, "random forest": 0.91, "kernel densities": 0.5}
    clock = _Clock(100.0)

    def score(offer, *rest):
        clock.now += 6.0
        return means.get(offer.name, 0.5) + noise

    monkeypatch.setattr("mercer.app.study.choice.trying._score", score)
    offers = [offer for offer in candidates("classification") if offer.name in means or offer.rank == 0]
    dropped = race(offers, _gather(_draw(400)), find_metric(None, "classification"), Options(), clock, 2)
    # A fifth of the time is over after four candidates; the slow one, which is as bad, was not judged.
    assert "nearest centroid" in dropped
    assert "one tree" not in dropped  # the best one, or close to it


def test_no_candidate_is_skipped_while_there_is_time_for_one_of_its_settings(fake_time):
    seconds = {"guess": ("baseline", 1), "line": ("linear models", 5), "slow": ("kernel machines", 90)}
    selected, order, spent = fake_time(seconds, 120.0)
    assert order == ["guess", "line", "slow"]
    assert len(selected.contenders["slow"].space) == 1
    selected, order, spent = fake_time(seconds, 80.0)
    assert order == ["guess", "line", "slow"]
    assert not selected.contenders["slow"].space, "with less time, one setting"
    assert spent <= 80
    selected, order, _ = fake_time(seconds, 30.0)
    assert order == ["guess", "line"]
    assert selected.skipped["slow"].startswith("would take about 45 s, but only")
    assert selected.lacking == {"slow": 45.0}


def test_a_candidate_without_a_turn_is_listed_with_the_time_that_it_would_take(fake_time, monkeypatch):
    monkeypatch.setattr(schedule.Schedule, "measure_left", lambda turn: -1.0)
    seconds = {"guess": ("baseline", 1), "slow": ("kernel machines", 90)}
    selected, order, _ = fake_time(seconds, 30.0)
    assert order == ["guess"]
    assert selected.skipped["slow"] == "no time was left for it; it would take about 90 s, or more"
    notice = list_lacking(selected.lacking, 30.0)[0]
    assert notice.text == "There was no time to try slow."
    assert notice.advice == "To try it too, give --budget 2.5m, or more."
    # Reading the table is paid from the budget, too.
    assert list_lacking({"a": 1.0}, 2.0, spent=8.0)[0].advice == "To try it too, give --budget 15s, or more."


def test_the_quickest_candidate_is_tried_if_there_was_time_for_none(fake_time, monkeypatch):
    monkeypatch.setattr(schedule.Schedule, "measure_left", lambda turn: -1.0)
    seconds = {"guess": ("baseline", 1), "line": ("linear models", 20), "slow": ("kernel machines", 90)}
    selected, order, _ = fake_time(seconds, 30.0)
    assert order == ["guess", "line"]
    assert not selected.contenders["line"].space, "with one setting"
    assert list(selected.skipped) == list(selected.lacking) == ["slow"]
    assert selected.result.winner in ("guess", "line")


def test_a_linear_discriminant_is_not_tried_on_thousands_of_columns():
    offer = next(offer for offer in candidates("classification") if offer.name == "linear discriminant")
    assert offer.unfit(Shape(80, 2000, 2, 0)) == ""
    assert "takes at most 2000 columns; this table has 5000" in offer.unfit(Shape(80, 5000, 2, 0))


def test_a_candidate_for_numbers_that_is_worse_than_the_constant_is_not_trusted():
    """One absurd prediction gives a lag as large as its standard error, which says nothing."""
    scores = {"constant": [-0.01] * 4, "lasso": [0.91] * 4, "robust": [0.97, -1e9, 0.97, 0.97], "trees": [0.97] * 4}
    trials = [SimpleNamespace(name=name, scores=np.array(values)) for name, values in scores.items()]
    assert winner._list_distrusted(trials, SimpleNamespace(classes=[])) == ["robust"]
    # With it among the candidates, the rule would find it near the best one.
    lags = np.array(scores["trees"]) - np.array(scores["robust"])
    assert lags.mean() < np.sqrt((1 / 4 + 1 / 3) * lags.var(ddof=1))


def test_a_slow_candidate_of_a_quick_family_waits_for_trees_and_ensembles(monkeypatch):
    offers = [Candidate(name, family, ("classification",), rank, None, {}) for name, family, rank in (
        ("constant", "baseline", 0), ("neighbours", "neighbours", 1), ("centroid", "neighbours", 2),
        ("forest", "ensembles", 3), ("machine", "kernel machines", 4),
    )]  # fmt: skip
    seconds = {"constant": 0.01, "neighbours": 5.0, "centroid": 0.1, "forest": 2.0, "machine": 4.0}
    tried = []

    def attempt(self, offer, share, single=False):
        tried.append(offer.name)
        self.selection.trials.append(offer)

    def predict(self, offer):
        self.predicted[offer.name] = (seconds[offer.name], seconds[offer.name])
        return seconds[offer.name]

    monkeypatch.setattr(schedule.Schedule, "attempt", attempt)
    monkeypatch.setattr(schedule.Schedule, "predict", predict)
    monkeypatch.setattr(trying, "race", lambda *given: {})
    monkeypatch.setattr(trying, "find_unable", lambda *given: {})
    monkeypatch.setattr(trying, "choose", lambda *given: None)
    monkeypatch.setattr(trying, "add_stack", lambda *given: None)
    dataset = _gather(_draw())
    chosen = selection.open_selection(dataset, Options())
    chosen.offers = offers
    trying.try_candidates(chosen, dataset, Options(), Clock(20.0, None, True))
    assert tried == ["constant", "centroid", "forest", "machine", "neighbours"]
    tried.clear()
    chosen.trials.clear()
    trying.try_candidates(chosen, dataset, Options(), Clock(None, None, True))
    assert tried[:2] == ["constant", "neighbours"]


def _report(choices, winner="b"):
    """Return the reported interval of three trials, of which the folds made these choices."""
    y = np.random.default_rng(0).normal(size=100)
    folds = [(np.delete(np.arange(100), rows), rows) for rows in np.array_split(np.arange(100), 5)]
    noise = np.random.default_rng(1).normal(size=(3, 100)) * np.array([[0.0], [0.6], [0.2]])
    trials = []
    for name, predictions in zip(("guess", "a", "b"), np.stack([np.zeros(100), y + noise[1], y + noise[2]])):
        scores = np.array([1 - ((y - predictions)[rows] ** 2).sum() / (y[rows] ** 2).sum() for _, rows in folds])
        trials.append(SimpleNamespace(name=name, predictions=predictions, scores=scores))
    tried = {trial.name: trial for trial in trials}
    scores = np.array([tried[name].scores[fold] for fold, name in enumerate(choices)])
    result = SimpleNamespace(choices=choices, winner=winner, scores=scores, trial=tried.__getitem__)
    plan = SimpleNamespace(outer=folds, folds=5, test_share=0.25, classes=None, rows=SimpleNamespace(y=y, weight=None))
    known = {"timed": False, "groups": None, "costs": None, "metric": find_metric("r2", "regression")}
    chosen = SimpleNamespace(result=result, trials=trials, winner=tried[winner], plan=plan, **known)
    own = intervals.find_trial_interval(chosen, tried[winner], 0.95)
    nested = intervals.find_score_interval(chosen, intervals.pool_choices(chosen), scores, 0.95)
    return chosen, intervals.find_reported_interval(chosen, 0.95), nested, own


def test_the_reported_score_lies_between_that_of_the_choices_and_that_of_the_chosen_model():
    chosen, reported, nested, own = _report(["a", "b", "b", "a", "b"])
    assert nested.mean < own.mean
    assert reported.mean == pytest.approx((nested.mean + own.mean) / 2)
    assert reported.low == min(nested.low, own.low)
    assert reported.high == max(nested.high, own.high)
    text = intervals.describe_method(chosen, 0.95)
    assert "In 2 of the 5 divisions another model was chosen than for all rows." in text
    assert f"{nested.mean:.2f} with the model chosen in each of them, and {own.mean:.2f} with the model chosen" in text


def test_one_score_is_reported_if_all_folds_agree_or_the_guess_is_chosen():
    chosen, reported, nested, own = _report(["b"] * 5)
    assert reported == nested
    assert reported.mean == own.mean
    assert "The score is the mean of the 5 scores." in intervals.describe_method(chosen, 0.95)
    chosen, reported, nested, own = _report(["a", "guess", "guess", "a", "guess"], winner="guess")
    assert reported.mean == nested.mean
    assert reported.low == min(nested.low, own.low)
    assert reported.high == max(nested.high, own.high)
    assert "In 2 of the 5 divisions a model was chosen" in intervals.describe_method(chosen, 0.95)


def test_a_candidate_that_is_too_slow_for_the_race_has_no_score_in_it():
    offer = next(offer for offer in candidates("classification") if offer.name == "naive Bayes")
    rest = (_gather(_draw()), 100, find_metric(None, "classification"), Options(), 2)
    assert trying._score(offer, *rest, left=float("inf")).shape == (5,)
    assert trying._score(offer, *rest, left=-1.0) is None


def test_few_candidates_are_measured_after_the_time_is_over(fake_time, monkeypatch):
    monkeypatch.setattr(_Clock, "measure_left", lambda clock, share=1.0: -1.0)
    seconds = {"guess": ("baseline", 1)} | {f"line {place}": ("linear models", 20 + place) for place in range(6)}
    selected, order, _ = fake_time(seconds, 30.0)
    assert order == ["guess", "line 0"]
    assert [name for name, why in selected.skipped.items() if why.startswith("would take about")] == [
        "line 1",
        "line 2",
    ]


def test_two_scores_that_read_the_same_are_told_once():
    chosen, _, _, own = _report(["b", "b", "b", "b", "a"])
    chosen.result.scores[:] = own.mean
    text = intervals.describe_method(chosen, 0.95)
    assert (
        f"The mean score over the divisions is {own.mean:.2f} with the models chosen there, and with the model" in text
    )
    assert "half way" not in text

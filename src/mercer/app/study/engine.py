"""The study: from a table and the roles of its columns to a record and a fitted model."""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._config import config_context
from mercer._source.table.table import Notice, Table
from mercer._source.threads import n_threads
from mercer.app.deploy.conformal import store_scores
from mercer.app.deploy.drift import store_reference
from mercer.app.options import Options
from mercer.app.study import diagnosis
from mercer.app.study.best_score import estimate_best
from mercer.app.study.choice import comparison
from mercer.app.study.choice.calibrating import calibrate
from mercer.app.study.choice.constraints import list_dropped_texts, read_directions
from mercer.app.study.choice.dependence import Finding, find_dependence
from mercer.app.study.choice.questions import answer_other
from mercer.app.study.choice.schedule import measure_reserve
from mercer.app.study.choice.selection import Selection, keep_winner, open_selection
from mercer.app.study.choice.splits import has_many_rows, limit_folds
from mercer.app.study.choice.trying import count_affordable, try_candidates
from mercer.app.study.clock import ALWAYS, Clock, ProgressEvent
from mercer.app.study.curves import make_learning_curve, split_error
from mercer.app.study.dataset import Dataset, draw_rows, drop_rare_classes, gather
from mercer.app.study.decisions import Stakes, check_threshold, decide, read_stakes
from mercer.app.study.description import list_lacking, list_notices
from mercer.app.study.drivers import find_drivers, measure_dependences
from mercer.app.study.final import describe_fit, fit_final
from mercer.app.study.measures import measure_other_metrics
from mercer.app.study.metrics import find_threshold
from mercer.app.study.more_rows import describe_apart, draw_apart, measure_apart, predict_apart, prefer_affordable
from mercer.app.study.partial_record import PartialRecord
from mercer.app.study.recipe import choose_costs, find_model, make_balanced_costs, make_encoder
from mercer.app.study.record import Fit, StrangeRow
from mercer.app.study.result import Study
from mercer.app.study.row_map import map_rows
from mercer.app.study.strange_rows import find_strange_rows
from mercer.app.study.structure import find_structure
from mercer.app.table.roles import Roles
from mercer.app.table.target import NoModelError
from mercer.errors import MercerError

# Share of a budget that the first candidate may take.
_FIRST_SHARE = 0.05
# Numbers of rows whose encoding is timed, to predict that of all rows.
_PROBES = (500, 1000, 8000)
# Candidates are compared on at least this many rows, however short the budget is.
_FEWEST_ROWS = 2000
# Of many rows, which have one inner split, they are compared on this many at least.
_FEWEST_OF_MANY = 10_000
# Many rows are all compared if there are at most this many times those for which there is time.
_FACTOR_OF_ALL = 3


def study(
    table: Table,
    roles: Roles,
    options: Options | None = None,
    watch: Callable[[ProgressEvent], None] | None = None,
    notices: list[Notice] | None = None,
) -> Study:
    """Find out what can be predicted from a table, how well, and by which model.

    `watch` is called with a :class:`ProgressEvent` as the study goes on; `notices` are those from reading the table and
    guessing the roles. Ctrl-C ends the study with the best model so far, if there is one.
    """
    options = options or Options()
    clock = Clock(options.budget, watch, options.debug)
    clock.tell("reading the table", 0.01)
    partial = PartialRecord(table, roles, options, clock, [*table.notices, *(notices or [])])
    with warnings.catch_warnings(), config_context(on_interrupt="raise"):
        # The record tells whether the final fit converged; warnings of the other fits would only confuse.
        warnings.simplefilter("ignore")
        try:
            partial.dataset = gather(table, roles, options.positive)
            if roles.task == "structure":
                partial.parts, partial.model, partial.answer = find_structure(partial.dataset, options, clock)
                partial.parts["strange"] = _look_for_strange_rows(partial, partial.dataset)
                _store_rows(partial, partial.dataset)
            else:
                _study_target(partial)
        except NoModelError as wrong:
            partial.answer = f"There is no model: {wrong}"
        except Exception as wrong:
            # Before the comparison, an error of mercer says that the question cannot be asked of this table.
            if options.debug or (isinstance(wrong, MercerError) and partial.selection is None):
                raise
            partial.note_error(wrong)
        return Study(partial.make_record(), partial.model)


def _study_target(partial: PartialRecord) -> None:
    """Study a table with a target: compare models, fit the best one, and describe it."""
    assert partial.dataset is not None
    options, clock = partial.options, partial.clock
    everything = partial.dataset.classes
    dataset, few = drop_rare_classes(partial.dataset, options.inner + 2)
    if few:
        names = " and ".join(f"`{name}`" for name in few)
        one = len(few) == 1
        has, is_left = ("has", "is left") if one else ("have", "are left")
        text = f"{names} {has} too few rows for fitting and testing and {is_left} out."
        cure = "Add rows of this class, or merge it with another one." if one else "Add rows of them, or merge classes."
        partial.notices.append(Notice("warning", "the target", text, cure))
        options = partial.options = _drop_costs(options, [name in dataset.classes for name in everything])
    # An error here ends the search for dependence, not the study.
    if options.threshold is not None:
        check_threshold(options.threshold, dataset)
    nothing = Finding(dataset, partial.roles, [], [])
    finding = clock.attempt(
        "dependence between rows",
        lambda: find_dependence(partial.table, partial.roles, dataset, options, clock.measure_left()),
        0.03,
        nothing,
        ALWAYS,
    )
    dataset, partial.roles, partial.asked = finding.dataset, finding.roles, finding.other
    clock.asks = finding.other is not None
    partial.dataset, partial.parts["splits"] = dataset, finding.scores
    partial.notices += finding.notices
    dataset = partial.dataset = replace(dataset, directions=read_directions(dataset, options))
    partial.notices += list_dropped_texts(dataset)
    options, notices = limit_folds(options, dataset)
    partial.options, partial.notices = options, partial.notices + notices
    # Costs that do not suit the rows are refused before models are fitted.
    read_stakes(dataset, options)
    options = partial.options = replace(options, many_rows=has_many_rows(dataset, options))
    sample = draw_rows(dataset, _choose_sample_size(dataset, options), options.seed)
    selection = open_selection(sample, options)
    n_rows = count_affordable(selection, sample, options, clock)
    if n_rows < len(sample):
        sample = draw_rows(dataset, n_rows, options.seed)
        selection = open_selection(sample, options)
    clock.n_more_rows = len(dataset) - len(sample)
    partial.selection = selection
    try_candidates(selection, sample, options, clock)
    if selection.conclusion is None:
        return
    _fit_choice(partial, sample)
    _collect_parts(partial, selection, sample)


def _fit_choice(partial: PartialRecord, sample: Dataset) -> None:
    """Calibrate the chosen candidate, describe the comparison, and fit the candidate to all rows."""
    selection, dataset, options, clock = partial.selection, partial.dataset, partial.options, partial.clock
    assert selection is not None
    assert dataset is not None
    if sample.classes:
        sentence = clock.attempt(
            "calibration",
            lambda: _calibrate(selection, sample, options),
            0.6,
            "",
            _estimate_calibration(selection) + (measure_reserve(clock) if has_many_rows(sample, options) else 0.0),
        )
        if sentence:
            clock.notices.append(Notice("note", "the model", sentence))
    apart = draw_apart(dataset, sample, options)
    n_rows = len(dataset)
    if apart is not None and not clock.interrupted:
        n_rows = prefer_affordable(selection, dataset, len(sample), clock)
    partial.listed = comparison.list_candidates(selection, options)
    partial.parts["sureness"] = comparison.measure_sureness(selection, sample, options)
    keep_winner(selection)
    clock.tell("fitting the chosen model to all rows", 0.62)
    stakes = read_stakes(dataset, options)
    partial.model, partial.parts["fit"] = _fit_all_rows(partial, sample, stakes, apart, n_rows)
    threshold = find_threshold(partial.model, dataset.positive)
    partial.parts["fit"] = replace(partial.parts["fit"], threshold=threshold)
    partial.notices += [
        *list_notices(dataset, sample, clock),
        *list_lacking(selection.lacking, options.budget, options.spent, options.n_targets),
    ]


def _drop_costs(options: Options, kept: list[bool]) -> Options:
    """Return the options with the costs of the classes that are kept, and of the actions named after them."""
    if options.costs is None or isinstance(options.costs, Mapping) or len(options.costs[0]) != len(kept):
        return options
    # If each class has its action, the action of a dropped class goes too.
    square = len(options.costs) == len(kept) and options.reject is None
    rows = [row for row, keep in zip(options.costs, kept if square else [True] * len(options.costs)) if keep]
    costs = [[cost for cost, keep in zip(row, kept) if keep] for row in rows]
    actions = options.actions
    if square and actions is not None:
        actions = [action for action, keep in zip(actions, kept) if keep]
    return replace(options, costs=costs, actions=actions)


def _choose_sample_size(dataset: Dataset, options: Options) -> int:
    """Return the number of rows on which candidates are compared: fewer if the budget is short.

    The first candidate, which does little more than encode the rows, may take the share `_FIRST_SHARE` of the budget.
    """
    if options.budget is None or len(dataset) <= _FEWEST_ROWS:
        return options.max_rows
    seconds = []
    for size in _PROBES:
        head = dataset.take(np.linspace(0, len(dataset) - 1, min(len(dataset), size)).astype(int))
        began = time.perf_counter()
        make_encoder(head).fit_transform(head.X)
        seconds.append(time.perf_counter() - began)
    # The first probe pays for what is done once; the seconds per row are the slope between the other two.
    a_row = max(seconds[2] - seconds[1], 0.1 * seconds[2]) / (_PROBES[2] - _PROBES[1])
    many = has_many_rows(dataset, options)
    inner = 1 if many and "inner" not in options.shown else options.inner
    n_fits = options.folds * options.repeats * (inner + 1)
    n_rows = int(_FIRST_SHARE * options.budget / (a_row * n_fits))
    n_rows = max(_FEWEST_ROWS if not many else _FEWEST_OF_MANY, n_rows)
    # A comparison of a third of the rows saves less than keeping rows apart costs.
    return options.max_rows if many and len(dataset) <= _FACTOR_OF_ALL * n_rows else min(options.max_rows, n_rows)


def _estimate_calibration(selection: Selection) -> float:
    """Estimate the seconds of calibrating: four fits for each outer fold."""
    return 4 * len(selection.plan.outer) * selection.seconds[selection.result.winner]


def _calibrate(selection: Selection, dataset: Dataset, options: Options) -> str:
    """Calibrate the winner on the rows that have a prediction."""
    return calibrate(selection, dataset, options, diagnosis.find_seen(selection.winner.predictions))


def _fit_all_rows(
    partial: PartialRecord, sample: Dataset, stakes: Stakes | None, apart: np.ndarray | None, n_rows: int
) -> tuple[Any, Fit]:
    """Fit the chosen model to all rows but those `apart`, or to `n_rows` of them if there is no time for more."""
    selection, dataset, options, clock = partial.selection, partial.dataset, partial.options, partial.clock
    assert selection is not None
    assert dataset is not None
    if not clock.interrupted:
        rows = dataset
        if apart is not None:
            rows = dataset.take(np.setdiff1d(np.arange(len(dataset)), apart))
        elif len(sample) < len(dataset):
            # The time of a fit is taken to grow in proportion to its rows; 1.5 is a margin.
            growth = len(dataset) / max(len(selection.plan.outer[0][0]), 1)
            needs = 1.5 * selection.seconds[selection.result.winner] * n_threads(options.n_jobs) * growth
            n_rows = len(dataset) if needs < max(clock.measure_left(), 1.0) else len(sample)
        if n_rows < len(rows):
            rows = sample if n_rows <= len(sample) else draw_rows(rows, n_rows, options.seed)
            text = f"There was no time to fit the chosen model to all rows. It is fitted to {len(rows)} of them."
            clock.notices.append(Notice("warning", "the model", text, "Give a larger --budget."))
        try:
            model, fit = fit_final(selection, rows, options, stakes)
            if apart is not None:
                _score_apart(partial, model, dataset.take(apart), len(rows))
            return model, fit
        except KeyboardInterrupt:
            clock.interrupted = True
        except Exception as wrong:
            if options.debug:
                raise
            text = f"The chosen model could not be fitted to all rows ({wrong})."
            clock.notices.append(Notice("danger", "the model", text))
    why = "The study was interrupted. " if clock.interrupted else ""
    text = f"{why}The model is that of the first fold, fitted to its training rows only."
    clock.notices.append(Notice("warning", "the model", text, "Run the study again to fit it to all rows."))
    # The model of the first fold exists already, so there is always something to return.
    model = selection.winner.models[0]
    return model, describe_fit(find_model(model), selection.winner.chosen_settings[0], None)


def _score_apart(partial: PartialRecord, model: Any, apart: Dataset, n_fitted: int) -> None:
    """Replace the score of the comparison by that of the final model on rows that were kept apart."""
    selection, options = partial.selection, partial.options
    assert selection is not None
    predictions = predict_apart(model, apart)
    interval = measure_apart(selection, apart, predictions, options)
    sure = describe_apart(partial.parts["sureness"], interval, selection, len(apart), n_fitted)
    partial.parts["sureness"] = sure
    partial.apart = apart, predictions
    text = f"The model is fitted to {n_fitted} rows. {len(apart)} other rows were kept apart and give its score."
    partial.notices.append(Notice("note", "the model", text, told=True))


def _collect_parts(partial: PartialRecord, selection: Selection, sample: Dataset) -> None:
    """Add the parts of the record beside the comparison; the cheap and important ones are made first."""
    _collect_scores(partial, selection, sample)
    options, clock, parts = partial.options, partial.clock, partial.parts
    predictions, seed, metric = selection.winner.predictions, options.seed, selection.metric
    kept, sure = diagnosis.find_seen(predictions), partial.parts["sureness"]
    # Seconds of one fit of the chosen candidate, and of ten fits of every candidate to at most 3000 rows.
    once = selection.seconds[selection.result.winner]
    every = 10 * sum(selection.seconds.values()) * min(1.0, 3000 / len(sample))
    strength = {column.name: column.association or 0.0 for column in partial.roles.columns}
    parts["drivers"] = clock.attempt(
        "what drives predictions",
        lambda: find_drivers(selection, sample, options, strength, 0.4 * clock.measure_left()),
        0.72,
        [],
    )
    top = [driver.column for driver in parts["drivers"][:6] if driver.mean > 0]
    shown = top or list(sample.kinds)[:6]
    parts["hardest"] = clock.attempt(
        "hard rows", lambda: _list_hardest(sample.take(kept), predictions[kept], shown), 0.76, []
    )
    parts["strange"] = _look_for_strange_rows(partial, sample)
    parts["map"] = clock.attempt(
        "a map of the rows", lambda: map_rows(sample.take(kept), predictions[kept], seed), 0.78
    )
    parts["dependences"] = clock.attempt(
        "effects of the columns", lambda: measure_dependences(partial.model, sample, top[:4], options), 0.8, []
    )
    parts["learning"] = clock.attempt(
        "the learning curve", lambda: make_learning_curve(selection, sample, options), 0.83, None, 12 * once
    )
    low = clock.attempt(
        "the best possible score", lambda: estimate_best(sample, metric, sure.score, seed), 0.92, (None, "")
    )
    parts["sureness"] = replace(sure, floor=low[0], floor_text=low[1])
    if not options.quick:
        parts["bias_variance"] = clock.attempt(
            "bias and variance", lambda: split_error(selection, sample, partial.listed, options), 0.94, None, every
        )


def _collect_scores(partial: PartialRecord, selection: Selection, sample: Dataset) -> None:
    """Add the parts of the record that say how well the chosen model predicts, and for which rows."""
    options, clock, parts = partial.options, partial.clock, partial.parts
    predictions, metric = selection.winner.predictions, selection.metric
    kept = diagnosis.find_seen(predictions)
    once = selection.seconds[selection.result.winner]
    costs = choose_costs(sample, metric.scorer, options.threshold)
    costs = make_balanced_costs(sample.y, sample.classes) if isinstance(costs, str) else costs
    asked = partial.asked
    if asked is not None:
        parts["other"] = clock.attempt(
            "the score of other new rows",
            lambda: answer_other(selection, sample, partial.table.frame, asked, options),
            0.64,
            None,
            5 * once,
        )
    parts["complexity"] = clock.attempt(
        "the complexity curve", lambda: comparison.make_complexity_curve(partial.listed, metric), 0.65
    )
    other = clock.attempt("other measures", lambda: measure_other_metrics(selection, sample, options, costs), 0.66, {})
    parts["sureness"] = replace(parts["sureness"], other_metrics=other)
    parts |= clock.attempt(
        "kinds of errors", lambda: _describe_errors(sample.take(kept), predictions[kept], options, costs), 0.68, {}
    )
    _store_rows(partial, sample)
    # Rows that were kept apart tell the errors of the final model itself.
    unseen, answers = partial.apart if partial.apart is not None else (sample.take(kept), predictions[kept])
    if predictions.ndim == 2 or not sample.classes:
        parts["conformal"] = clock.attempt(
            "intervals of single predictions", lambda: _store_scores(unseen, answers), 0.69, needs=ALWAYS
        )
    stakes = read_stakes(sample, options)
    if stakes is not None:
        parts["decision"] = clock.attempt("decisions", lambda: decide(selection, sample, options, stakes, kept), 0.7)


def _store_rows(partial: PartialRecord, dataset: Dataset) -> None:
    """Keep a sample of the rows, with which later ones are compared, unless the options forbid it."""
    if not partial.options.no_rows:
        partial.parts["reference"] = partial.clock.attempt(
            "rows for mercer watch", lambda: store_reference(dataset.X, dataset.kinds, partial.options.seed), 0.685
        )


def _look_for_strange_rows(partial: PartialRecord, dataset: Dataset) -> list[StrangeRow]:
    seed = partial.options.seed
    return partial.clock.attempt("strange rows", lambda: find_strange_rows(dataset, seed), 0.77, [])


def _encode_target(dataset: Dataset) -> np.ndarray:
    """Return the target, classes as indices."""
    return np.searchsorted(dataset.classes, dataset.y) if dataset.classes else dataset.y


def _store_scores(dataset: Dataset, predictions: np.ndarray) -> Any:
    """Return how wrong the predictions of unseen rows are, for intervals around predictions."""
    return store_scores(_encode_target(dataset), predictions, dataset.classes)


def _list_hardest(dataset: Dataset, predictions: np.ndarray, shown: list[str]) -> list[Any]:
    return diagnosis.list_hard_rows(dataset, _encode_target(dataset), predictions, shown)


def _describe_errors(
    dataset: Dataset, predictions: np.ndarray, options: Options, costs: np.ndarray | None
) -> dict[str, Any]:
    """Return the parts of the record that show where predictions are right and wrong."""
    true = _encode_target(dataset)
    if dataset.task == "regression":
        return {"residuals": diagnosis.summarise_residuals(true, predictions, options.seed)}
    if dataset.positive is not None:
        place = dataset.classes.index(dataset.positive)
        here, chance = true == place, predictions[:, place]
    else:
        # With more than two classes: how often the most probable one is right, against its probability.
        here, chance = true == predictions.argmax(axis=1), predictions.max(axis=1)
    return {
        "confusion": diagnosis.count_confusion(true, diagnosis.decide_classes(predictions, dataset, costs), dataset),
        "calibration": diagnosis.measure_calibration(here, chance, options.level),
        "rates": diagnosis.measure_rates(true, predictions, dataset),
    }

"""Find out whether rows depend on each other, by scores under random splits and under splits that respect it.

Rows of one patient, or of neighbouring days, resemble each other. If they are on both sides of a split, a model
recognises them, and its score is better than on new patients or later days. A random forest, or a linear model of keys
that carry the level of the target, is scored under both kinds of split, by models of equally many training rows. If the
honest score is clearly worse, the study uses the honest splits. Things that are inputs too, such as countries, keep
random splits: new rows may be of the same countries, and the score for new ones is told beside it.
"""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._source.table.table import Notice, Table, quote
from mercer._source.threads import n_threads, run_numbered
from mercer.app.options import Options
from mercer.app.study.answer import add_article, agree, capitalise
from mercer.app.study.choice.questions import Other
from mercer.app.study.choice.splits import make_scorer
from mercer.app.study.dataset import Dataset, draw_rows, read_groups, read_times
from mercer.app.study.formatting import spell_amount, spell_range
from mercer.app.study.metrics import Metric, find_metric
from mercer.app.study.recipe import choose_costs, make_contender, make_encoder
from mercer.app.study.record import SplitScore
from mercer.app.table.keys import decides_splits, find_keys, find_times, follows_a_sort
from mercer.app.table.panels import find_level_keys, find_panels
from mercer.app.table.roles import Roles
from mercer.model_selection import candidates
from mercer.model_selection.trials import OutOfTimeError, Rows, Splitting, fit_settings, split_rows

# Rows on which a forest compares the two kinds of split, the least number of rows for it, and rows on which boosted
# trees compare them, which are quicker: with few rows a weak drift in a large table is within chance.
_MOST_ROWS = 2000
_FEWEST_ROWS = 60
_MANY_ROWS = 20_000
# Trees of the forest: enough to recognise a row's neighbours.
_TREES = 40
_FOLDS = 5
# Values of a category that have a column of their own in a linear model.
_MOST_INDICATORS = 30
# Kinds of keys that are inputs as well: given away by the other inputs, or with a level of the target.
_INPUTS = ("panel", "level")
# Of folds forward in time the first ones train on few rows, and even a random split of those says little: only folds
# that train on nearly half of the rows or more are compared.
_LEAST_SHARE = 0.45
# Folds forward in time; the last half of them train on as many rows.
_FORWARD_FOLDS = 10
# With fewer rows there are `_FOLDS`: a fold of twenty rows often holds a single class.
_ROWS_OF_MANY_FOLDS = 500
# Scores of later rows that differ this much more than scores of random rows are told, although their means are near.
_SPREAD = 1.5
# An R² below this is as useless as this: one wild fold must not hide what all others show.
_USELESS = -1.0
# Repeats of the splits by a key: five folds of 72 pigs left a loss of R2 from 0.953 to 0.940 within chance.
_REPEATS = 2
# Pairs of a random and an honest split that are needed for a comparison.
_FEWEST_PAIRS = 3
# Share of the time left that the comparison may take.
_MOST_TIME = 0.25
# Seconds that a comparison by a linear model may take at least.
_LEVEL_SECONDS = 4.0
# Columns of each kind that are tried.
_MOST_COLUMNS = 2
# The error under honest splits must be larger than under random ones by this factor, and beyond chance.
_FACTOR = 1.1
_ERRORS = 1.5


@dataclass(frozen=True)
class Finding:
    """The rows with the splits that the study uses, the scores under each kind of split, and notices about them."""

    dataset: Dataset
    roles: Roles
    scores: list[SplitScore]
    notices: list[Notice]
    other: Other | None = None  # the question that the splits do not ask, where the answers differ


def find_dependence(
    table: Table, roles: Roles, dataset: Dataset, options: Options, left: float = float("inf")
) -> Finding:
    """Compare random splits with splits by repeated keys and forward in time, and choose the honest ones.

    `left` is the number of seconds that the whole study has left; fewer pairs of splits are compared if it is short.
    """
    unchanged = Finding(dataset, roles, [], [])
    # Groups or times that the user names are respected without a test.
    given = dataset.groups is not None or dataset.time is not None
    if given or options.splits == "random" or len(dataset) < _FEWEST_ROWS:
        return unchanged
    end = time.monotonic() + _MOST_TIME * left if np.isfinite(left) else None
    probes = []
    kinds = _list_kinds(table, roles, end)
    for place, (kind, name) in enumerate(kinds):
        # The time is divided anew each time: what a quick probe leaves goes to the others.
        now = time.monotonic()
        deadline = None if end is None else now + max(end - now, 0.0) / (len(kinds) - place)
        if deadline is not None and kind == "level":
            # A fifth of a second of work may take seconds here, and a wrong headline costs more.
            deadline = max(deadline, now + _LEVEL_SECONDS)
        probe = _probe(table, dataset, kind, name, options, deadline)
        probes += [] if probe is None else [probe]
    if not probes:
        return unchanged
    # The probe with the largest loss of score decides, since splits by one column are all that a study uses.
    decisive = [
        probe
        for probe in probes
        if probe.kind == "group" or (probe.kind == "time" and decides_splits(table.frame[probe.name]))
    ]
    worst = max(decisive, key=lambda probe: probe.factor, default=None)
    inputs = max((probe.factor for probe in probes if probe.kind in _INPUTS and probe.depends), default=0.0)
    # Later rows of known countries matter less than new countries where these are predicted worse.
    if worst is not None and worst.depends and (worst.kind == "group" or worst.factor >= inputs):
        return _use(worst, table, roles, dataset)
    told = [probe for probe in probes if probe.depends or probe.wavers]
    if told:
        shown = max(told, key=lambda probe: (probe.depends, probe.factor))
        other = Other({"panel": "group", "level": "group", "time": "later"}.get(shown.kind, shown.kind), shown.name)
        grave = [shown, *(probe for probe in told if probe.depends and probe is not shown)]
        notices = [probe.describe(False) for probe in grave]
        return replace(unchanged, scores=shown.list_scores(False), notices=notices, other=other)
    if worst is None:
        return unchanged
    return replace(unchanged, scores=worst.list_scores(False), notices=[worst.describe(False)])


def _list_kinds(table: Table, roles: Roles, end: float | None) -> list[tuple[str, str]]:
    """Return what the splits may have to respect, with its name: things that are inputs come first.

    They are compared by closed forms in a second, so that a short budget on a busy machine is enough to find them.
    """
    keys = find_keys(table, roles)[:_MOST_COLUMNS]
    levels = [name for name in find_level_keys(table, roles) if name not in keys]
    panels = [("level", name) for name in levels[:_MOST_COLUMNS]]
    kinds = [("group", name) for name in keys]
    kinds += [("time", name) for name in find_times(table, roles)[:_MOST_COLUMNS]]
    if not any(kind == "time" for kind, _ in kinds) and not follows_a_sort(table):
        kinds.append(("order", "the order of the rows"))
    known = [*keys, *levels]
    found = find_panels(table, roles, known, end) if len(levels) < _MOST_COLUMNS else []
    return [*panels, *kinds, *(("panel", name) for name in found[:_MOST_COLUMNS])]


@dataclass(frozen=True)
class _Probe:
    """The scores of a model under random splits and under splits that respect one column."""

    kind: str
    name: str
    metric: Metric
    random: np.ndarray
    honest: np.ndarray
    model: str = "random forest"

    @property
    def factor(self) -> float:
        """The error under honest splits over that under random ones; a perfect score has no error."""
        best = self.metric.most if self.metric.greater_is_better and self.metric.most is not None else 0.0
        return float((best - self.honest.mean()) / max(best - self.random.mean(), 1e-12))

    @property
    def depends(self) -> bool:
        """Whether the honest score is worse, beyond `_ERRORS` standard errors of the difference."""
        random, honest = self.random, self.honest
        if self.metric.most is not None:
            random, honest = np.maximum(random, _USELESS), np.maximum(honest, _USELESS)
        error = np.sqrt(random.var(ddof=1) / len(random) + honest.var(ddof=1) / len(honest))
        if self.kind == "group" or self.kind in _INPUTS:
            # Both scores of a pair are of the same test rows, so that what makes these hard cancels.
            error = (random - honest).std(ddof=1) / np.sqrt(len(random))
        return bool(self.factor > _FACTOR and float(random.mean() - honest.mean()) > _ERRORS * float(error))

    @property
    def wavers(self) -> bool:
        """Whether later rows score otherwise than random ones, on average or from time to time."""
        spread = self.honest.std(ddof=1) > _SPREAD * self.random.std(ddof=1)
        return self.kind == "time" and bool(spread or self.factor > _FACTOR)

    def list_scores(self, used: bool) -> list[SplitScore]:
        """Return both scores for the record."""
        sign = 1.0 if self.metric.greater_is_better else -1.0
        words = {
            "time": f"forward in time by `{self.name}`",
            "order": "forward in the order of the file",
        }.get(self.kind, f"rows of one `{self.name}` together")
        return [
            SplitScore("rows at random", float(sign * self.random.mean()), not used),
            SplitScore(words, float(sign * self.honest.mean()), used),
        ]

    def describe(self, used: bool) -> Notice:
        """Return the notice that names both scores and the splits that the study uses."""
        random, honest = (score.score for score in self.list_scores(used))
        sign = 1.0 if self.metric.greater_is_better else -1.0
        subject = add_article(self.model)
        has = agree(self.model, "has", "have")
        article = "an" if self.metric.words[0] in "aeiouR" else "a"
        scores = f"{article} {self.metric.words} of {spell_amount(random)} if rows are split at random"
        how, kept, why = {
            "time": (
                "on rows that are later than the training rows",
                "tests on later rows",
                "Rows that are near in time resemble each other",
            ),
            "order": (
                "on rows that come later in the file",
                "tests on rows from anywhere in the file",
                "Rows that are near in the file resemble each other",
            ),
        }.get(
            self.kind,
            (
                f"if all rows of one {quote(self.name)} stay together",
                "keeps them together",
                f"Rows with the same {quote(self.name)} resemble each other",
            ),
        )
        if self.depends and not used:
            text = (
                f"{why}: {subject} {has} {scores}, and {spell_amount(honest)} {how}. The study splits rows at random."
            )
            cure = f"give --group {self.name} if new rows have new values of it"
            if self.kind == "time":
                cure = f"give --time {self.name} if new rows are later than these"
            elif self.kind == "order":
                cure = "give --time and a column of times if new rows are later than these"
            return Notice("warning", self.name, text, cure)
        if used:
            cure = "give --splits random if new rows come from the same time as these"
            if self.kind == "group":
                cure = f"give --splits random if new rows have the same values of {self.name} as these"
            text = f"{why}: {subject} {has} {scores}, and {spell_amount(honest)} {how}. The study {kept}."
            return Notice("warning", self.name, text, cure)
        ending = ": this makes no clear difference"
        if self.wavers:
            low, high = sorted((sign * float(self.honest.min()), sign * float(self.honest.max())))
            ending = f", from {spell_range(low, high)} in single periods"
        text = (
            f"{capitalise(subject)} {has} {scores}, and {spell_amount(honest)} {how}{ending}. Rows are split at random."
        )
        return Notice("note", self.name, text, f"give --{self.kind} {self.name} to respect it nevertheless", told=True)


def _probe(
    table: Table, dataset: Dataset, kind: str, name: str, options: Options, deadline: float | None
) -> _Probe | None:
    """Score a forest under both kinds of split; None if the honest splits cannot be made, or not in time."""
    frame = table.frame.loc[dataset.rows]
    known = read_groups(frame, name) if kind == "group" or kind in _INPUTS else None
    times = read_times(frame, name) if kind == "time" else dataset.rows.astype(float) if kind == "order" else None
    sample = draw_rows(replace(dataset, groups=known, time=times), _MANY_ROWS, options.seed)
    pairs = _draw_pairs(sample, options.seed)
    if len(pairs) < _FEWEST_PAIRS:
        return None
    metric = find_metric(options.metric, sample.task)
    rows = Rows(sample.X, sample.y, sample.weight, make_scorer(metric, sample.classes, sample.y))
    # The key itself would tell a forest which rows belong together, and new keys are unknown to it.
    model, forest = _make_model(sample, options, metric, kind)
    scores: list[Any] = []
    tasks = [split for pair in pairs for split in pair]
    try:
        run_numbered(
            lambda task: fit_settings(forest, [{}], rows, *tasks[task], deadline=deadline)[0].test,
            len(tasks),
            n_threads(options.n_jobs),
            scores.append,
        )
    except OutOfTimeError:
        # Some pairs of splits tell nearly as much as all of them; the last one may lack its second half.
        scores = scores[: 2 * (len(scores) // 2)]
    if len(scores) < 2 * _FEWEST_PAIRS:
        return None
    return _Probe(kind, name, metric, np.array(scores[1::2]), np.array(scores[::2]), model)


def _draw_pairs(sample: Dataset, seed: int) -> list[Any]:
    """Draw pairs of splits: one that respects groups or time, and one that does not.

    A test part of a split by groups is divided: one half is tested, and the other half belongs to the rows from which
    as many training rows are drawn at random as the honest split has. A test part forward in time may hold a single
    class, which a score says little about; beside it stands a random split of equal size. Empty if the rows have fewer
    than three groups.
    """
    labels = sample.y if sample.classes else None
    folds = _FORWARD_FOLDS if len(sample) >= _ROWS_OF_MANY_FOLDS else _FOLDS
    folds = folds if sample.groups is None else min(_FOLDS, len(np.unique(sample.groups)))
    if folds < _FEWEST_PAIRS or len(sample) <= folds:
        return []
    honest = split_rows(len(sample), Splitting(labels, sample.groups, sample.time), folds, _REPEATS, seed)
    if sample.time is not None:
        late = [split for split in honest if len(split[0]) >= _LEAST_SHARE * len(sample)]
        honest = late if len(late) >= _FEWEST_PAIRS else honest
    shuffle = np.random.default_rng(seed)
    pairs = []
    for train, test in honest:
        tested = test
        if sample.time is None:
            tested = shuffle.permutation(test)[: max(1, len(test) // 2)]
            others = shuffle.permutation(np.setdiff1d(np.arange(len(sample)), tested))
            mixed = (others[: len(train)], tested)
        else:
            order = shuffle.permutation(len(sample))
            mixed = (order[: len(train)], order[len(train) : len(train) + len(test)])
        if _can_learn(sample, (train, tested), mixed):
            pairs.append(((train, tested), mixed))
    return pairs


def _can_learn(dataset: Dataset, *splits: Any) -> bool:
    """Return whether every training part has two classes, in a classification."""
    return not dataset.classes or all(len(np.unique(dataset.y[train])) > 1 for train, _ in splits)


def _make_model(sample: Dataset, options: Options, metric: Metric, kind: str) -> tuple[str, Any]:
    """Return the name and the pipeline of the model that is scored under both kinds of split.

    It is a small random forest, or of many rows boosted trees. A key that carries the level of the target is an input
    of a linear model, which has a closed form.
    """
    name = "random forest" if len(sample) <= _MOST_ROWS else "boosted trees"
    linear = "linear discriminant" if sample.classes else "ridge regression"
    head = sample.take(np.arange(min(len(sample), 500)))
    offers = {offer.name: offer for offer in candidates(sample.task)}
    wide = sample.groups is not None and len(np.unique(sample.groups)) > _MOST_INDICATORS
    if kind == "level" and not wide:
        name = linear
    offer = offers[name]
    n_columns = int(make_encoder(head, offer.needs).fit_transform(head.X, head.y).shape[1])
    costs = choose_costs(sample, metric.scorer, None)
    model = make_contender(offer, sample, n_columns, options.seed, costs).estimator
    if name == "random forest":
        # The forest may stand inside a decision about classes, or inside the logarithm of a target.
        (trees,) = [name for name in model.get_params() if name.endswith("__n_estimators")]
        model = model.set_params(**{trees: _TREES})
    return name, model


def _use(probe: _Probe, table: Table, roles: Roles, dataset: Dataset) -> Finding:
    """Return the finding that the study uses the honest splits."""
    frame = table.frame.loc[dataset.rows]
    if probe.kind == "time":
        changed = replace(dataset, time=read_times(frame, probe.name))
        known, other = replace(roles, time=probe.name), Other("same", probe.name)
        return Finding(changed, known, probe.list_scores(True), [probe.describe(True)], other)
    # The model must not use the key: new rows have other ones.
    kinds = {name: kind for name, kind in dataset.kinds.items() if name != probe.name}
    if not kinds:
        return Finding(dataset, roles, [], [])
    columns = [
        replace(column, role="group", reason="rows with the same value resemble each other")
        if column.name == probe.name
        else column
        for column in roles.columns
    ]
    changed = replace(dataset, X=dataset.X[list(kinds)], kinds=kinds, groups=read_groups(frame, probe.name))
    known = replace(roles, group=probe.name, columns=columns, features=list(kinds), kinds=kinds)
    other = Other("known", probe.name)
    return Finding(changed, known, probe.list_scores(True), [probe.describe(True)], other)

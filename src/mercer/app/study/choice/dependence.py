"""Find out whether rows depend on each other, by scores under random splits and under splits that respect it.

Rows of one patient, or of neighbouring days, resemble each other. If they are on both sides of a split, a model
recognises them, and its score is better than on new patients or later days. A random forest is scored under both kinds
of split, on parts of equal size; if the honest score is clearly worse, the study uses the honest splits.
"""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._source.table.table import Notice, Table, quote
from mercer._source.threads import n_threads, run_numbered
from mercer.app.options import Options
from mercer.app.study.choice.splits import make_scorer
from mercer.app.study.dataset import Dataset, draw_rows, read_groups, read_times
from mercer.app.study.formatting import spell_amount
from mercer.app.study.metrics import Metric, find_metric
from mercer.app.study.recipe import choose_costs, make_contender, make_encoder
from mercer.app.study.record import SplitScore
from mercer.app.table.keys import find_keys, find_times
from mercer.app.table.roles import Roles
from mercer.model_selection import candidates
from mercer.model_selection.trials import OutOfTimeError, Rows, Splitting, fit_settings, split_rows

# Rows on which the two kinds of split are compared, and the least number of rows for it.
_MOST_ROWS = 2000
_FEWEST_ROWS = 60
# With a budget below this many seconds, fewer rows are used.
_AMPLE = 60.0
_FEW_ROWS = 800
# Trees of the forest: enough to recognise a row's neighbours.
_TREES = 40
_FOLDS = 5
# Of folds forward in time the first ones train on few rows, and even a random split of those says little: only folds
# that train on nearly half of the rows or more are compared.
_LEAST_SHARE = 0.45
# An R² below this is as useless as this: one wild fold must not hide what all others show.
_USELESS = -1.0
# Repeats of the splits by a key: five folds of 72 pigs left a loss of R2 from 0.953 to 0.940 within chance.
_REPEATS = 3
# Pairs of a random and an honest split that are needed for a comparison.
_FEWEST_PAIRS = 3
# Share of the time left that the comparison may take.
_MOST_TIME = 0.2
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
    kinds = [("group", name) for name in find_keys(table, roles)[:_MOST_COLUMNS]]
    kinds += [("time", name) for name in find_times(table, roles)[:_MOST_COLUMNS]]
    probes = []
    for place, (kind, name) in enumerate(kinds):
        deadline = time.monotonic() + _MOST_TIME * left * (place + 1) / len(kinds) if np.isfinite(left) else None
        probe = _probe(table, dataset, kind, name, options, deadline)
        probes += [] if probe is None else [probe]
    if not probes:
        return unchanged
    # The probe with the largest loss of score decides, since splits by one column are all that a study uses.
    worst = max(probes, key=lambda probe: probe.factor)
    if not worst.depends:
        return replace(unchanged, scores=worst.list_scores(False), notices=[worst.describe(False)])
    return _use(worst, table, roles, dataset)


@dataclass(frozen=True)
class _Probe:
    """The scores of a forest under random splits and under splits that respect one column."""

    kind: str
    name: str
    metric: Metric
    random: np.ndarray
    honest: np.ndarray

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
        return self.factor > _FACTOR and float(random.mean() - honest.mean()) > _ERRORS * float(error)

    def list_scores(self, used: bool) -> list[SplitScore]:
        """Return both scores for the record."""
        sign = 1.0 if self.metric.greater_is_better else -1.0
        words = f"rows of one `{self.name}` together" if self.kind == "group" else f"forward in time by `{self.name}`"
        return [
            SplitScore("rows at random", float(sign * self.random.mean()), not used),
            SplitScore(words, float(sign * self.honest.mean()), used),
        ]

    def describe(self, used: bool) -> Notice:
        """Return the notice that names both scores and the splits that the study uses."""
        random, honest = (score.score for score in self.list_scores(used))
        article = "an" if self.metric.words[0] in "aeiouR" else "a"
        scores = f"{article} {self.metric.words} of {spell_amount(random)} if rows are split at random"
        if self.kind == "group":
            how, kept = f"if all rows of one {quote(self.name)} stay together", "keeps them together"
            why = f"Rows with the same {quote(self.name)} resemble each other"
            cure = f"give --splits random if new rows have the same values of {self.name} as these"
        else:
            how, kept = "on rows that are later than the training rows", "tests on later rows"
            why = "Rows that are near in time resemble each other"
            cure = "give --splits random if new rows come from the same time as these"
        if used:
            text = f"{why}: a forest has {scores}, and {spell_amount(honest)} {how}. The study {kept}."
            return Notice("warning", self.name, text, cure)
        text = (
            f"A forest has {scores}, and {spell_amount(honest)} {how}: this makes no clear difference. Rows are split "
            "at random."
        )
        return Notice("note", self.name, text, f"give --{self.kind} {self.name} to respect it nevertheless", told=True)


def _probe(
    table: Table, dataset: Dataset, kind: str, name: str, options: Options, deadline: float | None
) -> _Probe | None:
    """Score a forest under both kinds of split; None if the honest splits cannot be made, or not in time."""
    frame = table.frame.loc[dataset.rows]
    known = read_groups(frame, name) if kind == "group" else None
    times = read_times(frame, name) if kind == "time" else None
    n_rows = _MOST_ROWS if options.budget is None or options.budget >= _AMPLE else _FEW_ROWS
    sample = draw_rows(replace(dataset, groups=known, time=times), n_rows, options.seed)
    labels = sample.y if sample.classes else None
    folds = _FOLDS if sample.groups is None else min(_FOLDS, len(np.unique(sample.groups)))
    if folds < 3:
        return None
    honest = split_rows(len(sample), Splitting(labels, sample.groups, sample.time), folds, _REPEATS, options.seed)
    shuffle = np.random.default_rng(options.seed)
    random = []
    for train, test in honest:
        # The same numbers of rows as in the honest split, so that only the dependence differs.
        order = shuffle.permutation(len(sample))
        random.append((order[: len(train)], order[len(train) : len(train) + len(test)]))
    pairs = [(fair, mixed) for fair, mixed in zip(honest, random) if _can_learn(sample, fair, mixed)]
    if sample.time is not None:
        late = [pair for pair in pairs if len(pair[0][0]) >= _LEAST_SHARE * len(sample)]
        pairs = late if len(late) >= _FEWEST_PAIRS else pairs
    if len(pairs) < _FEWEST_PAIRS:
        return None
    metric = find_metric(options.metric, sample.task)
    rows = Rows(sample.X, sample.y, sample.weight, make_scorer(metric, sample.classes))
    forest = _make_forest(sample, options, metric)
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
    return _Probe(kind, name, metric, np.array(scores[1::2]), np.array(scores[::2]))


def _can_learn(dataset: Dataset, *splits: Any) -> bool:
    """Return whether every training part has two classes, in a classification."""
    return not dataset.classes or all(len(np.unique(dataset.y[train])) > 1 for train, _ in splits)


def _make_forest(sample: Dataset, options: Options, metric: Metric) -> Any:
    """Return a small random forest on the columns of the table."""
    offer = next(offer for offer in candidates(sample.task) if offer.name == "random forest")
    head = sample.take(np.arange(min(len(sample), 500)))
    n_columns = int(make_encoder(head, offer.needs).fit_transform(head.X, head.y).shape[1])
    forest = make_contender(offer, sample, n_columns, options.seed, choose_costs(sample, metric.scorer, None)).estimator
    # The forest may stand inside a decision about classes, or inside the logarithm of a target.
    (name,) = [name for name in forest.get_params() if name.endswith("__n_estimators")]
    return forest.set_params(**{name: _TREES})


def _use(probe: _Probe, table: Table, roles: Roles, dataset: Dataset) -> Finding:
    """Return the finding that the study uses the honest splits."""
    frame = table.frame.loc[dataset.rows]
    if probe.kind == "time":
        changed = replace(dataset, time=read_times(frame, probe.name))
        return Finding(changed, replace(roles, time=probe.name), probe.list_scores(True), [probe.describe(True)])
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
    return Finding(changed, known, probe.list_scores(True), [probe.describe(True)])

"""The candidates of a study, and their results."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mercer._base.candidate import Candidate
from mercer._source.threads import n_threads
from mercer.app.options import Options
from mercer.app.study.choice.splits import draw_plan
from mercer.app.study.choice.stacking import NAME as STACKED
from mercer.app.study.choice.stacking import Stack
from mercer.app.study.dataset import Dataset
from mercer.app.study.metrics import Metric, find_metric
from mercer.app.study.recipe import choose_costs, make_balanced_costs
from mercer.errors import ParameterError
from mercer.model_selection import Contender, NestedResult, Trial, candidates
from mercer.model_selection.trials import Plan


@dataclass
class Selection:
    """The candidates that were tried, and their results."""

    plan: Plan
    metric: Metric
    offers: list[Candidate]
    contenders: dict[str, Contender] = field(default_factory=dict)
    trials: list[Trial] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    lacking: dict[str, float] = field(default_factory=dict)  # seconds of the trials for which there was no time
    failed: dict[str, str] = field(default_factory=dict)
    distrusted: list[str] = field(default_factory=list)  # candidates that are worse than the constant guess
    conclusion: NestedResult | None = None
    seconds: dict[str, float] = field(default_factory=dict)  # wall time of one fit, by candidate
    calibrated: bool = False
    groups: np.ndarray | None = None  # rows of one group depend on each other
    timed: bool = False  # whether the splits go forward in time
    costs: np.ndarray | None = None  # by which classes are predicted from probabilities; None takes the most probable
    stack: Stack | None = None  # the weighted mean of the best candidates
    outdone: dict[str, str] = field(default_factory=dict)  # candidates that are worse row by row, and than which one
    too_slow: dict[str, str] = field(default_factory=dict)  # candidates without time for a fit to all rows, and why
    rivals: dict[str, str] = field(default_factory=dict)  # a stack that is not clearly better, and than which candidate

    def threads(self, n_jobs: int | None) -> int:
        """Return the number of threads for fits of the winner.

        It is one after calibration: scikit-learn then sets warning filters, which all threads share.
        """
        return 1 if self.calibrated else n_threads(n_jobs)

    @property
    def result(self) -> NestedResult:
        """The choice among the trials, once all of them are done."""
        assert self.conclusion is not None
        return self.conclusion

    @property
    def winner(self) -> Trial:
        """The trial of the candidate that was chosen."""
        return self.result.trial(self.result.winner)


def open_selection(dataset: Dataset, options: Options) -> Selection:
    """Return the folds and the candidates of a comparison that has not begun."""
    metric = find_metric(options.metric, dataset.task)
    costs = choose_costs(dataset, metric.scorer, options.threshold)
    return Selection(
        draw_plan(dataset, metric, options),
        metric,
        _list_offers(dataset.task, options.candidates),
        groups=dataset.groups,
        timed=dataset.time is not None,
        costs=make_balanced_costs(dataset.y, dataset.classes) if isinstance(costs, str) else costs,
    )


def keep_winner(selection: Selection) -> None:
    """Drop the fitted models of all candidates except the chosen one, to free memory."""
    slim = [
        replace(trial, inner_predictions=None, models=trial.models if trial.name == selection.result.winner else [])
        for trial in selection.trials
    ]
    selection.trials = slim
    selection.conclusion = replace(selection.result, trials=slim)


def _list_offers(task: str, wanted: Sequence[str] | None) -> list[Candidate]:
    """Return the candidates for `task`, or those of them that are `wanted`."""
    offers = candidates(task)
    if wanted is None:
        return offers
    known = [*(offer.name for offer in offers), STACKED]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ParameterError(_refuse_candidate(unknown[0], known, task))
    # The constant guess always takes part: every score is compared with it.
    return [offer for offer in offers if offer.rank == 0 or offer.name in wanted]


def _refuse_candidate(name: str, known: list[str], task: str) -> str:
    """Return the message that there is no such candidate, with the one that was probably meant and all others."""
    what, other, others = (
        ("classes", "regression", "numbers") if task == "classification" else ("numbers", "classification", "classes")
    )
    if name in {offer.name for offer in candidates(other)}:
        first = f"candidates: {name!r} predicts {others}, but the target has {what}."
    else:
        near = difflib.get_close_matches(name, known, n=1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        first = f"candidates: there is no candidate {name!r}.{meant}"
    return f"{first} For {what} there are: {'; '.join(known)}."

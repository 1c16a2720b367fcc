"""Studies of several targets: one study for each, of the same rows, with a page and predictions for all of them."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer.app.options import Options
from mercer.errors import DataError

# The file that lists the targets and the folder of each.
NAME = "targets.json"
# Options that belong to one target.
_SINGLE = ("positive", "threshold", "costs", "reject")


@dataclass(frozen=True, repr=False)
class Studies:
    """The studies of several targets.

    Attributes
    ----------
    studies : dict of str to Study
        One study for each target, in the order in which the targets were given.
    """

    studies: dict[str, Any]

    def __getitem__(self, target: str) -> Any:
        return self.studies[target]

    def __repr__(self) -> str:
        """Return the answers: the whole records would fill pages."""
        return f"<Studies of {', '.join(self.studies)}>"

    def save(self, folder: str | Path) -> Path:
        """Write one folder for each study, and a page about all of them, into a folder, and return it."""
        from mercer.app.report.pages import render_targets

        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        folders = _name_folders(self.studies)
        for target, study in self.studies.items():
            study.save(place / folders[target])
        # A model of an earlier study of one target would not belong to this page.
        for old in ("model.mercer", "run.json"):
            (place / old).unlink(missing_ok=True)
        (place / NAME).write_text(json.dumps({"targets": folders}, indent=1) + "\n", encoding="utf-8")
        records = {target: study.record for target, study in self.studies.items()}
        links = {target: f"{name}/report.html" for target, name in folders.items()}
        (place / "report.html").write_text(render_targets(records, links), encoding="utf-8")
        return place

    @classmethod
    def load(cls, folder: str | Path) -> "Studies":
        """Return the studies that :meth:`save` wrote into a folder."""
        from mercer.app.study import Study

        return cls({target: Study.load(place) for target, place in list_folders(Path(folder)).items()})

    def predict(self, table: Any) -> Any:
        """Return a frame with the predictions of every target for each row of a table; see ``Study.predict``."""
        import pandas

        frames = {target: study.predict(table) for target, study in self.studies.items() if study.model is not None}
        return pandas.concat([frame.add_prefix(f"{target} ") for target, frame in frames.items()], axis=1)

    def _repr_html_(self) -> str:
        return "".join(study._repr_html_() for study in self.studies.values())


def split_targets(given: Any, columns: Iterable[Any]) -> list[str]:
    """Return the targets that were given: each text is the name of a column, or several names with commas between."""
    texts = [] if given is None else [given] if isinstance(given, str) else list(given)
    known = set(map(str, columns))
    targets: list[str] = []
    for text in texts:
        parts = [part.strip() for part in text.split(",")]
        # A column may have a comma in its name.
        targets += parts if text not in known and len(parts) > 1 else [text]
    twice = next((name for place, name in enumerate(targets) if name in targets[:place]), None)
    if twice is not None:
        raise DataError(f"--target: `{twice}` is given twice. Leave one out.")
    return targets


def study_each(
    rows: Any, targets: list[str], options: Options, study: Callable[[Any, Options, Any], Any], watch: Any
) -> Studies:
    """Study each target without the others; they share the rows and the seed of the folds, and divide the budget."""
    missing = [name for name in targets if name not in map(str, rows.frame.columns)]
    if missing:
        raise DataError(f"{rows.name}: there is no column `{missing[0]}`. --target must name columns of the table.")
    given = [name for name in _SINGLE if getattr(options, name) is not None]
    if given:
        raise DataError(f"{given[0]}: it belongs to one target, and {len(targets)} are given. Study each target alone.")
    budget = None if options.budget is None else options.budget / len(targets)
    done = {}
    for number, target in enumerate(targets):
        others = [name for name in targets if name != target]
        own = replace(rows, frame=rows.frame.drop(columns=others))
        told = None if watch is None else _shift(watch, target, number, len(targets))
        done[target] = study(own, replace(options, target=target, budget=budget, n_targets=len(targets)), told)
    return Studies(done)


def _shift(watch: Any, target: str, number: int, count: int) -> Callable[[Any], None]:
    """Return a watch that tells the target, and the share of the work of all targets."""
    return lambda event: watch(
        replace(event, text=f"{target}: {event.text}", share=(number + event.share) / count, seconds_left=None)
    )


def _name_folders(targets: Iterable[str]) -> dict[str, str]:
    """Return a folder for each target: its name without what a file system may refuse."""
    folders: dict[str, str] = {}
    for target in targets:
        plain = re.sub(r"[^\w\-]+", "_", target).strip("_") or "target"
        number = 2
        name = plain
        while name.lower() in {folder.lower() for folder in folders.values()}:
            name, number = f"{plain}_{number}", number + 1
        folders[target] = name
    return folders


def list_folders(folder: Path) -> dict[str, Path]:
    """Return the folder of each target; empty if `folder` is not that of several targets."""
    file = folder / NAME
    if not file.is_file():
        return {}
    try:
        listed = json.loads(file.read_text(encoding="utf-8"))["targets"]
        found = {str(target): folder / str(place) for target, place in listed.items()}
    except (ValueError, KeyError, AttributeError):
        raise DataError(f"{file}: the file does not list targets. Run the study again.") from None
    if any(place.parent != folder for place in found.values()):
        raise DataError(f"{file}: the models must lie in this folder. Run the study again.")
    return found


@dataclass(frozen=True)
class TargetModels:
    """The models of several targets, which predict together."""

    models: dict[str, Any]

    def predict_columns(self, frame: Any, predict: Callable[[Any, Any], dict[str, np.ndarray]]) -> dict[str, Any]:
        """Return the predictions of every model; the names of output columns begin with the target."""
        return {
            f"{target} {name}": values
            for target, model in self.models.items()
            for name, values in predict(model, frame).items()
        }

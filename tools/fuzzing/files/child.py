"""Forge files of one subject and try them, in the process of its own that the ledger starts."""

import tempfile
import warnings
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

from tests.laws.subjects import Subject
from tools.fuzzing.files.forgery import Original, forge, make_forgery
from tools.fuzzing.files.outcome import METHODS, try_file, try_forgery, watch_unraised

# Rows of the fit, and of the questions.
_ROWS = 60
_ASKED = 5
# One forgery in so many goes through a file with right checksums; the others are decoded from memory, 5 times as fast.
_THROUGH_FILE = 50


class ForgedSubject:
    """One estimator in one setting, whose model file is forged."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Rows and targets of the fit."""
        return self.subject.data(_ROWS, 5)

    @cached_property
    def original(self) -> Original:
        """The fitted model; every child and every name of a case needs the same one."""
        X, y = self.rows
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = self.subject.make().fit(X, y)
        self.methods = tuple(name for name in METHODS if hasattr(model, name))
        return Original(model)

    def name(self, number: int) -> str:
        """Return the change of a case in words."""
        return make_forgery(self.original, number).change

    def try_all(self, first: int, last: int) -> Iterator[tuple[str, str]]:
        """Yield the outcome of each forgery, with its change where the outcome is a raw error."""
        watch_unraised()
        original = self.original
        X = self.rows[0][:_ASKED]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.mercer")
            for number in range(first, last):
                if number % _THROUGH_FILE == 0:
                    change = forge(original, number, path)
                    outcome = try_file(path, X)
                else:
                    forgery = make_forgery(original, number)
                    change = forgery.change
                    outcome = try_forgery(forgery, X, self._choose_methods(number))
                word, _, what = outcome.partition(": ")
                yield word, f"{what} [{change}]"

    def _choose_methods(self, number: int) -> tuple[str, ...]:
        """Return two of the model's methods: all have their turn, and a forgery takes a millisecond less."""
        methods = self.methods
        return methods if len(methods) <= 2 else (methods[number % len(methods)], methods[(number + 1) % len(methods)])

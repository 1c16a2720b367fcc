"""What the service answers: the columns of a model, predictions of rows, and what moved one of them.

Nothing here knows HTTP beyond the status of a refusal; :mod:`mercer.app.deploy.application` does.
"""

import json
import math
import threading
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import numpy as np

from mercer.app.deploy.conformal import widen
from mercer.errors import MercerError

# Characters of a wrong value that a refusal shows.
_SHOWN = 40
# Opening brackets that a body may have beside one for each row: a value that is a list or an object is refused later,
# by name, but millions of them would take a hundred bytes of memory for each byte sent.
_BRACKETS = 1000
# Commas that a row may have beside four for each column that the model needs: for further columns, and those in texts.
_VALUES = 16


class WrongRequestError(Exception):
    """A request that cannot be answered, with its status."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class Service:
    """What is served: a model, its schema, and the record of its study, if there is one."""

    def __init__(self, model: Any, schema: Any, record: Any = None, most_rows: int = 10_000) -> None:
        self.model, self.schema, self.record, self.most_rows = model, schema, record, most_rows
        self.lock = threading.Lock()
        self.count = 0

    def find_work(self, path: str) -> Callable[[Any], dict[str, Any]] | None:
        """Return what answers a POST to a path; None where there is nothing."""
        return {"/predict": self.predict, "/explain": self.explain}.get(path)

    def answer(self, path: str, body: bytes) -> dict[str, Any]:
        """Return the answer to a POST; raise WrongRequestError with its status where there is none."""
        work = self.find_work(path)
        if work is None:
            raise WrongRequestError(HTTPStatus.NOT_FOUND, "there are POST /predict and /explain")
        try:
            # Numbers that overflow are refused by what comes out; a line for each would fill the log.
            with np.errstate(all="ignore"):
                return work(self._parse(body))
        except MercerError as wrong:
            raise WrongRequestError(HTTPStatus.UNPROCESSABLE_ENTITY, str(wrong)) from wrong

    def describe(self) -> dict[str, Any]:
        """Return the columns that a row must have, and what is predicted."""
        question = None if self.record is None else self.record.question
        target = None if question is None else {"column": question.target, "classes": question.classes}
        return {"columns": {name: kind.split()[0] for name, kind in self.schema.kinds.items()}, "target": target}

    def predict(self, content: Any) -> dict[str, Any]:
        """Return the predictions of the rows in a request."""
        from mercer.app.schema import predict_columns

        frame = self._read_rows(content)
        columns = predict_columns(self.model, frame)
        coverage = content.get("coverage")
        if coverage is not None:
            is_number = isinstance(coverage, int | float) and not isinstance(coverage, bool) and _is_plain(coverage)
            if self.record is None or not is_number:
                raise _refuse("`coverage` must be a number, and the service must be started with the folder of a run")
            columns = widen(columns, self.record, float(coverage), frame)
        with self.lock:
            self.count += len(frame)
        names = list(columns)
        values = [_list_plain(columns[name]) for name in names]
        return {"predictions": [dict(zip(names, row)) for row in zip(*values)]}

    def explain(self, content: Any) -> dict[str, Any]:
        """Return the contributions of the columns to the prediction of the first row, compared with the other rows."""
        from dataclasses import asdict

        from mercer.app.attribution import attribute

        frame = self._read_rows(content)
        if len(frame) < 2:
            raise _refuse("`rows` must hold the row to explain first and then other rows, which give the average")
        return asdict(attribute(self.model, frame.iloc[[0]].reset_index(drop=True), frame))

    def _parse(self, body: bytes) -> Any:
        """Return the JSON of a body, which may hold no more lists, objects and values than its rows need."""
        brackets = body.count(b"[") + body.count(b"{")
        if brackets > _BRACKETS + self.most_rows:
            text = f"the body has {brackets} opening brackets, and {self.most_rows} rows need no more than as many"
            raise WrongRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
        values, most = body.count(b","), self.most_rows * (_VALUES + 4 * len(self.schema.kinds))
        if values > most:
            text = f"the body has {values} commas, and {self.most_rows} rows need no more than {most}"
            raise WrongRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
        try:
            return json.loads(body, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as wrong:
            raise WrongRequestError(HTTPStatus.BAD_REQUEST, "the body is no JSON in UTF-8") from wrong

    def _read_rows(self, content: Any) -> Any:
        """Return the rows of a request as a frame with the columns of the model."""
        import pandas

        from mercer.app.schema import open_rows

        rows = content.get("rows") if isinstance(content, dict) else None
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            raise _refuse('the body must be {"rows": [{"column": value, ...}, ...]} with one row or more')
        if len(rows) > self.most_rows:
            text = f"at most {self.most_rows} rows may be sent at once; got {len(rows)}"
            raise WrongRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
        lacking = [name for name in self.schema.kinds if not any(name in row for row in rows)]
        if lacking:
            raise _refuse(f"no row has the column `{lacking[0]}`; null stands for a missing value")
        kinds = {name: kind.split()[0] for name, kind in self.schema.kinds.items()}
        for place, row in enumerate(rows):
            for name, kind in kinds.items():
                if not _is_plain(row.get(name)):
                    raise _refuse_cell(place, name, kind, row.get(name))
        frame = pandas.DataFrame({name: [row.get(name) for row in rows] for name in kinds})
        blank = [name for name in frame.columns if frame[name].isna().all()]
        numbers = [name for name in blank if kinds[name] in ("number", "numeral")]
        frame[numbers] = frame[numbers].astype(float)
        read = pandas.concat(list(open_rows(frame, self.schema, [])), ignore_index=True)
        self._check_read(rows, read, kinds)
        return read

    def _check_read(self, rows: list[dict[str, Any]], read: Any, kinds: dict[str, str]) -> None:
        """Refuse texts that could not be read as the number or date that they should be, and numbers beyond floats.

        They would silently count as missing.
        """
        import pandas

        for name in [name for name, kind in kinds.items() if kind in ("number", "date")]:
            values = read[name]
            if kinds[name] == "date" and values.dtype.kind != "M":
                # Texts that are no dates of one form: pandas takes "20:24-05-06" for a time of today in another zone.
                values = pandas.to_datetime(values, errors="coerce", format="ISO8601", utc=True)
            lost = values.isna().to_numpy()
            if kinds[name] == "date":
                # Words such as "now" would be another day in each request.
                given = [row.get(name) for row in rows]
                lost = lost | [isinstance(value, str) and value.strip().isalpha() for value in given]
            if kinds[name] == "number":
                lost = ~np.isfinite(values.to_numpy(dtype=float, na_value=np.nan))
            for place in np.flatnonzero(lost):
                value = rows[place].get(name)
                if value is not None and not (isinstance(value, str) and not value.strip()):
                    raise _refuse_cell(int(place), name, kinds[name], value)


def _is_plain(value: Any) -> bool:
    """Return whether a value is null, a boolean, a text of Unicode characters or a number that a float can hold."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:  # half of a pair of surrogates is no character
            return False
        return True
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < 2**1023
    return value is None or (isinstance(value, float | bool) and math.isfinite(value))


def _refuse(text: str) -> WrongRequestError:
    return WrongRequestError(HTTPStatus.UNPROCESSABLE_ENTITY, text)


def _refuse_cell(place: int, name: str, kind: str, value: Any) -> WrongRequestError:
    shown = f"{type(value).__name__}" if isinstance(value, int) and not _is_plain(value) else json.dumps(value)
    return _refuse(f"row {place + 1}: `{name}` must be a {kind} or null; got {shown[:_SHOWN]}")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _list_plain(values: Any) -> list[Any]:
    """Return values as JSON holds them; it has no infinity and no NaN."""
    plain = np.asarray(values).tolist()
    return [None if isinstance(value, float) and not math.isfinite(value) else value for value in plain]

"""A small HTTP service around the model of a study.

The standard library's server needs no further package. It answers each connection in a thread of its own; the models
are read-only, and native code releases the interpreter's lock. It speaks plain HTTP: put a reverse proxy that speaks
TLS before it where others can reach it.
"""

import json
import math
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from mercer.app.deploy.conformal import widen
from mercer.errors import MercerError

# Seconds for which a connection may send nothing.
_PATIENCE = 30.0
# Bytes of a body above the limit that are read and forgotten before it is refused, and how many at once.
_MOST_DISCARDED = 2**28
_PIECE = 2**16


class _WrongRequestError(Exception):
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
            if self.record is None or not isinstance(coverage, int | float):
                text = "`coverage` must be a number, and the service must be started with the folder of a run"
                raise _WrongRequestError(HTTPStatus.UNPROCESSABLE_ENTITY, text)
            columns = widen(columns, self.record, float(coverage))
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
            text = "`rows` must hold the row to explain first and then other rows, which give the average"
            raise _WrongRequestError(HTTPStatus.UNPROCESSABLE_ENTITY, text)
        return asdict(attribute(self.model, frame.iloc[[0]].reset_index(drop=True), frame))

    def _read_rows(self, content: Any) -> Any:
        """Return the rows of a request as a frame with the columns of the model."""
        import pandas

        from mercer.app.schema import open_rows

        rows = content.get("rows") if isinstance(content, dict) else None
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            text = 'the body must be {"rows": [{"column": value, ...}, ...]} with one row or more'
            raise _WrongRequestError(HTTPStatus.UNPROCESSABLE_ENTITY, text)
        if len(rows) > self.most_rows:
            text = f"at most {self.most_rows} rows may be sent at once; got {len(rows)}"
            raise _WrongRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
        lacking = [name for name in self.schema.kinds if not any(name in row for row in rows)]
        if lacking:
            text = f"no row has the column `{lacking[0]}`; null stands for a missing value"
            raise _WrongRequestError(HTTPStatus.UNPROCESSABLE_ENTITY, text)
        self._check_cells(rows)
        frame = pandas.DataFrame({name: [row.get(name) for row in rows] for name in self.schema.kinds})
        blank = [name for name in frame.columns if frame[name].isna().all()]
        numbers = [name for name in blank if self.schema.kinds[name].split()[0] in ("number", "numeral")]
        frame[numbers] = frame[numbers].astype(float)
        return pandas.concat(list(open_rows(frame, self.schema, [])), ignore_index=True)

    def _check_cells(self, rows: list[dict[str, Any]]) -> None:
        """Refuse lists and objects, and texts that are no numbers: they would silently count as missing."""
        for place, row in enumerate(rows):
            for name, kind in self.schema.kinds.items():
                value = row.get(name)
                wrong = isinstance(value, list | dict)
                if kind == "number" and isinstance(value, str) and value.strip():
                    wrong = wrong or not any(letter.isdigit() for letter in value)
                if wrong:
                    text = f"row {place + 1}: `{name}` must be a {kind.split()[0]} or null; got "
                    text += json.dumps(value)[:40]
                    raise _WrongRequestError(HTTPStatus.UNPROCESSABLE_ENTITY, text)


def _list_plain(values: Any) -> list[Any]:
    """Return values as JSON holds them; it has no infinity and no NaN."""
    plain = np.asarray(values).tolist()
    return [None if isinstance(value, float) and not math.isfinite(value) else value for value in plain]


class _Server(ThreadingHTTPServer):
    """A server whose threads end with the program."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], service: Service, most_bytes: int) -> None:
        self.service, self.most_bytes = service, most_bytes
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    """Answers GET /health and /schema, POST /predict and /explain."""

    timeout = _PATIENCE
    server_version = "mercer"
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def do_GET(self) -> None:
        """Answer /health and /schema."""
        path = urlsplit(self.path).path
        if path == "/health":
            self._send(HTTPStatus.OK, {"status": "ok", "rows": self.server.service.count})
        elif path in ("/schema", "/"):
            self._send(HTTPStatus.OK, self.server.service.describe())
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there are GET /health and /schema, POST /predict and /explain")

    def do_POST(self) -> None:
        """Answer /predict and /explain."""
        answers = {"/predict": self.server.service.predict, "/explain": self.server.service.explain}
        answer = answers.get(urlsplit(self.path).path)
        try:
            content = self._read_body()
            if answer is None:
                self._refuse(HTTPStatus.NOT_FOUND, "there are POST /predict and /explain")
                return
            self._send(HTTPStatus.OK, answer(content))
        except _WrongRequestError as wrong:
            self._refuse(wrong.status, str(wrong))
        except MercerError as wrong:
            self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, str(wrong))
        except TimeoutError:
            self.close_connection = True
        except Exception as wrong:  # one wrong request must not end the service
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, f"internal error ({type(wrong).__name__})")

    def _read_body(self) -> Any:
        """Return the JSON of the body, which is read only if it is small enough."""
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            self.close_connection = True
            raise _WrongRequestError(HTTPStatus.LENGTH_REQUIRED, "the header Content-Length is needed")
        if int(length) > self.server.most_bytes:
            # Clients that send the whole body before they listen would see a broken connection instead of the answer.
            self._discard(min(int(length), _MOST_DISCARDED))
            self.close_connection = True
            text = f"the body may have at most {self.server.most_bytes} bytes; got {length}"
            raise _WrongRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise _WrongRequestError(HTTPStatus.BAD_REQUEST, "the body is no JSON") from None

    def _discard(self, count: int) -> None:
        """Read some bytes of a body and forget them."""
        while count > 0 and (piece := self.rfile.read(min(count, _PIECE))):
            count -= len(piece)

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        self._send(status, {"error": text})

    def _send(self, status: HTTPStatus, content: Any) -> None:
        body = json.dumps(content, ensure_ascii=False, default=str).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *values: Any) -> None:
        """Print nothing for each request: the proxy before the service does."""


def make_server(service: Service, host: str, port: int, most_bytes: int) -> ThreadingHTTPServer:
    """Return a server that is bound to its address and does not answer yet; port 0 takes any free one."""
    return _Server((host, port), service, most_bytes)

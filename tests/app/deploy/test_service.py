"""The HTTP service, asked by a real client and by raw bytes: answers, refusals, limits, many requests at once."""

import asyncio
import http.client
import json
import re
import socket
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from mercer.app.deploy import server as server_module
from mercer.app.deploy.application import Application
from mercer.app.deploy.server import Server
from mercer.app.deploy.service import Service
from mercer.app.schema import Schema
from mercer.errors import ParameterError
from tests.app.deploy.studies import make_rows, study_classes


@pytest.fixture(scope="module")
def address():
    study = study_classes()
    service = Service(study.model, Schema.of(study.model, "model"), study.record, most_rows=50)
    server = Server(Application(service, most_bytes=20_000), "127.0.0.1", 0)
    thread = threading.Thread(target=server.serve)
    thread.start()
    yield server.address
    server.stop()
    thread.join()


def _ask(address, method, path, content=None, headers=None):
    connection = http.client.HTTPConnection(*address, timeout=120)
    body = content if isinstance(content, bytes | None) else json.dumps(content).encode()
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    read = json.loads(answer.read())
    connection.close()
    return answer.status, read


def _rows(n_rows=3):
    rows = make_rows(n_rows, seed=9).drop(columns=["failure", "value"]).astype({"day": str})
    return json.loads(rows.to_json(orient="records"))


def test_health_and_schema(address):
    assert _ask(address, "GET", "/health")[1]["status"] == "ok"
    status, schema = _ask(address, "GET", "/schema")
    assert status == 200
    assert schema["columns"] == {"heat": "number", "load": "number", "site": "category", "day": "date"}
    assert schema["target"] == {"column": "failure", "classes": ["no", "yes"]}


def test_predictions_are_those_of_the_model(address):
    status, answer = _ask(address, "POST", "/predict", {"rows": _rows(), "coverage": 0.9})
    assert status == 200
    wanted = study_classes().predict(make_rows(3, seed=9), coverage=0.9)
    for row, (_, other) in zip(answer["predictions"], wanted.iterrows(), strict=True):
        assert row["prediction"] == other["prediction"]
        assert row["set"] == other["set"]
        assert row["probability of yes"] == pytest.approx(other["probability of yes"])


def test_a_row_whose_values_are_missing_is_predicted(address):
    status, answer = _ask(address, "POST", "/predict", {"rows": [dict.fromkeys(_rows()[0])]})
    assert status == 200
    assert answer["predictions"][0]["prediction"] in ("no", "yes")


def test_an_explanation_adds_up(address):
    status, answer = _ask(address, "POST", "/explain", {"rows": _rows(20)})
    assert status == 200
    assert sum(answer["shares"].values()) == pytest.approx(answer["value"] - answer["average"])


@pytest.mark.parametrize(
    ("path", "content", "status", "words"),
    [
        ("/predict", b"{", 400, "no JSON"),
        ("/predict", {"rows": []}, 422, "the body must be"),
        ("/predict", {"rows": [{"heat": 1}]}, 422, "no row has the column `load`"),
        ("/predict", {"rows": [{"heat": "hot", "load": 1, "site": "x", "day": None}]}, 422, "row 1: `heat` must be"),
        (
            "/predict",
            {"rows": [{"heat": "1 2 3", "load": 1, "site": "x", "day": None}]},
            422,
            'number or null; got "1 2',
        ),
        ("/predict", {"rows": [{"heat": "1e400", "load": 1, "site": "x", "day": None}]}, 422, "row 1: `heat` must be"),
        ("/predict", {"rows": [{"heat": "0x10", "load": 1, "site": "x", "day": None}]}, 422, "row 1: `heat` must be"),
        ("/predict", {"rows": [{"heat": 1, "load": 1, "site": "x", "day": "9999-99-99"}]}, 422, "`day` must be a date"),
        ("/predict", {"rows": [{"heat": 10**1000, "load": 1, "site": "x", "day": None}]}, 422, "or null; got int"),
        (
            "/predict",
            {"rows": [{"heat": 1, "load": 1, "site": "x", "day": None}], "coverage": 10**1000},
            422,
            "`coverage` must be a number",
        ),
        ("/predict", {"rows": [{"heat": 1, "load": 1, "site": "\ud800", "day": None}]}, 422, "`site` must be"),
        ("/predict", b'{"rows": [{"heat": NaN, "load": 1, "site": "x", "day": null}]}', 400, "no JSON"),
        ("/predict", b'{"rows": ' + b"[" * 5000, 413, "5001 opening brackets"),
        ("/predict", b'{"rows": [' + b"1," * 4000, 413, "4000 commas"),
        ("/predict", b"\xff\xfe", 400, "no JSON in UTF-8"),
        ("/predict", {"rows": [{"heat": [1], "load": 1, "site": "x", "day": None}]}, 422, "row 1: `heat` must be"),
        ("/predict", {"rows": [{}] * 51}, 413, "at most 50 rows"),
        ("/predict", b"[" + b" " * 30_000, 413, "at most 20000 bytes"),
        ("/predict", b"[" + b" " * 20_000_000, 413, "at most 20000 bytes"),
        ("/explain", {"rows": [{"heat": 1, "load": 1, "site": "x", "day": None}]}, 422, "row to explain first"),
        ("/train", {"rows": []}, 404, "/predict"),
    ],
)
def test_wrong_requests_are_refused_and_the_service_goes_on(address, path, content, status, words):
    got, answer = _ask(address, "POST", path, content)
    assert got == status
    assert words in answer["error"]
    assert _ask(address, "GET", "/health")[0] == 200


@pytest.mark.parametrize(
    "day", ["20:24-05-06", "20:24", "4-05-06", "2025-06", "2024-05-06T00:00:00+99:00", "now", "2024-W60-1"]
)
def test_texts_that_are_no_dates_are_refused_beside_one_that_is(address, day):
    rows = [{"heat": 1, "load": 1, "site": "x", "day": one} for one in ("2024-05-06", day)]
    status, answer = _ask(address, "POST", "/predict", {"rows": rows})
    assert status == 422
    assert f'row 2: `day` must be a date or null; got "{day}' in answer["error"]


def test_numbers_that_overflow_leave_no_lines_in_the_log(address):
    row = {"heat": 1e308, "load": -1e308, "site": "x", "day": "1677-01-01"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert _ask(address, "POST", "/predict", {"rows": [row]})[0] in (200, 422)
    assert not [str(one.message) for one in caught]


def test_many_clients_at_once_get_their_own_answers(address):
    rows = _rows(40)
    alone = [_ask(address, "POST", "/predict", {"rows": [row]})[1] for row in rows[:8]]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda row: _ask(address, "POST", "/predict", {"rows": [row]})[1], rows[:8] * 5))
    assert together == alone * 5


def _send(address, *pieces):
    """Send raw bytes; return all that comes back until the server closes the connection."""
    with socket.create_connection(address, timeout=60) as connection:
        for piece in pieces:
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    return answer


BODY = b'{"rows": []}'
POST = b"POST /predict HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    ("request_bytes", "status", "words"),
    [
        (POST + b"Content-Length: 12\r\nContent-Length: 12\r\n\r\n" + BODY, 400, "one whole number"),
        (POST + b"Content-Length: \xc2\xb2\r\n\r\n" + BODY, 400, "one whole number"),
        (POST + b"Content-Length: +12\r\n\r\n" + BODY, 400, "one whole number"),
        (POST + b"Content-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411, "without a transfer coding"),
        (POST + b"\r\n", 411, "Content-Length is needed"),
        (b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nGET /", 400, "GET has no body"),
        (b"GET /health HTTP/1.1\r\n\r\n", 400, "one header Host"),
        (b"GET /health HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400, "one header Host"),
        (b"GET /health HTTP/1.1\r\nHost : x\r\n\r\n", 400, "a header must be"),
        (b"GET /health HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", 400, "a header must be"),
        (b"GET /health HTTP/2.0\r\nHost: x\r\n\r\n", 400, "first line"),
        (b"get /health HTTP/1.1\r\nHost: x\r\n\r\n", 400, "first line"),
        (b"GET http://x/health HTTP/1.1\r\nHost: x\r\n\r\n", 400, "first line"),
        (b"GET /health HTTP/1.1\r\nHost: " + b"x" * 20_000 + b"\r\n\r\n", 431, "at most 16384 bytes"),
        (b"PUT /predict HTTP/1.1\r\nHost: x\r\n\r\n", 405, "/predict takes POST"),
        (b"DELETE /nothing HTTP/1.1\r\nHost: x\r\n\r\n", 404, "there are GET /health"),
    ],
)
def test_what_two_readers_could_take_differently_ends_the_connection(address, request_bytes, status, words):
    follower = b"GET /schema HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = _send(address, request_bytes + (follower if status not in (404, 405, 431) else b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"application/json" in head
    # One answer alone: nothing of the rest runs as a second request.
    assert words in json.loads(body)["error"]


def test_requests_of_one_connection_are_answered_in_their_order(address):
    one = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    two = POST + b"Content-Length: 12\r\nExpect: 100-continue\r\n\r\n" + BODY
    last = b"HEAD /schema HTTP/1.0\r\n\r\n"
    answer = _send(address, one + two, last)
    assert re.findall(rb"HTTP/1\.1 (\d+) ", answer) == [b"200", b"100", b"422", b"200"]
    assert answer.endswith(b"connection: close\r\n\r\n")


def test_idle_connections_hold_no_threads_and_too_many_are_refused(address, monkeypatch):
    threads = threading.active_count()
    monkeypatch.setattr(server_module, "_CONNECTIONS", 40)
    idle = [socket.create_connection(address, timeout=60) for _ in range(40)]
    for connection in idle:
        connection.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\n")
    # The first answers may come before the last of the forty is accepted.
    while _ask(address, "GET", "/health")[0] != 503:
        pass
    assert threading.active_count() == threads
    for connection in idle:
        connection.close()
    # A connection that was closed makes room.
    while _ask(address, "GET", "/health")[0] != 200:
        pass


def test_counts_are_given_in_the_form_of_prometheus(address):
    connection = http.client.HTTPConnection(*address, timeout=60)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    assert "# TYPE mercer_requests_total counter" in text
    assert 'mercer_requests_total{status="200"} ' in text


def test_any_server_of_the_protocol_can_run_the_application():
    study = study_classes()
    app = Application(Service(study.model, Schema.of(study.model, "model"), study.record), most_bytes=5000)

    async def ask(method, path, *pieces, headers=()):
        messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
        messages.append({"type": "http.request", "body": b"", "more_body": False})
        sent = []

        async def receive():
            return messages.pop(0)

        async def send(message):
            sent.append(message)

        await app({"type": "http", "method": method, "path": path, "headers": list(headers)}, receive, send)
        return sent[0]["status"], json.loads(sent[1]["body"])

    body = json.dumps({"rows": _rows(2)}).encode()
    status, answer = asyncio.run(ask("POST", "/predict", body[:7], body[7:]))
    assert status == 200
    assert len(answer["predictions"]) == 2
    assert asyncio.run(ask("POST", "/predict", *[b" " * 1000] * 9))[0] == 413
    assert asyncio.run(ask("POST", "/predict", headers=[(b"content-length", b"6000")]))[0] == 413
    app.working = 1000
    assert asyncio.run(ask("POST", "/predict", body))[0] == 503
    assert asyncio.run(ask("GET", "/health"))[0] == 200
    app.close()


def test_the_application_names_the_variable_that_it_needs(monkeypatch):
    import mercer.serve

    monkeypatch.delenv("MERCER_MODEL", raising=False)
    with pytest.raises(ParameterError, match=r"MERCER_MODEL; it is not set\. Set it to the folder"):
        _ = mercer.serve.app

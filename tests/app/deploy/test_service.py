"""The HTTP service, asked by a real client: answers, refusals, limits, and many requests at once."""

import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mercer.app.deploy.service import Service, make_server
from mercer.app.schema import Schema
from tests.app.deploy.studies import make_rows, study_classes


@pytest.fixture(scope="module")
def address():
    study = study_classes()
    service = Service(study.model, Schema.of(study.model, "model"), study.record, most_rows=50)
    server = make_server(service, "127.0.0.1", 0, most_bytes=20_000)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.server_address[:2]
    server.shutdown()
    server.server_close()
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


def test_many_clients_at_once_get_their_own_answers(address):
    rows = _rows(40)
    alone = [_ask(address, "POST", "/predict", {"rows": [row]})[1] for row in rows[:8]]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda row: _ask(address, "POST", "/predict", {"rows": [row]})[1], rows[:8] * 5))
    assert together == alone * 5

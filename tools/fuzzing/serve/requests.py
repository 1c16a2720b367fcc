"""Make hostile requests to the service: wrong values, damaged bodies, heads that two readers take differently, cuts."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# Columns of the study that is served, with a right value for each.
_ROW: dict[str, Any] = {"heat": 0.5, "load": 10.0, "site": "north", "day": "2024-05-06"}
# Values for any column, as JSON has them or as a text that is no JSON.
_VALUES = (
    *("null", "true", "1", "-0.0", "1e308", "1e400", "-1e400", "1" + "0" * 1000, "9" * 5000, "NaN", "Infinity"),
    *('""', '"1 2 3"', '"1e400"', '"0x10"', '"9999-99-99"', '"0000-01-01"', '"\\ud800"', '"\\u0000"', '"ash"'),
    *("[]", "{}", "[1]", '{"a": 1}', '"' + "x" * 10_000 + '"', '"2024-01-01T00:00:00+99:99"', '"²"', "1.", "01"),
)
# Bytes that mean something to a reader of JSON or of HTTP.
_TOKENS = (
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b":",
    b'"',
    b"\\",
    b"\\ud800",
    b"1e999",
    b"\x00",
    b"\xff",
    b"\r\n",
    b"\r\n\r\n",
)
# Lines of a head, beside those of a right one or in their place.
_LINES = (
    *(
        b"Content-Length: 5",
        b"Content-Length: 0",
        b"Content-Length: -1",
        b"Content-Length: +5",
        b"Content-Length: 5, 5",
    ),
    *("Content-Length: ²".encode(), b"Content-Length: 1e3", b"Content-Length: " + b"9" * 400, b"content-length : 5"),
    *(b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity", b"Transfer-Encoding:\tchunked", b"TE: trailers"),
    *(b"Host: x", b"Host:", b"Host : x", b" folded: x", b"Expect: 100-continue", b"Connection: close", b"Upgrade: h2c"),
    *(b"X: " + b"y" * 20_000, b"X" * 300, b": empty", b"X: a\x00b", b"X: a\nY: b", b"Content-Type: text/html"),
)
_FIRST = (
    *(b"POST /predict HTTP/1.1", b"POST /explain HTTP/1.1", b"GET /health HTTP/1.1", b"GET /predict HTTP/1.1"),
    *(
        b"HEAD /schema HTTP/1.1",
        b"PUT /predict HTTP/1.1",
        b"DELETE / HTTP/1.1",
        b"OPTIONS * HTTP/1.1",
        b"PRI * HTTP/2.0",
    ),
    *(b"GET /metrics HTTP/1.0", b"GET /%00 HTTP/1.1", b"GET /../../etc/passwd HTTP/1.1", b"GET http://x/ HTTP/1.1"),
    *(
        b"get /health http/1.1",
        b"POST /predict HTTP/1.9",
        b"POST  /predict HTTP/1.1",
        b"GET /" + b"a" * 9000 + b" HTTP/1.1",
    ),
)
# What may follow a head that announces nothing.
_BEHIND = (b"", b"{}", b"5\r\nhello\r\n0\r\n\r\n")
# What a body may hold very many of.
_MANY = (b"[", b"{", b"1,", b'{"a":', b" ", b'"', b"\x00", b"[[],", b"-", b"1")
# The largest body that the service takes here, and one that it refuses.
MOST_BYTES = 200_000


@dataclass(frozen=True)
class Request:
    """A request: the bytes, whether the client cuts it short or resets the connection, and whether it ends its side."""

    kind: str
    content: bytes
    is_cut: bool = False
    is_reset: bool = False


def _post(body: bytes, path: str = "/predict", more: bytes = b"") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n".encode()
    return head + more + b"\r\n" + body


def _make_rows(random: np.random.Generator, n_rows: int) -> bytes:
    """Return a body of rows, some of them with an odd value, a column too many or one too few."""
    rows = []
    for _ in range(n_rows):
        row = {name: json.dumps(value) for name, value in _ROW.items()}
        if random.random() < 0.7:
            row[list(row)[random.integers(len(row))]] = _VALUES[random.integers(len(_VALUES))]
        if random.random() < 0.1:
            del row[list(row)[random.integers(len(row))]]
        if random.random() < 0.1:
            row["no such column"] = _VALUES[random.integers(len(_VALUES))]
        rows.append("{" + ", ".join(f'"{name}": {value}' for name, value in row.items()) + "}")
    more = (', "coverage": ' + _VALUES[random.integers(len(_VALUES))]) if random.random() < 0.2 else ""
    return f'{{"rows": [{", ".join(rows)}]{more}}}'.encode("utf-8", "surrogatepass")


def _try_values(random: np.random.Generator) -> Request:
    path = "/explain" if random.random() < 0.1 else "/predict"
    return Request("values", _post(_make_rows(random, int(random.integers(1, 4))), path))


def _try_body(random: np.random.Generator) -> Request:
    """Damage a right body."""
    body = bytearray(_make_rows(random, 2))
    for _ in range(int(random.integers(1, 4))):
        place, kind = int(random.integers(len(body) + 1)), int(random.integers(4))
        if kind == 0:
            body[place:place] = _TOKENS[random.integers(len(_TOKENS))]
        elif kind == 1:
            del body[place : place + int(random.integers(1, 20))]
        elif kind == 2:
            body[place:place] = random.integers(0, 256, int(random.integers(1, 20)), dtype=np.uint8).tobytes()
        else:
            body[place:place] = body[place : place + int(random.integers(1, 50))]
    return Request("body", _post(bytes(body)))


def _try_size(random: np.random.Generator) -> Request:
    """Send much of one thing, or announce another length than is sent."""
    size = int(random.choice([100, 5_000, 100_000, MOST_BYTES, 2 * MOST_BYTES]))
    token = _MANY[random.integers(len(_MANY))]
    body = token * (size // len(token))
    if random.random() < 0.5:
        body = b'{"rows": ' + body
    return Request("size", _post(body))


def _try_head(random: np.random.Generator) -> Request:
    """Send a head with lines that are wrong, repeated, or missing, and a second request behind it."""
    lines = [_FIRST[random.integers(len(_FIRST))]]
    if random.random() < 0.8:
        lines.append(b"Host: x")
    lines += [_LINES[random.integers(len(_LINES))] for _ in range(int(random.integers(0, 4)))]
    end = b"\n" if random.random() < 0.1 else b"\r\n"
    content = end.join([*lines, b"", b""]) + _BEHIND[random.integers(len(_BEHIND))]
    return Request("head", content + b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")


def _try_cut(random: np.random.Generator) -> Request:
    """End in the middle of a right request, politely or by a reset."""
    content = _post(_make_rows(random, 2))
    return Request("cut", content[: int(random.integers(1, len(content)))], True, bool(random.random() < 0.5))


def _try_noise(random: np.random.Generator) -> Request:
    return Request("noise", random.integers(0, 256, int(random.integers(1, 400)), dtype=np.uint8).tobytes(), True)


# Each kind of request with its share.
_KINDS: tuple[tuple[float, Callable[[np.random.Generator], Request]], ...] = (
    (0.3, _try_values),
    (0.25, _try_body),
    (0.25, _try_head),
    (0.1, _try_size),
    (0.07, _try_cut),
    (0.03, _try_noise),
)


def make_request(number: int) -> Request:
    """Return request `number`."""
    random = np.random.default_rng(number)
    chosen = random.random()
    for share, make in _KINDS:
        chosen -= share
        if chosen < 0:
            return make(random)
    return _try_noise(random)

"""The service as an ASGI application: what any server that speaks this protocol can run, with its limits.

Health, the schema and the counts are answered at once, in the server's own loop. Predictions and explanations wait for
one of a few threads; where too many wait, a request is refused with 503 instead of being kept.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any

from mercer.app.deploy.service import Service, WrongRequestError

# Seconds in which a body must have arrived.
_PATIENCE = 30.0
# Requests that wait for a thread, for each thread.
_WAITING = 16
# Threads at most: a prediction holds the interpreter's lock for a good part of its time.
_THREADS = 4
# Bodies of full size that may be in memory together.
_BODIES = 8

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Application:
    """The application: GET /health, /schema and /metrics, POST /predict and /explain."""

    def __init__(self, service: Service, most_bytes: int = 10_000_000) -> None:
        self.service, self.most_bytes = service, most_bytes
        self.threads = min(_THREADS, os.cpu_count() or 1)
        self.pool = ThreadPoolExecutor(self.threads, thread_name_prefix="mercer-serve")
        self.working = 0
        self.held = 0
        self.statuses: dict[int, int] = {}

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, or the start and the end of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            status, content, headers = await self._answer(scope, receive)
            await self._send(status, content, headers, send, scope["method"] == "HEAD")

    async def _live(self, receive: Receive, send: Send) -> None:
        """Follow the server from its start to its end."""
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                self.close()
                return

    def close(self) -> None:
        """End the threads; requests that wait are dropped."""
        self.pool.shutdown(wait=False, cancel_futures=True)

    async def _answer(self, scope: dict[str, Any], receive: Receive) -> tuple[HTTPStatus, Any, dict[str, str]]:
        """Return the status, the content and further headers of the answer."""
        method, path = scope["method"], scope["path"]
        known: dict[str, Callable[[], Any]] = {
            "/health": self._tell_health,
            "/schema": self.service.describe,
            "/": self.service.describe,
            "/metrics": self._list_counts,
        }
        try:
            if path in known:
                if method not in ("GET", "HEAD"):
                    return _refuse_method(path, "GET")
                return HTTPStatus.OK, known[path](), {}
            if self.service.find_work(path) is None:
                raise WrongRequestError(
                    HTTPStatus.NOT_FOUND, "there are GET /health, /schema and /metrics, POST /predict and /explain"
                )
            if method != "POST":
                return _refuse_method(path, "POST")
            return HTTPStatus.OK, await self._work(path, scope, receive), {}
        except WrongRequestError as wrong:
            again = {"retry-after": "1"} if wrong.status == HTTPStatus.SERVICE_UNAVAILABLE else {}
            return wrong.status, {"error": str(wrong)}, again
        except TimeoutError:
            return HTTPStatus.REQUEST_TIMEOUT, {"error": f"the body did not arrive within {_PATIENCE:g} s"}, {}
        except Exception as wrong:  # one wrong request must not end the service
            return HTTPStatus.INTERNAL_SERVER_ERROR, {"error": f"internal error ({type(wrong).__name__})"}, {}

    async def _work(self, path: str, scope: dict[str, Any], receive: Receive) -> dict[str, Any]:
        """Read the body and answer it in a thread."""
        if self.working >= self.threads * (1 + _WAITING):
            raise WrongRequestError(HTTPStatus.SERVICE_UNAVAILABLE, f"{self.working} requests are being answered")
        self.working += 1
        size = 0
        try:
            pieces: list[bytes] = []
            self._check_length(scope)
            async with asyncio.timeout(_PATIENCE):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise WrongRequestError(HTTPStatus.BAD_REQUEST, "the body ended too early")
                    piece = message.get("body", b"")
                    size, self.held = size + len(piece), self.held + len(piece)
                    self._check_size(size)
                    pieces.append(piece)
                    if not message.get("more_body"):
                        break
            return await asyncio.get_running_loop().run_in_executor(
                self.pool, self.service.answer, path, b"".join(pieces)
            )
        finally:
            self.working -= 1
            self.held -= size

    def _check_length(self, scope: dict[str, Any]) -> None:
        """Refuse a body by the length that it announces, before it is read."""
        for name, value in scope["headers"]:
            if name.lower() == b"content-length" and value.isdigit() and len(value) < 20:
                self._check_size(int(value))

    def _check_size(self, size: int) -> None:
        if size > self.most_bytes:
            text = f"the body may have at most {self.most_bytes} bytes; got {size} or more"
            raise WrongRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
        if self.held > _BODIES * self.most_bytes:
            raise WrongRequestError(HTTPStatus.SERVICE_UNAVAILABLE, "too many large bodies are being read")

    def _tell_health(self) -> dict[str, Any]:
        return {"status": "ok", "rows": self.service.count}

    def _list_counts(self) -> str:
        """Return the counts in the text form that Prometheus reads."""
        lines = [
            "# TYPE mercer_rows_total counter",
            f"mercer_rows_total {self.service.count}",
            "# TYPE mercer_requests_in_progress gauge",
            f"mercer_requests_in_progress {self.working}",
            "# TYPE mercer_requests_total counter",
        ]
        lines += [f'mercer_requests_total{{status="{status}"}} {n}' for status, n in sorted(self.statuses.items())]
        return "\n".join(lines) + "\n"

    async def _send(self, status: HTTPStatus, content: Any, headers: dict[str, str], send: Send, bare: bool) -> None:
        """Send JSON, or a text as it is; `bare` leaves the body out."""
        self.statuses[int(status)] = self.statuses.get(int(status), 0) + 1
        if isinstance(content, str):
            kind, body = "text/plain; version=0.0.4; charset=utf-8", content.encode()
        else:
            kind, body = "application/json", json.dumps(content, default=str).encode()
        fields = {"content-type": kind, "content-length": str(len(body)), "x-content-type-options": "nosniff"} | headers
        pairs = [(name.encode(), value.encode()) for name, value in fields.items()]
        await send({"type": "http.response.start", "status": int(status), "headers": pairs})
        await send({"type": "http.response.body", "body": b"" if bare else body})


def _refuse_method(path: str, allowed: str) -> tuple[HTTPStatus, Any, dict[str, str]]:
    return HTTPStatus.METHOD_NOT_ALLOWED, {"error": f"{path} takes {allowed} alone"}, {"allow": allowed}

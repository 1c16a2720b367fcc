"""A small, strict HTTP/1.1 server for one ASGI application: enough for this machine, or behind a reverse proxy.

It needs no further package. One thread reads all connections, so that slow ones hold no threads; connections, lengths
and times have limits. What two readers could take differently is refused and ends the connection: two lengths, a length
beside a transfer coding, a body that nothing announces, lines that end in a line feed alone. Every refusal is JSON.
"""

import asyncio
import contextlib
import json
import re
import signal
import socket
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

# Bytes of the request line and all headers.
_MOST_HEAD = 16 * 1024
# Connections at a time; another is refused.
_CONNECTIONS = 512
# Seconds in which a head must have arrived, a kept connection may say nothing, and an answer must have been taken.
_PATIENCE = 30.0
# Bytes of a body that are passed on at a time.
_PIECE = 2**16
# Bytes of a refused body that are read and forgotten: clients that send all before they listen then see the answer.
_MOST_DISCARDED = 2**28

_REQUEST = re.compile(rb"([A-Z]{1,16}) (/[!-~]{0,8191}) HTTP/1\.([01])")
_HEADER = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\t -~\x80-\xff]*?)[ \t]*")
_LENGTH = re.compile(rb"[0-9]{1,15}")


class _WrongHeadError(Exception):
    """A head that cannot be answered, with its status."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class _Head:
    """The request line and the headers of a request."""

    method: str
    path: bytes
    query: bytes
    version: str
    headers: list[tuple[bytes, bytes]]
    length: int
    keeps: bool
    expects: bool


def _read_head(raw: bytes) -> _Head:
    """Return the head of a request; raise if it is not exactly as the standard has it."""
    first, *lines = raw[:-4].split(b"\r\n")
    matched = _REQUEST.fullmatch(first)
    if matched is None:
        raise _WrongHeadError(HTTPStatus.BAD_REQUEST, "the first line must be METHOD /path HTTP/1.1")
    headers = []
    for line in lines:
        parts = _HEADER.fullmatch(line)
        if parts is None:
            raise _WrongHeadError(HTTPStatus.BAD_REQUEST, "a header must be a line `name: value`")
        headers.append((parts[1].lower(), parts[2]))
    values: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        values.setdefault(name, []).append(value)
    path, _, query = matched[2].partition(b"?")
    version = "1." + matched[3].decode()
    if version == "1.1" and len(values.get(b"host", [])) != 1:
        raise _WrongHeadError(HTTPStatus.BAD_REQUEST, "exactly one header Host is needed")
    method = matched[1].decode()
    wishes = b",".join(values.get(b"connection", [])).lower()
    keeps = version == "1.1" and b"close" not in wishes
    expects = values.get(b"expect", [b""])[0].lower() == b"100-continue"
    return _Head(method, path, query, version, headers, _find_length(method, values), keeps, expects)


def _find_length(method: str, values: dict[bytes, list[bytes]]) -> int:
    """Return the length of the body; raise where it is not plain."""
    if b"transfer-encoding" in values:
        raise _WrongHeadError(
            HTTPStatus.LENGTH_REQUIRED, "send the body with Content-Length, without a transfer coding"
        )
    lengths = values.get(b"content-length", [])
    if len(lengths) > 1 or not all(_LENGTH.fullmatch(length) for length in lengths):
        raise _WrongHeadError(HTTPStatus.BAD_REQUEST, "Content-Length must be one whole number")
    length = int(lengths[0]) if lengths else 0
    if method == "POST" and not lengths:
        raise _WrongHeadError(HTTPStatus.LENGTH_REQUIRED, "the header Content-Length is needed")
    if method != "POST" and length:
        raise _WrongHeadError(HTTPStatus.BAD_REQUEST, f"{method} has no body here")
    return length


class Server:
    """The server, bound to its address; port 0 takes any free one."""

    def __init__(self, application: Any, host: str, port: int) -> None:
        self.application = application
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.socket = socket.create_server((host, port), family=family, backlog=128)
        self.address = self.socket.getsockname()[:2]
        self.open = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    def serve(self) -> None:
        """Answer requests until :meth:`stop`, Ctrl-C or SIGTERM."""
        with contextlib.closing(self.socket):
            asyncio.run(self._serve())

    def stop(self) -> None:
        """End the service, from any thread."""
        if self._loop is not None and self._stop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended already
                self._loop.call_soon_threadsafe(self._stop.set)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        # Clients that go away in the middle are no events worth a line each.
        self._loop.set_exception_handler(lambda loop, context: None)
        # Signals reach the main thread alone, and not on every system.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            self._loop.add_signal_handler(signal.SIGTERM, self._stop.set)
        server = await asyncio.start_server(self._connect, sock=self.socket, limit=_MOST_HEAD)
        try:
            await self._stop.wait()
        finally:
            server.close()
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            self.application.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, one after the other."""
        self.open += 1
        try:
            if self.open > _CONNECTIONS:
                await _refuse(writer, HTTPStatus.SERVICE_UNAVAILABLE, f"{_CONNECTIONS} connections are open")
                return
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, TimeoutError, asyncio.IncompleteReadError):
            pass  # the client has gone, or is too slow
        finally:
            self.open -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer the next request; return whether the connection stays."""
        try:
            async with asyncio.timeout(_PATIENCE):
                head = _read_head(await reader.readuntil(b"\r\n\r\n"))
        except asyncio.LimitOverrunError:
            text = f"the head may have at most {_MOST_HEAD} bytes"
            await _refuse(writer, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, text)
            return False
        except _WrongHeadError as wrong:
            await _refuse(writer, wrong.status, str(wrong))
            return False
        exchange = _Exchange(reader, writer, head)
        await self.application(_make_scope(head, self.address), exchange.receive, exchange.send)
        await exchange.finish()
        return exchange.keeps


def _make_scope(head: _Head, address: tuple[str, int]) -> dict[str, Any]:
    """Return what the application is told of a request."""
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": head.version,
        "method": head.method,
        "scheme": "http",
        "path": head.path.decode("ascii"),
        "raw_path": head.path,
        "query_string": head.query,
        "root_path": "",
        "headers": head.headers,
        "server": address,
    }


class _Exchange:
    """One request and its answer: the body is read as the application asks for it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: _Head) -> None:
        self.reader, self.writer, self.head = reader, writer, head
        self.left, self.started, self.keeps = head.length, False, head.keeps

    async def receive(self) -> dict[str, Any]:
        """Return the next piece of the body."""
        if self.head.expects and self.left == self.head.length and not self.started:
            self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        piece = await self.reader.read(min(self.left, _PIECE)) if self.left else b""
        if self.left and not piece:
            return {"type": "http.disconnect"}
        self.left -= len(piece)
        return {"type": "http.request", "body": piece, "more_body": self.left > 0}

    async def send(self, message: dict[str, Any]) -> None:
        """Write the head or the body of the answer."""
        if message["type"] == "http.response.start":
            self.started = True
            # A body that was refused unread would be taken for the next request.
            self.keeps = self.keeps and not self.left
            self.writer.write(_write_head(message["status"], message["headers"], self.keeps))
        else:
            self.writer.write(message["body"])

    async def finish(self) -> None:
        """Wait until the client has taken the answer; read and forget what is left of the body."""
        async with asyncio.timeout(_PATIENCE):
            await self.writer.drain()
            # A client that waits for "100 Continue" sends nothing after a refusal.
            waits = self.head.expects and self.left == self.head.length
            left = 0 if waits else min(self.left, _MOST_DISCARDED)
            while left and (piece := await self.reader.read(min(left, _PIECE))):
                left -= len(piece)


def _write_head(status: int, headers: list[tuple[bytes, bytes]], keeps: bool) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()]
    lines += [name + b": " + value for name, value in headers]
    lines.append(b"connection: keep-alive" if keeps else b"connection: close")
    return b"\r\n".join([*lines, b"", b""])


async def _refuse(writer: asyncio.StreamWriter, status: HTTPStatus, text: str) -> None:
    """Write a refusal that ends the connection."""
    body = json.dumps({"error": text}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    writer.write(_write_head(status, headers, keeps=False) + body)
    async with asyncio.timeout(_PATIENCE):
        await writer.drain()

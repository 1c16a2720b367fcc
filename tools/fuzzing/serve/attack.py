"""Attack the service: ``python -m tools.fuzzing serve --cases 10000``.

``mercer serve`` answers in a child whose memory is limited. Clients send requests that are wrong in one part or
another, several at a time. Each must be answered with a status below 500 and JSON, or with 503 where the service says
that it is busy, or the connection must be closed where the request never ended. Health is asked all the while. At the
end some hundred connections that say nothing are opened: they must hold no threads, and health must answer beside them.
"""

import argparse
import contextlib
import json
import os
import re
import resource
import signal
import socket
import struct
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from mercer.app.deploy.application import Application
from mercer.app.deploy.server import Server
from mercer.app.deploy.service import Service
from mercer.app.schema import Schema
from tests.app.deploy.studies import study_classes
from tools.fuzzing.choice import add_choice
from tools.fuzzing.ledger import Tally
from tools.fuzzing.results import Report
from tools.fuzzing.serve.requests import MOST_BYTES, Request, make_request

# Seconds that one request may take.
_LIMIT = 30.0
# GiB of address space that the service may add to what it has when it starts.
_MEMORY = 1.0
# Connections that say nothing, and clients that ask at the same time.
_IDLE = 400
_CLIENTS = 6
# Lines that the service may write in all.
_MOST_LINES = 100
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
_HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this attack."""
    add_choice(parser)
    parser.add_argument("--cases", type=int, default=2000, help="requests")
    parser.add_argument("--limit", type=float, default=_LIMIT, help="seconds that one request may take")
    parser.add_argument("--memory", type=float, default=_MEMORY, help="GiB that the service may add")


class Child:
    """The service in a process of its own, with limited memory; its words go to a file."""

    def __init__(self, gib: float) -> None:
        study = study_classes()
        service = Service(study.model, Schema.of(study.model, "model"), study.record, most_rows=100)
        server = Server(Application(service, most_bytes=MOST_BYTES), "127.0.0.1", 0)
        self.address = server.address
        self.words = tempfile.TemporaryFile()  # noqa: SIM115 - read when the service has ended
        reading, self.writing = os.pipe()
        self.process = os.fork()
        if not self.process:
            os.close(self.writing)
            # The pipe ends when this process is killed: then the service ends too.
            threading.Thread(target=lambda: os._exit(0 if os.read(reading, 1) else 1), daemon=True).start()
            try:
                os.dup2(self.words.fileno(), 2)
                with open("/proc/self/statm", encoding="ascii") as file:
                    pages = int(file.read().split()[0])
                most = pages * resource.getpagesize() + int(gib * 2**30)
                resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
                server.serve()
            finally:
                os._exit(0)
        server.socket.close()

    def read_status(self, name: str) -> int:
        """Return a number of the process's status, such as ``VmHWM`` in kB or ``Threads``."""
        with open(f"/proc/{self.process}/status", encoding="ascii") as file:
            return int(next(line for line in file if line.startswith(name + ":")).split()[1])

    def is_alive(self) -> bool:
        return os.waitpid(self.process, os.WNOHANG) == (0, 0)

    def end(self) -> int:
        """End the service; return the number of lines that it wrote."""
        os.kill(self.process, signal.SIGTERM)
        os.waitpid(self.process, 0)
        self.words.seek(0)
        return len(self.words.read().splitlines())


def ask(address: tuple[str, int], request: Request, limit: float) -> bytes:
    """Send a request; return all that comes back until the connection is closed."""
    with socket.create_connection(address, timeout=limit) as connection:
        try:
            connection.sendall(request.content)
            if request.is_reset:
                # Closing at once with a linger of zero seconds sends a reset.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return b""
            connection.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before all was sent; the answer may be there
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(2**16):
                answer += piece
    return answer


def judge_answer(request: Request, answer: bytes) -> tuple[str, str]:
    """Return the outcome of a request, and what was wrong."""
    if not answer:
        return ("refused", "") if request.is_cut else ("raw", "the connection was closed without an answer")
    statuses = [int(status) for status in _STATUS.findall(answer)]
    if not answer.startswith(b"HTTP/1.1 ") or not statuses:
        return "raw", f"no answer of HTTP: {answer[:60]!r}"
    if any(status >= 500 and status != 503 for status in statuses):
        return "raw", f"status {max(statuses)}: {answer[-150:]!r}"
    head, _, body = answer.partition(b"\r\n\r\n")
    found = _LENGTH.search(head)
    if b"application/json" in head and found and statuses[0] >= 400 and not request.content.startswith(b"HEAD"):
        try:
            error = json.loads(body[: int(found[1])])["error"]
        except (ValueError, KeyError, TypeError):
            return "raw", f"no JSON: {body[:80]!r}"
        # What cannot be told from the start of another request must end the connection.
        if "Content-Length" in error and len(statuses) > 1:
            return "raw", f"the rest of a refused request ran: {statuses}"
    elif statuses[0] >= 400 and b"application/json" not in head:
        return "raw", f"an error that is no JSON: {head[:150]!r}"
    return ("answered" if statuses[0] < 400 else "refused"), ""


def _try_number(address: tuple[str, int], limit: float, number: int) -> tuple[str, str, str]:
    request = make_request(number)
    try:
        outcome, what = judge_answer(request, ask(address, request, limit))
    except TimeoutError:
        outcome, what = "hang", "no answer in time"
    except OSError as error:
        outcome, what = "crash", f"{type(error).__name__}: {error}"
    return request.kind, outcome, what


class Watch(threading.Thread):
    """Asks for health while the others ask for work; keeps the longest wait and the most threads."""

    def __init__(self, child: Child, limit: float) -> None:
        super().__init__(daemon=True)
        self.child, self.limit, self.ended = child, limit, threading.Event()
        self.longest, self.n_threads, self.faults = 0.0, 0, Counter[str]()

    def run(self) -> None:
        while not self.ended.wait(0.2):
            begun = time.perf_counter()
            try:
                answer = ask(self.child.address, Request("health", _HEALTH), self.limit)
            except OSError:
                answer = b""
            self.faults["answered" if b'"status": "ok"' in answer else "raw"] += 1
            self.longest = max(self.longest, time.perf_counter() - begun)
            self.n_threads = max(self.n_threads, self.child.read_status("Threads"))


def _try_idle(child: Child, limit: float) -> Tally:
    """Open connections that send half of a head; they must hold no threads, and health must answer beside them."""
    begun, tally, before = time.perf_counter(), Tally("idle connections"), child.read_status("Threads")
    idle = [socket.create_connection(child.address, timeout=limit) for _ in range(_IDLE)]
    for connection in idle:
        connection.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\n")
    answer = ask(child.address, Request("health", _HEALTH), limit)
    n_threads = child.read_status("Threads")
    fine = b'"status": "ok"' in answer and n_threads <= before
    tally.counts["answered" if fine else "raw"] += _IDLE
    if not fine:
        tally.findings.append(("raw", f"{_IDLE} idle connections: {n_threads} threads, health {answer[:60]!r}"))
    for connection in idle:
        connection.close()
    tally.seconds = time.perf_counter() - begun
    return tally


def _try_all(child: Child, options: argparse.Namespace) -> dict[str, Tally]:
    """Send all requests by several clients; return what they came to by their kinds."""
    tallies: dict[str, Tally] = {}
    numbers = range(options.seed, options.seed + options.cases)
    with ThreadPoolExecutor(_CLIENTS) as pool:
        outcomes = pool.map(lambda number: _try_number(child.address, options.limit, number), numbers)
        for number, (kind, outcome, what) in zip(numbers, outcomes, strict=True):
            tally = tallies.setdefault(kind, Tally(f"requests: {kind}"))
            tally.counts[outcome] += 1
            if outcome in ("raw", "hang", "crash"):
                tally.findings.append((outcome, f"case {number}: {what}"))
    return tallies


def run(options: argparse.Namespace) -> int:
    """Attack, print, and return 1 if a request got through."""
    report = Report("serve", options)
    child = Child(options.memory)
    before, begun = child.read_status("VmRSS"), time.perf_counter()
    watch = Watch(child, options.limit)
    watch.start()
    tallies = _try_all(child, options)
    watch.ended.set()
    watch.join()
    tallies["health"] = Tally("health beside the work", counts=watch.faults)
    tallies["idle"] = _try_idle(child, options.limit)
    found = {
        "grown": (child.read_status("VmHWM") - before) / 1024,
        "alive": child.is_alive(),
        "threads": watch.n_threads,
        "longest": watch.longest,
    }
    found["lines"] = child.end() if found["alive"] else 0
    for tally in tallies.values():
        tally.seconds = time.perf_counter() - begun
        report.add(tally)
    _tell(report, found)
    return report.end()


def _tell(report: Report, found: dict[str, Any]) -> None:
    """Print what the service took, and count its end or a flood of words as faults."""
    print(
        f"the service: {found['threads']} threads at most, {found['grown']:.0f} MiB more at its peak, {found['lines']} "
        f"lines written, health after {found['longest']:.2f} s at worst",
        flush=True,
    )
    tally = Tally("the service itself")
    tally.counts["answered" if found["alive"] else "crash"] += 1
    if found["lines"] > _MOST_LINES:
        tally.counts["flood"] += 1
        tally.findings.append(("flood", f"{found['lines']} lines written"))
    report.add(tally)

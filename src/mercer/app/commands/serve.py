"""``mercer serve``: answer requests for predictions over HTTP."""

import argparse
import contextlib
import sys
from typing import Any

HELP = "start a small HTTP service that predicts and explains rows with the model of a run"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the model, the address and the limits."""
    parser.add_argument("model", metavar="RUN", help="folder that `mercer run` wrote, or its model.mercer")
    text = "address to listen at; 0.0.0.0 lets other machines ask (default: %(default)s)"
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help=text)
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="port; 0 means any (default: %(default)s)")
    text = "largest body of a request, in megabytes (default: %(default)s)"
    parser.add_argument("--max-megabytes", type=float, default=10.0, metavar="N", help=text)
    text = "most rows of one request (default: %(default)s)"
    parser.add_argument("--max-rows", type=int, default=10_000, metavar="N", help=text)
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")


def execute(options: Any) -> int:
    """Answer requests until Ctrl-C."""
    from mercer.app.deploy.server import Server
    from mercer.errors import DataError
    from mercer.serve import make_app

    if not 0 <= options.port < 65536:
        raise DataError(f"--port must be from 0 to 65535; got {options.port}.")
    app = make_app(options.model, most_rows=options.max_rows, most_bytes=int(options.max_megabytes * 1e6))
    server = Server(app, options.host, options.port)
    if not options.quiet:
        host, port = server.address
        sys.stdout.write(f"mercer serves {options.model} at http://{host!s}:{port}; Ctrl-C ends it.\n")
        sys.stdout.flush()
    with contextlib.suppress(KeyboardInterrupt):
        server.serve()
    return 0

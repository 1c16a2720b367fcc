"""Open every page of the built site in Chromium, wide and narrow, light and dark: ``python -m tools.site_check``.

It prints each page that is wider than its window, shows raw TeX, a text of low contrast or no picture where one should
be, and each link within the site that leads nowhere; the exit status is 1 if there is one. Pages of the reference are
all made alike: of these a sample is opened.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tools.find_browser import find_browser

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = Path(__file__).with_suffix(".js")
# A telephone and a laptop, in pixels.
WIDTHS = (390, 1440)
THEMES = ("light", "dark")
# This page shows texts of the theme alone.
OF_THE_THEME = "search.html"
# One of so many pages of the reference is opened.
EVERY = 25
# Seconds after which the browser is given up: 200 pages in four looks take about one minute.
PATIENCE = 900


def list_pages(folder: Path) -> list[str]:
    """Return the addresses of the pages to open, below the folder of the site."""
    pages = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))
    made = [page for page in pages if "/generated/" in page]
    written = [page for page in pages if "/generated/" not in page and not page.startswith(("_", OF_THE_THEME))]
    return written + made[::EVERY]


class Site(SimpleHTTPRequestHandler):
    """Serve the site, the page with the script, and take what the script found."""

    def __init__(self, *arguments: Any, task: bytes, found: list[Any], ended: threading.Event, **options: Any) -> None:
        self.own = {
            "/site_check.html": ("text/html", b'<!doctype html><body><script src="/site_check.js"></script>'),
            "/site_check.js": ("text/javascript", SCRIPT.read_bytes()),
            "/site_check.json": ("application/json", task),
        }
        self.found, self.ended = found, ended
        super().__init__(*arguments, **options)

    def do_GET(self) -> None:
        """Answer with a part of the check, or with a file of the site."""
        if self.path not in self.own:
            super().do_GET()
            return
        kind, content = self.own[self.path]
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        """Take the list of faults."""
        self.found.extend(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()
        self.ended.set()

    def log_message(self, *arguments: Any) -> None:
        """Say nothing of each request."""


def check_site(folder: Path, browser: str) -> list[dict[str, Any]]:
    """Return the faults of the site in this folder."""
    task = json.dumps({"pages": list_pages(folder), "widths": WIDTHS, "themes": THEMES}).encode()
    found: list[dict[str, Any]] = []
    ended = threading.Event()
    handler = partial(Site, directory=str(folder), task=task, found=found, ended=ended)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, tempfile.TemporaryDirectory() as profile:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"),
            *("--window-size=1500,1000", "--remote-debugging-port=0"),
            f"http://127.0.0.1:{server.server_port}/site_check.html",
        ]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            done = ended.wait(PATIENCE)
            process.kill()
        server.shutdown()
    return found if done else [{"fault": "the browser did not answer", "what": f"in {PATIENCE} s"}]


def main() -> int:
    """Check the site and print its faults."""
    parser = argparse.ArgumentParser(prog="python -m tools.site_check", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "docs" / "_build" / "html")
    folder = parser.parse_args().folder.resolve()
    browser = find_browser()
    if browser is None:
        sys.stdout.write("site check: not made, there is no Chromium\n")
        return 0
    faults = check_site(folder, browser)
    for one in faults:
        where = " ".join(str(one[key]) for key in ("page", "width", "theme") if key in one)
        sys.stdout.write(f"{where}: {one['fault']}: {one['what']}\n")
    sys.stdout.write(f"site check: {len(list_pages(folder))} pages, {len(faults)} faults\n")
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main())

"""A page in a real browser: chromium without a window, driven by a script appended to a copy of the page."""

import json
import re
import subprocess
from html import escape, unescape

import pytest

from tools.find_browser import find_browser

CHROMIUM = find_browser()

needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine; `make browser` or apt-get install chromium gets it"
)


def browse(*options, page, folder, width=1440, height=900):
    """Run the browser on `page`; returns its standard output and what it logged."""
    command = [
        *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-extensions"),
        *(
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            f"--user-data-dir={folder / 'profile'}",
            f"--window-size={width},{height}",
        ),
        *("--enable-logging=stderr", "--virtual-time-budget=2000", *options, page.as_uri()),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    complaints = [line for line in ran.stderr.splitlines() if "CONSOLE" in line]
    return ran.stdout, complaints


def ask(script, *, page, folder, width=1440):
    """What `script`, a function body that returns plain data, finds in the page; and what the console says.

    The page stands in a frame of the width asked for, as the browser's own window is never narrower than 500.
    """
    answer = f"<script>parent.document.body.dataset.found = JSON.stringify((() => {{ {script} }})());</script>"
    inner = page.read_text(encoding="utf-8").replace("</body>", answer + "</body>")
    frame = f'<iframe style="border:0;width:{width}px;height:900px" srcdoc="{escape(inner)}"></iframe>'
    asked = folder / f"asked_{width}.html"
    asked.write_text(f'<!doctype html><meta charset="utf-8"><body>{frame}</body>', encoding="utf-8")
    text, complaints = browse("--dump-dom", page=asked, folder=folder, width=max(width, 500) + 40)
    found = re.search(r'data-found="([^"]*)"', text)
    assert found is not None, text[-500:]
    return json.loads(unescape(found[1])), complaints

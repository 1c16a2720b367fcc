"""Find Chromium for the browser tests, or install Debian's package; say loudly if there is none.

The tests of the report's page run in Chromium and are skipped without it. This program never fails: a machine without
a browser, without apt-get or without a network still runs all other tests.
"""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Seconds after which an installation is given up: a slow mirror needs two minutes for 100 MB.
_PATIENCE = 240
_LOUD = """\
****************************************************************
*  The browser tests of the report will be SKIPPED:
*  {reason}
*  To run them, install Chromium: apt-get install chromium
****************************************************************
"""


def find_browser() -> str | None:
    """Return the path of Chromium or Chrome; None if there is none."""
    return next((path for path in map(shutil.which, NAMES) if path is not None), None)


def install_browser() -> str:
    """Install Debian's package; return why that did not work, or an empty text."""
    if shutil.which("apt-get") is None:
        return "there is no Chromium, and no apt-get to install it with."
    if os.geteuid() != 0:
        return "there is no Chromium, and only root may install it with apt-get."
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"]
    # The package lists of a fresh machine are empty or old; fetch them only if the first attempt fails.
    for command in (install, ["apt-get", "update", "-qq"], install):
        try:
            subprocess.run(command, env=quiet, check=False, timeout=_PATIENCE, capture_output=True)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"apt-get did not install it ({type(error).__name__})."
        if find_browser() is not None:
            return ""
    return "apt-get could not install it; there may be no network."


def main() -> None:
    """Find or install Chromium, and print where it is or why there is none."""
    if find_browser() is None:
        reason = install_browser()
        if reason:
            sys.stderr.write(_LOUD.format(reason=reason))
            return
    sys.stdout.write(f"browser tests: {find_browser()}\n")


if __name__ == "__main__":
    main()

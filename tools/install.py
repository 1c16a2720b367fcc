#!/usr/bin/env python3
"""Install the project for development: its requirements and its native code at the same time, with progress shown.

    python tools/install.py --extras app --levels host

Two runs of pip work side by side: one downloads and unpacks what the project and the extras require, the other
translates and compiles the native modules, which takes longer than anything else. Python files are compiled to bytecode
when they are first imported, not when they are installed: most of them never are.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# A step of the build, as ninja prints it: "[12/345] ...".
STEP = re.compile(r"^\s*\[(\d+)/(\d+)\]")
# Lines of progress that a build prints.
REPORTS = 10
PIP = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile"]


def list_requirements(extras):
    """Return what the project and these extras require, as pyproject.toml says."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    optional = project["optional-dependencies"]
    return [*project["dependencies"], *(one for extra in extras for one in optional[extra])]


def show_progress(lines):
    """Print how far a build is, in about ten lines; return all that it said."""
    said, shown = [], 0
    for line in lines:
        said.append(line)
        step = STEP.match(line)
        if step and int(step[1]) * REPORTS // int(step[2]) > shown:
            shown = int(step[1]) * REPORTS // int(step[2])
            print(f"native modules: {step[1]} of {step[2]} steps", flush=True)
    return "".join(said)


def build_native(levels):
    """Install the project itself, so that its files are used where they lie; return the status and what pip said."""
    settings = f"--config-settings=setup-args=-Dlevels={levels}"
    command = [*PIP, "--verbose", "--no-build-isolation", "--no-deps", settings, "--editable", "."]
    print("native modules: translating and compiling", flush=True)
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        said = show_progress(process.stdout)
    return process.returncode, said


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras", default="", help="names of extras, with commas between them")
    parser.add_argument("--levels", default="host", help="CPU levels to compile, with commas between them")
    arguments = parser.parse_args()
    requirements = list_requirements([extra for extra in arguments.extras.split(",") if extra])
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        others = subprocess.Popen([*PIP, "--quiet", *requirements], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
        try:
            status, said = build_native(arguments.levels)
        finally:
            # Also where the build was interrupted: pip must not go on in the background.
            others_status = others.wait()
        log.seek(0)
        if others_status:
            sys.stderr.write(log.read())
    if status:
        sys.stderr.write(said)
    return status or others_status


if __name__ == "__main__":
    sys.exit(main())

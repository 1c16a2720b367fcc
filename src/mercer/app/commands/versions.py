"""``mercer versions``: what a bug report needs to know."""

import argparse
from typing import Any

HELP = "print versions, CPU level and threads"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add no arguments: this command takes none."""


def execute(options: Any) -> int:
    """Print the versions."""
    import mercer

    mercer.show_versions()
    return 0

"""The Python blocks of a page, and a program that runs them as a reader who types them in would."""

import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^```(?P<language>python|pycon)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def list_blocks(page: Path) -> Iterator[tuple[str, str, int]]:
    """Return the language, the code and the first line number of each Python block of a page."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        yield match["language"], match["code"], text.count("\n", 0, match.start("code"))


def run_page(page: Path) -> None:
    """Run the blocks of one page in one namespace; raise where one fails or prints something else than it shows."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for language, code, line in list_blocks(page):
        if language == "pycon":
            _run_dialogue(code, namespace, str(page), line)
        else:
            # Empty lines in front give tracebacks the line numbers of the page.
            exec(compile("\n" * line + code, str(page), "exec"), namespace)


def _run_dialogue(code: str, namespace: dict[str, Any], name: str, line: int) -> None:
    """Run a block with prompts and compare what it prints; names stay in `namespace`."""
    dialogue = doctest.DocTestParser().get_doctest(code, {}, name, name, line)
    dialogue.globs = namespace
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    said: list[str] = []
    runner.run(dialogue, out=said.append, clear_globs=False)
    assert runner.failures == 0, "".join(said)

"""The directive ``{search-words}``: names under which a reader looks a page up, beside the words that stand on it.

The search of the site finds them as entries of the index, before pages that merely contain the words.
"""

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective


class SearchWords(SphinxDirective):
    """Enter the words, with commas between them, in the index."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        words = [word.strip() for word in " ".join(self.content).split(",")]
        target = f"words-{self.env.new_serialno('words')}"
        entries = [("single", word, target, "main", None) for word in words if word]
        return [addnodes.index(entries=entries), nodes.target("", "", ids=[target])]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("search-words", SearchWords)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

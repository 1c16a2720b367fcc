"""The directive ``{solution}``: the answer to an exercise, hidden until the reader opens it."""

from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class HiddenAnswer(nodes.General, nodes.Element):
    """What stands below the line that opens it."""


class Solution(SphinxDirective):
    """Parse the content as Markdown, and hide it."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        holder = HiddenAnswer()
        self.state.nested_parse(self.content, self.content_offset, holder)
        return [holder]


def _open(writer: Any, node: nodes.Node) -> None:
    writer.body.append('<details class="solution"><summary>Solution</summary>')


def _close(writer: Any, node: nodes.Node) -> None:
    writer.body.append("</details>")


def setup(app: Any) -> dict[str, bool]:
    app.add_node(HiddenAnswer, html=(_open, _close))
    app.add_directive("solution", Solution)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

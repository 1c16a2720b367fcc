"""The directives ``{differences}``, ``{exceptions}``, ``{numbers}``, ``{places}`` and ``{stable-names}``.

They make tables that cannot fall behind the code.
"""

from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from proof_tables import (
    ROOT,
    list_models,
    read_differences,
    render_differences,
    render_exceptions,
    render_numbers,
    render_places,
    render_stable_names,
)
from sphinx.util.docutils import SphinxDirective


class TableDirective(SphinxDirective):
    """Parse the Markdown that :meth:`render` gives, in the place of the directive."""

    def render(self) -> str:
        """The table."""
        raise NotImplementedError  # each directive below defines its own

    def run(self) -> list[nodes.Node]:
        holder = nodes.container()
        self.state.nested_parse(StringList(self.render().split("\n"), source="generated"), 0, holder)
        return holder.children


class Differences(TableDirective):
    """Deliberate differences from scikit-learn, by the tests of scikit-learn that show them."""

    def render(self) -> str:
        self.env.note_dependency(str(ROOT / "src" / "mercer" / "app" / "switch" / "differences.py"))
        return render_differences(*read_differences())


class Exceptions(TableDirective):
    """Exceptions that classes declare from the laws."""

    def render(self) -> str:
        self.env.note_reread()
        return render_exceptions(list_models())


class Numbers(TableDirective):
    """Four measured numbers beside scikit-learn's."""

    def render(self) -> str:
        self.env.note_dependency(str(ROOT / "README.md"))
        return render_numbers()


class Places(TableDirective):
    """Estimators against the places that their tags name."""

    def render(self) -> str:
        self.env.note_reread()
        return render_places(list_models())


class StableNames(TableDirective):
    """The stable names of each module."""

    def render(self) -> str:
        self.env.note_dependency(str(ROOT / "tools" / "stable_names.py"))
        return render_stable_names()


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("differences", Differences)
    app.add_directive("exceptions", Exceptions)
    app.add_directive("numbers", Numbers)
    app.add_directive("places", Places)
    app.add_directive("stable-names", StableNames)
    return {"parallel_read_safe": True}

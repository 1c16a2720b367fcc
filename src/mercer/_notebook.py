"""Tables in HTML, as notebooks show objects: every text is escaped, and nothing is loaded from elsewhere."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def render_table(caption: str, rows: Iterable[Sequence[Any]], heads: Sequence[str] = ()) -> str:
    """Return a table whose rows begin with their names, below a line of heads where there are any."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join(
        f"<tr><th>{escape(str(name))}</th>{''.join(f'<td>{escape(str(cell))}</td>' for cell in cells)}</tr>"
        for name, *cells in rows
    )
    return f"<table><caption>{escape(caption)}</caption>{f'<tr><th></th>{top}</tr>' if heads else ''}{body}</table>"

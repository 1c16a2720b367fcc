"""Tables: read any format, find the role of each column, and read rows block by block."""

from mercer._lazy import load_on_use

# Predictions read rows, but guess no roles.
__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "reading": ("read_table",),
        "roles": ("Roles", "guess_roles"),
        "streaming": ("Stream", "read_blocks"),
        "table": ("Table",),
    },
)

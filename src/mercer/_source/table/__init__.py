"""Tables in files and frames: how they are written, and their columns with plain types, whole or block by block."""

from mercer._lazy import load_on_use

# Predictions read rows block by block, and a study reads them whole.
__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "reading": ("read_table",),
        "streaming": ("Stream", "read_blocks"),
        "table": ("Table",),
    },
)

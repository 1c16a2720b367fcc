"""The commands, one module each.

A module has ``HELP``, ``declare(parser)`` and ``execute(options)``. Nothing heavy is imported before a command is
executed, so that ``mercer --help`` answers at once.
"""

__all__ = ["COMMANDS"]

# In the order in which the help lists them.
COMMANDS = (
    "describe",
    "run",
    "predict",
    "explain",
    "report",
    "compare",
    "export",
    "serve",
    "watch",
    "check",
    "accelerate",
    "migrate",
    "example",
    "verify",
    "versions",
    "completion",
)

"""Sizes from which trees are grown in another way, each set by ``python -m tools.tune``."""

LARGE_TABLE = 32768  # values, from which large nodes are searched through steps and threads share the growth

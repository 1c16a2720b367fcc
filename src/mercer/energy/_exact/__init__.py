"""Exact sums: messages on forests, transfer of a frontier over any graph, and what both give."""

"""Where mercer differs from scikit-learn on purpose, test by test: pattern -> reason.

The documentation's list of differences is made from this table.
"""

REPLACED: dict[str, tuple[str, ...]] = {}

DIFFERENCES: dict[str, str] = {}

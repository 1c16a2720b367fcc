"""Standard errors, tests and intervals of fitted linear models."""

"""Runs of a selection of the tests in the environments that one machine offers: interpreters, versions, conditions."""

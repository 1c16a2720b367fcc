"""Tests of a model before it is used: what is asked of it, what was found, and the page that shows it."""

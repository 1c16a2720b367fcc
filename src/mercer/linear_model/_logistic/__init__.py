"""Logistic regression, its search, and the test of linear separability."""

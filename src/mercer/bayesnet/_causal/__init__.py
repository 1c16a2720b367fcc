"""Interventions: what setting a variable does, and which variables must be adjusted for."""

"""Losses with their own solver: Huber with scale, quantiles, and Newton steps with a penalty."""

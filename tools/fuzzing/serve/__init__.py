"""Attacks on the service: requests that are wrong in every part, under a limit of memory."""

"""Solvers of the dual quadratic program of kernel machines.

A *program* is the dual problem: one coefficient per row, bounds, one or two equality constraints. ``machines`` solves
one program per pair of classes; ``block_descent`` and ``team_descent`` work on sets of rows, ``textbook`` holds the
methods of the lecture notes, ``device_gram`` computes on a GPU. Kernel values come from ``gram_rows``, whatever holds
the rows.
"""

"""Densities as frozen objects: families of numbers and rows, and densities made of densities."""

"""Drawings of graphs: a layered layout, and SVG."""

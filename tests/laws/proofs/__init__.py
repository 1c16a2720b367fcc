"""Certificates recomputed by their definitions: gaps, gradients and ascents; `certificates.py` lists them."""

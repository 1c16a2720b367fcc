"""Rows on a GPU, in torch or CuPy arrays, and the CUDA programs that work on them."""

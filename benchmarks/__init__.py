"""mercer beside its peers: time, memory and quality in one run, each contestant in a fresh process.

``python -m benchmarks --case kmeans`` runs every case whose name begins with ``kmeans`` and prints one table each.
"""

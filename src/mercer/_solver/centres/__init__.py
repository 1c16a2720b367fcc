"""Find centres that minimise squared distances: first centres, Lloyd's iterations, draws of rows; shared by clustering
and mixtures.
"""

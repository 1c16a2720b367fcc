"""Learning of Bayesian networks: coded rows, counts, scores, searches for structures, tables from data, EM."""

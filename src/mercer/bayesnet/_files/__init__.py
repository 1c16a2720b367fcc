"""Files of Bayesian networks: BIF, XMLBIF and Hugin's NET, read with line numbers in errors and written exactly."""

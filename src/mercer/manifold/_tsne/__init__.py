"""t-SNE: affinities of a given perplexity, maps by gradient descent on a divergence, and places for new rows."""

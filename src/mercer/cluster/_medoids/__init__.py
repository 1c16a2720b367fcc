"""k-medoids: clusters around rows, by swaps."""

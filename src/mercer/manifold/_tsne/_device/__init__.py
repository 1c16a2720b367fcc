"""t-SNE on devices: neighbours, affinities and forces in array operations, without copies to the host."""

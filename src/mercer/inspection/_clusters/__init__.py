"""Pictures of clusterings: dendrograms, k-distances, panels of iterations, maps, annealing."""

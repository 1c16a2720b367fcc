"""Pictures of sequences: decoded states over time, and the transitions between them."""

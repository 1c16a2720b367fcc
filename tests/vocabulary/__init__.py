"""One vocabulary: what one module makes is tried in every place that takes it."""

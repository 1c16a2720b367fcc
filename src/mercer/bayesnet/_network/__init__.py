"""Networks: the class, its worked examples, generated networks and samples."""

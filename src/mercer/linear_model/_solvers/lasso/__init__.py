"""The lasso and the elastic net: coordinate descent over a working set of columns, with a duality gap."""

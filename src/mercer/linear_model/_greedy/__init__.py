"""Models whose columns come into use one by one."""

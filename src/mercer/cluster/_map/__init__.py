"""Self-organising maps, online, in batches and with kernels."""

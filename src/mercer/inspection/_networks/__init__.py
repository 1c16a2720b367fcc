"""Pictures of neural networks: layers in training, loss surfaces, pilot runs, and drawings."""

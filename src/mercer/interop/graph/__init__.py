"""The parts of ONNX graphs that single models and studies share."""

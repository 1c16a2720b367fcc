"""ONNX graphs of single models: one writer for each kind of model, and the converters that skl2onnx calls."""

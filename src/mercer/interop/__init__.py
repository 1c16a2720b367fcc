"""Models in the forms of other libraries: scikit-learn's own classes, ONNX graphs, and converters for skl2onnx.

``mercer.to_sklearn`` and ``mercer.to_onnx`` are found at the top of the package too.
"""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_scikit.conversion": ("to_sklearn",),
        "_onnx.model": ("to_onnx",),
        "_onnx.converters": ("register_onnx_converters",),
        "_trust": ("list_trusted_types",),
    },
)

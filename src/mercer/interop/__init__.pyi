# Written by `python -m tools.make_stubs` from the table in mercer.interop.
from mercer.interop._onnx.converters import register_onnx_converters as register_onnx_converters
from mercer.interop._onnx.model import to_onnx as to_onnx
from mercer.interop._scikit.conversion import to_sklearn as to_sklearn
from mercer.interop._trust import list_trusted_types as list_trusted_types

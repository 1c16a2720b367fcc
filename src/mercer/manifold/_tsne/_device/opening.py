"""The choice of what computes the iterations of a map on a device."""

from mercer.manifold._tsne._device.cuda_engine import CudaEngine
from mercer.manifold._tsne._device.edges import EdgeLists, EdgeTables
from mercer.manifold._tsne._device.engine import DeviceEngine


def open_engine(edges: EdgeTables | EdgeLists) -> DeviceEngine | CudaEngine:
    """Return CUDA programs for lists of affinities, array operations for tables of them."""
    return CudaEngine(edges) if isinstance(edges, EdgeLists) else DeviceEngine(edges)

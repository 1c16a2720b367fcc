# Written by `python -m tools.make_stubs` from the table in mercer.feature_extraction.image.
from mercer.feature_extraction.image._graphs import grid_to_graph as grid_to_graph
from mercer.feature_extraction.image._graphs import img_to_graph as img_to_graph
from mercer.feature_extraction.image._patches import PatchExtractor as PatchExtractor
from mercer.feature_extraction.image._patches import extract_patches_2d as extract_patches_2d
from mercer.feature_extraction.image._patches import reconstruct_from_patches_2d as reconstruct_from_patches_2d

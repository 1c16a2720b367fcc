# Written by `python -m tools.make_stubs` from the table in mercer.feature_extraction.image.
from sklearn.feature_extraction.image import PatchExtractor as PatchExtractor
from sklearn.feature_extraction.image import extract_patches_2d as extract_patches_2d
from sklearn.feature_extraction.image import grid_to_graph as grid_to_graph
from sklearn.feature_extraction.image import img_to_graph as img_to_graph
from sklearn.feature_extraction.image import reconstruct_from_patches_2d as reconstruct_from_patches_2d

# Written by `python -m tools.make_stubs` from the table in mercer.feature_extraction.
from mercer.feature_extraction._dictionaries import DictVectorizer as DictVectorizer
from mercer.feature_extraction._dictionaries import FeatureHasher as FeatureHasher
from mercer.feature_extraction.image import PatchExtractor as PatchExtractor
from mercer.feature_extraction.image import extract_patches_2d as extract_patches_2d
from mercer.feature_extraction.image import grid_to_graph as grid_to_graph
from mercer.feature_extraction.image import img_to_graph as img_to_graph
from mercer.feature_extraction.image import reconstruct_from_patches_2d as reconstruct_from_patches_2d
from mercer.feature_extraction.text import CountVectorizer as CountVectorizer
from mercer.feature_extraction.text import HashingVectorizer as HashingVectorizer
from mercer.feature_extraction.text import TfidfTransformer as TfidfTransformer
from mercer.feature_extraction.text import TfidfVectorizer as TfidfVectorizer
from sklearn.feature_extraction import image as image
from sklearn.feature_extraction import text as text

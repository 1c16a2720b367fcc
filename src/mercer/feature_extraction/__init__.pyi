# Written by `python -m tools.make_stubs` from the table in mercer.feature_extraction.
from mercer.feature_extraction.text import CountVectorizer as CountVectorizer
from mercer.feature_extraction.text import HashingVectorizer as HashingVectorizer
from mercer.feature_extraction.text import TfidfTransformer as TfidfTransformer
from mercer.feature_extraction.text import TfidfVectorizer as TfidfVectorizer
from sklearn.feature_extraction import DictVectorizer as DictVectorizer
from sklearn.feature_extraction import FeatureHasher as FeatureHasher
from sklearn.feature_extraction import grid_to_graph as grid_to_graph
from sklearn.feature_extraction import image as image
from sklearn.feature_extraction import img_to_graph as img_to_graph
from sklearn.feature_extraction import text as text

# Written by `python -m tools.make_stubs` from the table in mercer.feature_extraction.text.
from mercer.feature_extraction.text._count_vectorizer import CountVectorizer as CountVectorizer
from mercer.feature_extraction.text._hashing_vectorizer import HashingVectorizer as HashingVectorizer
from mercer.feature_extraction.text._tfidf_transformer import TfidfTransformer as TfidfTransformer
from mercer.feature_extraction.text._tfidf_vectorizer import TfidfVectorizer as TfidfVectorizer
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS as ENGLISH_STOP_WORDS
from sklearn.feature_extraction.text import strip_accents_ascii as strip_accents_ascii
from sklearn.feature_extraction.text import strip_accents_unicode as strip_accents_unicode
from sklearn.feature_extraction.text import strip_tags as strip_tags

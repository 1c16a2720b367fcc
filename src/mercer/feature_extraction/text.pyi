# Written by `python -m tools.make_stubs` from the table in mercer.feature_extraction.text.
from sklearn.feature_extraction.text import CountVectorizer as CountVectorizer
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS as ENGLISH_STOP_WORDS
from sklearn.feature_extraction.text import HashingVectorizer as HashingVectorizer
from sklearn.feature_extraction.text import TfidfTransformer as TfidfTransformer
from sklearn.feature_extraction.text import TfidfVectorizer as TfidfVectorizer
from sklearn.feature_extraction.text import strip_accents_ascii as strip_accents_ascii
from sklearn.feature_extraction.text import strip_accents_unicode as strip_accents_unicode
from sklearn.feature_extraction.text import strip_tags as strip_tags

# Written by `python -m tools.make_stubs` from the table in mercer.pipeline.
from sklearn.pipeline import FeatureUnion as FeatureUnion
from sklearn.pipeline import Pipeline as Pipeline
from sklearn.pipeline import make_pipeline as make_pipeline
from sklearn.pipeline import make_union as make_union

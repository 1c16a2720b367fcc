# Written by `python -m tools.make_stubs` from the table in mercer.pipeline.
from mercer.pipeline._feature_union import FeatureUnion as FeatureUnion
from mercer.pipeline._feature_union import make_union as make_union
from mercer.pipeline._pipeline import Pipeline as Pipeline
from mercer.pipeline._pipeline import make_pipeline as make_pipeline

"""What detectors of outliers share: the threshold on scores, and labels."""

from mercer._base.outliers.threshold import CONTAMINATION, Detector, find_offset, label_scores

__all__ = ["CONTAMINATION", "Detector", "find_offset", "label_scores"]

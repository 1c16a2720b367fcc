"""Trees: three impurities of two classes against the share of one."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from mercer.inspection import ImpurityDisplay


def draw() -> Figure:
    figure, axes = plt.subplots(figsize=(5.0, 3.2))
    ImpurityDisplay.from_criteria(ax=axes)
    return figure

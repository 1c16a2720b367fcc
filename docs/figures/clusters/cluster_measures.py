"""What five criteria say about the number of clusters of four groups."""

from matplotlib.figure import Figure
from sklearn.datasets import make_blobs

from mercer.cluster import KMeans
from mercer.inspection import ClusterNumberDisplay
from mercer.metrics import choose_n_clusters


def draw() -> Figure:
    X, _ = make_blobs(300, 2, centers=[[0, 0], [6, 0], [0, 6], [6, 6]], random_state=0)
    choice = choose_n_clusters(KMeans(n_init=3), X, range(1, 8), n_references=5, n_pairs=5, random_state=0)
    return ClusterNumberDisplay(choice).plot().figure_

"""What projections and decompositions of scikit-learn keep beside their public attributes."""

from typing import Any

import numpy as np

from mercer.interop._scikit.conversion import completes, refuse


@completes("CCA", "PLSCanonical", "PLSRegression", "PLSSVD")
def _complete_partial(model: Any, made: Any) -> None:
    made._x_mean, made._y_mean = model.x_mean_, model.y_mean_
    made._x_std, made._y_std = model.x_scale_, model.y_scale_
    made._n_features_out = model.x_rotations_.shape[1] if hasattr(model, "x_rotations_") else model.x_weights_.shape[1]


@completes("KernelPCA")
def _complete_kernel(model: Any, made: Any) -> None:
    from sklearn.preprocessing import KernelCenterer

    # The means of the stored kernel matrix, and the mean of these, are all that centring needs.
    centerer = KernelCenterer()
    centerer.K_fit_rows_ = np.asarray(model.kernel_means_)
    centerer.K_fit_all_ = float(np.mean(model.kernel_means_))
    centerer.n_features_in_ = len(centerer.K_fit_rows_)
    made._centerer = centerer


@completes("KernelCenterer")
def _complete_centerer(model: Any, made: Any) -> None:
    if getattr(model, "kernel", "precomputed") != "precomputed":
        refuse(model, f"scikit-learn's takes kernel matrices, and this one has kernel={model.kernel!r}")


@completes("MiniBatchNMF", "NMF")
def _complete_factors(model: Any, made: Any) -> None:
    losses = {"frobenius": 2.0, "kullback-leibler": 1.0, "itakura-saito": 0.0}
    made._beta_loss = losses.get(made.beta_loss, made.beta_loss)
    made._n_components = len(model.components_)
    if hasattr(made, "transform_max_iter"):
        made._transform_max_iter = made.transform_max_iter or made.max_iter
        made._gamma = (
            1.0 / (2.0 - made._beta_loss)
            if made._beta_loss < 1
            else (1.0 / (made._beta_loss - 1.0) if made._beta_loss > 2 else 1.0)
        )


@completes("BernoulliRBM")
def _complete_machine(model: Any, made: Any) -> None:
    if getattr(model, "visible", "bernoulli") != "bernoulli":
        refuse(model, f"its visible units are {model.visible}")


@completes("FeatureAgglomeration")
def _complete_agglomeration(model: Any, made: Any) -> None:
    made.pooling_func = np.mean if made.pooling_func is None else made.pooling_func


@completes("Isomap")
def _complete_isomap(model: Any, made: Any) -> None:
    """Give the embedding the neighbours of its rows, and the kernel PCA of their distances."""
    from sklearn.decomposition import KernelPCA
    from sklearn.neighbors import NearestNeighbors
    from sklearn.preprocessing import KernelCenterer

    made.nbrs_ = NearestNeighbors(
        n_neighbors=model.n_neighbors, radius=model.radius, metric=model.metric, p=model.p
    ).fit(np.asarray(model.X_fit_))
    made.nbrs_.n_samples_fit_ = len(model.X_fit_)
    projection = KernelPCA(n_components=model.n_components, kernel="precomputed")
    values, count = np.asarray(model.eigenvalues_), len(model.X_fit_)
    projection.eigenvalues_ = values
    projection.eigenvectors_ = np.asarray(model.embedding_) / np.sqrt(values)
    centerer = KernelCenterer()
    centerer.K_fit_rows_ = -0.5 * np.asarray(model._square_means)
    centerer.K_fit_all_ = float(centerer.K_fit_rows_.mean())
    centerer.n_features_in_ = projection.n_features_in_ = count
    # Of rows that are kernel values already, only their number is asked.
    projection._centerer, projection.X_fit_, projection.gamma_ = centerer, np.zeros((count, 1)), None
    made.kernel_pca_ = projection


@completes("LocallyLinearEmbedding")
def _complete_embedding(model: Any, made: Any) -> None:
    from sklearn.neighbors import NearestNeighbors

    made.nbrs_ = NearestNeighbors(n_neighbors=model.n_neighbors).fit(np.asarray(model.X_fit_))

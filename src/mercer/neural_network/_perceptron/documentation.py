"""The parts of the docstrings that both perceptrons share."""

SHARED = {
    "coefs_to_t": """coefs_ : list of ndarray of shape (inputs, outputs)
        The weights of each layer.
    intercepts_ : list of ndarray of shape (outputs,)
        The biases of each layer.
    embeddings_ : list of ndarray of shape (categories + 1, width)
        With `categorical_features`: the vectors of each column's categories; the first is for gaps and unknown codes.
    loss_ : float
        The loss of the last epoch.
    best_loss_ : float or None
        The least loss of an epoch; None with `early_stopping`.
    loss_curve_ : list of float
        The loss of each epoch, with the penalty.
    validation_scores_ : list of float or None
        With `early_stopping`: the score on the rows held out after each epoch.
    best_validation_score_ : float or None
        The best of them.
    t_ : int
        Rows seen in training.
    n_layers_, n_outputs_, out_activation_ : int, int and str
        The number of layers with inputs and outputs, of outputs, and the output function.
    history_ : dict of ndarray
        Per epoch: ``objective``, ``learning_rate``, ``validation_score`` with `early_stopping`, ``seconds``.
    converged_, n_iter_, certificate_
        Whether a stopping rule was met, the epochs, and the largest entry of the gradient over all training rows: at
        every step with "lbfgs"; at the end of 20 epochs or more, for rows in memory without dropout and batch norm, so
        that the pass costs at most a twentieth of the fit. Otherwise the statement that there is none.""",
    "notes": """Approximate: the objective has many minima, and a fit finds one of them. An epoch costs about
    six operations for each weight and row. Chains of dense layers with a usual loss run in native code, with matrix
    products by BLAS; on tensors of torch they run in flat tensors, on CUDA as a recorded graph. Dropout, batch norm,
    categories and other libraries run layer by layer in array operations. Nothing is fetched from a device before an
    epoch ends. A fit whose loss grows without end stops
    with a warning and the last good weights. Scale the columns to about unit variance.""",
    "references": """D. Rumelhart, G. Hinton and R. Williams, Learning representations by back-propagating errors,
    1986. X. Glorot and Y. Bengio, Understanding the difficulty of training deep feedforward neural networks, 2010.
    D. Kingma and J. Ba,
    Adam: a method for stochastic optimization, 2015. N. Srivastava et al., Dropout, 2014. S. Ioffe and C. Szegedy,
    Batch normalization, 2015. P. Izmailov et al., Averaging weights leads to wider optima and better generalization,
    2018.""",
}

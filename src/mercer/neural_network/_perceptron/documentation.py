"""The parts of the docstrings that both perceptrons share."""

SHARED = {
    "hidden_layer_sizes_to_max_fun": """hidden_layer_sizes : an array-like or an integer in [1, inf), default=(100,)
        The widths of the hidden layers; an empty tuple gives a linear model.
    activation : one of 'identity', 'logistic', 'tanh', 'relu', 'leaky_relu', 'elu', 'gelu', 'softplus', default='relu'
        The activation function of the hidden layers.
    solver : one of 'lbfgs', 'sgd', 'adam' or an instance of Adam or AdamW or GradientDescent or Momentum or Nesterov \
or RMSprop or LBFGS or ConjugateGradient or Rprop, default='adam'
        "adam" and "sgd" take steps on batches; "lbfgs" uses all rows in each step and suits small data. A method of
        ``mercer.optim`` brings its own learning rate and schedule.
    alpha : a number in [0, inf), default=0.0001
        Strength of the penalty on the weights.
    batch_size : one of 'auto' or an integer in [1, inf), default='auto'
        Rows in a batch; "auto" is the smaller of 200 and the number of rows. Where rows are read block by block, from
        files, streams and Dask chunks, a batch ends where its block ends.
    learning_rate : one of 'constant', 'invscaling', 'adaptive', default='constant'
        Of "sgd": constant; divided by t^power_t after t rows; or divided by five whenever the loss stops falling.
    learning_rate_init : a number in (0, inf), default=0.001
        The first learning rate of "sgd" and "adam".
    power_t : a number in [0, inf), default=0.5
        The exponent of "invscaling".
    max_iter : an integer in [1, inf), default=200
        The most epochs, or steps of methods that use all rows.
    shuffle : a boolean, default=True
        Whether each epoch visits the rows in a new order. Files and streams are shuffled within their blocks.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        The seed of the first weights, the orders, dropout and the rows held out.
    tol : a number in [0, inf), default=0.0001
        The fit ends when the loss (or the validation score) has not improved by `tol` for more than `n_iter_no_change`
        epochs; methods that use all rows end when no entry of the gradient exceeds it.
    verbose : an integer in [0, inf) or a boolean, default=False
        Whether to print a line for each epoch.
    warm_start : a boolean, default=False
        Whether ``fit`` goes on from the last weights.
    momentum : a number in [0, 1], default=0.9
        Of "sgd".
    nesterovs_momentum : a boolean, default=True
        Of "sgd": whether the gradient is taken ahead.
    early_stopping : a boolean, default=False
        Whether to hold rows out, watch the score on them, and keep the weights with the best one.
    validation_fraction : a number in [0, 1), default=0.1
        The share of the rows that is held out.
    beta_1 : a number in [0, 1), default=0.9
        Of "adam": the share of the mean of the gradients that is kept.
    beta_2 : a number in [0, 1), default=0.999
        Of "adam": the share of the mean of their squares that is kept.
    epsilon : a number in (0, inf), default=1e-08
        Of "adam": keeps the division finite.
    n_iter_no_change : an integer in [1, inf) or a number in [1, inf), default=10
        Epochs without improvement that are allowed.
    max_fun : an integer in [1, inf), default=15000
        The most evaluations of methods that use all rows.""",
    "dropout_to_n_jobs": """dropout : a number in [0, 1), default=0.0
        The probability that a hidden unit is dropped in a step.
    batch_norm : a boolean, default=False
        Whether the hidden layers are normalised over each batch. ``coefs_`` and ``intercepts_`` then hold the network
        that predicts, with the running means and variances folded in.
    penalty_power : a number in (0, inf), default=2.0
        The exponent q of the penalty: 2 is weight decay, 1 the lasso's.
    initialiser : one of 'auto', 'glorot_uniform', 'glorot_normal', 'he_uniform', 'he_normal', 'fan_in', 'sklearn', \
'zeros', default='sklearn'
        The law of the first weights; biases start at zero.
    clip_norm : a number in (0, inf) or None, default=None
        The greatest Euclidean norm of a batch's gradient; longer ones are shortened to it.
    clip_value : a number in (0, inf) or None, default=None
        The greatest size of an entry of a batch's gradient, after `clip_norm`; larger ones are cut to it.
    warm_up : an integer in [0, inf), default=0
        Steps in which the learning rate rises linearly to its value.
    average_from : an integer in [0, inf) or None, default=None
        After this many epochs the weights at the end of each are averaged, and the model predicts with the average.
    categorical_features : one of 'from_dtype' or an array-like or None, default=None
        Columns of categories: names, indices or a mask; ``'from_dtype'`` takes the columns of a frame that hold texts
        or categories. Columns of an array hold codes 0, 1, ... Each category gets a vector that is learnt. Gaps (NaN)
        are then allowed in all columns: a category of their own, or the mean with a mark.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which the fit ends.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; results do not depend on it.""",
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

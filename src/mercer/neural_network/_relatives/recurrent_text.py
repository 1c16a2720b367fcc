"""The text of the documentation that both recurrent estimators share."""

__all__ = ["DESCRIBED"]

DESCRIBED = r"""A recurrent network that {what}.

    A layer reads one step after the other and keeps a state, :math:`h_t = \tanh(x_t W + h_{{t-1}} U + b)`, or the
    state of a gated recurrent unit, which learns when to keep and when to replace it. Its last state, or its state at
    every step, feeds a dense layer. The {loss} is minimised by Adam, with gradients by backpropagation through time.

    Parameters
    ----------
    n_units : an integer in [1, inf), default=32
        Units of the state.
    cell : one of 'simple', 'gated', default='gated'
        The recurrence: simple (Elman) or gated (GRU). Gradients of the simple one vanish or grow as powers of U.
    n_layers : an integer in [1, inf), default=1
        Recurrent layers on top of each other.
    dropout : a number in [0, 1), default=0.0
        Share of the states that are dropped on their way to the next layer, in training.
    max_norm : a number in (0, inf) or None, default=1.0
        Longer gradients are cut to this norm; None cuts none.
    alpha : a number in [0, inf), default=0.0
        Strength of the L2 penalty on the weights.
    learning_rate_init : a number in (0, inf), default=0.005
        Step size of Adam.
    batch_size : an integer in [1, inf), default=32
        Sequences in a batch.
    max_iter : an integer in [1, inf), default=100
        Most passes over the sequences.
    tol : a number in [0, inf), default=0.0001
        Fall of the loss that counts as one.
    n_iter_no_change : an integer in [1, inf), default=10
        Passes without such a fall that end the fit.
    early_stopping : a boolean, default=False
        Whether some sequences are held out, the fit ends by their loss, and the weights that were best on them are
        kept.
    validation_fraction : a number in (0, 1), default=0.1
        Share of these sequences.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        Seed of the first weights, the batches and dropout.
    verbose : a boolean, default=False
        Whether to print each pass.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which the fit stops, at the end of a pass.

    Attributes
    ----------
    {own}weights_ : ndarray of shape (n_weights,)
        The weights of all layers.
    by_step_ : bool
        Whether each step has a target, or each sequence.
    n_steps_features_ : int
        Values in one step.

    Notes
    -----
    X is an array (n_sequences, time, n_features); or rows of all sequences below each other with `lengths`, as in
    :mod:`mercer.hmm`; or, without `lengths`, one sequence of numbers in each row. Targets with one entry for each
    sequence are of sequences, those with one entry for each step are of steps. Sequences of several lengths are
    padded, and a padded step passes the state on. A pass takes O(steps x units x (units + features)) time.

    References
    ----------
    Elman (1990), Finding structure in time; Werbos (1990), Backpropagation through time; Cho et al. (2014), Learning
    phrase representations using RNN encoder-decoder.

    Examples
    --------
    {example}
    """

"""The text of the documentation that both recurrent estimators share."""

DESCRIBED = r"""A recurrent network that {what}.

    A layer reads one step after the other and keeps a state, :math:`h_t = \tanh(x_t W + h_{{t-1}} U + b)`, or the
    state of a gated unit, which learns when to keep and when to replace it. Its last state, or its state at every step,
    feeds a dense layer. The {loss} is minimised, with gradients by backpropagation through time.

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
    X is an array (n_sequences, time, n_features); or a list of arrays (time, n_features) of several lengths; or rows of
    all sequences below each other with `lengths`, as in :mod:`mercer.hmm`; or, without `lengths`, one sequence of
    numbers in each row. Targets with one entry for each sequence are of sequences, those with one entry for each step
    are of steps. Sequences of several lengths are padded, and a padded step passes the state on. A pass takes
    O(steps x units x (units + features)) time.

    References
    ----------
    Elman (1990), Finding structure in time; Werbos (1990), Backpropagation through time; Hochreiter and Schmidhuber
    (1997), Long short-term memory; Cho et al. (2014), Learning phrase representations using RNN encoder-decoder.

    Examples
    --------
    {example}
    """

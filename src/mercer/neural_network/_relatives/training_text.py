"""What the docstrings of the relatives of the perceptron say of the parameters of their training."""

_TEXT = """alpha : a number in [0, inf), default={alpha}
        Strength of the L2 penalty on the weights. Decay apart from the loss is ``solver=AdamW(weight_decay=...)``.
    solver : one of 'adam', 'sgd' or an instance of Adam or AdamW or GradientDescent or Momentum or Nesterov or \
RMSprop or LBFGS or ConjugateGradient or Rprop, default='adam'
        How the weights move: by name, or a method of :mod:`mercer.optim`, whose learning rate may be a schedule such as
        ``Adam(learning_rate=StepDecay(0.01))``. The last three take the gradient over all {things} in every step. "sgd"
        has Nesterov's momentum, 0.9.
    learning_rate : one of 'constant', 'invscaling', 'adaptive', default='constant'
        How the learning rate of a named solver changes: "invscaling" divides it by the root of the number of {things}
        seen, "adaptive" divides it by 5 where the fit would otherwise end.
    learning_rate_init : a number in (0, inf), default={rate}
        First learning rate of a named solver.
    batch_size : an integer in [1, inf), default={batch}
        {Things} in a batch.
    max_iter : an integer in [1, inf), default={epochs}
        Most passes over the {things}.
    shuffle : a boolean, default=True
        Whether each pass has another order. {Things} in files come block by block and are shuffled within blocks.
    tol : a number in [0, inf), default=0.0001
        Fall of the loss that counts as one.
    n_iter_no_change : an integer in [1, inf), default=10
        Passes without such a fall that are allowed before the fit ends.
    early_stopping : a boolean, default=False
        Whether some {things} are held out, the fit ends by their loss, and the weights that were best on them are kept.
    validation_fraction : a number in (0, 1), default=0.1
        Share of these {things}, where `fit` is not given any.
    clip_norm : a number in (0, inf) or None, default={clip}
        Longer gradients are cut to this norm; None cuts none.
    warm_up : an integer in [0, inf), default=0
        Steps in which the learning rate rises to its value.
    average_from : an integer in [0, inf) or None, default=None
        The pass after which the weights at the end of each are averaged.
    warm_start : a boolean, default=False
        Whether `fit` goes on from the weights of the last one.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        Seed of the first weights, the batches and the noise.
    verbose : a boolean, default=False
        Whether to print each pass.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which the fit stops, at the end of a pass."""


def describe_training(things: str, alpha: float, rate: float, batch: int, epochs: int, clip: float | None) -> str:
    """Describe the parameters of the training, with their defaults, for things such as "rows"."""
    return _TEXT.format(
        things=things,
        Things=things[:1].upper() + things[1:],
        alpha=alpha,
        rate=rate,
        batch=batch,
        epochs=epochs,
        clip=clip,
    )

"""The error that least squares is expected to make, in and out of sample, when the linear model is true."""

from mercer.errors import ParameterError


def expected_in_sample_error(n_samples: int, n_features: int, noise_variance: float) -> float:
    """Return the mean squared residual on the training rows, sigma^2 (1 - p/n).

    Parameters
    ----------
    n_samples, n_features : int
        n and p, with n > p; the intercept counts as a feature.
    noise_variance : float
        sigma^2.

    Returns
    -------
    error : float

    Examples
    --------
    >>> from mercer.theory import expected_in_sample_error
    >>> expected_in_sample_error(40, 8, 1.0)
    0.8
    """
    _check("expected_in_sample_error", n_samples, n_features)
    return noise_variance * (1.0 - n_features / n_samples)


def expected_out_of_sample_error(
    n_samples: int, n_features: int, noise_variance: float, *, design: str = "fixed"
) -> float:
    """Return the mean squared error on fresh targets.

    Parameters
    ----------
    n_samples, n_features : int
        n and p, with n > p (n > p + 1 for a Gaussian design); the intercept counts as a feature.
    noise_variance : float
        sigma^2.
    design : {"fixed", "gaussian"}, default="fixed"
        "fixed": fresh noise at the training rows, sigma^2 (1 + p/n). "gaussian": fresh rows as well, training and test
        rows drawn from one centred Gaussian, sigma^2 (1 + p / (n - p - 1)).

    Returns
    -------
    error : float

    Examples
    --------
    >>> from mercer.theory import expected_out_of_sample_error
    >>> expected_out_of_sample_error(40, 8, 1.0)
    1.2
    >>> round(expected_out_of_sample_error(40, 8, 1.0, design="gaussian"), 3)
    1.258
    """
    _check("expected_out_of_sample_error", n_samples, n_features)
    # For given inputs the fit's variance averages sigma^2 d / n over the rows, and fresh targets add sigma^2.
    if design == "fixed":
        return noise_variance * (1.0 + n_features / n_samples)
    if design != "gaussian":
        raise ParameterError(f"expected_out_of_sample_error: design must be 'fixed' or 'gaussian'; got {design!r}.")
    # For Gaussian inputs E[x^T (X^T X)^-1 x] = d / (n - d - 1), which is finite only for n > d + 1.
    _check("expected_out_of_sample_error", n_samples, n_features + 1)
    return noise_variance * (1.0 + n_features / (n_samples - n_features - 1))


def _check(subject: str, n_samples: int, n_features: int) -> None:
    if not 0 <= n_features < n_samples:
        raise ParameterError(
            f"{subject}: more samples than features are needed; got n_samples={n_samples}, n_features={n_features}. "
            f"With fewer the residuals are zero and the formula does not hold."
        )

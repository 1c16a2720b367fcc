"""Posteriors, decisions and discriminant functions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.decision import ClassDensities, bayes_decision, discriminant_functions, log_joint, posterior
from mercer.errors import DataError, ParameterError
from mercer.estimation import BernoulliDensity, IndependentDensity, UniformDensity


def problem(n=50, c=4):
    random = np.random.default_rng(0)
    return random.normal(scale=5.0, size=(n, c)), random.dirichlet(np.ones(c))


@pytest.mark.catalogue("DT-01")
def test_posterior_times_evidence_is_likelihood_times_prior():
    logs, priors = problem()
    shares, evidence = posterior(log_likelihood=logs, priors=priors, return_evidence=True)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(shares * np.exp(evidence)[:, None], np.exp(logs) * priors, rtol=1e-12)
    np.testing.assert_allclose(posterior(np.exp(logs), priors), shares, rtol=1e-12)


@pytest.mark.catalogue("DT-01")
@given(st.floats(-700, 700))
def test_a_factor_common_to_all_likelihoods_of_a_row_changes_nothing(shift):
    logs, priors = np.array([[-1.0, -2.0, -0.5]]), [0.2, 0.5, 0.3]
    np.testing.assert_allclose(
        posterior(log_likelihood=logs + shift, priors=priors), posterior(log_likelihood=logs, priors=priors), rtol=1e-9
    )


@pytest.mark.catalogue("DT-01")
def test_equal_likelihoods_leave_the_priors():
    np.testing.assert_allclose(posterior([[0.3, 0.3, 0.3]], [0.2, 0.5, 0.3]), [[0.2, 0.5, 0.3]])


@pytest.mark.catalogue("DT-02")
def test_three_forms_decide_alike_and_the_log_form_where_the_others_underflow():
    logs, priors = problem()
    expected = bayes_decision(log_likelihood=logs, priors=priors)
    assert (posterior(log_likelihood=logs, priors=priors).argmax(axis=1) == expected).all()
    assert ((np.exp(logs) * priors).argmax(axis=1) == expected).all()
    deep = logs - 2000.0
    assert not np.exp(deep).any()
    assert (bayes_decision(log_likelihood=deep, priors=priors) == expected).all()
    np.testing.assert_allclose(
        posterior(log_likelihood=deep, priors=priors), posterior(log_likelihood=logs, priors=priors), rtol=1e-9
    )


@pytest.mark.catalogue("DT-02")
def test_the_first_of_equals_is_decided():
    assert bayes_decision([[0.7, 0.7, 0.7]], [1 / 3, 1 / 3, 1 / 3]) == [0]


@pytest.mark.catalogue("DT-03")
@pytest.mark.parametrize("transform", [None, np.cbrt, np.arctan, lambda g: 3 * g + 7])
@pytest.mark.parametrize("form", ["posterior", "joint", "log_joint"])
def test_increasing_functions_keep_the_decision(form, transform):
    logs, priors = problem()
    values = discriminant_functions(log_likelihood=logs, priors=priors, form=form, transform=transform)
    assert (values.argmax(axis=1) == bayes_decision(log_likelihood=logs, priors=priors)).all()


@pytest.mark.catalogue("DT-03")
def test_the_sign_of_one_function_decides_between_two_classes():
    logs, priors = problem(c=2)
    difference = discriminant_functions(log_likelihood=logs, priors=priors, form="difference")
    assert ((difference > 0).astype(int) == bayes_decision(log_likelihood=logs, priors=priors)).all()


@pytest.mark.catalogue("DT-10")
def test_neutral_words_leave_the_spam_filter_at_its_prior():
    """Words that are as common in spam as elsewhere say nothing; the others move the posterior their way."""
    spam = IndependentDensity(BernoulliDensity([0.6, 0.3, 0.1]))
    ham = IndependentDensity(BernoulliDensity([0.1, 0.3, 0.1]))
    messages = np.array([[0, 1, 1], [1, 0, 0]])
    neutral = [IndependentDensity(BernoulliDensity([0.3, 0.1])) for _ in range(2)]
    logs = np.column_stack([one.logpdf([[1, 1], [0, 1]]) for one in neutral])
    np.testing.assert_allclose(posterior(log_likelihood=logs, priors=[0.2, 0.8]), [[0.2, 0.8]] * 2)
    logs = np.column_stack([spam.logpdf(messages), ham.logpdf(messages)])
    shares = posterior(log_likelihood=logs, priors=[0.2, 0.8])[:, 0]
    assert shares[1] == pytest.approx(0.2 * 0.6 / (0.2 * 0.6 + 0.8 * 0.1))
    assert shares[0] == pytest.approx(0.2 * 0.4 / (0.2 * 0.4 + 0.8 * 0.9))


def test_bernoulli_classes_give_minus_infinity_and_never_nan():
    sure = IndependentDensity(BernoulliDensity([0.0, 1.0]))
    np.testing.assert_array_equal(sure.logpdf([[1, 1], [0, 0], [0, 1]]), [-np.inf, -np.inf, 0.0])


def test_posteriors_of_the_most_improbable_rows_still_sum_to_one():
    np.testing.assert_allclose(posterior(log_likelihood=[[-1e308, -1e308]], priors=[0.5, 0.5]), [[0.5, 0.5]])


def test_likelihoods_that_may_have_underflowed_are_refused_with_the_cure():
    with pytest.raises(DataError, match=r"row 1 must have a positive, finite density .* log_likelihood=, which"):
        posterior([[0.1, 0.2], [0.0, 0.0]], [0.5, 0.5])
    with pytest.raises(DataError, match=r"posterior: row 0 must have a finite density .* Smooth the densities"):
        posterior(log_likelihood=[[np.inf, 0.0]], priors=[0.5, 0.5])


@pytest.mark.parametrize("function", [bayes_decision, log_joint, discriminant_functions])
def test_likelihoods_are_not_taken_for_their_logarithms(function):
    likelihoods, priors = np.array([[0.9, 0.1]]), [0.2, 0.8]
    wanted = function(likelihoods, priors)
    np.testing.assert_array_equal(function(log_likelihood=np.log(likelihoods), priors=priors), wanted)
    with pytest.raises(ValueError, match="Logarithms are given by name: log_likelihood="):
        function(np.log(likelihoods), priors)
    # Densities above one have positive logarithms, which are certain by their name alone.
    above = function(log_likelihood=[[0.9, 0.1]], priors=priors)
    assert (above if function is bayes_decision else above.argmax(axis=-1)) == [1]
    with pytest.raises(ParameterError, match=r"as the first argument, or log_likelihood=; got neither"):
        function(priors=priors)


def test_the_class_of_the_larger_joint_is_decided():
    # 0.9 * 0.2 against 0.1 * 0.8.
    assert bayes_decision(log_likelihood=np.log([[0.9, 0.1]]), priors=[0.2, 0.8]) == [0]


def test_a_row_that_no_class_can_have_leaves_the_priors():
    priors = [0.2, 0.5, 0.3]
    logs = [[-np.inf, -np.inf, -np.inf], [-1.0, -np.inf, -2.0]]
    shares, evidence = posterior(log_likelihood=logs, priors=priors, return_evidence=True)
    np.testing.assert_allclose(shares[0], priors)
    assert evidence[0] == -np.inf
    assert bayes_decision(log_likelihood=logs, priors=priors).tolist() == [1, 0]
    np.testing.assert_allclose(
        discriminant_functions(log_likelihood=[[-np.inf] * 2], priors=[0.2, 0.8], form="difference"), [np.log(4.0)]
    )
    world = ClassDensities([UniformDensity(0.0, 1.0), UniformDensity(1.0, 2.0), UniformDensity(2.0, 3.0)], priors)
    np.testing.assert_allclose(world.posterior([0.5, 9.0]), [[1.0, 0.0, 0.0], priors])
    assert world.decide([0.5, 9.0]).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("priors", "words"),
    [
        ([0.5, 0.6], r"log_joint: priors must sum to 1; got 1\.1\. Divide by the sum\."),
        ([0.5, 0.3, 0.2], r"log_joint: priors must have 2 entries, one for each class; got shape \(3,\)\."),
        ([1.5, -0.5], r"log_joint: priors must be in \[0, 1\]; got 1\.5\."),
        ([np.nan, 1.0], r"log_joint: priors must not hold NaN; got 1 of them"),
    ],
)
def test_priors_that_are_none_are_refused(priors, words):
    with pytest.raises(ParameterError, match=words):
        log_joint([[1.0, 1.0]], priors)


def test_negative_likelihoods_and_unknown_forms_are_refused():
    with pytest.raises(
        DataError, match=r"posterior: likelihood must be in \[0, inf\]; got -1\. Logarithms are given by name"
    ):
        posterior([[-1.0, 1.0]], [0.5, 0.5])
    with pytest.raises(ParameterError, match=r"form must be one of 'posterior'"):
        discriminant_functions([[1.0, 1.0]], [0.5, 0.5], form="margin")


@pytest.mark.catalogue("DT-02")
def test_the_first_argument_holds_densities_and_logarithms_are_asked_for_by_name():
    """0.9 * 0.2 is more than 0.1 * 0.8; read as logarithms, the same numbers would decide for the second class."""
    assert bayes_decision([[0.9, 0.1]], [0.2, 0.8]) == [0]
    assert bayes_decision(log_likelihood=[[0.9, 0.1]], priors=[0.2, 0.8]) == [1]
    logs, priors = problem()
    for function in (posterior, log_joint, discriminant_functions, bayes_decision):
        by_name = function(log_likelihood=logs, priors=priors)
        np.testing.assert_allclose(function(np.exp(logs), priors), by_name, rtol=1e-9)
        with pytest.raises(DataError, match=rf"{function.__name__}: likelihood must be in .* log_likelihood="):
            function(logs, priors)
        with pytest.raises(ParameterError, match=rf"{function.__name__}: give p\(x \| c\) .* got neither"):
            function(priors=priors)
        with pytest.raises(ParameterError, match=r"got both"):
            function(np.exp(logs), priors, log_likelihood=logs)
        with pytest.raises(ParameterError, match=rf"{function.__name__}: priors must be .* got None"):
            function(np.exp(logs))

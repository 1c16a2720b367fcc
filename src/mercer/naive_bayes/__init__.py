"""Naive Bayes: columns that are independent within classes, of five kinds."""

from mercer.naive_bayes._bernoulli import BernoulliNB
from mercer.naive_bayes._categorical import CategoricalNB
from mercer.naive_bayes._gaussian import GaussianNB
from mercer.naive_bayes._multinomial import ComplementNB, MultinomialNB

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]

"""Naive Bayes: columns that are independent within classes, of five kinds."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
    from mercer.naive_bayes._bernoulli import BernoulliNB
    from mercer.naive_bayes._categorical import CategoricalNB
    from mercer.naive_bayes._gaussian import GaussianNB
    from mercer.naive_bayes._multinomial import ComplementNB, MultinomialNB

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]

__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "_bernoulli": ("BernoulliNB",),
        "_categorical": ("CategoricalNB",),
        "_gaussian": ("GaussianNB",),
        "_multinomial": (
            "ComplementNB",
            "MultinomialNB",
        ),
    },
)

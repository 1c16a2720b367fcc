"""Naive Bayes: columns that are independent within classes, of five kinds."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
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
    scikit="sklearn.naive_bayes",
)

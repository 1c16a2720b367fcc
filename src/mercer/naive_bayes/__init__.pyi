# Written by `python -m tools.make_stubs` from the table in mercer.naive_bayes.
from mercer.naive_bayes._bernoulli import BernoulliNB as BernoulliNB
from mercer.naive_bayes._categorical import CategoricalNB as CategoricalNB
from mercer.naive_bayes._gaussian import GaussianNB as GaussianNB
from mercer.naive_bayes._multinomial import ComplementNB as ComplementNB
from mercer.naive_bayes._multinomial import MultinomialNB as MultinomialNB

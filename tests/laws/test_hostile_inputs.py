"""Hostile inputs: every estimator answers with finite numbers, or with a sentence, and does not flood with warnings.

A few of the cases of ``python -m tools.fuzzing estimators``, other ones for each class, so that all classes together
meet them all.
"""

import signal

import pytest

from tests.laws.subjects import subjects
from tools.fuzzing.children import try_in_children
from tools.fuzzing.estimators.child import prepare, try_number

# Each class in its first setting.
EVERY = list({subject.name: subject for subject in reversed(subjects())}.values())
# Cases of each class; steps of 71 lead through rows, targets and weights of all kinds.
_CASES = 2
_STEP = 71
_ALL = 180
# Slow fits: their own tests and `make fuzz` try them.
_SLOW = (
    *("DensityHMM", "GMMHMM", "GaussianProcessClassifier", "LinearGaussianModel", "PairwiseClustering", "TSNE"),
    *("SemiMarkovHMM", "BoltzmannMachine", "ConvClassifier", "RecurrentClassifier", "RecurrentRegressor"),
)
SUBJECTS = [subject for subject in EVERY if subject.name not in _SLOW]


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_hostile_inputs_get_an_answer_or_a_sentence(subject):
    place = EVERY.index(subject)
    X, y, usual = prepare(subject)
    numbers = [(17 * place + _STEP * turn) % _ALL for turn in range(_CASES)]
    outcomes = [try_number(subject, number, X, y, usual) for number in numbers]
    assert [outcome for outcome in outcomes if outcome[1]] == []


def test_a_hang_is_laid_to_the_case_in_which_it_happened():
    def work(first, last):
        for number in range(first, last):
            yield {"case": f"case {number}"}
            if number == 3:
                signal.pause()
            yield {"case": f"case {number}", "faults": []}

    assert try_in_children(work, 0, 5, 2.0) == [("hang", "case 3")]

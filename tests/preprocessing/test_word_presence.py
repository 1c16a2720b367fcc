"""Messages as binary predicates, the spam filter made of them, and tables read back from their numbers."""

import re

import numpy as np
import pandas
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import mercer
from mercer.errors import DataError, ParameterError
from mercer.naive_bayes import BernoulliNB
from mercer.preprocessing import TableEncoder, WordPresence

MAILS = [
    "Win a PRIZE: win, win!",
    "the prize is yours",
    "Is the meeting at 9?",
    "a meeting is a meeting",
    "minutes of the meeting",
]
LABELS = np.array([1, 1, -1, -1, -1])


@pytest.mark.catalogue("WF-03")
def test_words_are_present_or_not_however_often_and_in_whatever_case():
    words = WordPresence().fit(MAILS)
    peer = CountVectorizer(binary=True, token_pattern=r"\w+").fit(MAILS)
    assert words.get_feature_names_out().tolist() == peer.get_feature_names_out().tolist()
    rows = words.transform(MAILS)
    np.testing.assert_array_equal(rows.toarray(), peer.transform(MAILS).toarray())
    assert isinstance(rows, csr_array)
    assert set(np.unique(rows.data)) == {1.0}
    assert words.transform(["unknown words only", "", None]).nnz == 0
    assert words.transform([]).shape == (0, len(words.vocabulary_))
    assert [set(held) for held in words.inverse_transform(rows)][1] == {"the", "prize", "is", "yours"}


@pytest.mark.catalogue("WF-03")
def test_lists_of_tokens_are_taken_as_they_are():
    tokens = [["New York", "c", "c"], ("C", "R"), np.array(["r"]), set()]
    rows = WordPresence().fit(tokens).transform(tokens).toarray()
    assert rows.tolist() == [[1, 1, 0], [1, 0, 1], [0, 0, 1], [0, 0, 0]]
    exact = WordPresence(lowercase=False).fit(tokens)
    assert exact.vocabulary_.tolist() == ["C", "New York", "R", "c", "r"]
    assert exact.transform([["c", "C"]]).toarray().tolist() == [[1, 0, 0, 1, 0]]


@pytest.mark.catalogue("WF-03")
def test_the_vocabulary_is_given_or_the_most_frequent_words():
    assert WordPresence(min_frequency=3).fit(MAILS).vocabulary_.tolist() == ["is", "meeting", "the"]
    assert WordPresence(max_words=2).fit(MAILS).vocabulary_.tolist() == ["is", "meeting"]
    given = WordPresence(vocabulary=["prize", "Meeting"]).fit([])
    assert given.transform(MAILS).toarray().tolist() == [[1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]


@pytest.mark.catalogue("DT-10")
@pytest.mark.parametrize("prior", [0.5, 0.05])
def test_the_posterior_of_a_message_is_that_of_its_words_by_hand(prior):
    """Texts become vectors; Bayes' rule is applied to them; words as frequent in both classes change nothing."""
    words = WordPresence(vocabulary=["win", "meeting", "the"]).fit([])
    q = np.array([[0.02, 0.5, 0.7], [0.4, 0.05, 0.7]])
    model = BernoulliNB.from_parameters(q, [1 - prior, prior], [-1, 1])
    for mail, row in (("the THE the", [0, 0, 1]), ("Win the win!", [1, 0, 1]), ("nothing known", [0, 0, 0])):
        vector = words.transform([mail])
        assert vector.toarray()[0].tolist() == row
        likelihood = np.prod(np.where(row, q, 1 - q), axis=1) * [1 - prior, prior]
        np.testing.assert_allclose(model.predict_proba(vector), [likelihood / likelihood.sum()])
    neutral = BernoulliNB.from_parameters([[0.3, 0.7], [0.3, 0.7]], [1 - prior, prior])
    both = WordPresence(vocabulary=["a", "the"]).fit([])
    for mail in ("", "a", "the", "a the", "a the a"):
        np.testing.assert_allclose(neutral.predict_proba(both.transform([mail])), [[1 - prior, prior]])


@pytest.mark.catalogue("DT-10")
def test_a_pipeline_of_words_and_bayes_is_a_spam_filter_that_can_be_saved(tmp_path):
    model = make_pipeline(WordPresence(), BernoulliNB()).fit(pandas.Series(MAILS), LABELS)
    assert model.predict(["PRIZE prize!", "the minutes"]).tolist() == [1, -1]
    rows = model[0].transform(MAILS).toarray()
    for label, logs in zip((-1, 1), model[1].feature_log_prob_, strict=True):
        part = rows[label == LABELS]
        np.testing.assert_allclose(np.exp(logs), (part.sum(axis=0) + 1) / (len(part) + 2))
    mercer.save(model, tmp_path / "filter.mercer")
    again = mercer.load(tmp_path / "filter.mercer")
    np.testing.assert_array_equal(again.predict_proba(MAILS), model.predict_proba(MAILS))
    assert clone(model).get_params()["wordpresence__lowercase"]


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (lambda: WordPresence().fit("one text"), DataError, "a sequence of messages; got str. Put one into a list"),
        (lambda: WordPresence().fit([3]), DataError, "a text or a list of tokens, which are texts; got int in row 0"),
        (lambda: WordPresence().fit(["", None]), DataError, "no word is left for the vocabulary. Lower min_frequency"),
        (lambda: WordPresence(vocabulary=["A", "a"]).fit([]), DataError, "each word once; got 'a' 2 times"),
        (lambda: WordPresence(min_frequency=0).fit(MAILS), ParameterError, "min_frequency must be an integer in [1"),
        (lambda: WordPresence().fit(MAILS).inverse_transform([[1.0]]), DataError, "one a word; got shape (1, 1)"),
        (lambda: TableEncoder().fit([[1.0]]).inverse_transform([[1.0, 2.0]]), DataError, "needs the 1 columns that"),
    ],
)
def test_wrong_input_is_answered_with_a_cure(act, error, words):
    with pytest.raises(error, match=re.escape(words)):
        act()


@pytest.mark.catalogue("WF-02")
@pytest.mark.parametrize("categories", ["indicator", "code"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_table_comes_back_from_its_numbers(categories, sparse):
    table = pandas.DataFrame(
        {
            "maker": ["VW", "Audi", None, "BMW", "Audi"],
            "skip": list("abcde"),
            "age": [3.0, np.nan, 7.5, -1e6, 0.0],
            "sold": pandas.to_datetime(["2020-02-29", "1969-12-31", None, "2021-06-01", "2020-01-01"]),
            "note": ["good car", "bad", "good", "bad car", "old"],
        }
    )
    kinds = {"skip": "ignored", "note": "text"}
    encoder = TableEncoder(kinds, categories=categories, min_frequency=1, sparse_output=sparse).fit(table)
    back = encoder.inverse_transform(encoder.transform(table))
    assert list(back) == ["maker", "age", "sold", "note"]
    assert back["maker"].tolist() == ["VW", "Audi", None, "BMW", "Audi"]
    np.testing.assert_array_equal(back["age"], table["age"])
    np.testing.assert_array_equal(back["sold"], table["sold"].to_numpy().astype("datetime64[s]"))
    assert back["note"].tolist() == ["car good", "bad", "good", "bad car", "old"]


@pytest.mark.catalogue("WF-02")
def test_indicators_are_read_back_by_the_highest_and_unknown_labels_as_none():
    makers = np.array([["Audi"], ["BMW"], ["VW"], ["VW"]], dtype=object)
    encoder = TableEncoder(min_frequency=1).fit(makers)
    codes = encoder.transform(makers)
    np.testing.assert_array_equal(codes, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]])
    assert (codes.sum(axis=1) == 1).all()
    assert encoder.inverse_transform(codes)["x0"].tolist() == makers.ravel().tolist()
    assert encoder.inverse_transform(encoder.transform([["Opel"]]))["x0"].tolist() == [None]
    assert encoder.inverse_transform([[0.2, 0.5, 0.3]])["x0"].tolist() == ["BMW"]
    # Categories have no order: renaming them permutes columns and keeps all distances between rows.
    renamed = TableEncoder(min_frequency=1).fit_transform(np.array([["z"], ["y"], ["x"], ["x"]], dtype=object))
    np.testing.assert_array_equal(renamed, codes[:, ::-1])
    rare = TableEncoder(min_frequency=2).fit(makers)
    assert rare.inverse_transform(rare.transform(makers))["x0"].tolist() == [None, None, "VW", "VW"]

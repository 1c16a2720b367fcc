"""TF-IDF weights of the words of a text column."""

import numpy as np
import pandas
import pytest
from scipy.sparse import issparse
from sklearn.feature_extraction.text import TfidfVectorizer

import mercer
from mercer.preprocessing import TableEncoder

MAILS = ["cheap cheap pills today", "meeting today at noon", "cheap meeting", None, "pills at noon, pills at night"]


def _encode(**settings):
    frame = pandas.DataFrame({"mail": MAILS})
    encoder = TableEncoder({"mail": "text"}, min_frequency=2, text_values="tfidf", **settings).fit(frame)
    return encoder, frame


def test_weights_are_those_of_scikit_learn_over_the_same_words():
    encoder, frame = _encode(sparse_output=False)
    texts = [text or "" for text in MAILS]
    words = TfidfVectorizer(vocabulary=encoder.words_[0].tolist()).fit(texts)
    np.testing.assert_allclose(encoder.transform(frame), words.transform(texts).toarray(), rtol=1e-12)


def test_sparse_and_dense_rows_are_equal():
    sparse = _encode(sparse_output=True)[0]
    dense, frame = _encode(sparse_output=False)
    rows = sparse.transform(frame)
    assert issparse(rows)
    np.testing.assert_array_equal(rows.toarray(), dense.transform(frame))


def test_new_words_are_ignored_and_known_ones_come_back():
    encoder, _ = _encode(sparse_output=False)
    rows = encoder.transform(pandas.DataFrame({"mail": ["unknown words", "noon noon pills"]}))
    assert not rows[0].any()
    assert rows[1] @ rows[1] == pytest.approx(1)
    assert encoder.inverse_transform(rows)["mail"].tolist() == ["", "noon pills"]


def test_weights_survive_a_file(tmp_path):
    encoder, frame = _encode(sparse_output=False)
    mercer.save(encoder, tmp_path / "encoder.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "encoder.mercer").transform(frame), encoder.transform(frame))

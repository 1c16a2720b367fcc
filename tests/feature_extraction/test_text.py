"""Vectorizers of texts against scikit-learn's, on any texts; sums over texts; what is counted by whom."""

import io
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import text as theirs

import mercer
from mercer.errors import DataError, ParameterError
from mercer.feature_extraction import text as ours
from mercer.feature_extraction.text import _terms

TEXTS = ["The cat sat on the mat.", "A cat, and the other cat!", "", "Mats & cats: 2 mats, 3 cats_"]
# Letters whose lower case is longer or depends on the word, accents, digits and spaces of other scripts, line ends, a
# pair's lone half, and letters beyond 16 bits.
LETTERS = st.sampled_from("aAbB _-.,\n\t\r\x1c\x85\xa0 　İΣσςßẞéÀñ́ﬁ٣²½漢字かㄅ𝒳😀\ud800\x00")
WRITTEN = st.lists(st.text(LETTERS | st.characters(), max_size=30), min_size=1, max_size=6)
SETTINGS = st.fixed_dictionaries(
    {
        "lowercase": st.booleans(),
        "strip_accents": st.sampled_from([None, "ascii", "unicode"]),
        "analyzer": st.sampled_from(["word", "char", "char_wb"]),
        "ngram_range": st.sampled_from([(1, 1), (1, 2), (2, 2), (1, 3), (2, 3), (3, 5)]),
        "token_pattern": st.sampled_from([r"(?u)\b\w\w+\b", r"\w+", r"(?u)\b\w+\b", r"[a-z]+"]),
        "binary": st.booleans(),
    }
)


def same(found, wanted):
    """Whether two sparse matrices have the same type of entries and the same entries."""
    return found.shape == wanted.shape and found.dtype == wanted.dtype and (found != wanted).nnz == 0


@pytest.mark.filterwarnings("ignore")
@given(WRITTEN, SETTINGS)
def test_terms_and_counts_are_those_of_scikit_learn(texts, settings):
    peer = theirs.CountVectorizer(**settings)
    try:
        wanted = peer.fit_transform(texts)
    except ValueError:
        with pytest.raises(DataError, match="empty vocabulary"):
            ours.CountVectorizer(**settings).fit(texts)
        return
    model = ours.CountVectorizer(**settings)
    assert same(model.fit_transform(texts), wanted)
    assert model.vocabulary_ == peer.vocabulary_
    assert same(model.transform(texts[::-1]), peer.transform(texts[::-1]))
    assert model.solver_used_ == (
        "python" if settings == settings | {"analyzer": "word", "token_pattern": "[a-z]+"} else "native"
    )


@pytest.mark.filterwarnings("ignore")
@given(WRITTEN, SETTINGS, st.sampled_from([1, 7, 64, 2**20]), st.booleans())
def test_hashed_counts_are_those_of_scikit_learn(texts, settings, n_features, alternate_sign):
    texts = [text.encode("utf-8", "ignore").decode() for text in texts]
    given = settings | {"n_features": n_features, "alternate_sign": alternate_sign, "norm": None}
    wanted = theirs.HashingVectorizer(**given).transform(texts)
    assert same(ours.HashingVectorizer(**given).transform(texts), wanted)


@pytest.mark.parametrize("rules", [{"min_df": 2}, {"max_df": 0.5}, {"max_features": 3}, {"min_df": 0.1, "max_df": 12}])
def test_rules_on_numbers_of_texts_keep_the_same_terms(rules):
    random = np.random.default_rng(0)
    words = np.array([f"w{k}" for k in range(30)])
    texts = [" ".join(random.choice(words, 8, p=np.arange(30, 0, -1) / 465)) for _ in range(20)]
    peer = theirs.TfidfVectorizer(**rules, sublinear_tf=True).fit(texts)
    model = ours.TfidfVectorizer(**rules, sublinear_tf=True).fit(texts)
    assert model.vocabulary_ == peer.vocabulary_
    np.testing.assert_array_equal(model.idf_, peer.idf_)
    np.testing.assert_allclose(model.transform(texts).toarray(), peer.transform(texts).toarray(), rtol=1e-14)


def test_weights_of_a_worked_example():
    # "cat" is in two of three texts, "sat" in one: factors 1 + log(4/3) and 1 + log(4/2).
    weights = ours.TfidfVectorizer(norm=None).fit(["cat sat", "cat", "dog"])
    rows = weights.transform(["cat cat sat"]).toarray()
    np.testing.assert_allclose(rows, [[2 * (1 + np.log(4 / 3)), 0.0, 1 + np.log(2)]], rtol=1e-15)


@pytest.mark.parametrize("name", ["CountVectorizer", "TfidfVectorizer"])
def test_parts_of_the_texts_add_up_to_all(name):
    whole = getattr(ours, name)(min_df=2, ngram_range=(1, 2)).fit(TEXTS * 2)
    parts = getattr(ours, name)(min_df=2, ngram_range=(1, 2))
    parts.partial_fit(iter(TEXTS[:3])).partial_fit(TEXTS[3:]).partial_fit(TEXTS)
    assert parts.vocabulary_ == whole.vocabulary_
    assert parts.n_samples_seen_ == whole.n_samples_seen_ == 8
    assert same(parts.transform(TEXTS), whole.transform(TEXTS))


def test_weights_of_counts_add_up_too():
    counts = ours.CountVectorizer().fit_transform(TEXTS)
    whole = ours.TfidfTransformer().fit(counts)
    parts = ours.TfidfTransformer().partial_fit(counts[:1]).partial_fit(counts[1:].toarray())
    np.testing.assert_array_equal(parts.idf_, whole.idf_)
    peer = theirs.TfidfTransformer().fit(counts)
    np.testing.assert_array_equal(whole.idf_, peer.idf_)
    # A fit begins anew.
    np.testing.assert_array_equal(parts.fit(counts).idf_, whole.idf_)


@pytest.mark.parametrize("analyzer", ["word", "char_wb"])
def test_lists_of_texts_and_threads_do_not_change_the_result(monkeypatch, analyzer):
    random = np.random.default_rng(1)
    words = np.array([*(f"word{k}" for k in range(400)), "straße", "ΟΔΥΣΣΕΥΣ", "naïve"])
    texts = [" ".join(random.choice(words, random.integers(0, 30))) for _ in range(300)]
    settings = {"analyzer": analyzer, "ngram_range": (1, 3), "max_features": 500}
    wanted = ours.CountVectorizer(**settings, n_jobs=1).fit_transform(texts)
    monkeypatch.setattr(_terms, "_CHUNK", 500)
    for jobs in (1, 4):
        model = ours.CountVectorizer(**settings, n_jobs=jobs)
        found = model.fit_transform(iter(texts))
        assert all(
            np.array_equal(getattr(found, part), getattr(wanted, part)) for part in ("data", "indices", "indptr")
        )
        assert same(model.transform(texts), wanted)


def test_functions_of_python_are_used_and_said():
    model = ours.CountVectorizer(tokenizer=str.split, token_pattern=None, stop_words=["the"], ngram_range=(1, 2))
    peer = theirs.CountVectorizer(tokenizer=str.split, token_pattern=None, stop_words=["the"], ngram_range=(1, 2))
    assert same(model.fit_transform(TEXTS), peer.fit_transform(TEXTS))
    assert model.solver_used_ == "python"
    assert ours.CountVectorizer(analyzer=list).fit(TEXTS).solver_used_ == "python"
    assert ours.CountVectorizer(preprocessor=str.upper).fit(TEXTS).get_feature_names_out()[0] == "AND"

    class Words(ours.CountVectorizer):
        def build_tokenizer(self):
            return str.split

    assert "cat," in Words().fit(TEXTS).vocabulary_


def test_bytes_files_and_names_of_files_are_read(tmp_path):
    encoded = [text.encode("latin-1") for text in ["naïve café", "cafés"]]
    paths = [tmp_path / f"{k}.txt" for k in range(2)]
    for path, content in zip(paths, encoded):
        path.write_bytes(content)
    for kind, items in (("content", encoded), ("file", map(io.BytesIO, encoded)), ("filename", paths)):
        model = ours.CountVectorizer(input=kind, encoding="latin-1").fit(items)
        assert list(model.vocabulary_) == ["café", "cafés", "naïve"]


def test_models_survive_with_their_sums(tmp_path):
    model = ours.TfidfVectorizer(ngram_range=(1, 2), stop_words="english").fit(TEXTS)
    mercer.save(model, tmp_path / "texts.mercer")
    for other in (mercer.load(tmp_path / "texts.mercer"), pickle.loads(pickle.dumps(model))):
        assert same(other.transform(TEXTS), model.transform(TEXTS))
        assert other.partial_fit(["cat dog"]).n_samples_seen_ == 5


def test_the_names_of_scikit_learn_are_taken_and_passed_on():
    assert ours.strip_tags is theirs.strip_tags
    for name in ours.__all__:
        peer = list(getattr(theirs, name)().get_params())
        assert set(getattr(ours, name)().get_params()) - set(peer) <= {"n_jobs"}


def test_what_cannot_be_used_is_refused_in_a_sentence():
    with pytest.raises(DataError, match="Iterable over raw text documents expected, string object received"):
        ours.CountVectorizer().fit("text")
    with pytest.raises(ParameterError, match=r"Invalid value for ngram_range=\(2, 1\)"):
        ours.TfidfVectorizer(ngram_range=(2, 1)).fit(TEXTS)
    with pytest.raises(DataError, match=r"After pruning, no terms remain.*of 4 texts"):
        ours.CountVectorizer(min_df=4).fit(TEXTS)
    with pytest.raises(DataError, match="Duplicate term in vocabulary: 'a'"):
        ours.CountVectorizer(vocabulary=["a", "b", "a"]).fit(TEXTS)
    with pytest.raises(NotFittedError, match="Vocabulary not fitted or provided"):
        ours.CountVectorizer().transform(TEXTS)
    model = ours.CountVectorizer().fit(TEXTS)
    model.vocabulary_["cat"] = 99
    with pytest.raises(DataError, match="vocabulary_ must number its"):
        model.transform(TEXTS)

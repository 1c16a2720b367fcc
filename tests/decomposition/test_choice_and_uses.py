"""The number of axes by five rules, rows without noise, artefacts removed, and gross errors parted from low rank."""

import numpy as np
import pytest
from scipy.stats import norm

from mercer.decomposition import PCA, RobustPCA, choose_n_axes, denoise, remove_components
from mercer.decomposition._dimension import find_elbow
from mercer.discriminant_analysis import LinearDiscriminantAnalysis
from mercer.errors import DataError, ParameterError

# Three directions of equal variance: one that outweighs the others would hide them from the parallel analysis.
DIRECTIONS = np.linalg.qr(np.random.default_rng(1).normal(size=(10, 3)))[0].T
CLEAN = 2.0 * np.random.default_rng(0).normal(size=(300, 3)) @ DIRECTIONS
X = CLEAN + 0.3 * np.random.default_rng(2).normal(size=(300, 10))


@pytest.mark.catalogue("PM-05")
@pytest.mark.parametrize("method", ["minka", "parallel", "cv"])
def test_three_directions_under_noise_are_counted(method):
    found = choose_n_axes(X, method=method, random_state=0)
    if method == "cv":
        # In one table of ten a fourth axis fits the noise of held-out rows by chance.
        tables = [CLEAN + 0.3 * np.random.default_rng([3, k]).normal(size=(300, 10)) for k in range(9)]
        assert np.median([choose_n_axes(one, method=method, random_state=0).n_axes for one in tables]) == 3
    else:
        assert found.n_axes == 3
    # Horn's parallel analysis is of the correlations.
    rows = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1) if method == "parallel" else X
    np.testing.assert_allclose(found.eigenvalues, PCA().fit(rows).explained_variance_)
    assert found.cumulative[-1] == pytest.approx(1.0)
    assert (np.diff(found.cumulative) >= 0).all()


@pytest.mark.catalogue("PM-05")
def test_the_threshold_is_the_fewest_axes_that_exceed_it():
    found = choose_n_axes(X, method="threshold", threshold=0.9)
    assert found.cumulative[found.n_axes - 1] > 0.9 >= found.cumulative[found.n_axes - 2]
    model = PCA(found.n_axes).fit(X)
    left = X - model.inverse_transform(model.transform(X))
    assert found.reconstruction_error[found.n_axes - 1] == pytest.approx((left**2).sum() / 299)


def test_the_elbow_is_that_of_the_profile_likelihood():
    steep = np.random.default_rng(2).normal(size=(500, 6)) * [9.0, 8.5, 8.0, 0.5, 0.4, 0.3]
    assert choose_n_axes(steep, method="elbow").n_axes == 3


def test_independent_columns_have_no_axis_that_stands_out():
    noise = np.random.default_rng(1).normal(size=(500, 8))
    assert choose_n_axes(noise, method="parallel", random_state=0).n_axes == 0
    # Columns of unequal variance are no axes either: permutations keep their variances.
    assert choose_n_axes(noise * np.arange(1, 9), method="parallel", random_state=0).n_axes <= 1


def test_the_held_out_likelihood_is_that_of_the_fold_models():
    found = choose_n_axes(X, method="cv", n_folds=3, random_state=0)
    assert found.score.shape == (9,)
    gains = np.diff(found.score)
    # Directions add to the likelihood; axes beyond them fit noise, and gain little, by chance.
    assert gains[:2].min() > max(0.1, 10 * gains[2:].max())
    assert found.n_axes == found.score.argmax() + 1
    with pytest.raises(ParameterError, match="method must be one of"):
        choose_n_axes(X, method="guess")
    with pytest.raises(DataError, match="columns are constant"):
        choose_n_axes(np.ones((5, 3)))


@pytest.mark.catalogue("PM-06")
def test_denoising_lowers_the_error_by_the_share_of_directions_kept():
    before, after = ((X - CLEAN) ** 2).mean(), ((denoise(X, 3) - CLEAN) ** 2).mean()
    # Three of ten directions keep their noise.
    assert after == pytest.approx(0.3 * before, rel=0.15)
    model = PCA(3).fit(X)
    by_hand = model.mean_ + sum(np.outer((X - model.mean_) @ axis, axis) for axis in model.components_)
    np.testing.assert_allclose(denoise(X, 3), by_hand)


@pytest.mark.catalogue("PM-06")
def test_a_planted_blink_is_removed_and_both_parts_sum_to_the_data():
    random = np.random.default_rng(3)
    shape = random.normal(size=10)
    strength = 20.0 * (random.uniform(size=300) < 0.1)
    kept, removed = remove_components(X + np.outer(strength, shape), 0, return_removed=True)
    np.testing.assert_allclose(kept + removed, X + np.outer(strength, shape))
    blink = shape / np.linalg.norm(shape)
    rest = np.eye(10) - np.outer(blink, blink)
    # What remains is the signal but for its part along the blink.
    assert np.abs((kept - kept.mean(axis=0)) @ blink).mean() < 0.3
    assert np.corrcoef((kept @ rest).ravel(), (X @ rest).ravel())[0, 1] > 0.97
    with pytest.raises(DataError, match=r"integers from 0 to 9; got 10. Count from 0"):
        remove_components(X, 10)


def test_gross_errors_are_parted_from_low_rank_exactly():
    draw = np.random.default_rng(3)
    clean = draw.normal(size=(100, 2)) @ draw.normal(size=(2, 30))
    errors = np.where(draw.uniform(size=clean.shape) < 0.05, 50.0, 0.0)
    model = RobustPCA(2, tol=1e-5, max_iter=5000).fit(clean + errors)
    assert model.converged_
    assert np.median(np.abs(model.low_rank_ - clean)) < 0.01
    np.testing.assert_array_equal(np.abs(model.sparse_) > 5, errors > 0)
    # PCA's axes leave the space of the clean rows, those of the robust one do not.
    space = np.linalg.svd(clean - clean.mean(axis=0))[2][:2]

    def leaves(axes):
        return np.linalg.norm(axes - axes @ space.T @ space)

    assert leaves(model.components_) < 0.1
    assert leaves(PCA(2).fit(clean + errors).components_) > 0.3
    rows = (clean + errors)[:5]
    np.testing.assert_allclose(model.transform(rows), (rows - model.mean_) @ model.components_.T)


def test_too_many_robust_components_are_refused():
    with pytest.raises(DataError, match=r"at most min\(n_samples, n_features\) = 10; got 11"):
        RobustPCA(11).fit(X)


@pytest.mark.catalogue("PM-23")
def test_lda_ignores_a_nuisance_of_high_variance_that_pca_chooses():
    random = np.random.default_rng(3)
    labels = np.repeat([0, 1], 200)
    rows = np.column_stack([10.0 * random.normal(size=400), random.normal(size=400) * 0.5 + 2.0 * labels])
    pca = PCA(1).fit(rows).components_[0]
    lda = LinearDiscriminantAnalysis(n_components=1).fit(rows, labels).scalings_[:, 0]
    lda = lda / np.linalg.norm(lda)
    assert abs(pca[0]) > 0.99
    assert abs(lda[1]) > 0.99


@pytest.mark.catalogue("PM-05")
@pytest.mark.parametrize("units", [1.0, 1e-6, 10.0 ** np.linspace(-4, 4, 10)], ids=["ones", "small", "mixed"])
def test_parallel_analysis_is_of_correlations_in_any_unit(units):
    random = np.random.default_rng(0)
    rows = random.normal(size=(200, 2)) @ random.normal(size=(2, 10)) * 2 + random.normal(size=(200, 10))
    choice = choose_n_axes(rows * units, random_state=0)
    assert choice.n_axes == 2
    np.testing.assert_allclose(choice.eigenvalues, np.linalg.eigvalsh(np.corrcoef(rows.T))[::-1], rtol=1e-8)
    # Horn's: no axis of columns without correlations stands out, however large one of them is.
    alone = np.random.default_rng(1).normal(size=(300, 6)) * [1e6, 1, 1, 1, 1, 1]
    assert choose_n_axes(alone, random_state=0).n_axes == 0


@pytest.mark.catalogue("PM-05")
def test_the_elbow_is_the_split_of_greatest_likelihood():
    random = np.random.default_rng(4)
    for _ in range(20):
        values = np.sort(random.exponential(size=9) ** 2)[::-1]
        likelihoods = []
        for split in range(1, 9):
            parts = values[:split], values[split:]
            rest = np.concatenate([part - part.mean() for part in parts])
            likelihoods.append(norm(scale=np.sqrt(np.mean(rest**2))).logpdf(rest).sum())
        for unit in (1e-6, 1.0, 1e6):
            assert find_elbow(unit * values) == 1 + int(np.argmax(likelihoods))

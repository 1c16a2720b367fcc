"""Patches and graphs of pictures: by hand, and as scikit-learn makes them."""

import numpy as np
import pytest
import sklearn.feature_extraction.image as theirs

from mercer.feature_extraction import image as mine

SHAPES = [(7, 9), (6, 5, 3), (8, 8, 1)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("most", [None, 5, 0.5])
def test_patches_are_those_of_scikit_learn(shape, most):
    picture = np.random.default_rng(0).normal(size=shape)
    options = {"max_patches": most, "random_state": 3}
    found = mine.extract_patches_2d(picture, (3, 2), **options)
    assert (found == theirs.extract_patches_2d(picture, (3, 2), **options)).all()
    pictures = np.stack([picture, 2 * picture])
    extractors = [home.PatchExtractor(patch_size=(3, 2), **options) for home in (mine, theirs)]
    assert (extractors[0].fit_transform(pictures) == extractors[1].fit_transform(pictures)).all()
    blocks = list(extractors[0].transform(iter([pictures[:1], pictures[1:]])))
    assert np.concatenate(blocks) == pytest.approx(extractors[0].transform(pictures))


@pytest.mark.parametrize("shape", SHAPES[:2])
def test_a_picture_is_the_mean_of_its_patches(shape):
    picture = np.random.default_rng(1).normal(size=shape)
    patches = mine.extract_patches_2d(picture, (3, 4))
    assert mine.reconstruct_from_patches_2d(patches, shape) == pytest.approx(picture)
    noisy = patches + np.random.default_rng(2).normal(size=patches.shape)
    wanted = theirs.reconstruct_from_patches_2d(noisy, shape)
    assert mine.reconstruct_from_patches_2d(noisy, shape) == pytest.approx(wanted)


@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 2)])
def test_graphs_are_those_of_scikit_learn(shape):
    random = np.random.default_rng(2)
    picture, mask = random.normal(size=shape), random.random(shape) < 0.7
    for known in (None, mask):
        found, wanted = (home.img_to_graph(picture, mask=known).toarray() for home in (mine, theirs))
        assert (found == wanted).all()
        size = np.atleast_3d(picture).shape
        found, wanted = (home.grid_to_graph(*size, mask=known).toarray() for home in (mine, theirs))
        assert (found == wanted).all()


def test_a_patch_larger_than_the_picture_is_refused():
    with pytest.raises(ValueError, match="Width of the patch should be less than the width of the image; got 3 and 2"):
        mine.extract_patches_2d(np.zeros((4, 2)), (2, 3))

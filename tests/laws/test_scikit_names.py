"""Every public name of scikit-learn is here: as mercer's own, passed through, or left out for a stated reason."""

import importlib
import inspect
import pkgutil
import warnings

import pytest
import sklearn
from sklearn.utils.discovery import all_displays, all_estimators, all_functions

import mercer
from mercer._lazy import NOT_PASSED, list_passed, load_on_use

# Modules whose names mercer does not repeat: they serve those who write estimators, or switch features on.
FOR_AUTHORS = ("sklearn.utils.", "sklearn.experimental", "sklearn.conftest", "sklearn.externals")


def list_public_modules():
    """Return the names of scikit-learn's public modules that list public names."""
    modules = []
    for found in pkgutil.walk_packages(sklearn.__path__, "sklearn.", onerror=lambda name: None):
        if any(part.startswith("_") or part == "tests" for part in found.name.split(".")):
            continue
        if not found.name.startswith(FOR_AUTHORS):
            modules += [found.name] if hasattr(importlib.import_module(found.name), "__all__") else []
    return modules


def find(module, name):
    return getattr(importlib.import_module(module.replace("sklearn", "mercer", 1)), name, None)


@pytest.mark.parametrize("module", [*list_public_modules(), "sklearn.base", "sklearn.metrics.pairwise"])
def test_every_public_name_is_found_under_the_same_address(module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        absent = [name for name in list_passed(module) if find(module, name) is None]
    assert absent == []


@pytest.mark.parametrize("list_all", [all_estimators, all_functions, all_displays])
def test_every_estimator_function_and_display_is_found(list_all):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        absent = []
        for name, thing in list_all():
            parts = [part for part in thing.__module__.split(".") if not part.startswith("_")]
            home = ".".join(parts[:2])
            known = home.startswith("sklearn.utils") or f"{home}.{name}" in NOT_PASSED
            if not known and name in getattr(importlib.import_module(home), "__all__", ()) and find(home, name) is None:
                absent.append(f"{home}.{name}")
    assert absent == []


def test_a_name_that_is_passed_through_is_scikit_learns_own_object_and_not_listed():
    from sklearn.metrics import accuracy_score

    assert mercer.metrics.accuracy_score is accuracy_score
    assert "accuracy_score" not in mercer.metrics.__all__
    assert "accuracy_score" in dir(mercer.metrics)
    assert mercer.base.clone is sklearn.base.clone


def test_a_name_that_both_have_is_ours():
    assert mercer.metrics.silhouette_score.__module__.startswith("mercer.")
    assert mercer.svm.SVC.__module__.startswith("mercer.")


def test_a_name_that_is_left_out_says_why_and_where_it_is():
    with pytest.raises(AttributeError) as caught:
        mercer.datasets.fetch_openml  # noqa: B018
    assert str(caught.value) == (
        "module 'mercer.datasets' has no attribute 'fetch_openml': it downloads a file, and mercer downloads nothing. "
        "Import it from sklearn.datasets."
    )


def test_a_misspelt_name_gets_the_nearest_one():
    find, _, _ = load_on_use("mercer.cluster", {"_centres.k_means": ("KMeans",)}, "sklearn.cluster")
    with pytest.raises(
        AttributeError, match=r"module 'mercer.cluster' has no attribute 'KMean'; the nearest name is 'KMeans'\."
    ):
        find("KMean")
    with pytest.raises(
        AttributeError, match=r"no attribute 'SpectralClusterin'; the nearest name is 'SpectralClustering'"
    ):
        find("SpectralClusterin")


def test_names_left_out_are_scikit_learns():
    for address in NOT_PASSED:
        module, _, name = address.rpartition(".")
        assert hasattr(importlib.import_module(module), name)


def list_own_functions():
    """Return scikit-learn's functions with mercer's own of the same address, where these are not one object."""
    pairs = []
    for name, theirs in all_functions():
        home = ".".join(part for part in theirs.__module__.split(".") if not part.startswith("_"))
        home = ".".join(home.split(".")[:2])
        if not home.startswith("sklearn.utils") and name in getattr(importlib.import_module(home), "__all__", ()):
            ours = find(home, name)
            pairs += [(f"{home}.{name}", theirs, ours)] if ours is not None and ours is not theirs else []
    return pairs


@pytest.mark.parametrize(
    ("name", "theirs", "ours"), list_own_functions(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_function_of_scikit_learns_name_takes_its_calls(name, theirs, ours):
    ours, theirs = (inspect.signature(one).parameters for one in (ours, theirs))
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in ours.values()):
        return  # it hands them on
    assert set(theirs) <= set(ours)
    places = [
        [one for one in names if names[one].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD] for names in (theirs, ours)
    ]
    assert places[1][: len(places[0])] == places[0]


def test_a_name_of_another_family_is_said_to_be_there():
    with pytest.raises(AttributeError, match=r"has no attribute 'SimpleImputer'; mercer\.impute has it"):
        mercer.preprocessing.SimpleImputer  # noqa: B018
    with pytest.raises(ImportError, match=r"has no attribute 'SimpleImputer'; mercer\.impute has it"):
        from mercer.preprocessing import SimpleImputer  # noqa: F401

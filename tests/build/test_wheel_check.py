"""The comparison of a wheel with the tree, and the environment in which a wheel is tried."""

import io
import tarfile
import zipfile

import pytest

from tools.wheel_check import contents
from tools.wheel_check.contents import check_source_distribution, check_wheel, list_native_modules, list_package_files
from tools.wheel_check.environment import CheckError, NewEnvironment
from tools.wheel_check.library import describe, list_public_modules

ENDING = "cpython-311-x86_64-linux-gnu.so"
METADATA = ("mercer-0.1.0.dist-info/METADATA", "mercer-0.1.0.dist-info/licenses/LICENSE")


def write_wheel(path, left_out=(), added=()):
    """Write empty files of the names that a wheel of one level has."""
    names = {*list_package_files(), *METADATA, f"mercer/_native/cython_utility.{ENDING}"}
    names |= {f"mercer/_native/v2/{name}.{ENDING}" for name in list_native_modules()}
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted((names - set(left_out)) | set(added)):
            archive.writestr(name, "")
    return path


def test_a_wheel_with_every_file_passes(tmp_path):
    check_wheel(write_wheel(tmp_path / "whole.whl"))


@pytest.mark.parametrize(
    "name",
    [
        "mercer/py.typed",
        "mercer/datasets/data/fish.csv",
        "mercer/app/report/page.html",
        "mercer/_solver/kernel_sums.cu",
        "mercer/cluster/__init__.pyi",
        f"mercer/_native/v2/elementary.{ENDING}",
        "mercer-0.1.0.dist-info/licenses/LICENSE",
    ],
)
def test_a_wheel_without_one_file_is_refused(name, tmp_path):
    with pytest.raises(CheckError, match="LICENSE" if "LICENSE" in name else "1 files are missing"):
        check_wheel(write_wheel(tmp_path / "broken.whl", left_out=[name]))


@pytest.mark.parametrize("name", ["mercer/_native/meson.build", "mercer/__pycache__/errors.pyc", "tests/__init__.py"])
def test_a_wheel_with_a_file_too_many_is_refused(name, tmp_path):
    with pytest.raises(CheckError, match=f"1 are not in the working tree .{name}"):
        check_wheel(write_wheel(tmp_path / "broken.whl", added=[name]))


def test_a_source_distribution_without_the_build_recipe_is_refused(tmp_path):
    path = tmp_path / "mercer-0.1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in (*(f"src/{file}" for file in list_package_files()), *contents.RECIPE - {"meson.build"}):
            archive.addfile(tarfile.TarInfo(f"mercer-0.1.0/{name}"), io.BytesIO())
    with pytest.raises(CheckError, match=r"lacks meson.build\."):
        check_source_distribution(path)


def test_a_new_environment_has_neither_packages_nor_programs_nor_this_tree(tmp_path):
    environment = NewEnvironment(tmp_path / "new")
    with pytest.raises(CheckError, match="No module named 'mercer'"):
        environment.run_program("tools.wheel_check.library")


def test_public_modules_are_those_without_an_underscore_and_without_the_command_line():
    modules = list_public_modules()
    assert {"mercer", "mercer.cluster", "mercer.metrics.pairwise", "mercer.errors"} <= set(modules)
    assert not [name for name in modules if "._" in name or ".app" in name]


def test_an_error_is_described_with_the_line_of_the_library():
    import mercer

    with pytest.raises(AttributeError) as caught:
        mercer.clusters  # noqa: B018
    assert describe(caught.value).startswith("AttributeError: module 'mercer' has no attribute 'clusters'; it has")
    assert "mercer/__init__.py, line" in describe(caught.value)

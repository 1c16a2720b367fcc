"""Model files: every kind of plain data comes back with its type and its bits."""

import dataclasses
import json
import os
import stat
import zipfile
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

import mercer
from mercer._base.model_file import load_plain, save_plain
from mercer._base.model_file.migration import MIGRATIONS, SCHEMA
from mercer._plain import PLAIN, plain
from mercer.errors import ModelFileError, ParameterError
from tests.base.model_file_workshop import assert_same, rewrite_header

VALUES = [
    *(None, True, False, 0, -1, 2**53, 2**53 + 1, -(2**200), "", "text", "\ud800 \U0001f600 \x00", b"", b"\x00\xff"),
    *(
        0.1,
        -0.0,
        5e-324,
        1.7976931348623157e308,
        float("inf"),
        float("-inf"),
        float("nan"),
        -float("nan"),
        1 + 2j,
        complex("nan-infj"),
    ),
    *(
        [],
        [[]],
        (),
        ((1,), [2]),
        set(),
        {1, "a", None},
        frozenset({(1, 2)}),
        slice(None, 3),
        slice("a", "b"),
        range(1, 9, 2),
    ),
    *({}, {"b": 1, "a": 2}, {1: "x", (2, 3): [4], None: 5, 1.5: 6, False: 7} | {2: {3: {}}}, Bunch(a=1, b=[2])),
    *(np.float64(0.1), np.float32("nan"), np.int8(-3), np.bool_(True), np.str_("né"), np.str_(""), np.bytes_(b"x")),
    *(np.datetime64("2024-02-29", "D"), np.timedelta64(5, "ns"), np.datetime64("NaT"), np.complex64(1j)),
    *(np.dtype("f4"), np.dtype("U3"), np.dtype("M8[ns]"), np.dtype(object), float, object, np.float64, np.number),
    *(np.log1p, np.random.SeedSequence(2**100, spawn_key=(1, 2)), np.random.SeedSequence([1, 2, 3])),
]
ARRAYS = [
    *(np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.array(3.5), np.empty((0, 3))),
    *(
        np.array([True, False]),
        np.arange(3, dtype="u2"),
        np.array(["a", "ßß"]),
        np.array([b"a", b""]),
        np.zeros((3, 0), "U2"),
    ),
    *(np.array(["2024", "NaT"], "M8[25s]"), np.array([1, 2], "m8[ms]"), np.array([1j], "c8"), np.array([1.0], "f2")),
    *(np.array([None, "a", [1, 2], (3,), np.float32(1)], dtype=object), np.empty((2, 0), dtype=object)),
    *(np.ma.masked_array([1.0, 2.0], mask=[True, False], fill_value=-1.0), np.ma.masked_array([1, 2])),
    np.ma.masked_array(np.array([None, "a"], dtype=object), mask=[True, False]),
]


@dataclass(frozen=True)
class Certified:
    value: float
    parts: tuple


class Pair(NamedTuple):
    left: int
    right: np.ndarray


def round_trip(value, path):
    save_plain(value, path)
    return load_plain(path)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mercer"


# Truth


# A set of strings prints in another order in every process, so values are known by their place in the list.
@pytest.mark.parametrize("value", VALUES, ids=[f"{type(v).__name__}-{i}" for i, v in enumerate(VALUES)])
def test_a_plain_value_comes_back_with_its_type_and_bits(value, path):
    assert_same(round_trip(value, path), value)


@pytest.mark.parametrize("value", ARRAYS, ids=repr)
def test_an_array_comes_back_with_its_type_shape_order_and_bits(value, path):
    assert_same(round_trip(value, path), value)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("container", ["array", "matrix"])
def test_a_sparse_array_comes_back_in_its_format(form, container, path):
    value = getattr(scipy.sparse, f"{form}_{container}")(np.array([[0, 1.5, 0], [2, 0, 0]], dtype="f4"))
    again = round_trip(value, path)
    assert (type(again), again.dtype, again.shape) == (type(value), value.dtype, value.shape)
    np.testing.assert_array_equal(again.toarray(), value.toarray())


@pytest.mark.parametrize("kind", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_a_generator_goes_on_where_it_was_and_spawns_the_same_children(kind, path):
    generator = np.random.Generator(getattr(np.random, kind)(7))
    generator.random(3, dtype="f4")
    generator.spawn(2)
    again = round_trip(generator, path)
    np.testing.assert_array_equal(again.random(9), generator.random(9))
    assert again.spawn(1)[0].random() == generator.spawn(1)[0].random()


def test_a_random_state_goes_on_where_it_was(path):
    state = np.random.RandomState(3)
    state.standard_normal(3)  # an odd number leaves a second normal number waiting
    again = round_trip(state, path)
    np.testing.assert_array_equal(again.standard_normal(9), state.standard_normal(9))


def test_registered_records_come_back_and_others_are_refused(path, monkeypatch):
    monkeypatch.setitem(PLAIN, "Certified", Certified)
    monkeypatch.setitem(PLAIN, "Pair", Pair)
    value = [Certified(0.5, (1, None)), Pair(1, np.arange(3))]
    assert_same(round_trip(value, path), value)
    monkeypatch.delitem(PLAIN, "Pair")
    with pytest.raises(
        ModelFileError, match=r"save: value\[1\] is of class .*\.Pair; model files hold plain data only"
    ):
        save_plain(value, path)


def test_a_field_that_a_record_got_later_has_its_default(path, monkeypatch):
    shorter = dataclasses.make_dataclass("Grown", [("first", int)], frozen=True)
    monkeypatch.setitem(PLAIN, "Grown", shorter)
    save_plain(shorter(3), path)
    longer = dataclasses.make_dataclass("Grown", [("first", int), ("second", str, "later")], frozen=True)
    monkeypatch.setitem(PLAIN, "Grown", longer)
    assert load_plain(path) == longer(3, "later")
    # A field without a default cannot be guessed, and one that is not known is not dropped.
    for fields in ([("first", int), ("second", str)], [("other", int)]):
        monkeypatch.setitem(PLAIN, "Grown", dataclasses.make_dataclass("Grown", fields, frozen=True))
        with pytest.raises(ModelFileError, match="the file has others"):
            load_plain(path)


def test_a_record_name_belongs_to_one_module(monkeypatch):
    monkeypatch.setitem(PLAIN, "Certified", type("Certified", (), {"__module__": "elsewhere"}))
    with pytest.raises(ValueError, match="record names are unique"):
        plain(Certified)


PLAIN_DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers(), st.text()), inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=20,
)
ANY_ARRAY = arrays.arrays(
    arrays.scalar_dtypes().filter(
        lambda dtype: dtype.kind != "V" and dtype.newbyteorder("=") == dtype and dtype.itemsize < 17
    ),
    arrays.array_shapes(min_dims=0, min_side=0),
)


@settings(max_examples=60, deadline=None)
@given(value=PLAIN_DATA, array=ANY_ARRAY)
def test_any_tree_of_plain_data_comes_back(value, array, tmp_path_factory):
    target = tmp_path_factory.mktemp("plain") / "value"
    if array.dtype.str[1:] in ("f16", "c32"):  # long double differs from machine to machine
        array = array.astype("f8")
    assert_same(round_trip({"value": value, "array": array}, target), {"value": value, "array": array})


# Invariance


def test_an_array_met_twice_is_stored_once_and_shared_again(path):
    array = np.arange(1000.0)
    again = round_trip([array, {"same": array}, (array,)], path)
    assert again[0] is again[1]["same"] is again[2][0]
    assert path.stat().st_size < 2 * array.nbytes


def test_a_shared_estimator_and_generator_stay_shared(path):
    scaler, generator = StandardScaler(), np.random.default_rng(0)
    again = round_trip([scaler, scaler, generator, generator], path)
    assert again[0] is again[1]
    assert again[2] is again[3]


def test_equal_models_make_equal_files(tmp_path):
    for name in "ab":
        mercer.save(StandardScaler().fit([[1.0], [2.0]]), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_saving_leaves_strided_and_big_endian_arrays_equal_in_value(path):
    value = [np.arange(10)[::3], np.arange(3, dtype=">f8"), np.broadcast_to(1.0, (2, 2))]
    for one, other in zip(round_trip(value, path), value, strict=True):
        np.testing.assert_array_equal(one, other)


# Places


def test_mapped_arrays_are_aligned_read_only_and_equal(path):
    model = StandardScaler().fit(np.arange(40.0).reshape(10, 4))
    mercer.save(model, path)
    mapped = mercer.load(path, mmap_mode="r")
    assert_same(vars(mapped), vars(model))
    assert not mapped.mean_.flags.writeable
    assert mapped.mean_.ctypes.data % 64 == 0
    assert mercer.load(path).mean_.flags.writeable


def test_a_mapped_file_that_was_not_aligned_is_refused_with_the_cure(path):
    mercer.save(StandardScaler().fit([[1.0], [2.0]]), path)
    rewrite_header(path, lambda header: None)
    assert mercer.load(path).mean_ == 1.5
    with pytest.raises(ModelFileError, match="aligned to 64 bytes can be mapped; load with mmap_mode=None"):
        mercer.load(path, mmap_mode="r")


def test_the_file_is_an_ordinary_zip_of_json_and_little_endian_numbers(path):
    mercer.save(StandardScaler().fit([[1.0], [2.0]]), path)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        header = json.loads(archive.read("header.json"))
        index = header["model"]["state"]["mean_"]["index"]
        assert np.frombuffer(archive.read(f"arrays/{index:04d}.bin"), "<f8") == 1.5
    assert (header["format"], header["schema"], header["class"]) == (
        "mercer-model",
        SCHEMA,
        "sklearn.preprocessing.StandardScaler",
    )


# Edges


def test_a_failed_save_leaves_the_old_file_and_no_other(path, monkeypatch):
    save_plain("old", path)
    monkeypatch.setattr(os, "fsync", lambda number: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        save_plain(np.arange(5), path)
    monkeypatch.undo()
    assert load_plain(path) == "old"
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(os.name != "posix", reason="permissions and links are POSIX's")
def test_a_save_honours_the_umask_and_follows_a_link(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    before = os.umask(0o027)
    try:
        save_plain(1, link)
    finally:
        os.umask(before)
    assert link.is_symlink()
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o640


def test_older_schemas_are_migrated_step_by_step(path, monkeypatch):
    monkeypatch.setattr("mercer._base.model_file.migration.SCHEMA", SCHEMA + 1)
    monkeypatch.setitem(MIGRATIONS, SCHEMA, lambda header: {**header, "model": "migrated"})
    save_plain("old", path)
    assert load_plain(path) == "migrated"


# Errors


def test_a_newer_schema_is_refused_naming_the_version_that_reads_it(path):
    save_plain(1, path)
    rewrite_header(path, lambda header: header.update(schema=99, written_by={"mercer": "7.8"}))
    expected = r"reads schemas up to 1; the file has schema 99\. Install mercer 7\.8, which wrote it, or a newer one\."
    with pytest.raises(ModelFileError, match=expected):
        load_plain(path)


def test_a_cycle_is_refused(path):
    value: list = [1]
    value.append({"again": value})
    with pytest.raises(ModelFileError, match=r"save: value\[1\]\['again'\] refers to something that contains it"):
        save_plain(value, path)


def test_deep_nesting_is_refused(path):
    value: list = []
    for _ in range(99):
        value = [value]
    assert round_trip(value, path) == value
    with pytest.raises(ModelFileError, match="save: values may be nested 100 levels deep"):
        save_plain([value], path)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (lambda: None, r"save: value is a function \(<lambda>\); model files hold plain data only"),
        (os, r"save: value is of class builtins.module; model files hold plain data only"),
        (os.PathLike, r"save: value is a ABCMeta \(PathLike\); model files hold plain data only"),
        (np.add, r"save: value is a ufunc \(add\)"),
        (object(), r"save: value is of class builtins.object"),
        (np.zeros(2, "f8,i4"), r"not of \[\('f0', '<f8'\), \('f1', '<i4'\)\]. Convert it to one of these first"),
        (np.zeros(2, np.longdouble), r"not of (float128|longdouble|float64)"),
        (np.matrix([1]), r"save: value is of class numpy.matrix"),
        (iter([1]), r"save: value is of class builtins.list_iterator"),
        (np.array([print], dtype=object), r"save: value\[0\] is a builtin_function_or_method \(print\)"),
    ],
)
def test_what_is_not_plain_data_is_refused_naming_its_place(value, text, path):
    with pytest.raises(ModelFileError, match=text):
        save_plain(value, path)
    assert not path.exists()


def test_save_takes_registered_estimators_only(path):
    with pytest.raises(ModelFileError, match="save: model must be an estimator of mercer or a registered one"):
        mercer.save({"a": 1}, path)

    class MyScaler(StandardScaler):
        pass

    with pytest.raises(ModelFileError, match=r"MyScaler\. Pickle it if you trust every reader"):
        mercer.save(MyScaler(), path)


def test_load_refuses_another_mmap_mode_and_a_file_without_model(path):
    save_plain([1], path)
    with pytest.raises(ModelFileError, match="a model must be an estimator; the file holds list"):
        mercer.load(path)
    with pytest.raises(ParameterError, match=r"load: mmap_mode must be None or 'r'; got 'w'\."):
        mercer.load(path, mmap_mode="w")
    with pytest.raises(FileNotFoundError):
        mercer.load(path.with_name("absent"))

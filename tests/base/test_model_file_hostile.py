"""Model files: each known trick of a hostile file is refused with a sentence."""

import hashlib
import io
import json
import struct
import zipfile

import numpy as np
import pytest
import scipy.sparse
from sklearn.preprocessing import StandardScaler

import mercer
from mercer._base.model_file import container, load_plain, save_plain
from mercer.errors import ModelFileError
from tests.base.model_file_workshop import forge, rewrite_header

X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [3.0, 5.0]])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mercer"


def refused(path, text):
    with pytest.raises(ModelFileError, match=text):
        load_plain(path)


def header_of(node, arrays=()):
    fields = {"format": "mercer-model", "schema": 1, "written_by": {}, "class": None, "arrays": list(arrays)}
    return json.dumps({**fields, "model": node}).encode()


def write_file(path, text, arrays=(), extra=()):
    members = [(f"arrays/{index:04d}.bin", data) for index, data in enumerate(arrays)]
    digest = hashlib.sha256(text).hexdigest().encode()
    forge(path, [*members, ("header.json", text), ("header.sha256", digest), *extra])


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "arrays/0001.bin", "C:\\evil", "arrays/../x", "é"])
def test_members_with_other_names_are_refused(name, path):
    write_file(path, header_of(1), extra=[(name, b"")])
    refused(path, "members and header must list the same arrays|directory cannot be read")


def test_doubled_members_are_refused(path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        write_file(path, header_of(1), extra=[("header.json", b"{}")])
    refused(path, "member names must be unique; 'header.json' comes twice")


def test_compressed_members_are_refused_so_that_no_file_can_explode(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", b" " * 10**7)
    refused(path, "members must be stored, neither compressed nor encrypted")


def test_overlapping_members_are_refused(path):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("header.json", header_of(1))
        nested = archive.getinfo("header.json")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("arrays/0000.bin", inner.getvalue())
        nested.header_offset = 30 + len("arrays/0000.bin")  # a member inside the data of another
        archive.filelist.append(nested)
    refused(path, "members must lie one after the other, before the directory")


def test_sizes_beyond_the_file_are_refused_before_memory_is_taken(path):
    save_plain(1, path)
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02")
    data[entry + 20 : entry + 28] = struct.pack("<LL", 2**31, 2**31)
    path.write_bytes(data)
    refused(path, "members must lie one after the other, before the directory")


def entry(dtype="<f8", shape=(1,), order="C", size=8, data=bytes(8)):
    return {"dtype": dtype, "shape": shape, "order": order, "bytes": size, "sha256": hashlib.sha256(data).hexdigest()}


@pytest.mark.parametrize(
    ("description", "text"),
    [
        (entry(shape=[2**40]), "needs 8796093022208 bytes in order C or F; it has 8"),
        (entry(shape=[2**48, 2**48, 0]), "needs 0 bytes"),
        (entry(shape=[-1, -1]), "a shape is a list of at most 32 integers"),
        (entry(shape=[True]), "a shape is a list of at most 32 integers"),
        (entry(shape=[1] * 33), "a shape is a list of at most 32 integers"),
        (entry(shape="1"), "a shape is a list of at most 32 integers"),
        (entry(shape=[2]), "needs 16 bytes in order C or F; it has 8"),
        (entry(order="K"), "in order C or F"),
        (entry(size=True), "in order C or F"),
        (entry(data=b"other"), "an array does not match its checksum"),
        ({"dtype": "<f8"}, "an array is described by bytes, dtype, order, sha256, shape"),
        *(
            (entry(dtype=name), "one of the documented spellings")
            for name in ("|O", "O8", "<f8,<i4", "V8", "(2,)<f4", 8)
        ),
        *((entry(dtype=name), "one of the documented spellings") for name in ("|S0", "<U99999999", "<M8[x]", "f8", "")),
        (entry(dtype="|b1", shape=[8], data=bytes([2] * 8)), "an array does not match its checksum"),
    ],
)
def test_a_wrong_description_of_an_array_is_refused(description, text, path):
    write_file(path, header_of({"type": "array", "index": 0}, [description]), [bytes(8)])
    refused(path, text)


@pytest.mark.parametrize(("dtype", "text"), [("|b1", "a truth value must be"), ("<U1", "text must consist of Unicode")])
def test_bytes_that_are_no_value_of_their_type_are_refused(dtype, text, path):
    data = b"\xff" * 4
    shape = [4] if dtype == "|b1" else [1]
    write_file(path, header_of(1, [entry(dtype, shape, size=4, data=data)]), [data])
    refused(path, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", "plain JSON in ASCII"),
        (b"[]", "must be an object whose format is"),
        (b'{"format": "mercer-model", "format": "mercer-model"}', "a key comes twice"),
        (b'{"format": "mercer-model"}', "the schema must be an integer"),
        (b'{"format": "mercer-model", "schema": true}', "the schema must be an integer"),
        (b"\xff\xfe", "plain JSON in ASCII"),
        (b"9" * 10_000, "more than 53 bits"),
        (b"[1.5]", "the number 1.5 is not an integer"),
        (b"[NaN]", "the number NaN is not an integer"),
        (b"[" * 100_000, "may nest 500 brackets"),
        (b'{"a":' * 100_000, "may nest 500 brackets"),
        (b'"' + b'\\"[' * 100_000, "plain JSON in ASCII"),
    ],
)
def test_a_header_that_is_not_plain_json_is_refused(text, expected, path):
    write_file(path, text)
    refused(path, expected)


def test_a_header_of_a_gigabyte_is_refused_unread(path):
    save_plain(1, path)
    with open(path, "wb") as file:  # a sparse file: the gigabyte takes no disk
        name = b"header.json"
        file.write(struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 0, 0, 0, 0, 2**30, 2**30, len(name), 0) + name)
        file.seek(2**30, io.SEEK_CUR)
        checksum = file.tell()
        file.write(
            struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 0, 0, 0, 0, 64, 64, 13, 0) + b"header.sha256" + bytes(64)
        )
        start = file.tell()
        for member, size, offset in ((name, 2**30, 0), (b"header.sha256", 64, checksum)):
            fields = (b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, size, size, len(member), 0, 0, 0, 0, 0, offset)
            file.write(struct.pack("<4s6H3L5H2L", *fields) + member)
        file.write(struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 2, 2, file.tell() - start, start, 0))
    refused(path, "a header has at most 33554432 bytes")


BAD_NODES = [
    ({"type": "nonsense"}, "a node of unknown type or fields: 'nonsense'"),
    ({"type": ["tuple"]}, "a node of unknown type"),
    ({"items": []}, "a node of unknown type"),
    ({"type": "tuple", "items": [], "more": 1}, "a node of unknown type or fields: 'tuple'"),
    ({"type": "same", "id": 0}, "a reference must name an object that is complete"),
    (
        {"type": "tuple", "id": 0, "items": [{"type": "same", "id": 0}]},
        "a reference must name an object that is complete",
    ),
    ([{"type": "tuple", "id": 0, "items": []}] * 2, "identities must be unique; 0 comes twice"),
    ({"type": "array", "index": -1}, "an integer in"),
    ({"type": "float", "hex": "nan:3ff0000000000000"}, "the bits of a NaN must be those of one"),
    ({"type": "float", "hex": "1e9"}, "a hexadecimal number"),
    ({"type": "float", "hex": "0x1.0p+9999"}, "too large"),
    ({"type": "int", "hex": "0x"}, "a hexadecimal number"),
    ({"type": "bytes", "hex": "0"}, "a hexadecimal number"),
    ({"type": "dict", "items": [[1, 2], [1, 3]]}, "the keys of a dictionary must be unique"),
    ({"type": "dict", "items": [[[], 2]]}, "keys must be hashable"),
    ({"type": "dict", "items": [1]}, "must be a list of pairs"),
    ({"type": "range", "start": 0, "stop": 1, "step": 0}, "must not be 0"),
    ({"type": "objects", "shape": [2**40], "items": []}, "must have 1099511627776 elements; it has 0"),
    ({"type": "scalar", "dtype": "|O", "hex": "0000000000000000"}, "documented spellings"),
    ({"type": "scalar", "dtype": "<f8", "hex": "00"}, "must have 8 bytes; it has 1"),
    ({"type": "scalar", "dtype": "|b1", "hex": "02"}, "a truth value must be"),
    ({"type": "class", "name": "os.system"}, "classes come from mercer's registry"),
    ({"type": "function", "name": "os.system"}, "functions come from mercer's registry"),
    ({"type": "scorer", "name": "os.system", "requests": {}}, "a scorer must be one that get_scorer knows"),
    ({"type": "distribution", "name": "rv_histogram", "args": [], "named": {}}, "a distribution must be one of"),
    ({"type": "record", "class": "os.stat_result", "fields": {}}, "classes come from mercer's registry"),
    ({"type": "own_score", "estimator": 1}, "only an estimator has a score"),
    (
        {
            "type": "seed",
            "entropy": 1,
            "spawn_key": {"type": "tuple", "items": []},
            "pool_size": 2**40,
            "n_children_spawned": 0,
        },
        "an integer in",
    ),
]


@pytest.mark.parametrize(("node", "text"), BAD_NODES, ids=lambda item: str(item)[:40])
def test_a_bad_node_is_refused(node, text, path):
    write_file(path, header_of(node))
    refused(path, text)


def bent(path, value, change, text):
    save_plain(value, path)
    rewrite_header(path, lambda header: change(header["model"]))
    refused(path, text)


def test_a_generator_position_beyond_its_buffer_is_refused(path):
    def bend(node):
        next(pair for pair in node["state"]["items"] if pair[0] == "state")[1]["items"][1][1] = 10**6

    bent(path, np.random.RandomState(0), bend, "the random state must be one that NumPy made; its pos is not")


def test_sparse_indices_beyond_the_shape_are_refused(path):
    for form, shape in (("csr", [4, 1]), ("csr", [1, 2]), ("csc", [1, 2]), ("coo", [4, 1])):
        value = getattr(scipy.sparse, f"{form}_array")(X)
        bent(path, value, lambda node, to=shape: node.update(shape=to), "indices of a sparse array must fit its shape")


@pytest.mark.parametrize("name", ["__class__", "fit", "a b", "set_params", ""])
def test_attributes_that_would_hide_methods_are_refused(name, path):
    bent(path, StandardScaler(), lambda node: node["state"].update({name: 1}), "an attribute")


def test_keys_that_collide_on_purpose_are_refused(path):
    keys = [{"type": "int", "hex": hex(k * (2**61 - 1))} for k in range(1, 100)]
    write_file(path, header_of({"type": "set", "items": keys}))
    refused(path, "more than 64 keys share one hash; the file is hostile")


@pytest.mark.parametrize("kind", ["tuple", "frozenset", "list"])
def test_parts_that_share_parts_are_refused_by_their_size_as_unfolded(kind, path):
    """Forty levels of pairs with one part: 3 KB in the file, 2^40 values for whoever prints or hashes them."""
    node = {"type": "tuple", "items": [1, 2], "id": 0}
    for level in range(1, 41):
        pair = [node, {"type": "same", "id": level - 1}]
        node = {"type": "tuple", "items": [pair, level] if kind == "list" else [*pair, level], "id": level}
    write_file(path, header_of({"type": "frozenset", "items": [node]} if kind == "frozenset" else node))
    refused(path, "unfold to more than 16777216; the file is hostile")


def test_integers_that_python_would_not_print_are_refused(path):
    write_file(path, header_of({"type": "int", "hex": "0x" + "f" * 3572}))
    refused(path, "at most 3571 digits")
    with pytest.raises(ModelFileError, match="an integer of 20001 bits; at most 14284"):
        save_plain([2**20000], path)


def test_many_small_nodes_that_would_copy_a_large_array_are_refused(path):
    save_plain(scipy.sparse.csr_array(np.ones((1000, 1000))), path)

    def multiply(header):
        header["model"] = [header["model"]] * 1000

    rewrite_header(path, multiply)
    refused(path, "far more memory than its arrays; the file is hostile")


def test_a_file_that_lies_about_its_class_is_refused(path):
    mercer.save(StandardScaler(), path)
    rewrite_header(path, lambda header: header.update({"class": "mercer.cluster.KMeans"}))
    refused(path, "it holds another class")


@pytest.mark.parametrize("text", [b'{"a[": [1, "]"], "b": {}}', b'["', b'"[', b"", b'[["\\"[", 1]]', b'"["["]"]'])
def test_both_ways_of_leaving_out_texts_agree(text, monkeypatch):
    short = container._leave_out_texts(text)
    monkeypatch.setattr(container, "_SHORT", -1)
    assert container._leave_out_texts(text) == short

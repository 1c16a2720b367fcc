"""A record survives its file, and a damaged file is refused in a sentence."""

import contextlib
import json
import re
from dataclasses import replace

import pytest

from mercer.app.study.record import read_record, write_record
from mercer.errors import DataError
from tests.app.report.records import RECORDS, regression


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_comes_back_as_it_was(tmp_path, name):
    record = RECORDS[name]()
    path = write_record(record, tmp_path)
    assert read_record(tmp_path) == record
    assert read_record(path) == record
    assert path.stat().st_size < 1_000_000


def test_a_number_that_json_does_not_have_is_written_as_none(tmp_path):
    record = replace(regression(), origin=replace(regression().origin, seconds=float("nan"), budget=float("inf")))
    write_record(record, tmp_path)
    assert read_record(tmp_path).origin.seconds is None
    assert read_record(tmp_path).origin.budget is None


def test_a_folder_without_a_record_is_refused(tmp_path):
    cure = "there is no record. Give the folder that `mercer run` wrote, which holds run.json."
    with pytest.raises(DataError, match=re.escape(f"{tmp_path / 'run.json'}: {cure}")):
        read_record(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "\x89PNG"])
def test_a_file_of_another_kind_is_refused(tmp_path, text):
    (tmp_path / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"this is not the record of a study\. Give the folder that `mercer run` wrote"):
        read_record(tmp_path)


@pytest.mark.parametrize(("content", "held"), [([], "list"), ({}, "None"), ({"format": 99}, "99")])
def test_another_format_is_refused(tmp_path, content, held):
    (tmp_path / "run.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(DataError, match=f"format must be 1; got {held}. Run the study again with this version."):
        read_record(tmp_path)


def test_a_record_with_a_part_of_another_shape_is_refused(tmp_path):
    path = write_record(regression(), tmp_path)
    broken = json.loads(path.read_text(encoding="utf-8"))
    broken["question"] = "what?"
    path.write_text(json.dumps(broken), encoding="utf-8")
    with pytest.raises(DataError, match=r"the record is damaged \(question must be an object\)"):
        read_record(tmp_path)


def list_parts(value, path=()):
    """The paths to all parts of a record, at most two of each list."""
    keys = value if isinstance(value, dict) else range(min(2, len(value))) if isinstance(value, list) else ()
    for key in keys:
        yield (*path, key)
        yield from list_parts(value[key], (*path, key))


@pytest.mark.parametrize("name", RECORDS)
def test_a_forged_part_is_refused_by_its_name_or_can_be_reported(tmp_path, name):
    path = write_record(RECORDS[name](), tmp_path)
    text = path.read_text(encoding="utf-8")
    odd = [1, -5, 1.5, "x", [], {}, None, True, 10**400, [1], [["a"]], {"a": 1}]
    refused = 0
    for number, (*above, last) in enumerate(list_parts(json.loads(text))):
        content = json.loads(text)
        part = content
        for key in above:
            part = part[key]
        part[last] = odd[number % len(odd)]
        path.write_text(json.dumps(content), encoding="utf-8")
        # Any other exception fails the test.
        with contextlib.suppress(DataError):
            read_record(tmp_path)
            refused -= 1
        refused += 1
    assert refused > 10


def test_deep_lists_are_refused(tmp_path):
    (tmp_path / "run.json").write_text("[" * 200_000, encoding="utf-8")
    with pytest.raises(DataError, match="this is not the record of a study"):
        read_record(tmp_path)

"""``mercer verify``: a description of a sound file, one sentence about another."""

import json

import numpy as np
import pytest

import mercer
from mercer.app.command import main
from mercer.linear_model import Ridge

KEY = b"0123456789abcdef"


@pytest.fixture
def path(tmp_path):
    model = Ridge().fit(np.arange(6.0)[:, None], np.arange(6.0))
    mercer.save(model, tmp_path / "model.mercer", key=KEY)
    return tmp_path / "model.mercer"


def test_a_sound_file_is_described(path, capsys):
    assert main(["verify", str(path)]) == 0
    text = capsys.readouterr().out
    assert f"{path}: sound" in text
    assert "mercer.linear_model.Ridge" in text
    assert "not verified: give it with --key" in text
    assert "attributes: all are declared" in text


def test_a_key_verifies_the_signature(path, tmp_path, capsys):
    (tmp_path / "key").write_bytes(KEY)
    assert main(["verify", str(path), "--key", str(tmp_path / "key"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["is_signature_checked"]
    (tmp_path / "key").write_bytes(KEY[::-1])
    assert main(["verify", str(path), "--key", str(tmp_path / "key")]) == 2
    assert "the signature is not that of this key" in capsys.readouterr().err


def test_a_damaged_or_large_file_is_one_sentence_and_status_2(path, capsys):
    assert main(["verify", str(path), "--max-bytes", "10"]) == 2
    assert "Raise max_bytes" in capsys.readouterr().err
    path.write_bytes(path.read_bytes()[:-30])
    assert main(["verify", str(path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("mercer: ")
    assert error.count("\n") == 1

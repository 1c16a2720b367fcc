"""Files are written whole or not at all, follow no link that was put in their way, and leave nothing behind."""

import os
import sys

import numpy as np
import pyarrow
import pytest

import mercer
from mercer._written_file import open_aside, write_whole
from mercer.app.table.writing import Writer
from mercer.cluster import KMeans
from mercer.linear_model import Ridge

LEFT = ".model.mercer.0123456789abcdef.tmp"


def list_files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_block_that_fails_leaves_the_old_file_alone(tmp_path):
    write_whole(tmp_path / "a.txt", "old")

    def fail():
        with open_aside(tmp_path / "a.txt") as file:
            file.write(b"new")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert (tmp_path / "a.txt").read_text() == "old"
    assert list_files(tmp_path) == ["a.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no locks of whole files and no plain links")
def test_files_that_killed_saves_left_are_removed_by_the_next_save(tmp_path):
    (tmp_path / LEFT).write_bytes(b"half")
    for other in (".other.mercer.0123456789abcdef.tmp", ".model.mercer.notes.tmp"):
        (tmp_path / other).write_bytes(b"another file")
    (tmp_path / "elsewhere").write_text("kept")
    os.symlink(tmp_path / "elsewhere", tmp_path / ".model.mercer.00000000000000ff.tmp")
    with open_aside(tmp_path / "model.mercer") as alive:
        # A save that is under way holds a lock, and its file is kept.
        model = KMeans(2, n_init=1).fit(np.arange(12.0).reshape(6, 2))
        mercer.save(model, tmp_path / "model.mercer")
        alive.write(b"last")
    assert (tmp_path / "model.mercer").read_bytes() == b"last"
    assert (tmp_path / "elsewhere").read_text() == "kept"
    names = [".model.mercer.00000000000000ff.tmp", ".model.mercer.notes.tmp", ".other.mercer.0123456789abcdef.tmp"]
    assert list_files(tmp_path) == [*names, "elsewhere", "model.mercer"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_an_export_follows_no_link_that_waits_for_it(tmp_path):
    (tmp_path / "victim").write_text("kept")
    os.symlink(tmp_path / "victim", tmp_path / "out.csv.part")
    with Writer.open(tmp_path / "out.csv") as writer:
        writer.write(pyarrow.table({"a": [1]}))
    assert (tmp_path / "victim").read_text() == "kept"
    assert (tmp_path / "out.csv").read_text() == '"a"\n1\n'


def test_a_table_that_cannot_be_finished_leaves_no_file(tmp_path):
    writer = Writer.open(tmp_path / "out.parquet")

    class Full:
        def write_table(self, table):
            pass

        def close(self):
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"), writer:
        writer._sink = Full()
    assert list_files(tmp_path) == []


class InterruptedAt:
    """A profiler that raises KeyboardInterrupt at one of the calls of zipfile and of the writers of model files."""

    def __init__(self, at=None):
        self.at, self.calls = at, 0

    def __call__(self, frame, event, argument):
        # What a destructor raises is dropped by Python, as is what closes a generator expression.
        name, code = frame.f_code.co_filename, frame.f_code.co_name
        inside = any(part in name for part in ("zipfile", "_written_file", "model_file/container"))
        dropped = code in ("__del__", "<genexpr>") or getattr(frame.f_back, "f_code", frame.f_code).co_name == "__del__"
        if event == "call" and inside and not dropped:
            self.calls += 1
            if self.calls == self.at:
                raise KeyboardInterrupt


def test_ctrl_c_at_any_call_of_a_save_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    """Zipfile refuses to close an archive with an open member: that took the place of KeyboardInterrupt."""
    path = tmp_path / "model.mercer"
    models = [Ridge(alpha).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]) for alpha in (1.0, 2.0)]
    counter = InterruptedAt()
    for profiler in [counter, *map(InterruptedAt, range(1, 2_000))]:
        mercer.save(models[0], path)
        sys.setprofile(profiler)
        try:
            mercer.save(models[1], path)
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        assert os.listdir(tmp_path) == ["model.mercer"]
        assert mercer.load(path).coef_ in (models[0].coef_, models[1].coef_)
        if profiler.at is not None and profiler.at >= counter.calls:
            break
    else:
        pytest.fail("the save makes more calls than were tried")

"""The commands of the guide work as they are typed."""

import re
import shlex
from importlib.util import find_spec

from mercer.app.command import main
from tools.option_table import BEGIN, END, GUIDE, make_table


def test_every_command_of_the_guide_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^\$ mercer (.*)$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [command.split()[0] for command in commands].count("run") == 2
    for command in commands:
        words = shlex.split(command)
        if words[0] == "serve" or ("--onnx" in words and find_spec("onnx") is None):
            continue
        # One candidate shows that the words are understood; a reader has more patience.
        few = ["--quick", "--candidates", "linear discriminant", "--no-open"] if words[0] == "run" else []
        assert main([*words, *few]) == 0, command
    assert {"report", "second", "predicted.parquet"} <= {one.name for one in tmp_path.iterdir()}
    assert "Both runs studied the same table." in capsys.readouterr().out


def test_the_configuration_of_the_guide_is_understood(tmp_path):
    from mercer.app.commands.run import read_config

    text = re.search(r"^```toml\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[1]
    (tmp_path / "mercer.toml").write_text(text, encoding="utf-8")
    options = read_config(str(tmp_path / "mercer.toml"))
    assert options["budget"] == 60.0
    assert options["costs"] == {"yes": {"no": 1}, "no": {"yes": 20}}


def test_the_table_of_options_in_the_guide_is_the_one_that_the_program_uses():
    assert f"{BEGIN}{make_table()}{END}" in GUIDE.read_text(encoding="utf-8")

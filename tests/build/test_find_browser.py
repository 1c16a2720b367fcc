"""The program that finds or installs a browser: it is loud without one, and never fails."""

import subprocess

from tools import find_browser


def test_a_browser_that_is_there_is_named(monkeypatch, capsys):
    monkeypatch.setattr(find_browser.shutil, "which", lambda name: "/bin/chromium" if name == "chromium" else None)
    find_browser.main()
    assert capsys.readouterr().out == "browser tests: /bin/chromium\n"


def test_without_apt_the_skip_is_loud_and_no_error(monkeypatch, capsys):
    monkeypatch.setattr(find_browser.shutil, "which", lambda name: None)
    find_browser.main()
    said = capsys.readouterr()
    assert said.out == ""
    assert "SKIPPED" in said.err
    assert "no apt-get" in said.err


def test_a_failing_installation_is_tried_again_after_an_update(monkeypatch, capsys):
    commands = []
    monkeypatch.setattr(find_browser.shutil, "which", lambda name: "/bin/apt-get" if name == "apt-get" else None)
    monkeypatch.setattr(find_browser.os, "geteuid", lambda: 0)
    monkeypatch.setattr(find_browser.subprocess, "run", lambda command, **_: commands.append(command[1]))
    find_browser.main()
    assert commands == ["install", "update", "install"]
    assert "could not install" in capsys.readouterr().err


def test_an_installation_that_hangs_is_given_up(monkeypatch, capsys):
    def hang(command, **options):
        raise subprocess.TimeoutExpired(command, options["timeout"])

    monkeypatch.setattr(find_browser.shutil, "which", lambda name: "/bin/apt-get" if name == "apt-get" else None)
    monkeypatch.setattr(find_browser.os, "geteuid", lambda: 0)
    monkeypatch.setattr(find_browser.subprocess, "run", hang)
    find_browser.main()
    assert "TimeoutExpired" in capsys.readouterr().err

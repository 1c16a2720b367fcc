"""The command line as a newcomer meets it."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from mercer.app.command import main


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("tour") / "deep" / "index.html"
    assert main(["run", "--output", str(path), "--no-open"]) == 0
    return path.read_text(encoding="utf-8")


def test_the_page_answers_five_questions_with_figures_and_certificates(page):
    assert page.count("<section>") == 5
    assert page.count("<svg") == 9
    assert page.count("<dt>certificate</dt>") == 4
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL).lower().replace("dominant", "")


def test_the_page_is_self_contained_and_well_formed(page):
    outside = re.findall(r'(?:src|href)="(?!#|data:)([^"]+)"', page)
    assert outside == []
    open_tags = []

    class Checker(HTMLParser):
        def handle_starttag(self, tag, attrs):
            if tag not in ("meta", "link", "br", "img", "path", "use", "rect", "circle"):
                open_tags.append(tag)

        def handle_startendtag(self, tag, attrs):
            pass

        def handle_endtag(self, tag):
            if tag in open_tags:
                while open_tags.pop() != tag:
                    pass

    Checker().feed(page)
    assert open_tags == []


def test_fits_converge_and_match_scikit_learn(page):
    assert page.count("<dt>converged</dt><dd>yes</dd>") == 4
    accuracies = re.findall(r"<td>(\d+\.\d)% ± ", page)
    assert len(accuracies) == 2
    assert abs(float(accuracies[0]) - float(accuracies[1])) < 1.0


def test_versions_are_printed(capsys):
    assert main(["versions"]) == 0
    assert "native code" in capsys.readouterr().out


def test_an_unknown_command_is_refused_with_the_list_of_commands():
    ran = subprocess.run([sys.executable, "-m", "mercer", "fly"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "run, versions" in ran.stderr.replace("'", "")

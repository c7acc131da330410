"""README and docs say what happens: their Python examples and their shell transcripts are run.

A ```python block with `>>>` is a doctest; the blocks of one page share their names, as a reader's session would.
A ```console block with `$ gpuinv …` is run from the root of the checkout, and what follows is what it prints, standard
error included. `$ echo $?` shows the exit code of the command before it. A line `...` stands for any lines.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts)]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.REPORT_NDIFF


def blocks(text: str, language: str) -> list[tuple[int, str]]:
    """The first line's number and the content of every fenced block in that language."""
    fence = re.compile(rf"^```{language}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, match.start(1)) + 1, match[1]) for match in fence.finditer(text)]


def examples(page: Path) -> str:
    """The page's Python examples, each at its own line, so that a failure names the line in the page."""
    found = ""
    for line, content in blocks(page.read_text(encoding="utf-8"), "python"):
        if ">>>" in content:
            found += "\n" * (line - 1 - found.count("\n")) + content
    return found


def commands(transcript: str) -> list[tuple[str, str]]:
    """The commands of a transcript, each with the output shown under it."""
    return [(match[1], match[2]) for match in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", transcript, re.MULTILINE)]


def gpuinv(command: str) -> subprocess.CompletedProcess[str]:
    """Run a `gpuinv …` command line as a terminal of 120 columns without colours would."""
    return subprocess.run(
        [sys.executable, "-m", "gpuinv.cli", *shlex.split(command)[1:]],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=page_id)
def test_python_examples(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    test = doctest.DocTestParser().get_doctest(examples(page), {}, page_id(page), str(page), 0)
    report: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert outcome.failed == 0, "".join(report)


TRANSCRIPTS = [
    pytest.param(content, id=f"{page_id(page)}:{line}")
    for page in PAGES
    for line, content in blocks(page.read_text(encoding="utf-8"), "console")
    if content.startswith("$ gpuinv ")
]


@pytest.mark.parametrize("transcript", TRANSCRIPTS)
def test_shell_transcripts(transcript: str) -> None:
    exit_code = 0
    for command, expected in commands(transcript):
        if command == "echo $?":
            printed = f"{exit_code}\n"
        else:
            assert command.startswith("gpuinv "), f"only gpuinv is run here: {command}"
            answer = gpuinv(command)
            printed, exit_code = answer.stdout, answer.returncode
        assert doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS), (
            f"$ {command}\nsays:\n{printed}\nexit code {exit_code}, but the page says:\n{expected}"
        )


def test_ci_runs_the_command_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (command,) = [line for _, content in blocks(readme, "sh") for line in content.splitlines() if "nox" in line]
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_a_transcript_is_split_into_commands_and_outputs() -> None:
    assert commands("$ gpuinv a\none\n\ntwo\n$ echo $?\n0\n$ gpuinv b\n") == [
        ("gpuinv a", "one\n\ntwo\n"),
        ("echo $?", "0\n"),
        ("gpuinv b", ""),
    ]

from __future__ import annotations

import pytest

from tests import goldens


@pytest.mark.parametrize("path", goldens.GOLDENS)
def test_golden_is_current(path: str) -> None:
    text = goldens.difference(path)
    assert not text, f"run `python -m tests.goldens` and review what it changes:\n{text}"


def test_every_golden_file_has_its_maker() -> None:
    directories = {(goldens.ROOT / path).parent for path in goldens.GOLDENS if "/golden/" in path}
    files = {str(file.relative_to(goldens.ROOT)) for directory in directories for file in directory.iterdir()}
    assert files <= set(goldens.GOLDENS)


def test_check_writes_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = "tests/cli/golden/none.txt"
    monkeypatch.setattr(goldens, "GOLDENS", {path: lambda: "a line\n"})
    assert goldens.main(["--check"]) == 1
    assert "+a line" in capsys.readouterr().out
    assert not (goldens.ROOT / path).exists()

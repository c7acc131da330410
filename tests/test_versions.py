from __future__ import annotations

import pytest

from gpuinv.errors import ParseError
from gpuinv.versions import DriverVersion


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("550.54.04", (550, 54, 4)),
        ("565.77", (565, 77)),
        ("35.3.1", (35, 3, 1)),
        ("546.80", (546, 80)),
        ("352.99", (352, 99)),
        (" 455.23.04\n", (455, 23, 4)),
        ("1.2.3.4", (1, 2, 3, 4)),
    ],
)
def test_a_version_is_kept_as_printed(text: str, parts: tuple[int, ...]) -> None:
    version = DriverVersion.parse(text)
    assert str(version) == version.text == text.strip()
    assert version.parts == parts
    assert version.branch == parts[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "550",
        "550.",
        ".54",
        "550.54.04.1.2",
        "550.54-04",
        "v550.54",
        "550.54 04",
        "55\u0660.54",
        "1234567.1",
        "ERR!",
        "-1.2",
    ],
)
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match="made up: not a driver version"):
        DriverVersion.parse(text, source="made up")
    with pytest.raises(ValueError, match=r"text"):
        DriverVersion(text)


def test_order_is_that_of_the_numbers() -> None:
    texts = ["99.9", "535.183.01", "535.183.06", "550.54", "550.54.4", "550.54.04", "550.127.05", "1000.1"]
    versions = [DriverVersion(text) for text in texts]
    shuffled = [versions[number] for number in (6, 1, 7, 5, 3, 0, 4, 2)]
    assert [str(version) for version in sorted(shuffled)] == [
        *texts[:4],
        "550.54.04",
        "550.54.4",
        *texts[6:],
    ]
    assert versions[0] < versions[1] <= versions[1] > versions[0]
    assert not versions[1] < versions[1]


def test_a_leading_zero_makes_another_version() -> None:
    assert DriverVersion("550.54.04") != DriverVersion("550.54.4")
    assert len({DriverVersion("550.54.04"), DriverVersion.parse("550.54.04")}) == 1


def test_a_version_has_no_order_with_text() -> None:
    with pytest.raises(TypeError):
        assert DriverVersion("550.54") < "550.54"

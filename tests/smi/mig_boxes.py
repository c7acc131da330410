"""Boxes as `nvidia-smi mig` draws them, at any width and with any gaps between the words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

HEADINGS = {
    "GPU instance profiles:": (
        " GPU   Name             ID    Instances   Memory     P2P    SM    DEC   ENC ",
        "                              Free/Total   GiB              CE    JPEG  OFA ",
    ),
    "GPU instances:": (
        " GPU   Name             Profile  Instance   Placement ",
        "                          ID       ID       Start:Size",
    ),
    "Compute instances:": (
        " GPU     GPU       Name             Profile   Instance   Placement ",
        "       Instance                       ID        ID       Start:Size",
        "         ID                                                        ",
    ),
    "Compute instance profiles:": (
        " GPU     GPU       Name             Profile  Instances   Exclusive       Shared      ",
        "       Instance                       ID     Free/Total     SM       DEC   ENC   OFA ",
        "         ID                                                          CE    JPEG      ",
    ),
}


def box(title: str, rows: Sequence[str], *, width: int = 77, gap: str = "   ", end: str = "\n") -> str:
    """A table: `rows` are of words with one blank between; the second line of a row follows a `/` of its own."""
    border = f"+{'-' * width}+"
    found = [border, f"| {title:<{width - 1}}|", *(f"|{heading:<{width}}|" for heading in HEADINGS[title])]
    found.append(f"|{'=' * width}|")
    for row in rows:
        for line in row.split(" / "):
            spread = gap + gap.join(line.split())
            found.append(f"|{spread:<{width}}|")
        found.append(border)
    if not rows:
        found.append(border)
    return end.join(found) + end


def lgip(*rows: str, width: int = 77, gap: str = "   ") -> str:
    return box("GPU instance profiles:", rows, width=width, gap=gap)


def lgi(*rows: str, width: int = 55, gap: str = "   ") -> str:
    return box("GPU instances:", rows, width=width, gap=gap)


def lci(*rows: str, width: int = 68, gap: str = "   ") -> str:
    return box("Compute instances:", rows, width=width, gap=gap)


def lcip(*rows: str, width: int = 86, gap: str = "   ") -> str:
    return box("Compute instance profiles:", rows, width=width, gap=gap)

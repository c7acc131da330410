"""Issues as a person reads them, and as a line of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from gpuinv.cli._columns import wrapped
from gpuinv.cli._exit import complain
from gpuinv.cli._words import clean, count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuinv.errors import Issue

__all__ = ["issue_lines", "log_issues"]

_SHOWN = 50
"""How many issues a page has; nobody reads more of them."""
_LOGGED = 200
"""How many lines a log gets."""
_PLACES = 3
"""How many places of one issue are shown: a lost GPU names every element that it has."""


def issue_lines(issues: Sequence[Issue], width: int) -> list[Text]:
    """What went wrong, each issue with its kind, its subject, where it was met and the text at fault."""
    if not issues:
        return []
    lines = [Text(), Text(count(len(issues), "issue"), "bold")]
    for issue in issues[:_SHOWN]:
        lines += [Text(line, "yellow") for line in wrapped(_said(issue), width, first="! ", indent="  ")]
        lines += [Text(line, "dim") for line in wrapped(_where(issue), width, first="  ", indent="  ")]
    if len(issues) > _SHOWN:
        lines.append(Text(f"and {len(issues) - _SHOWN} more", "yellow"))
    return lines


def log_issues(issues: Sequence[Issue]) -> None:
    """Each issue as one line on standard error; beyond many of them, how many there are."""
    for issue in issues[:_LOGGED]:
        complain(f"{issue.kind.value}: {issue}")
    if len(issues) > _LOGGED:
        complain(f"and {count(len(issues) - _LOGGED, 'more issue')}")


def _said(issue: Issue) -> str:
    shown = f": {issue.text!r}" if issue.text else ""
    return f"{issue.kind.value}: {clean(issue.message)}{shown}"


def _where(issue: Issue) -> str:
    """`nvidia-smi -q -x: gpu[3]/uuid, gpu[3]/serial and 96 more [GPU-…]`."""
    places = [clean(place) for place in issue.place.split(", ") if place]
    more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
    place = f": {', '.join(places[:_PLACES])}{more}" if places else ""
    about = issue.uuid or issue.pci_bus_id
    return f"{clean(issue.source)}{place}" + (f" [{clean(about)}]" if about else "")

"""`nvidia-smi --help-query-gpu`: which fields a driver knows, so that none is asked for that it refuses."""

from __future__ import annotations

import re

import attrs

from gpuinv.errors import ParseError
from gpuinv.inventory._fields import doc
from gpuinv.smi.queries import Query
from gpuinv.text import lines, too_many, unanswered

__all__ = ["HELP_QUERY_GPU", "HelpField", "QueryHelp", "parse_help_query_gpu"]

HELP_QUERY_GPU = Query(("--help-query-gpu",))

_SOURCE = HELP_QUERY_GPU.source
_MAX_LINES = 10_000
"""Several times the lines of any release's help."""
_TITLE = re.compile(r'List of valid properties to query for the switch "([^"]*)".*')
_NAME = r'"[A-Za-z][A-Za-z0-9_.]*"'
_FIELD = re.compile(rf"{_NAME}(?: or {_NAME})*", re.ASCII)
_SECTION = re.compile(r"Section about (\S+) properties\b.*")


@attrs.frozen(kw_only=True)
class HelpField:
    """One field, as the help describes it."""

    field_name: str = doc("The name that stands first.")
    aliases: tuple[str, ...] = doc("Its other names, in their order.", default=())
    description: str = doc("What the help says of it, with its line breaks.", default="")


@attrs.frozen(kw_only=True)
class QueryHelp:
    """The fields that a driver knows, in the order of the help."""

    fields: tuple[HelpField, ...] = doc("The fields.")

    @property
    def names(self) -> frozenset[str]:
        """Every name that may be asked for, aliases included."""
        return frozenset(name for field in self.fields for name in (field.field_name, *field.aliases))


def parse_help_query_gpu(text: str | bytes) -> QueryHelp:
    """Read the output of `nvidia-smi --help-query-gpu`.

    A field is a line of nothing but quoted names (`"uuid" or "gpu_uuid"`); the lines below are its description, also
    those that begin with the quoted value that they explain (`"0: Default" means …`). What is said about a section of
    fields belongs to none of them.

    Raises:
        ParseError: no field in it, the fields of another switch, or more lines than any help has.
    """
    fields: list[tuple[list[str], list[str]]] = []
    first = None
    description: list[str] = []
    for count, line in enumerate(lines(text, source=_SOURCE)):
        if count >= _MAX_LINES:
            raise too_many(_SOURCE, f"{_MAX_LINES} lines", first or line)
        first = first or line
        stripped = line.text.strip()
        title = _TITLE.fullmatch(stripped)
        if title is not None and title[1] != "--query-gpu":
            raise ParseError(_SOURCE, "the fields of another switch", place=line.place, text=title[1])
        if _FIELD.fullmatch(stripped) is not None:
            description = []
            fields.append((stripped.replace('"', "").split(" or "), description))
        elif _SECTION.fullmatch(stripped) is not None:
            description = []
        else:
            description.append(stripped)
    if not fields:
        raise unanswered(_SOURCE, "no field in it", first)
    return QueryHelp(
        fields=tuple(
            HelpField(field_name=names[0], aliases=tuple(names[1:]), description="\n".join(said))
            for names, said in fields
        )
    )

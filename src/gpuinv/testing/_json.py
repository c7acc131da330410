"""JSON with its place: every complaint says where in the document it arose."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, NoReturn

import attrs

from gpuinv.errors import ParseError

if TYPE_CHECKING:
    from collections.abc import Iterator, KeysView
    from collections.abc import Set as AbstractSet
    from typing import Self

__all__ = ["Node"]


@attrs.frozen
class Node:
    """A value in a JSON document, and the path to it: `commands[3].stdout`."""

    source: str
    place: str
    value: object

    @classmethod
    def parse(cls, source: str, data: bytes) -> Self:
        """Read a document; `source` is what errors call it.

        Raises:
            ParseError: the bytes are no JSON in UTF-8.
        """
        try:
            return cls(source, "", _loads(data))
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise ParseError(source, f"not JSON: {error.msg}", place=place) from error
        except (ValueError, RecursionError) as error:
            raise ParseError(source, f"not JSON: {error}") from error

    def refuse(self, message: str, text: str = "") -> NoReturn:
        """Raise a `ParseError` about this value."""
        raise ParseError(self.source, message, place=self.place, text=text)

    def __getitem__(self, key: str) -> Self:
        members = self._members()
        if key not in members:
            self._member(key, None).refuse("this key is missing")
        return self._member(key, members[key])

    def get(self, key: str, default: object) -> Self:
        """Return a member, or the default in its place."""
        return self._member(key, self._members().get(key, default))

    def keys(self) -> KeysView[str]:
        """The keys of an object."""
        return self._members().keys()

    def only(self, known: AbstractSet[str]) -> None:
        """Refuse an object with any other key: a mistyped one would change what the document says."""
        for key in self.keys() - known:
            self._member(key, None).refuse(f"unknown key; known are {', '.join(sorted(known))}")

    def items(self) -> Iterator[tuple[str, Self]]:
        """The members of an object whose keys are free."""
        for key, value in self._members().items():
            yield key, attrs.evolve(self, place=f"{self.place}[{json.dumps(key)}]", value=value)

    def elements(self) -> Iterator[Self]:
        """The elements of an array."""
        if not isinstance(self.value, list):
            self.refuse("an array is needed")
        for index, value in enumerate(self.value):
            yield attrs.evolve(self, place=f"{self.place}[{index}]", value=value)

    def text(self) -> str:
        """A string."""
        if not isinstance(self.value, str):
            self.refuse("a string is needed")
        return self.value

    def boolean(self) -> bool:
        """A boolean."""
        if not isinstance(self.value, bool):
            self.refuse("true or false is needed")
        return self.value

    def integer(self) -> int:
        """An integer."""
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            self.refuse("an integer is needed")
        return self.value

    def number(self) -> float:
        """A finite number from 0."""
        if not isinstance(self.value, int | float) or isinstance(self.value, bool):
            self.refuse("a number is needed")
        if not 0 <= self.value < math.inf:
            self.refuse("a finite number from 0 is needed")
        return float(self.value)

    def _members(self) -> dict[str, object]:
        if not isinstance(self.value, dict):
            self.refuse("an object is needed")
        return self.value

    def _member(self, key: str, value: object) -> Self:
        return attrs.evolve(self, place=f"{self.place}.{key}" if self.place else key, value=value)


def _loads(data: bytes) -> object:
    return json.loads(data.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object without two values for one key, of which the last would count without a word."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")

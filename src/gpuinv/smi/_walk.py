"""One walk over the children of an element, along the trie of the field table.

Elements are taken for what they can do (`Element`), so that this module needs no XML library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from gpuinv.errors import IssueKind
from gpuinv.readings import Missing, Reading, missing_reason
from gpuinv.smi._trie import Bags, Leaf, Node, Shape, Special, choose

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["REPORTED", "Element", "Trouble", "Walk"]

Trouble = tuple[Missing, str, str]
"""A reason that somebody should hear of, the path of its element, and the text that stood there."""

REPORTED: Mapping[Missing, IssueKind] = {
    Missing.ERROR: IssueKind.READ_ERROR,
    Missing.NO_PERMISSION: IssueKind.NO_PERMISSION,
    Missing.NEEDS_RESET: IssueKind.NEEDS_RESET,
    Missing.LOST: IssueKind.GPU_LOST,
}
_QUIET = frozenset({Missing.NOT_SUPPORTED, Missing.DEPRECATED})
"""The reasons that half of a document may consist of, and that nobody has to hear of."""


class Element(Protocol):
    """What is needed of an XML element."""

    @property
    def tag(self) -> Any:  # noqa: ANN401 - text, as far as the parser keeps nothing but elements
        """The name."""

    @property
    def text(self) -> str | None:
        """The text before the first child."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Element]: ...


class Walk:
    """An element being read: what was found, what stood in the way, and what the table does not name."""

    __slots__ = ("_ranks", "bags", "shape", "specials", "trouble", "unread")

    def __init__(self, shape: Shape, unread: set[str]) -> None:
        self.shape = shape
        self.unread = unread
        self.trouble: list[Trouble] = []
        self.specials: list[tuple[str, Any]] = []
        self.bags: Bags = []
        self._ranks: dict[tuple[int, str], int] = {}

    def start(self, element: Element) -> None:
        """Read an element into fresh bags, and go on collecting trouble; one walk serves a whole list."""
        self.bags = self.shape.bags()
        self._ranks.clear()
        self.read(element, self.shape.trie)

    def read(self, element: Element, node: Node) -> None:
        """Fill the bags from the children of an element; the loop that nearly all the time of a reading goes into."""
        if not len(element):
            self._word(node, element.text or "")
        entry_of, bags = node.children.get, self.bags
        for child in element:
            entry = entry_of(child.tag)
            if isinstance(entry, Leaf):
                value = entry.read(child.text or "")
                if value.__class__ is Missing and value not in _QUIET:
                    self.note(value, entry.path, child.text or "")
                    self.unread.update(f"{entry.path}/{below.tag}" for below in child)
                for target in entry.targets:
                    bag, name, rank = target
                    if rank or name in bags[bag]:
                        if not choose(entry, target, value, bags, self._ranks):
                            self.unread.add(entry.path)
                    else:
                        bags[bag][name] = value
            elif entry is None:
                self.unread.add(f"{node.path}{child.tag}")
            elif isinstance(entry, Special):
                self.specials.append((entry.name, child))
            else:
                self.read(child, entry)

    def note(self, reason: Missing, path: str, text: str) -> None:
        """Keep a reason in mind that somebody should hear of."""
        if reason in REPORTED:
            self.trouble.append((reason, path, text))

    def fill(self, leaf: Leaf, value: Reading[Any]) -> None:
        """Give a value, wherever it was found, to the fields of a leaf."""
        for target in leaf.targets:
            choose(leaf, target, value, self.bags, self._ranks)

    def _word(self, node: Node, text: str) -> None:
        """A container that holds one word instead of its children: the reason of every value in it."""
        if text.strip():
            reason = self.reason(text, node.path.rstrip("/"))
            for leaf in node.leaves:
                self.fill(leaf, reason)

    def reason(self, text: str, path: str) -> Missing:
        """The reason that a word states; one that states none is an error of the tool."""
        reason = missing_reason(text)
        if reason is None:
            reason = Missing.ERROR
        self.note(reason, path, text)
        return reason

    def found(self, record: str, name: str) -> Any:  # noqa: ANN401 - any field's type
        """What was found for a field of a record."""
        return self.bags[self.shape.bag[record]].get(name, Missing.ABSENT)

    def set_found(self, record: str, name: str, value: Reading[Any]) -> None:
        """Replace what was found for a field of a record."""
        self.bags[self.shape.bag[record]][name] = value

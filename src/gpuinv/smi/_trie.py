"""The field table turned into what the reader walks along: a trie of element names whose leaves know their fields.

A noun and its nested records are filled through bags, one dict of keyword arguments a record, and built from the
innermost record outwards.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import attrs

from gpuinv.readings import Missing, Reading, is_known
from gpuinv.smi.fields import FIELDS, NOUNS, ROOTS, Field, nested_record
from gpuinv.values import ReadValue

__all__ = ["Bags", "Leaf", "Node", "Shape", "Special", "choose", "compile_shape"]

Bags: TypeAlias = list[dict[str, Any]]


@attrs.frozen(eq=False)
class Leaf:
    """An element with a value: its reader, and the fields that it fills as (bag, field, rank of this place)."""

    path: str
    read: ReadValue
    targets: list[tuple[int, str, int]]
    any_yes: bool


@attrs.frozen(eq=False)
class Special:
    """An element that repeats, or whose children are read by name and not by table; the reader knows it by its name."""

    name: str


@attrs.frozen(eq=False)
class Node:
    """A container: its children by tag, and every leaf below it, for when one word stands in place of the children."""

    path: str
    children: dict[str, Leaf | Node | Special]
    leaves: list[Leaf]


@attrs.frozen(eq=False)
class Shape:
    """What one repeating element is read into: the trie, and the records of its nouns.

    `records` lists (class, bag of the parent, field of the parent); the nouns themselves come first, with parent -1.
    `bag` finds a record's bag by its path, `Gpu.mig_mode`.
    """

    trie: Node
    records: list[tuple[type[Any], int, str]]
    bag: dict[str, int]

    def bags(self) -> Bags:
        """Empty bags, one for each record."""
        return [{} for _ in self.records]

    def close(self, bags: Bags) -> None:
        """Put every nested record that has a value into its parent's bag."""
        for index in range(len(self.records) - 1, 0, -1):
            cls, parent, name = self.records[index]
            if parent >= 0 and bags[index]:
                bags[parent][name] = cls(**bags[index])


def compile_shape(root: str, *specials: str) -> Shape:
    """The shape of one of the table's roots, with the elements that the reader handles itself."""
    shape = Shape(Node(f"{root}/" if root else "", {}, []), [], {})
    for noun in ROOTS[root]:
        shape.bag[noun] = len(shape.records)
        shape.records.append((NOUNS[noun], -1, ""))
    for field in FIELDS:
        if field.root == root:
            for rank, path in enumerate(field.paths):
                _plant(shape, field, path, rank)
    for name in specials:
        shape.trie.children[name] = Special(name)
    return shape


def _plant(shape: Shape, field: Field, path: str, rank: int) -> None:
    node, above = shape.trie, [shape.trie]
    *containers, name = path.split("/")
    for container in containers:
        child = node.children.setdefault(container, Node(f"{node.path}{container}/", {}, []))
        if not isinstance(child, Node):
            raise TypeError(path)
        node = child
        above.append(node)
    leaf = node.children.get(name)
    if leaf is None:
        leaf = Leaf(node.path + name, field.reader.read, [], field.any_yes)
        node.children[name] = leaf
        for container_node in above:
            container_node.leaves.append(leaf)
    if not isinstance(leaf, Leaf):
        raise TypeError(path)
    for target in field.targets:
        record, _, attribute = target.rpartition(".")
        leaf.targets.append((_bag(shape, record), attribute, rank))


def _bag(shape: Shape, record: str) -> int:
    """The bag of a record, made with those of its parents on first use."""
    known = shape.bag.get(record)
    if known is not None:
        return known
    parent, _, name = record.rpartition(".")
    parent_bag = _bag(shape, parent)
    shape.bag[record] = len(shape.records)
    shape.records.append((nested_record(shape.records[parent_bag][0], name), parent_bag, name))
    return shape.bag[record]


def choose(
    leaf: Leaf, target: tuple[int, str, int], value: Reading[Any], bags: Bags, ranks: dict[tuple[int, str], int]
) -> bool:
    """Give a value to a field that several places may fill; whether this place was still free to speak.

    A value beats a reason, then the preferred place beats the others. Of an element that stands twice the first one
    counts, whatever it says: only somebody who wants to be believed repeats what the tool has said.
    """
    bag, name, rank = target
    fields = bags[bag]
    if name in fields and rank == ranks.get((bag, name), 0):
        return False
    if name not in fields or _better(leaf, value, fields[name], rank < ranks.get((bag, name), 0)):
        fields[name] = value
        ranks[bag, name] = rank
    return True


def _better(leaf: Leaf, new: Reading[Any], old: Reading[Any], preferred: bool) -> bool:  # noqa: FBT001
    if leaf.any_yes and is_known(old):
        return new is True
    if isinstance(old, Missing) and is_known(new):
        return True
    return preferred and (is_known(new) or isinstance(old, Missing))

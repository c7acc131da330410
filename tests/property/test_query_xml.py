"""Laws of the XML reader: nothing but ParseError on any input; blanks and the order of siblings do not matter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import gpuinv.values as v
from gpuinv.errors import ParseError
from gpuinv.readings import Missing
from gpuinv.smi.query_xml import parse_smi_xml
from tests.smi import xml_builder as build

if TYPE_CHECKING:
    from random import Random

    from gpuinv.smi.records import SmiSnapshot

pytestmark = pytest.mark.property

DOCUMENTS = st.sampled_from(tuple(build.GENERATIONS.values()))
READERS = st.sampled_from([reader for reader in vars(v).values() if isinstance(reader, v.ValueReader)])
WORDS = st.sampled_from(
    [
        "N/A",
        "GPU is lost",
        "Unknown Error",
        "[x]",
        "",
        "-1",
        "99999999999999999999",
        "1 MB",
        "Yes",
        "None",
        "&#0;",
        "]]>",
    ]
)
MARKUP = st.sampled_from(
    [
        b"<nvidia_smi_log>",
        b"</nvidia_smi_log>",
        b"<nvidia_smi_log",
        b"<supported_clocks>",
        b"</supported_clocks>",
        b"<gpu>",
        b"</gpu>",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"<?xml ",
        b"<!DOCTYPE ",
        b"&lt;",
        b"&",
        b"\x00",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"GPU is lost",
        b"<process_name>",
    ]
)


def outcome(data: bytes | str) -> SmiSnapshot | None:
    """What is read, or None for a refusal; anything else that is raised fails the test."""
    try:
        return parse_smi_xml(data)
    except ParseError as error:
        refusal = str(error)
    assert refusal.isprintable()
    return None


@given(st.binary(max_size=300))
@example(b"")
@example(b"<nvidia_smi_log></nvidia_smi_log><nvidia_smi_logs")
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for wrapped in (data, b"<nvidia_smi_log>" + data + b"</nvidia_smi_log>"):
        snapshot = outcome(wrapped)
        assert snapshot is None or len(snapshot.gpus) == len(snapshot.samples)


@given(st.text(max_size=300))
@example("\udc80")
def test_any_text_is_read_or_refused(text: str) -> None:
    for wrapped in (text, f"<nvidia_smi_log><gpu><serial>{text}</serial></gpu></nvidia_smi_log>"):
        snapshot = outcome(wrapped)
        assert snapshot is None or len(snapshot.gpus) == len(snapshot.samples)


@given(st.lists(st.one_of(MARKUP, st.binary(max_size=8)), max_size=12).map(b"".join))
def test_any_pieces_of_markup_are_read_or_refused(data: bytes) -> None:
    snapshot = outcome(data)
    assert snapshot is None or len(snapshot.gpus) == len(snapshot.samples)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A document with a few slices deleted, doubled, swapped or replaced."""
    data = draw(DOCUMENTS)
    for _ in range(draw(st.integers(1, 4))):
        places = st.integers(0, len(data))
        a, b, c = sorted((draw(places), draw(places), draw(places)))
        data = draw(
            st.sampled_from(
                [
                    data[:a] + data[b:],
                    data[:b] + data[a:],
                    data[:a] + data[b:c] + data[a:b] + data[c:],
                    data[:a] + draw(MARKUP) + data[a:],
                    data[:a] + draw(st.binary(max_size=4)) + data[b:],
                ]
            )
        )
    return data


@given(mutated())
def test_mutated_documents_are_read_or_refused(data: bytes) -> None:
    snapshot = outcome(data)
    assert snapshot is None or len(snapshot.gpus) == len(snapshot.samples)


def paths(tree: build.Tree, *above: str) -> list[tuple[str, ...]]:
    """Every place of a tree of dicts."""
    found = []
    for name, child in tree.items():
        found.append((*above, name))
        if isinstance(child, Mapping):
            found += paths(child, *above, name)
    return found


def replaced(tree: build.Tree, path: tuple[str, ...], content: build.Content) -> dict[str, Any]:
    name, *below = path
    child = tree[name]
    if below and isinstance(child, Mapping):
        content = replaced(child, tuple(below), content)
    return {**tree, name: content}


@given(st.data())
def test_any_value_in_any_place_costs_no_gpu(data: st.DataObject) -> None:
    tree = data.draw(st.sampled_from(tuple(build.GPUS.values())))
    path = data.draw(st.sampled_from([place for place in paths(tree) if place[0] not in {"@id", "uuid"}]))
    text = data.draw(st.one_of(WORDS, st.text(st.characters(exclude_categories=["C"]), max_size=20)))
    snapshot = parse_smi_xml(build.document(replaced(tree, path, text), build.gpu(2)))
    assert [gpu.uuid for gpu in snapshot.gpus] == [build.uuid(1), build.uuid(2)]
    assert snapshot.gpus[1] == parse_smi_xml(build.document(build.gpu(1), build.gpu(2))).gpus[1]


@given(st.data())
def test_an_element_of_any_other_name_is_unread_and_costs_no_gpu(data: st.DataObject) -> None:
    tree = data.draw(st.sampled_from(tuple(build.GPUS.values())))
    name = data.draw(st.from_regex(r"new_[a-z]{1,8}", fullmatch=True))
    old = data.draw(st.sampled_from([tag for tag in tree if tag not in {"@id", "uuid"}]))
    changed = {name if tag == old else tag: content for tag, content in tree.items()}
    snapshot = parse_smi_xml(build.document(changed))
    assert [gpu.uuid for gpu in snapshot.gpus] == [build.uuid(1)]
    assert f"gpu/{name}" in snapshot.unread


def shuffled(content: build.Content, random: Random) -> build.Content:
    """The same elements in another order; what repeats keeps its order, since that is a fact."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Mapping):
        return [shuffled(item, random) for item in content]
    names = list(content)
    random.shuffle(names)
    return {name: shuffled(content[name], random) for name in names}


@given(st.sampled_from(tuple(build.GPUS.values())), WORDS, st.data(), st.randoms(use_true_random=False))
def test_the_order_of_siblings_does_not_matter(
    tree: build.Tree, word: str, data: st.DataObject, random: Random
) -> None:
    path = data.draw(st.sampled_from(paths(tree)))
    spoiled = replaced(tree, path, word)
    other = shuffled(spoiled, random)
    assert isinstance(other, Mapping)
    assert parse_smi_xml(build.document(other)) == parse_smi_xml(build.document(spoiled))


@given(DOCUMENTS, st.text(" \t\n\r", max_size=6), st.text(" \t\n", max_size=6), st.booleans())
def test_blanks_between_elements_do_not_matter(document: bytes, line: str, margin: str, inside: bool) -> None:  # noqa: FBT001
    text = document.decode().replace("\t", margin).replace("\n", f"{line}\n")
    if inside:
        text = text.replace("N/A", f"{margin}N/A{line}")
    assert parse_smi_xml(text) == parse_smi_xml(document)


@given(READERS, st.text(max_size=40))
def test_a_reader_answers_anything_twice_alike(reader: v.ValueReader, text: str) -> None:
    value = reader.read(text)
    again = reader.read(text)
    assert again == value
    assert not isinstance(value, str) or value.strip()


@given(st.integers(), st.sampled_from([v.INTEGER, v.COUNTER]))
def test_integers_are_read_exactly_or_not_at_all(number: int, reader: v.ValueReader) -> None:
    limit = 2**64 if reader is v.COUNTER else 2**53
    assert reader.read(str(number)) == (number if 0 <= number < limit else Missing.ERROR)


@given(st.integers(-(2**53) + 1, 2**53 - 1))
def test_temperatures_are_read_exactly(number: int) -> None:
    assert v.CELSIUS.read(f"{number} C") == number


@given(st.integers(0, 10**11))
def test_watts_are_read_exactly(milliwatts: int) -> None:
    assert v.MILLIWATTS.read(f"{milliwatts // 1000}.{milliwatts % 1000:03} W") == milliwatts

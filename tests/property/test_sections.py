"""The laws of the canonical form, of sealing and of merging."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import subprocess
import sys
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from gpuinv.errors import InvalidSection
from gpuinv.inventory import Gpu, GpuSection, Layer, MigInstance
from gpuinv.inventory._fields import SORT_KEY, WIDE
from gpuinv.readings import Missing
from gpuinv.sections._types import item_of, known_part
from gpuinv.sections.canonical import MISSING_KEY, canonical_bytes, plain
from gpuinv.sections.enrich import enrich, with_architecture
from gpuinv.sections.seal import SealedSection, seal, verify
from gpuinv.smi.compute_cap import ComputeCaps
from gpuinv.smi.join import join_compute_caps, join_list
from tests.property import strategies as own

if TYPE_CHECKING:
    from random import Random

    from gpuinv.smi.gpu_list import SmiList
    from gpuinv.smi.records import SmiSnapshot

# What fails is shown, however long: the warning about its length would take the failure's place.
pytestmark = [pytest.mark.property, pytest.mark.filterwarnings("ignore:Generating overly large repr")]

TYPED = own.typed_sections()
NAMES = st.sampled_from(sorted(own.TYPED_SECTIONS))


def reopened(sealed: SealedSection) -> own.Value:
    return verify(sealed.name, sealed.content, sealed.sha256)


def sealed_as(name: str, content: bytes) -> SealedSection:
    return SealedSection(name, content, hashlib.sha256(content).hexdigest())


def shuffled(record: own.Value, random: Random) -> own.Value:
    """The record with every list in another order."""
    changes: dict[str, Any] = {}
    for field in own.fields(type(record)):
        value = getattr(record, field.name)
        if isinstance(value, tuple):
            items = [shuffled(item, random) if attrs.has(type(item)) else item for item in value]
            random.shuffle(items)
            changes[field.name] = tuple(items)
        elif attrs.has(type(value)) and type(value) not in own.IDS:
            changes[field.name] = shuffled(value, random)
    return attrs.evolve(record, **changes)


def form(value: own.Value, *, written: bool) -> own.Value:
    """What a value comes to where order does not count; `written`: without what the canonical form drops."""
    if isinstance(value, tuple):
        return frozenset(Counter(form(item, written=written) for item in value).items())
    if attrs.has(type(value)) and type(value) not in own.IDS:
        return tuple(
            (field.name, form(getattr(value, field.name), written=written)) for field in own.fields(type(value))
        )
    if written and isinstance(value, Missing):
        return value if value in own.KEPT_REASONS else Missing.ABSENT
    if written and type(value) is str:
        return "".join(c for c in value if unicodedata.category(c) != "Cc")
    return value


@given(TYPED)
def test_canonical_bytes_are_rfc_8785(section: own.Value) -> None:
    assert canonical_bytes(section) == rfc8785.dumps(plain(section))


@given(TYPED, st.randoms(use_true_random=False))
def test_order_never_shows(section: own.Value, random: Random) -> None:
    assert canonical_bytes(shuffled(section, random)) == canonical_bytes(section)


@given(own.of(Gpu), st.lists(own.of(Gpu), max_size=3), st.randoms(use_true_random=False))
def test_order_never_shows_among_equal_keys(gpu: Gpu, others: list[Gpu], random: Random) -> None:
    alike = [attrs.evolve(other, uuid=gpu.uuid, pci_bus_id=gpu.pci_bus_id) for other in others]
    section = GpuSection(layers=(), gpus=(gpu, *alike, gpu, *others))
    assert canonical_bytes(shuffled(section, random)) == canonical_bytes(section)


@given(own.sections())
def test_what_was_sealed_verifies_and_seals_to_the_same_bytes(section: own.Value) -> None:
    sealed = seal(section)
    assert seal(reopened(sealed)) == sealed


@given(TYPED)
def test_sealing_loses_only_what_the_canonical_form_drops(section: own.Value) -> None:
    assert form(reopened(seal(section)), written=False) == form(section, written=True)


@given(TYPED)
def test_what_is_reopened_is_in_canonical_order(section: own.Value) -> None:
    once = reopened(seal(section))
    assert reopened(seal(once)) == once


def keys_of(row: dict[str, Any], names: tuple[str, ...]) -> tuple[tuple[bool, Any], ...]:
    return tuple((name not in row, row.get(name)) for name in names)


def check_row(row: dict[str, Any], cls: own.Value, *, nested: bool = False) -> None:
    """Every key is a field's, or the reasons; every value has the JSON type that its field alone decides."""
    by_name = {field.name: field for field in own.fields(cls)}
    for entry in row.get(MISSING_KEY, ()):
        assert set(entry) == {"path", "reason"}
        assert entry["reason"] in {reason.value for reason in own.KEPT_REASONS}
    paths = [entry["path"] for entry in row.get(MISSING_KEY, ())]
    assert paths == sorted(set(paths))
    assert not (nested and paths)
    for name in row.keys() - {MISSING_KEY}:
        check_value(row[name], by_name[name])


def check_value(value: own.Value, field: attrs.Attribute[Any]) -> None:
    annotation = known_part(field.type)
    item = item_of(annotation)
    if item is not None:
        assert type(value) is list
        if not attrs.has(item):
            assert value == sorted(value)
            return
        for row in value:
            check_row(row, item)
        keys = [keys_of(row, field.metadata[SORT_KEY]) for row in value]
        assert keys == sorted(keys)
    elif attrs.has(annotation) and annotation not in own.IDS:
        assert value
        check_row(value, annotation, nested=True)
    elif annotation in {int, bool} and not field.metadata.get(WIDE):
        assert type(value) is annotation
    else:
        assert type(value) is str


@given(TYPED)
def test_a_field_has_one_json_type_and_a_list_one_order(section: own.Value) -> None:
    row = plain(section)
    check_row(row, type(section))
    assert json.loads(canonical_bytes(section)) == row


def check_verdict(sealed: SealedSection) -> None:
    """Either a section that can be sealed again, or a refusal in one line."""
    try:
        section = reopened(sealed)
    except InvalidSection as error:
        refusal = str(error)
    else:
        assert seal(section).name == sealed.name
        return
    assert refusal.isprintable()


@given(NAMES, st.binary(max_size=200))
def test_any_bytes_are_refused_or_read(name: str, content: bytes) -> None:
    check_verdict(sealed_as(name, content))


def json_values(*, finite: bool) -> st.SearchStrategy[Any]:
    """Any JSON value; unless it has to be `finite`, also the NaN and the infinities that Python writes."""
    texts = st.text(st.characters(exclude_categories=[]), max_size=6)
    floats = st.floats(allow_nan=not finite, allow_infinity=not finite)
    return st.recursive(
        st.none() | st.booleans() | st.integers() | floats | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=6,
    )


def places(value: own.Value) -> list[tuple[Any, Any]]:
    """Every (container, key) below a JSON value."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


@given(st.data())
def test_damaged_sections_are_refused_or_read(data: st.DataObject) -> None:
    name = data.draw(NAMES)
    row = json.loads(canonical_bytes(data.draw(own.of(own.TYPED_SECTIONS[name]))))
    for _ in range(data.draw(st.integers(1, 3))):
        found = places(row)
        if not found:
            break
        container, key = data.draw(st.sampled_from(found))
        if data.draw(st.booleans()):
            del container[key]
        else:
            other, name_there = data.draw(st.sampled_from(found))
            container[key] = copy.deepcopy(
                data.draw(st.sampled_from([other[name_there], data.draw(json_values(finite=False))]))
            )
    text = json.dumps(row, ensure_ascii=data.draw(st.booleans()))
    check_verdict(sealed_as(name, text.encode("utf-8", "replace")))


@given(TYPED, st.randoms(use_true_random=False), json_values(finite=True))
def test_what_a_newer_writer_adds_is_ignored(section: own.Value, random: Random, added: own.Value) -> None:
    sealed = seal(section)
    row = json.loads(sealed.content)
    objects = [row, *(container[key] for container, key in places(row) if isinstance(container[key], dict))]
    random.choice(objects)["added_in_2031"] = added
    row["missing"] = [*row.get("missing", []), {"path": "added_in_2031", "reason": "moved"}, {"path": "uuid.x.y"}]
    content = json.dumps(row).encode()
    assert reopened(sealed_as(sealed.name, content)) == reopened(sealed)


BASES = st.builds(
    GpuSection,
    layers=st.just((Layer.PROCFS,)),
    gpus=own.meeting_gpus(Layer.PROCFS),
    driver_version=own.of(own.is_reading_of(GpuSection, "driver_version")),
).map(with_architecture)


@given(BASES, own.snapshots())
def test_enriching_twice_is_enriching_once(base: GpuSection, snapshot: SmiSnapshot) -> None:
    once = enrich(base, snapshot)
    assert enrich(once, snapshot) == once


@given(BASES, own.snapshots(), st.data())
def test_enriching_does_not_see_the_order_of_the_snapshot(
    base: GpuSection, snapshot: SmiSnapshot, data: st.DataObject
) -> None:
    other = attrs.evolve(snapshot, gpus=tuple(data.draw(st.permutations(snapshot.gpus))))
    assert enrich(base, other) == enrich(base, snapshot)


@given(BASES, own.snapshots())
def test_enriching_keeps_every_gpu_of_the_base_in_its_place(base: GpuSection, snapshot: SmiSnapshot) -> None:
    merged = enrich(base, snapshot)
    assert [gpu.gpu_index for gpu in merged.gpus] == list(range(len(merged.gpus)))
    assert max(len(base.gpus), len(snapshot.gpus)) <= len(merged.gpus) <= len(base.gpus) + len(snapshot.gpus)
    for before, after in zip(base.gpus, merged.gpus, strict=False):
        assert isinstance(before.uuid, Missing) or after.uuid == before.uuid
        assert set(before.layers) <= set(after.layers)
    assert set(merged.layers) == set(Layer)


@given(BASES, own.snapshots(distinct=True))
def test_enriching_adds_only_what_the_base_does_not_know(base: GpuSection, snapshot: SmiSnapshot) -> None:
    merged = enrich(base, snapshot)
    known = {gpu.uuid for gpu in base.gpus if not isinstance(gpu.uuid, Missing)}
    added = merged.gpus[len(base.gpus) :]
    assert all(gpu.uuid not in known for gpu in added)
    assert {gpu.uuid for gpu in snapshot.gpus} - set(Missing) <= {gpu.uuid for gpu in merged.gpus}


@given(own.snapshots(), own.smi_lists(), st.lists(own.of(MigInstance), max_size=3))
def test_joining_a_list_twice_is_joining_it_once(
    snapshot: SmiSnapshot, listed: SmiList, instances: list[MigInstance]
) -> None:
    numbered = tuple(attrs.evolve(each, mig_device_index=index) for index, each in enumerate(instances))
    gpus = tuple(attrs.evolve(gpu, mig_instances=numbered) if instances else gpu for gpu in snapshot.gpus)
    once = join_list(attrs.evolve(snapshot, gpus=gpus), listed)
    assert join_list(once, listed).gpus == once.gpus
    assert [gpu.uuid for gpu in once.gpus] == [gpu.uuid for gpu in snapshot.gpus]


CAPS = st.dictionaries(
    st.sampled_from(own.POOL_UUIDS), st.one_of(st.sampled_from(["7.5", "9.0"]), st.sampled_from(Missing))
).map(lambda rows: ComputeCaps(by_uuid=tuple(rows.items())))


@given(own.snapshots(), CAPS)
def test_joining_compute_capabilities_twice_is_joining_them_once(snapshot: SmiSnapshot, caps: ComputeCaps) -> None:
    once = join_compute_caps(snapshot, caps)
    assert join_compute_caps(once, caps).gpus == once.gpus


def test_the_hash_seed_does_not_matter() -> None:
    program = (
        "from gpuinv.inventory import *; from gpuinv.readings import Missing; from gpuinv.sections.seal import seal;"
        "peers = tuple(TopologyPeer(peer=name, kind='SYS') for name in {'a', 'b', 'c', 'd', 'e', 'f'});"
        "bad = dict.fromkeys({'serial', 'uuid', 'numa_node', 'vbios_version'}, Missing.LOST);"
        "gpu = Gpu(gpu_index=0, layers=tuple(set(Layer)), topology=peers, **bad);"
        "print(seal(GpuSection(layers=tuple(set(Layer)), gpus=(gpu,))).sha256)"
    )
    hashes = {
        subprocess.check_output([sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed})
        for seed in ("0", "1", "4242")
    }
    assert len(hashes) == 1

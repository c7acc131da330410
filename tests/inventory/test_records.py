from __future__ import annotations

import copy
import pickle
import re
from typing import TYPE_CHECKING

import attrs
import pytest

from gpuinv.inventory import SECTION_NAMES, SECTION_TYPES, NodeInventory
from gpuinv.inventory._fields import DOC, SORT_KEY, UNIT, WIDE
from gpuinv.readings import Missing
from gpuinv.sections._types import is_reading, item_of, known_part
from tests.records import RECORDS, filled

if TYPE_CHECKING:
    from tests.property.strategies import Value

BARE = {"id", "index", "memory", "name", "missing"}
every_record = pytest.mark.parametrize("cls", RECORDS, ids=lambda cls: cls.__name__)


@every_record
def test_a_record_is_a_value(cls: Value) -> None:
    record = filled(cls)
    for twin in (copy.copy(record), copy.deepcopy(record), pickle.loads(pickle.dumps(record))):  # noqa: S301 - our own
        assert twin == record
        assert hash(twin) == hash(record)
        assert repr(twin) == repr(record)
    assert not hasattr(record, "__dict__")
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(record, attrs.fields(cls)[0].name, None)
    with pytest.raises(AttributeError):
        record.invented = 1


@every_record
def test_a_field_says_what_it_is(cls: Value) -> None:
    for field in attrs.fields(cls):
        assert field.metadata[DOC].endswith((".", "…"))
        assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", field.name, re.ASCII)
        assert field.name not in (BARE if cls is not NodeInventory else {"missing"})


@every_record
def test_a_reading_is_absent_until_a_source_was_read(cls: Value) -> None:
    attrs.resolve_types(cls)
    for field in attrs.fields(cls):
        if is_reading(field.type):
            assert field.default is Missing.ABSENT


@every_record
def test_a_sort_key_names_fields_of_the_rows(cls: Value) -> None:
    attrs.resolve_types(cls)
    for field in attrs.fields(cls):
        item = item_of(known_part(field.type))
        key = field.metadata.get(SORT_KEY, ())
        assert not key or item is not None
        if item is not None and attrs.has(item) and SORT_KEY in field.metadata:
            assert key
            assert set(key) <= {each.name for each in attrs.fields(item)}
            assert not any(each.metadata.get(WIDE) for each in attrs.fields(item) if each.name in key)


@pytest.mark.parametrize("name", [name for name in SECTION_NAMES if name != "bmc"])
def test_every_list_of_rows_in_a_section_has_a_sort_key(name: str) -> None:
    def check(cls: Value) -> None:
        attrs.resolve_types(cls)
        for field in attrs.fields(cls):
            annotation = known_part(field.type)
            item = item_of(annotation)
            if item is not None and attrs.has(item):
                assert field.metadata[SORT_KEY]
                check(item)
            elif attrs.has(annotation) and annotation.__module__.startswith("gpuinv.inventory"):
                check(annotation)

    check(SECTION_TYPES[name])


@every_record
def test_bytes_and_units_are_declared(cls: Value) -> None:
    units = (
        ("_mib", "MiB"),
        ("_kib", ""),
        ("_bytes", "B"),
        ("_mw", "mW"),
        ("_mhz", "MHz"),
        ("_c", "°C"),
        ("_percent", "%"),
    )
    for field in attrs.fields(cls):
        for suffix, unit in units:
            if field.name.endswith(suffix):
                assert field.metadata.get(UNIT, "") == unit
        if field.name.endswith("_bytes"):
            assert field.metadata[WIDE]


def test_the_sections_in_the_order_of_a_digest() -> None:
    assert SECTION_NAMES == ("system", "cpu", "memory", "disks", "nics", "gpus", "bmc", "os")
    assert tuple(field.name for field in attrs.fields(NodeInventory)) == SECTION_NAMES
    assert NodeInventory() == NodeInventory(**dict.fromkeys(SECTION_NAMES))

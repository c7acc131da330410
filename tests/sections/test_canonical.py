from __future__ import annotations

import itertools
import json
from typing import Any

import attrs
import pytest

from gpuinv.errors import UsageError
from gpuinv.ids import GpuUuid, PciBusId
from gpuinv.inventory import (
    SECTION_TYPES,
    CpuSection,
    Disk,
    DisksSection,
    EccErrors,
    Gpu,
    GpuSection,
    Layer,
    MemorySection,
    NvLink,
    OpaqueSection,
    OsSection,
    RemappedRows,
    Section,
)
from gpuinv.readings import Missing, Reading
from gpuinv.sections.canonical import canonical_bytes, plain
from gpuinv.sections.seal import seal, verify
from tests.property.strategies import KEPT_REASONS
from tests.records import filled, without

TYPED = {name: cls for name, cls in SECTION_TYPES.items() if name != "bmc"}
ONE = Gpu(gpu_index=1, uuid=GpuUuid("GPU-3d9e0c55-1111-4c0f-8a00-000000000001"), pci_bus_id=PciBusId(0, 0x82, 0))
TWO = Gpu(gpu_index=0, uuid=GpuUuid("GPU-3d9e0c55-1111-4c0f-8a00-000000000002"), pci_bus_id=PciBusId(0, 0x81, 0))


def gpu_section(*gpus: Gpu) -> GpuSection:
    return GpuSection(layers=(Layer.NVIDIA_SMI,), gpus=gpus)


def text_of(section: Section) -> str:
    return canonical_bytes(section).decode()


def test_the_order_of_the_gpus_does_not_show_and_their_indices_do() -> None:
    hashes = {seal(gpu_section(*gpus)).sha256 for gpus in itertools.permutations((ONE, TWO))}
    assert len(hashes) == 1
    (left,) = plain(gpu_section(attrs.evolve(ONE, gpu_index=0)))["gpus"]
    (before,) = plain(gpu_section(ONE))["gpus"]
    assert left != before
    assert {**left, "gpu_index": 1} == before


def test_gpus_without_a_uuid_come_last_by_address() -> None:
    buses: list[Reading[PciBusId]] = [Missing.ABSENT, PciBusId(0x10000, 1, 0), PciBusId(0, 2, 0)]
    nameless = [
        attrs.evolve(ONE, gpu_index=index, uuid=Missing.NOT_AVAILABLE, pci_bus_id=bus)
        for index, bus in enumerate(buses)
    ]
    rows = plain(gpu_section(*nameless, TWO, ONE))["gpus"]
    assert [(row.get("uuid", "")[-1:], row.get("pci_bus_id")) for row in rows] == [
        ("1", "00000000:82:00.0"),
        ("2", "00000000:81:00.0"),
        ("", "00000000:02:00.0"),
        ("", "00010000:01:00.0"),
        ("", None),
    ]


def test_text_is_sorted_by_code_point() -> None:
    names = ["a", "B", "é", "\uffff", "😀", "b10", "b9"]
    section = DisksSection(disks=tuple(Disk(disk_name=name) for name in names))
    assert [row["disk_name"] for row in plain(section)["disks"]] == ["B", "a", "b10", "b9", "é", "\uffff", "😀"]


def test_plain_lists_are_sorted_and_keep_what_stands_twice() -> None:
    assert text_of(CpuSection(flags=("b", "a", "b"))) == '{"flags":["a","b","b"]}'


def test_numbers_are_sorted_as_numbers() -> None:
    links = tuple(NvLink(link=link) for link in (10, 9, 0))
    (row,) = plain(gpu_section(attrs.evolve(ONE, nvlinks=links)))["gpus"]
    assert [link["link"] for link in row["nvlinks"]] == [0, 9, 10]


def test_an_empty_list_is_a_fact_and_a_missing_one_is_not() -> None:
    assert text_of(DisksSection(disks=())) == '{"disks":[]}'
    assert text_of(DisksSection()) == "{}"
    assert text_of(DisksSection(disks=Missing.NO_PERMISSION)) == (
        '{"missing":[{"path":"disks","reason":"no_permission"}]}'
    )


@pytest.mark.parametrize("name", TYPED)
@pytest.mark.parametrize("reason", Missing)
def test_every_reading_of_every_section_states_the_reasons_that_stay(name: str, reason: Missing) -> None:
    emptied = without(filled(TYPED[name]), reason)
    content = canonical_bytes(emptied)
    assert (content.count(b'"reason"') > 0) is (reason in KEPT_REASONS)
    sealed = seal(emptied)
    expected = emptied if reason in KEPT_REASONS else without(emptied, Missing.ABSENT)
    assert verify(name, content, sealed.sha256) == expected


@pytest.mark.parametrize("name", TYPED)
def test_every_field_of_every_section_comes_back(name: str) -> None:
    section = filled(TYPED[name])
    sealed = seal(section)
    assert sealed.name == name
    assert verify(name, sealed.content, sealed.sha256) == section


def test_reasons_stand_beside_the_values_of_their_row_sorted_by_path() -> None:
    gpu = attrs.evolve(
        ONE,
        serial=Missing.LOST,
        remapped_rows=RemappedRows(remapped_row_unc=2, row_remap_pending=Missing.HIDDEN_BY_MIG),
        ecc_errors=EccErrors(unrepairable_memory=Missing.ERROR, tpc_repair_pending=Missing.NOT_SUPPORTED),
    )
    (row,) = plain(gpu_section(gpu))["gpus"]
    assert row == {
        "gpu_index": 1,
        "gpu_lost": False,
        "layers": [],
        "missing": [
            {"path": "ecc_errors.unrepairable_memory", "reason": "error"},
            {"path": "remapped_rows.row_remap_pending", "reason": "hidden_by_mig"},
            {"path": "serial", "reason": "lost"},
        ],
        "pci_bus_id": "00000000:82:00.0",
        "remapped_rows": {"remapped_row_unc": "2"},
        "uuid": "GPU-3d9e0c55-1111-4c0f-8a00-000000000001",
    }


def test_control_characters_are_dropped_and_nothing_else() -> None:
    assert json.loads(text_of(OsSection(hostname="a\x00\t\r\n\x1b\x7f\x85\x9fb"))) == {"hostname": "ab"}
    kept = " \u00a0\u200b\u2028\u202e\ufeff\ufffd\uffffe\u0301é😀"
    assert text_of(OsSection(hostname=kept)) == f'{{"hostname":"{kept}"}}'
    assert text_of(OsSection(hostname="\x00")) == '{"hostname":""}'


def test_names_that_control_characters_alone_tell_apart_keep_no_order() -> None:
    disks = (Disk(disk_name="a\x01", model="x"), Disk(disk_name="a\x02", model="b"), Disk(disk_name="a", model="c"))
    texts = {text_of(DisksSection(disks=each)) for each in itertools.permutations(disks)}
    assert len(texts) == 1


@pytest.mark.parametrize(
    "section",
    [
        OsSection(hostname="\ud800"),
        OsSection(hostname="a\n\udfff" + "x" * 1000),
        DisksSection(disks=(Disk(disk_name="\ud800\udc00"),)),
        CpuSection(flags=("\ud800",)),
    ],
)
def test_a_lone_surrogate_is_refused(section: Section) -> None:
    with pytest.raises(UsageError, match="lone surrogate") as caught:
        seal(section)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("number", [0, 1, 2**53, 2**64 - 1])
def test_a_wide_number_is_text(number: int) -> None:
    assert text_of(MemorySection(total_bytes=number)) == f'{{"total_bytes":"{number}"}}'


@pytest.mark.parametrize("number", [0, -1, 2**53 - 1, 1 - 2**53])
def test_another_number_is_an_integer(number: int) -> None:
    assert text_of(CpuSection(core_count=number)) == f'{{"core_count":{number}}}'


WRONG: list[Any] = [2**53, -(2**53), 10**5000, True, 1.0, float("nan"), "1"]


@pytest.mark.parametrize("number", WRONG, ids=lambda number: str(type(number).__name__))
def test_a_number_that_json_readers_would_take_differently_is_refused(number: int) -> None:
    with pytest.raises(UsageError, match="cannot hold it"):
        seal(CpuSection(core_count=number))


@pytest.mark.parametrize("number", [2**64, -1, 10**5000, *WRONG[3:]], ids=lambda number: str(type(number).__name__))
def test_a_wide_number_has_sixty_four_bits(number: int) -> None:
    with pytest.raises(UsageError, match="cannot hold it"):
        seal(MemorySection(total_bytes=number))


@pytest.mark.parametrize(
    "section",
    [
        DisksSection(disks=(Disk(disk_name=Missing.ABSENT),)),  # type: ignore[arg-type]
        gpu_section(attrs.evolve(ONE, gpu_index=Missing.ERROR)),  # type: ignore[arg-type]
    ],
)
def test_a_field_that_always_has_a_value_cannot_miss(section: Section) -> None:
    with pytest.raises(UsageError, match=r"(disk_name|gpu_index) is Missing.*always has a value"):
        seal(section)


def test_an_opaque_section_is_its_bytes() -> None:
    assert canonical_bytes(OpaqueSection("bmc", b"\xff{}")) == b"\xff{}"

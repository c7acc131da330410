from __future__ import annotations

import attrs
import pytest

from gpuinv.cli import _notes, _words
from gpuinv.cli._columns import aligned, filled, table
from gpuinv.cli._gpus import gpu_lines
from gpuinv.cli._notes import notes
from gpuinv.cli._plain import plain
from gpuinv.ids import DeviceId, GpuUuid, MigUuid, PciBusId, PciId
from gpuinv.inventory import (
    EccErrors,
    Fabric,
    Gpu,
    GpuInstance,
    Layer,
    MigInstance,
    MigMode,
    PlatformInfo,
    RetiredPages,
)
from gpuinv.readings import Missing, Reading

UUID = GpuUuid("GPU-5506643a-07df-85ac-28ef-8cf07c9e3ca2")
GPU = Gpu(gpu_index=0, layers=(Layer.NVIDIA_SMI,), uuid=UUID, pci_bus_id=PciBusId(0, 7, 0))


def page(gpu: Gpu, width: int = 80) -> str:
    return "\n".join(line.plain for line in gpu_lines([gpu], width))


def test_every_reason_has_words() -> None:
    assert set(_words.REASONS) == set(Missing)
    assert set(_words.TELLING) <= set(Missing)


@pytest.mark.parametrize(
    ("current", "pending", "text"),
    [
        (True, True, "on"),
        (False, False, "off"),
        (True, False, "on→off"),
        (False, True, "off→on"),
        (True, Missing.ERROR, "on"),
        (Missing.ERROR, True, "–→on"),  # noqa: RUF001
        (Missing.ABSENT, Missing.ABSENT, _words.NONE),
    ],
)
def test_mode(current: Reading[bool], pending: Reading[bool], text: str) -> None:
    assert _words.mode(current, pending) == text


def test_pair() -> None:
    assert _words.pair(0, 29) == "0 / 29"
    assert _words.pair(0, Missing.ERROR) == f"0 / {_words.NONE}"
    assert _words.pair(Missing.ERROR, Missing.ABSENT) == _words.NONE


def test_where_a_gpu_of_a_rack_sits() -> None:
    place = PlatformInfo(chassis_serial_number="1821", slot_number=3, tray_index=2, host_id=1, module_id=4)
    fabric = Fabric(state="Completed", cluster_uuid="0b1f22d0-aaaa-4bbb-8ccc-0123456789ab", clique_id=32766)
    shown = page(attrs.evolve(GPU, platform_info=place, fabric=fabric))
    assert "chassis 1821  slot 3  tray 2  host 1  module 4" in shown
    assert "fabric 0b1f22d0-aaaa-4bbb-8ccc-0123456789ab clique 32766" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_module_alone_is_no_place() -> None:
    assert "module" not in page(attrs.evolve(GPU, platform_info=PlatformInfo(module_id=1)))


def test_a_fabric_that_is_not_joined_shows_its_state() -> None:
    assert "fabric in progress" in page(attrs.evolve(GPU, fabric=Fabric(state="In Progress")))


def test_a_gpu_instance_without_compute_instances_is_listed_in_its_place() -> None:
    devices = (MigInstance(gpu_instance_id=7, compute_instance_id=0, mig_profile="1g.10gb"),)
    instances = (GpuInstance(gpu_instance_id=7), GpuInstance(gpu_instance_id=5, mig_profile="2g.20gb"))
    shown = page(attrs.evolve(GPU, mig_instances=devices, gpu_instances=instances)).splitlines()
    at = next(number for number, line in enumerate(shown) if "no compute instance" in line)
    assert shown[at].split()[:2] == ["gi5", "2g.20gb"]
    assert shown[at + 1].split()[:2] == ["gi7/ci0", "1g.10gb"]


def test_mig_on_without_devices() -> None:
    gpu = attrs.evolve(GPU, mig_mode=MigMode(current_mig=True, pending_mig=True), mig_instances=())
    assert "· no MIG devices" in page(gpu)


def test_notes_of_a_gpu_that_wears_out() -> None:
    errors = EccErrors(channel_repair_pending=True, tpc_repair_pending=True, unrepairable_memory=True)
    pages = RetiredPages(single_bit_retired_count=1, double_bit_retired_count=2, pending_retirement=True)
    gpu = attrs.evolve(
        GPU, ecc_errors=errors, retired_pages=pages, gpu_recovery_action="Drain P2P", drain_and_reset_recommended=True
    )
    assert [note.text for note in notes(gpu)] == [
        "the driver asks for: Drain P2P",
        "the driver advises to drain and reset",
        "memory that no repair can help",
        "a memory channel waits for a reset to be repaired",
        "a TPC waits for a reset to be repaired",
        "a memory page waits for a reboot to be retired",
        "retired pages: 1 for single-bit errors, 2 for double-bit errors",
    ]


def test_a_healthy_gpu_has_no_notes() -> None:
    assert notes(attrs.evolve(GPU, gpu_recovery_action="None")) == []


def test_a_gpu_that_never_started() -> None:
    assert _notes.notes(attrs.evolve(GPU, uuid=Missing.NOT_AVAILABLE))[0].serious
    assert "no UUID" in page(attrs.evolve(GPU, uuid=Missing.NOT_AVAILABLE))


def test_no_gpus_no_lines() -> None:
    assert gpu_lines([], 80) == []


def test_long_names_are_folded_below_themselves() -> None:
    rows = [["0  seven eight nine", "x" * 12, "z"], ["1  one", "y"]]
    first, second = table(rows, 34)
    assert first == ["0  seven eight     xxxxxxxxxxxx  z", "   nine"]
    assert second == ["1  one             y"]


def test_columns_count_cells_of_wide_characters() -> None:
    assert aligned([["漢字", "a"], ["abcd", "b"]]) == [["漢字", "a"], ["abcd", "b"]]


def test_parts_go_to_the_next_line_where_they_do_not_fit() -> None:
    assert filled(["a" * 5, "b" * 5, "c" * 5], 14, indent="  ") == ["  aaaaa  bbbbb", "  ccccc"]


def test_plain_data_of_every_kind_of_value() -> None:
    assert plain(PciId(0x10DE, 0x20B2)) == "10de:20b2"
    assert plain(PciBusId(0, 7, 0)) == "00000000:07:00.0"
    assert plain(DeviceId(UUID, slot=3)) == f"{UUID}/s3"
    assert type(plain(UUID)) is str
    assert plain(MigUuid("MIG-x")) == "MIG-x"
    assert plain(Missing.LOST) == {"missing": "lost"}
    assert plain(Layer.PROCFS) == "procfs"
    assert plain((1, (True, None), 0.5)) == [1, [True, None], 0.5]
    assert plain(RetiredPages(single_bit_retired_count=2**63)) == {
        "single_bit_retired_count": str(2**63),
        "double_bit_retired_count": {"missing": "absent"},
        "pending_retirement": {"missing": "absent"},
    }

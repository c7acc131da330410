from __future__ import annotations

import attrs

from gpuinv.errors import IssueKind
from gpuinv.ids import GpuUuid, PciBusId, PciId
from gpuinv.inventory import Gpu, GpuSection, Layer, MigMode
from gpuinv.kernel.gpus import procfs_section
from gpuinv.kernel.proc_nvidia import parse_proc_information
from gpuinv.readings import Missing
from gpuinv.sections.enrich import disagreements, enrich, provenance
from gpuinv.smi.records import SmiSnapshot
from gpuinv.versions import DriverVersion

PROCFS = (Layer.PROCFS,)
SMI = (Layer.NVIDIA_SMI,)
BOTH = (Layer.NVIDIA_SMI, Layer.PROCFS)
U1, U2, U3 = (GpuUuid(f"GPU-3d9e0c55-1111-4c0f-8a00-00000000000{digit}") for digit in "123")


def bus(text: str) -> PciBusId:
    return PciBusId.parse(text)


def base(*gpus: Gpu) -> GpuSection:
    indexed = (attrs.evolve(gpu, gpu_index=index, layers=PROCFS) for index, gpu in enumerate(gpus))
    return GpuSection(layers=PROCFS, driver_version=DriverVersion("550.54.15"), gpus=tuple(indexed))


def listed(*gpus: Gpu) -> SmiSnapshot:
    indexed = (attrs.evolve(gpu, gpu_index=index, layers=SMI) for index, gpu in enumerate(gpus))
    return SmiSnapshot(driver_version=DriverVersion("550.54.15"), cuda_driver_version="12.4", gpus=tuple(indexed))


def gpu(uuid: GpuUuid | Missing = Missing.ABSENT, at: str = "", **facts: object) -> Gpu:
    known: dict[str, object] = {"gpu_index": 0, "uuid": uuid, "pci_bus_id": bus(at) if at else Missing.ABSENT, **facts}
    return Gpu(**known)  # type: ignore[arg-type] # facts, by name


def names(section: GpuSection) -> list[tuple[int, object]]:
    return [(each.gpu_index, each.product_name) for each in section.gpus]


def test_a_gpu_that_both_know_takes_every_field_from_nvidia_smi() -> None:
    known = gpu(U1, "0000:f1:00.0", product_name="old", minor_number=3, numa_node=1, pci_device_id=PciId(0x10DE, 1))
    told = gpu(
        U1,
        "00000000:F1:00.0",
        product_name="NVIDIA L40S",
        minor_number=Missing.NOT_SUPPORTED,
        serial="17",
        gpu_lost=True,
    )
    merged = enrich(base(gpu(U2, "0000:01:00.0"), known), listed(told))
    assert merged.gpus[1] == attrs.evolve(
        told,
        gpu_index=1,
        layers=BOTH,
        minor_number=3,
        numa_node=1,
        pci_device_id=PciId(0x10DE, 1),
        product_architecture="Ada Lovelace",
    )
    assert merged.layers == BOTH
    assert (merged.driver_version, merged.cuda_driver_version) == (DriverVersion("550.54.15"), "12.4")


def test_a_reason_of_nvidia_smi_stands_where_nobody_knows_better() -> None:
    known = gpu(U1, "0000:01:00.0", numa_node=Missing.NOT_AVAILABLE, minor_number=Missing.ERROR)
    told = gpu(U1, "0000:01:00.0", minor_number=Missing.NOT_SUPPORTED, serial=Missing.NOT_SUPPORTED)
    (merged,) = enrich(base(known), listed(told)).gpus
    assert merged.numa_node is Missing.NOT_AVAILABLE
    assert merged.minor_number is Missing.NOT_SUPPORTED
    assert merged.serial is Missing.NOT_SUPPORTED


def test_indices_are_the_collectors_and_new_gpus_take_the_next_in_bus_order() -> None:
    merged = enrich(
        base(gpu(U2, "0000:02:00.0", product_name="two"), gpu(at="0000:05:00.0", product_name="five")),
        listed(
            gpu(product_name="nowhere"),
            gpu(U3, "0000:09:00.0", product_name="nine"),
            gpu(U1, "0000:01:00.0", product_name="one"),
            gpu(U2, "0000:02:00.0", product_name="two"),
        ),
    )
    assert names(merged) == [(0, "two"), (1, "five"), (2, "one"), (3, "nine"), (4, "nowhere")]


def test_under_wsl_the_whole_section_comes_from_nvidia_smi() -> None:
    told = gpu(U1, "00000000:F1:00.0", product_name="NVIDIA GeForce RTX 5090", minor_number=Missing.NOT_SUPPORTED)
    section = enrich(GpuSection(layers=(), gpus=()), listed(told))
    assert section.layers == SMI
    (merged,) = section.gpus
    assert (merged.gpu_index, merged.layers, merged.numa_node) == (0, SMI, Missing.ABSENT)
    assert merged.product_architecture == "Blackwell"
    assert disagreements(GpuSection(layers=(), gpus=()), listed(told)) == ()


def test_identity_is_the_uuid_and_not_the_address() -> None:
    merged = enrich(
        base(gpu(U1, "0000:01:00.0", numa_node=0), gpu(U2, "0000:02:00.0", numa_node=1)),
        listed(gpu(U1, "0000:02:00.0"), gpu(U2, "0000:01:00.0")),
    )
    assert [(each.uuid, each.pci_bus_id, each.numa_node) for each in merged.gpus] == [
        (U1, bus("0000:02:00.0"), 0),
        (U2, bus("0000:01:00.0"), 1),
    ]


def test_two_uuids_at_one_address_are_two_gpus() -> None:
    merged = enrich(base(gpu(U1, "0000:01:00.0")), listed(gpu(U2, "0000:01:00.0")))
    assert [each.uuid for each in merged.gpus] == [U1, U2]


def test_a_gpu_without_a_uuid_is_matched_by_its_address_past_one_that_it_cannot_be() -> None:
    told = listed(gpu(U2, "0000:01:00.0"), gpu(Missing.NOT_AVAILABLE, "0000:01:00.0", serial="17"))
    merged = enrich(base(gpu(U1, "0000:01:00.0")), told)
    assert [(each.uuid, each.serial) for each in merged.gpus] == [(U1, "17"), (U2, Missing.ABSENT)]
    (found,) = enrich(base(gpu(at="0000:01:00.0", minor_number=4)), listed(gpu(U1, "0000:01:00.0"))).gpus
    assert (found.uuid, found.minor_number) == (U1, 4)


def test_of_two_records_of_one_uuid_the_one_at_its_address_is_taken() -> None:
    told = listed(gpu(U1, "0000:01:00.0", serial="1"), gpu(U1, "0000:02:00.0", serial="2"))
    merged = enrich(base(gpu(U1, "0000:02:00.0")), told)
    assert [each.serial for each in merged.gpus] == ["2", "1"]


def test_what_has_neither_identity_nor_address_is_added_once() -> None:
    told = listed(gpu(serial="1"), gpu(serial="2"))
    once = enrich(base(gpu(product_name="of procfs")), told)
    assert [each.serial for each in once.gpus] == [Missing.ABSENT, "1", "2"]
    assert enrich(once, told) == once


HYPER_V = "Model: \t\t NVIDIA T4\nGPU UUID: \t GPU-????????-????-????-????-????????????\nBus Location: \t {}:00:00.0\n"


def from_procfs(*domains: str) -> GpuSection:
    return procfs_section(None, [(parse_proc_information(HYPER_V.format(domain)), None) for domain in domains])


def test_a_domain_that_was_cut_to_sixteen_bits_is_joined() -> None:
    told = listed(gpu(U1, "02A1B7C4:00:00.0"), gpu(U2, "00010000:00:00.0"))
    merged = enrich(from_procfs("10000", "b7c4"), told)
    assert [(each.uuid, str(each.pci_bus_id), each.layers) for each in merged.gpus] == [
        (U1, "02A1B7C4:00:00.0", BOTH),
        (U2, "00010000:00:00.0", BOTH),
    ]


def test_a_cut_domain_that_two_gpus_share_is_not_guessed() -> None:
    told = listed(gpu(U1, "02A1B7C4:00:00.0"), gpu(U2, "0001B7C4:00:00.0"))
    merged = enrich(from_procfs("b7c4"), told)
    assert [(each.uuid, str(each.pci_bus_id)) for each in merged.gpus] == [
        (Missing.NOT_AVAILABLE, "0000B7C4:00:00.0"),
        (U2, "0001B7C4:00:00.0"),
        (U1, "02A1B7C4:00:00.0"),
    ]


def test_two_gpus_of_procfs_with_one_cut_domain_are_not_guessed_either() -> None:
    merged = enrich(from_procfs("b7c4", "b7c4"), listed(gpu(U1, "02A1B7C4:00:00.0")))
    assert [each.uuid for each in merged.gpus] == [Missing.NOT_AVAILABLE, Missing.NOT_AVAILABLE, U1]


def test_an_exact_address_goes_before_a_cut_one() -> None:
    told = listed(gpu(U1, "02A1B7C4:00:00.0"), gpu(U2, "0000B7C4:00:00.0"))
    merged = enrich(from_procfs("b7c4"), told)
    assert [(each.uuid, each.layers) for each in merged.gpus] == [(U2, BOTH), (U1, SMI)]


def test_an_excluded_gpu_stays_and_is_marked() -> None:
    text = f"Model: NVIDIA L4\nGPU UUID: {U1}\nBus Location: 0000:01:00.0\nGPU Excluded:\t Yes\n"
    excluded = procfs_section(None, [(parse_proc_information(text), None)])
    merged = enrich(excluded, listed(gpu(U2, "0000:02:00.0", product_name="NVIDIA L4")))
    assert [(each.uuid, each.gpu_excluded is True) for each in merged.gpus] == [(U1, True), (U2, False)]
    assert [issue.uuid for issue in disagreements(excluded, listed())] == []


def test_what_the_layers_do_not_agree_on() -> None:
    known = base(gpu(U1, "0000:01:00.0"), gpu(at="0000:03:00.0"))
    told = attrs.evolve(listed(gpu(U2, "0000:02:00.0")), driver_version=DriverVersion("550.90.07"))
    issues = disagreements(known, told)
    assert {issue.kind for issue in issues} == {IssueKind.LAYERS_DISAGREE}
    assert [str(issue) for issue in issues] == [
        f"procfs and nvidia-smi [{U1}]: procfs lists this GPU and nvidia-smi does not",
        "procfs and nvidia-smi [00000000:03:00.0]: procfs lists this GPU and nvidia-smi does not",
        f"procfs and nvidia-smi [{U2}]: nvidia-smi lists this GPU and procfs does not",
        "driver version: the loaded kernel module is 550.54.15, nvidia-smi speaks of 550.90.07",
    ]
    assert disagreements(known, listed(*known.gpus)) == ()
    assert disagreements(attrs.evolve(base(), driver_version=Missing.ERROR), told) == ()
    assert disagreements(base(), attrs.evolve(listed(), driver_version=Missing.ERROR)) == ()


def test_where_each_fact_comes_from() -> None:
    known = gpu(U1, "0000:01:00.0", minor_number=3, numa_node=1, product_architecture="Hopper")
    told = gpu(U1, "0000:01:00.0", minor_number=Missing.NOT_SUPPORTED, serial="17", mig_mode=MigMode(current_mig=False))
    sources = provenance(known, told)
    assert {name for name, layer in sources.items() if layer is Layer.PROCFS} == {
        "gpu_index",
        "minor_number",
        "numa_node",
    }
    assert {"uuid", "pci_bus_id", "serial", "mig_mode"} <= {
        name for name, layer in sources.items() if layer is Layer.NVIDIA_SMI
    }
    assert {"product_architecture", "ecc_mode", "vbios_version"}.isdisjoint(sources)
    assert provenance(None, told)["gpu_index"] is Layer.NVIDIA_SMI
    assert set(provenance(known, None)) == {"gpu_index", "uuid", "pci_bus_id", "minor_number", "numa_node"}
    assert not provenance(None, None)

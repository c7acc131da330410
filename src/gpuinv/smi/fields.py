"""The one field table of `nvidia-smi -q -x`: where a value stands, how it is written, which fields it fills.

Drivers move values around; a row lists every place of one value, the preferred first. The meaning and the unit of a
value are its noun's, where the field is declared; `Field.meaning` finds them. The reader is driven by this table
alone, and the reference page is generated from it.
"""

from __future__ import annotations

import typing
from types import UnionType
from typing import Any

import attrs

import gpuinv.values as v
from gpuinv.inventory import Gpu, GpuProcess, GpuSample, MigInstance, MigSample
from gpuinv.readings import Missing
from gpuinv.smi.records import SmiSnapshot

__all__ = ["FIELDS", "NOUNS", "ROOTS", "Field", "nested_record"]

NOUNS: dict[str, type[Any]] = {
    "SmiSnapshot": SmiSnapshot,
    "Gpu": Gpu,
    "GpuSample": GpuSample,
    "MigInstance": MigInstance,
    "MigSample": MigSample,
    "GpuProcess": GpuProcess,
}

ROOTS = {
    "": ("SmiSnapshot",),
    "gpu": ("Gpu", "GpuSample"),
    "gpu/mig_devices/mig_device": ("MigInstance", "MigSample"),
    "gpu/processes/process_info": ("GpuProcess",),
}
"""The elements that repeat, and the nouns that each of them fills. Paths of the table are relative to one of them."""


@attrs.frozen
class Field:
    """One value of the document.

    `paths` are its places below the element `root`, the preferred first; the first one that has a value wins. With
    `any_yes`, a `Yes` in any of them does. `targets` are the fields that it fills, `Gpu.mig_mode.current_mig`.
    """

    root: str
    paths: tuple[str, ...]
    reader: v.ValueReader
    targets: tuple[str, ...]
    any_yes: bool = False

    @property
    def meaning(self) -> str:
        """What the value means, as its first noun says."""
        return str(_declaration(self.targets[0]).metadata["doc"])


def _declaration(target: str) -> attrs.Attribute[Any]:
    noun, *names = target.split(".")
    cls = NOUNS[noun]
    for name in names[:-1]:
        cls = nested_record(cls, name)
    return typing.cast("attrs.Attribute[Any]", getattr(attrs.fields(cls), names[-1]))


def nested_record(cls: type[Any], name: str) -> type[Any]:
    """The record class of a nested field, a `Reading` of it included."""
    annotation = typing.get_type_hints(cls)[name]
    if isinstance(annotation, UnionType) or typing.get_origin(annotation) is typing.Union:
        annotation = next(part for part in typing.get_args(annotation) if part is not Missing)
    return typing.cast("type[Any]", annotation)


def _gpu(paths: str, reader: v.ValueReader, *targets: str, any_yes: bool = False) -> Field:
    return Field("gpu", tuple(paths.split()), reader, targets, any_yes)


def _same(container: str, reader: v.ValueReader, noun: str, names: str, suffix: str = "") -> tuple[Field, ...]:
    """Fields that are named in the noun as in the document, but for a unit's suffix."""
    return tuple(_gpu(f"{container}/{name}", reader, f"{noun}.{name}{suffix}") for name in names.split())


_DIE = "total device_memory register_file l1_cache l2_cache texture_memory texture_shm cbu"


def _ecc(scope: str) -> tuple[Field, ...]:
    """The counters of one lifetime, in their three layouts."""
    element, noun = f"ecc_errors/{scope}", f"Gpu.ecc_errors.{scope}"
    return (
        *_same(f"{element}/single_bit", v.COUNTER, f"{noun}.corrected", _DIE),
        *_same(f"{element}/double_bit", v.COUNTER, f"{noun}.uncorrected", _DIE),
        _gpu(f"{element}/sram_correctable", v.COUNTER, f"{noun}.corrected.sram"),
        _gpu(f"{element}/dram_correctable", v.COUNTER, f"{noun}.corrected.dram"),
        _gpu(f"{element}/sram_uncorrectable", v.COUNTER, f"{noun}.uncorrected.sram"),
        _gpu(f"{element}/sram_uncorrectable_parity", v.COUNTER, f"{noun}.uncorrected.sram_parity"),
        _gpu(f"{element}/sram_uncorrectable_secded", v.COUNTER, f"{noun}.uncorrected.sram_secded"),
        _gpu(f"{element}/dram_uncorrectable", v.COUNTER, f"{noun}.uncorrected.dram"),
        _gpu(f"{element}/sram_threshold_exceeded", v.FLAG, f"{noun}.sram_threshold_exceeded"),
    )


def _limits(containers: str, noun: str) -> tuple[Field, ...]:
    """The power limits of one domain; the limit in force and the one asked for have changed their names."""
    places = containers.split()

    def limit(names: str, target: str, *also: str) -> Field:
        paths = " ".join(f"{place}/{name}" for name in names.split() for place in places)
        return _gpu(paths, v.MILLIWATTS, f"{noun}.{target}_mw", *also)

    sampled = noun == "Gpu.power_limits"
    current = ("GpuSample.power.current_power_limit_mw",) if sampled else ()
    requested = ("GpuSample.power.requested_power_limit_mw",) if sampled else ()
    return (
        limit("current_power_limit enforced_power_limit power_limit", "current_power_limit", *current),
        limit("requested_power_limit power_limit", "requested_power_limit", *requested),
        *(limit(f"{kind}_power_limit", f"{kind}_power_limit") for kind in ("default", "min", "max")),
    )


def _memory(root: str, element: str, target: str) -> tuple[Field, ...]:
    return tuple(
        Field(root, (f"{element}/{name}",), v.MIB, (f"{target}.{name}_mib",))
        for name in ("total", "reserved", "used", "free")
    )


_LINK = "pci/pci_gpu_link_info"
_SNAPSHOT = (
    Field("", ("timestamp",), v.TEXT, ("SmiSnapshot.timestamp",)),
    Field("", ("driver_version",), v.DRIVER_VERSION, ("SmiSnapshot.driver_version",)),
    Field("", ("cuda_version",), v.MAJOR_MINOR, ("SmiSnapshot.cuda_driver_version",)),
    Field("", ("attached_gpus",), v.INTEGER, ("SmiSnapshot.attached_gpus",)),
)
_IDENTITY = (
    _gpu("uuid", v.UUID, "Gpu.uuid", "GpuSample.uuid"),
    _gpu("@id pci/pci_bus_id", v.BUS_ID, "Gpu.pci_bus_id", "GpuSample.pci_bus_id"),
    _gpu("minor_number", v.INTEGER, "Gpu.minor_number"),
    _gpu("product_name", v.NAME, "Gpu.product_name"),
    _gpu("product_architecture", v.NAME, "Gpu.product_architecture"),
    _gpu("serial", v.NAME, "Gpu.serial"),
    _gpu("vbios_version", v.UPPER, "Gpu.vbios_version"),
    _gpu("gpu_part_number", v.NAME, "Gpu.gpu_part_number"),
    _gpu("board_part_number", v.NAME, "Gpu.board_part_number"),
    _gpu("gpu_fru_part_number", v.NAME, "Gpu.gpu_fru_part_number"),
    _gpu("pci/pci_device_id", v.PCI_IDS, "Gpu.pci_device_id"),
    _gpu("pci/pci_sub_system_id", v.PCI_IDS, "Gpu.pci_sub_system_id"),
    _gpu(f"{_LINK}/pcie_gen/max_link_gen", v.INTEGER, "Gpu.max_link_gen"),
    _gpu(f"{_LINK}/link_widths/max_link_width", v.LANES, "Gpu.max_link_width"),
    *_same("platformInfo", v.NAME, "Gpu.platform_info", "chassis_serial_number"),
    *_same("platformInfo", v.INTEGER, "Gpu.platform_info", "slot_number tray_index host_id"),
    _gpu("platformInfo/module_id gpu_module_id", v.INTEGER, "Gpu.platform_info.module_id"),
)
_MEMORY = (
    _gpu("fb_memory_usage/total", v.MIB, "Gpu.fb_total_mib", "GpuSample.fb_memory.total_mib"),
    *_memory("gpu", "fb_memory_usage", "GpuSample.fb_memory")[1:],
    *_memory("gpu", "bar1_memory_usage", "GpuSample.bar1_memory"),
    *_same("ecc_mode", v.FLAG, "Gpu.ecc_mode", "current_ecc pending_ecc"),
    *_ecc("volatile"),
    *_ecc("aggregate"),
    *_same(
        "ecc_errors/aggregate_uncorrectable_sram_sources",
        v.COUNTER,
        "Gpu.ecc_errors.aggregate_uncorrectable_sram_sources",
        "sram_l2 sram_sm sram_microcontroller sram_pcie sram_other",
    ),
    *_same("ecc_errors", v.FLAG, "Gpu.ecc_errors", "channel_repair_pending tpc_repair_pending unrepairable_memory"),
    _gpu(
        "retired_pages/multiple_single_bit_retirement/retired_count",
        v.COUNTER,
        "Gpu.retired_pages.single_bit_retired_count",
    ),
    _gpu("retired_pages/double_bit_retirement/retired_count", v.COUNTER, "Gpu.retired_pages.double_bit_retired_count"),
    _gpu(
        "retired_pages/pending_retirement retired_pages/pending_blacklist",
        v.FLAG,
        "Gpu.retired_pages.pending_retirement",
        any_yes=True,
    ),
    *_same(
        "remapped_rows",
        v.COUNTER,
        "Gpu.remapped_rows",
        "remapped_row_corr remapped_row_unc remapped_row_corr_inactive remapped_row_unc_inactive",
    ),
    _gpu("remapped_rows/remapped_row_pending", v.FLAG, "Gpu.remapped_rows.row_remap_pending"),
    _gpu("remapped_rows/remapped_row_failure", v.FLAG, "Gpu.remapped_rows.row_remap_failure"),
)
_STATE = (
    _gpu("gpu_recovery_action", v.NAME, "Gpu.gpu_recovery_action"),
    *_same("gpu_reset_status", v.FLAG, "Gpu", "reset_required drain_and_reset_recommended"),
    *_same("mig_mode", v.FLAG, "Gpu.mig_mode", "current_mig pending_mig"),
    _gpu("persistence_mode", v.FLAG, "Gpu.persistence_mode"),
    _gpu("compute_mode", v.NAME, "Gpu.compute_mode"),
    _gpu("gpu_virtualization_mode/virtualization_mode", v.NAME, "Gpu.virtualization_mode"),
    _gpu("addressing_mode", v.NAME, "Gpu.addressing_mode"),
    *_same("fabric", v.NAME, "Gpu.fabric", "state status"),
    _gpu("fabric/clusterUuid", v.NAME, "Gpu.fabric.cluster_uuid"),
    _gpu("fabric/cliqueId", v.INTEGER, "Gpu.fabric.clique_id"),
    *_same("fabric/health", v.NAME, "Gpu.fabric.health", "summary bandwidth incorrect_configuration"),
    *_same(
        "fabric/health",
        v.FLAG,
        "Gpu.fabric.health",
        "route_recovery_in_progress route_unhealthy access_timeout_recovery partition_assigned",
    ),
    *_limits("gpu_power_readings power_readings", "Gpu.power_limits"),
    *_limits("module_power_readings", "Gpu.module_power_limits"),
)
_SAMPLE = (
    *_same(
        "utilization",
        v.PERCENT,
        "GpuSample.utilization",
        "gpu_util memory_util encoder_util decoder_util jpeg_util ofa_util",
        "_percent",
    ),
    *_same(
        "temperature",
        v.CELSIUS,
        "GpuSample.temperature",
        "gpu_temp memory_temp gpu_temp_tlimit "
        "gpu_temp_max_threshold gpu_temp_slow_threshold gpu_temp_max_gpu_threshold gpu_temp_max_mem_threshold "
        "gpu_temp_max_tlimit_threshold gpu_temp_slow_tlimit_threshold gpu_temp_max_gpu_tlimit_threshold "
        "gpu_temp_max_mem_tlimit_threshold",
        "_c",
    ),
    *_same(
        "gpu_power_readings",
        v.MILLIWATTS,
        "GpuSample.power",
        "average_power_draw instant_power_draw",
        "_mw",
    ),
    _gpu(
        "gpu_power_readings/power_draw power_readings/power_draw",
        v.MILLIWATTS,
        "GpuSample.power.legacy_power_draw_mw",
    ),
    *_same("clocks", v.MHZ, "GpuSample.clocks", "graphics_clock sm_clock mem_clock video_clock", "_mhz"),
    _gpu("performance_state", v.NAME, "GpuSample.performance_state"),
    _gpu("fan_speed", v.PERCENT, "GpuSample.fan_speed_percent"),
    _gpu(f"{_LINK}/pcie_gen/current_link_gen", v.INTEGER, "GpuSample.current_link_gen"),
    _gpu(f"{_LINK}/link_widths/current_link_width", v.LANES, "GpuSample.current_link_width"),
    *_same("pci", v.COUNTER, "GpuSample", "replay_counter replay_rollover_counter"),
    *_same("pci", v.KBPS, "GpuSample", "tx_util rx_util", "_kbps"),
)
_MIG_DEVICE = (
    *(
        Field("gpu/mig_devices/mig_device", (name,), v.INTEGER, (f"MigInstance.{name}", f"MigSample.{name}"))
        for name in ("gpu_instance_id", "compute_instance_id")
    ),
    Field("gpu/mig_devices/mig_device", ("index",), v.INTEGER, ("MigInstance.mig_device_index",)),
    *(
        Field("gpu/mig_devices/mig_device", (f"device_attributes/shared/{name}",), v.INTEGER, (f"MigInstance.{name}",))
        for name in (
            "multiprocessor_count",
            "copy_engine_count",
            "encoder_count",
            "decoder_count",
            "ofa_count",
            "jpg_count",
        )
    ),
    Field(
        "gpu/mig_devices/mig_device",
        ("ecc_error_count/volatile_count/sram_uncorrectable",),
        v.COUNTER,
        ("MigInstance.volatile_sram_uncorrectable",),
    ),
    Field(
        "gpu/mig_devices/mig_device",
        ("fb_memory_usage/total",),
        v.MIB,
        ("MigInstance.fb_total_mib", "MigSample.fb_memory.total_mib"),
    ),
    *_memory("gpu/mig_devices/mig_device", "fb_memory_usage", "MigSample.fb_memory")[1:],
    *_memory("gpu/mig_devices/mig_device", "bar1_memory_usage", "MigSample.bar1_memory"),
)
_PROCESS = (
    Field("gpu/processes/process_info", ("pid",), v.INTEGER, ("GpuProcess.pid",)),
    Field("gpu/processes/process_info", ("type",), v.TEXT, ("GpuProcess.process_type",)),
    Field("gpu/processes/process_info", ("process_name",), v.TEXT, ("GpuProcess.process_name",)),
    Field("gpu/processes/process_info", ("used_memory",), v.MIB, ("GpuProcess.used_memory_mib",)),
    *(
        Field("gpu/processes/process_info", (name,), v.INTEGER, (f"GpuProcess.{name}",))
        for name in ("gpu_instance_id", "compute_instance_id")
    ),
)

FIELDS: tuple[Field, ...] = (*_SNAPSHOT, *_IDENTITY, *_MEMORY, *_STATE, *_SAMPLE, *_MIG_DEVICE, *_PROCESS)

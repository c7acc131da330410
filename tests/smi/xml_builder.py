"""Documents of `nvidia-smi -q -x` for tests: plain dicts in the order of the tool's elements, written as its XML.

`gpu` is a small GPU that tests change; `GENERATIONS` has a whole document of every layout that drivers have printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias
from xml.sax.saxutils import escape, quoteattr

Content: TypeAlias = "str | Mapping[str, Content] | Sequence[Content]"
"""Text, or children by tag; a list repeats its tag. A tag that begins with `@` is an attribute."""

Tree: TypeAlias = "Mapping[str, Content]"

NO_CLUSTER = "00000000-0000-0000-0000-000000000000"
CLUSTER = "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
DEPRECATED = "Requested functionality has been deprecated"


def uuid(number: int = 1) -> str:
    return f"GPU-1f6b0c2e-7a11-4c7d-9e30-{number:012x}"


def bus_id(number: int = 1) -> str:
    return f"00000000:{number:02X}:00.0"


def gpu(number: int = 1, /, **changes: Content | None) -> dict[str, Content]:
    """A GPU with little more than an identity; None leaves an element out."""
    base: dict[str, Content] = {
        "@id": bus_id(number),
        "product_name": "NVIDIA H200",
        "uuid": uuid(number),
        "fb_memory_usage": {"total": "143771 MiB", "used": "0 MiB", "free": "143154 MiB"},
    }
    return {name: content for name, content in {**base, **changes}.items() if content is not None}


def document(
    *gpus: Tree,
    dtd: str | None = "nvsmi_device_v12.dtd",
    declaration: bool = True,
    indent: str = "\t",
    newline: str = "\n",
    **root: Content | None,
) -> bytes:
    """A whole document; `root` adds, changes or (None) leaves out children of the root element."""
    children: dict[str, Content | None] = {
        "timestamp": "Mon Mar  2 09:00:00 2026",
        "driver_version": "550.54.15",
        "cuda_version": "12.4",
        "attached_gpus": str(len(gpus)),
        **root,
    }
    tree = {name: content for name, content in children.items() if content is not None}
    head = '<?xml version="1.0" ?>\n' if declaration else ""
    head += f'<!DOCTYPE nvidia_smi_log SYSTEM "{dtd}">\n' if dtd else ""
    text = head + xml("nvidia_smi_log", {**tree, "gpu": list(gpus)}, indent=indent) + "\n"
    return text.replace("\n", newline).encode()


def xml(tag: str, content: Content, *, indent: str = "\t", depth: int = 0) -> str:
    """An element as the tool prints it: a container's children each on a line, a value between its tags."""
    margin = indent * depth
    if isinstance(content, str):
        return f"{margin}<{tag}>{escape(content)}</{tag}>"
    if not isinstance(content, Mapping):
        return "\n".join(xml(tag, item, indent=indent, depth=depth) for item in content)
    attributes = "".join(f" {name[1:]}={quoteattr(str(text))}" for name, text in content.items() if name[0] == "@")
    children = [xml(name, child, indent=indent, depth=depth + 1) for name, child in content.items() if name[0] != "@"]
    return "\n".join([f"{margin}<{tag}{attributes}>", *(child for child in children if child), f"{margin}</{tag}>"])


def clocks(*memory: int) -> Tree:
    """A `supported_clocks` with three graphics clocks for each memory clock."""
    return {
        "supported_mem_clock": [
            {"value": f"{clock} MHz", "supported_graphics_clock": [f"{clock - step} MHz" for step in (0, 15, 30)]}
            for clock in memory
        ]
    }


def die(**counts: int | str) -> dict[str, Content]:
    """The counters of one severity on a GPU before Turing; what is not given is 0."""
    names = ("device_memory", "register_file", "l1_cache", "l2_cache", "texture_memory", "texture_shm", "cbu", "total")
    return {name: str(counts.get(name, 0)) for name in names}


def sram_dram(*counts: int | str) -> dict[str, Content]:
    """The counters of a Turing or later GPU: corrected SRAM, uncorrected SRAM, corrected DRAM, uncorrected DRAM."""
    names = ("sram_correctable", "sram_uncorrectable", "dram_correctable", "dram_uncorrectable")
    return {name: str(count) for name, count in zip(names, counts, strict=True)}


def split_sram(*counts: int | str) -> dict[str, Content]:
    """The same from R552 on: corrected SRAM, uncorrected by parity and by SEC-DED, then DRAM."""
    names = (
        "sram_correctable",
        "sram_uncorrectable_parity",
        "sram_uncorrectable_secded",
        "dram_correctable",
        "dram_uncorrectable",
    )
    return {name: str(count) for name, count in zip(names, counts, strict=True)}


def mig_device(gi: int, ci: int, *, index: int = 0, total: str = "19968 MiB") -> dict[str, Content]:
    return {
        "index": str(index),
        "gpu_instance_id": str(gi),
        "compute_instance_id": str(ci),
        "device_attributes": {
            "shared": {
                "multiprocessor_count": "42",
                "copy_engine_count": "3",
                "encoder_count": "0",
                "decoder_count": "2",
                "ofa_count": "0",
                "jpg_count": "0",
            }
        },
        "ecc_error_count": {"volatile_count": {"sram_uncorrectable": "0"}},
        "fb_memory_usage": {"total": total, "reserved": "0 MiB", "used": "19 MiB", "free": "19948 MiB"},
        "bar1_memory_usage": {"total": "32767 MiB", "used": "0 MiB", "free": "32767 MiB"},
    }


def process(pid: int | str, kind: str, name: str, memory: str = "99 MiB", **more: Content) -> dict[str, Content]:
    return {"pid": str(pid), "type": kind, "process_name": name, "used_memory": memory, **more}


def limits(current: str, name: str = "current_power_limit") -> dict[str, Content]:
    return {
        name: current,
        "requested_power_limit": "700.00 W",
        "default_power_limit": "700.00 W",
        "min_power_limit": "200.00 W",
        "max_power_limit": "700.00 W",
    }


_PCI: dict[str, Content] = {
    "pci_bus": "01",
    "pci_device": "00",
    "pci_domain": "0000",
    "pci_device_id": "061110DE",
    "pci_bus_id": bus_id(),
    "pci_sub_system_id": "0x18BE10DE",
    "pci_gpu_link_info": {
        "pcie_gen": {"max_link_gen": "5", "current_link_gen": "1"},
        "link_widths": {"max_link_width": "16x", "current_link_width": "8x"},
    },
    "replay_counter": "0",
    "tx_util": "0 KB/s",
    "rx_util": "750 KB/s",
}
_OLD_POWER: dict[str, Content] = {
    "power_state": "P8",
    "power_management": "Supported",
    "power_draw": "17.97 W",
    "power_limit": "125.00 W",
    "default_power_limit": "125.00 W",
    "enforced_power_limit": "120.00 W",
    "min_power_limit": "85.00 W",
    "max_power_limit": "130.00 W",
}
_NO_LIMITS: dict[str, Content] = dict.fromkeys(limits(""), "N/A")
_PAGES: dict[str, Content] = {
    "multiple_single_bit_retirement": {"retired_count": "2", "retired_pagelist": ""},
    "double_bit_retirement": {"retired_count": "1", "retired_pagelist": ""},
}
_ROWS: dict[str, Content] = {
    "remapped_row_corr": "0",
    "remapped_row_unc": "2",
    "remapped_row_pending": "No",
    "remapped_row_failure": "No",
    "row_remapper_histogram": {"row_remapper_histogram_max": "640 bank(s)"},
}
_GEFORCE_8800 = gpu(
    **{"@id": "0000:01:00.0"},
    product_name="GeForce 8800 GT",
    persistence_mode="Disabled",
    serial="N/A",
    minor_number="0",
    vbios_version="62.92.16.00.04",
    pci={**_PCI, "pci_bus_id": "0000:01:00.0"},
    fan_speed="45 %",
    performance_state="N/A",
    clocks_throttle_reasons="N/A",
    ecc_mode={"current_ecc": "N/A", "pending_ecc": "N/A"},
    ecc_errors={
        scope: {kind: die(**dict.fromkeys(die(), "N/A")) for kind in ("single_bit", "double_bit")}
        for scope in ("volatile", "aggregate")
    },
    temperature={"gpu_temp": "51 C"},
    power_readings=dict.fromkeys(_OLD_POWER, "N/A"),
    processes="N/A",
)
_PASCAL = gpu(
    product_name="Tesla P100-PCIE-16GB",
    persistence_mode="Enabled",
    serial="0321014026924",
    pci=_PCI,
    clocks_throttle_reasons={
        "clocks_throttle_reason_gpu_idle": "Active",
        "clocks_throttle_reason_hw_slowdown": "Not Active",
        "clocks_throttle_reason_unknown": "Not Active",
    },
    ecc_mode={"current_ecc": "Enabled", "pending_ecc": "Enabled"},
    ecc_errors={
        "volatile": {"single_bit": die(total=3), "double_bit": die(total=0)},
        "aggregate": {"single_bit": die(total=40), "double_bit": die(total=2)},
    },
    retired_pages={**_PAGES, "pending_retirement": "No"},
    temperature={"gpu_temp": "36 C", "gpu_temp_max_threshold": "85 C", "gpu_temp_slow_threshold": "82 C"},
    power_readings=_OLD_POWER,
    supported_clocks=clocks(715),
    processes="",
)
_AMPERE_MIG = gpu(
    product_name="NVIDIA A100-SXM4-40GB",
    product_architecture="Ampere",
    fb_memory_usage={"total": "40960 MiB", "reserved": "571 MiB", "used": "38 MiB", "free": "40350 MiB"},
    mig_mode={"current_mig": "Enabled", "pending_mig": "Enabled"},
    mig_devices={"mig_device": [mig_device(1, 0), mig_device(2, 1, index=1, total="4864 MiB")]},
    ecc_errors={"volatile": sram_dram(0, 0, 0, 0), "aggregate": sram_dram(0, 0, 1, 0)},
    remapped_rows="N/A",
    gpu_module_id="3",
    gpu_power_readings={"power_state": "P0", "power_draw": "67.03 W", **limits("400.00 W")},
    module_power_readings={"power_state": "P0", "power_draw": "N/A", **_NO_LIMITS},
    gpu_reset_status={"reset_required": "No", "drain_and_reset_recommended": "No"},
    processes="",
)
_HOPPER = gpu(
    mig_mode={"current_mig": "Disabled", "pending_mig": "Disabled"},
    mig_devices="\n\t\t\tNone\n\t\t",
    gpu_reset_status={"reset_required": DEPRECATED, "drain_and_reset_recommended": DEPRECATED},
    gpu_recovery_action="None",
    ecc_errors={
        "volatile": split_sram(0, 0, 0, 0, 0),
        "aggregate": {**split_sram(0, 1, 2, 0, 0), "sram_threshold_exceeded": "No"},
        "aggregate_uncorrectable_sram_sources": {"sram_l2": "3", "sram_sm": "0"},
    },
    remapped_rows=_ROWS,
    temperature={"gpu_temp": "31 C", "gpu_temp_tlimit": "55 C", "gpu_temp_max_tlimit_threshold": "-8 C"},
    clocks_event_reasons={
        "clocks_event_reason_gpu_idle": "Active",
        "clocks_event_reason_sync_boost": "Not Active",
        "clocks_event_reason_sw_power_cap": "Active",
    },
    gpu_power_readings={"average_power_draw": "76.54 W", "instant_power_draw": "77.02 W", **limits("700.00 W")},
    module_power_readings={"average_power_draw": "N/A", "instant_power_draw": "N/A", **_NO_LIMITS},
    fabric={
        "state": "Completed",
        "status": "Success",
        "cliqueId": "0",
        "clusterUuid": NO_CLUSTER,
        "health": {"bandwidth": "N/A"},
    },
    platformInfo={"chassis_serial_number": "", "slot_number": "N/A", "module_id": "2"},
    processes="",
)
_BLACKWELL: dict[str, Content] = {
    **_HOPPER,
    "product_name": "NVIDIA GB300",
    "ecc_errors": {
        "volatile": split_sram(0, 0, 0, 0, 0),
        "aggregate": split_sram(0, 0, 0, 0, 0),
        "channel_repair_pending": "No",
        "tpc_repair_pending": "No",
        "unrepairable_memory": "No",
    },
    "remapped_rows": {**_ROWS, "remapped_row_corr_inactive": "0", "remapped_row_unc_inactive": "1"},
    "module_power_readings": {"average_power_draw": "488.29 W", **limits("2900.00 W")},
    "fabric": {
        "state": "Completed",
        "status": "Success",
        "cliqueId": "32766",
        "clusterUuid": CLUSTER,
        "health": {
            "summary": "Healthy",
            "bandwidth": "Full",
            "route_recovery_in_progress": "False",
            "route_unhealthy": "False",
            "access_timeout_recovery": "False",
            "incorrect_configuration": "None",
            "partition_assigned": "True",
        },
    },
    "platformInfo": {
        "chassis_serial_number": "1820000000001",
        "slot_number": "25",
        "tray_index": "15",
        "host_id": "1",
        "module_id": "1",
    },
    "gpu_power_readings": {"average_power_draw": "N/A", "instant_power_draw": "191.30 W", **limits("1400.00 W")},
}
GENERATIONS: dict[str, bytes] = {
    "340": document(_GEFORCE_8800, dtd="nvsmi_device_v6.dtd", driver_version="340.102", cuda_version=None),
    "none": document(_PASCAL, dtd=None, declaration=False, driver_version="375.66", cuda_version=None),
    "510": document(_AMPERE_MIG, dtd="nvsmi_device_v11.dtd", driver_version="510.47.03", cuda_version="11.6"),
    "550": document(_HOPPER, gpu(2), driver_version="570.124.06", cuda_version="12.8"),
    "610": document(_BLACKWELL, gpu(2), dtd="nvsmi_device_v13.dtd", driver_version="610.12", cuda_version="13.4"),
}
GPUS: dict[str, Tree] = {
    "340": _GEFORCE_8800,
    "none": _PASCAL,
    "510": _AMPERE_MIG,
    "550": _HOPPER,
    "610": _BLACKWELL,
}

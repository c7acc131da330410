"""The elements of `nvidia-smi -q -x` that gpuinv leaves unread, each with the reason.

A capture whose reading leaves another path is a finding: a new driver says something that nobody has looked at. The
captures hold every one of these paths; the documented table of all element paths, which also covers captures that are
not among them, gives the same list.
"""

from __future__ import annotations

_CLOCK_TABLE = "a table of clocks that could be set, not what the GPU is or does"
_DISPLAY = "whether a monitor is attached; nothing here is about displays"
_ENCODER = "sessions of video encoding, which only their own users can judge"
_PAGE_LIST = "addresses of the retired pages; their counts, and whether one is pending, are read"
_STATE_TWICE = "the performance state, which `performance_state` has in every driver"
_MODULE_DRAW = "what a whole module draws; its limits are read, and a GPU's draw is its own"
_BUS_ID_PART = "a part of the bus id, which is read whole"
_OWN_LIMIT = "one side's part of the link's generation; what both support, and what is in use, is read"
_VGPU = "how vGPUs share the GPU; no rule asks for it"

UNREAD_BY_CHOICE: dict[str, str] = {
    "gpu/accounted_processes": "processes of the past; a sample is the present",
    "gpu/accounting_mode": "whether past processes are kept, which are not read",
    "gpu/accounting_mode_buffer_size": "how many past processes are kept, which are not read",
    "gpu/applications_clocks": _CLOCK_TABLE,
    "gpu/board_id": "a number that the driver derives from the bus id; it identifies nothing",
    "gpu/c2c_mode": "a superchip's link to its CPU; no rule asks for it",
    "gpu/capabilities": "whether extended GPU memory is on offer; no rule asks for it",
    "gpu/cc_protected_memory_usage": "memory of confidential computing, a part of the memory that is read",
    "gpu/clock_policy": "whether the driver raises clocks by itself, which their rates show",
    "gpu/clocks_event_reasons_counters": "how long each reason was active; the reasons of now are read",
    "gpu/default_applications_clocks": _CLOCK_TABLE,
    "gpu/deferred_clocks": "a memory clock that waits for a reset; it reads N/A in every capture",
    "gpu/display_active": _DISPLAY,
    "gpu/display_attached": _DISPLAY,
    "gpu/display_mode": _DISPLAY,
    "gpu/dram_encryption_mode": "a mode of confidential computing; no rule asks for it",
    "gpu/driver_model": "the driver model of Windows; N/A on Linux, and WDDM shows in what else is N/A",
    "gpu/edpp_multiplier": "a factor of peak power; it reads N/A in every capture",
    "gpu/encoder_stats": _ENCODER,
    "gpu/fbc_stats": _ENCODER,
    "gpu/gpu_memory_power_readings": "what the memory alone draws, a part of the draw that is read",
    "gpu/gpu_operation_mode": "a mode of Kepler boards; it reads N/A in every capture",
    "gpu/gpu_power_readings/power_state": _STATE_TWICE,
    "gpu/gpu_virtualization_mode/host_vgpu_mode": _VGPU,
    "gpu/gpu_virtualization_mode/vgpu_heterogeneous_mode": _VGPU,
    "gpu/gsp_firmware_version": "follows from the driver's version, which is read",
    "gpu/ibmnpu": "a mode of POWER 9 hosts; it reads N/A in every capture",
    "gpu/inforom_bbx_flush": "when a board last saved its records; it moves by itself and no rule asks for it",
    "gpu/inforom_version": "versions of records on the board; the VBIOS version is what an update changes",
    "gpu/max_clocks": "follows from the product",
    "gpu/max_customer_boost_clocks": "follows from the product",
    "gpu/module_power_readings/average_power_draw": _MODULE_DRAW,
    "gpu/module_power_readings/instant_power_draw": _MODULE_DRAW,
    "gpu/module_power_readings/power_draw": _MODULE_DRAW,
    "gpu/module_power_readings/power_state": _STATE_TWICE,
    "gpu/multigpu_board": "GPUs of one board share their serial number, which is read",
    "gpu/pci/atomic_caps_inbound": "which atomic operations the slot passes on; no rule asks for it",
    "gpu/pci/atomic_caps_outbound": "which atomic operations the slot passes on; no rule asks for it",
    "gpu/pci/pci_base_class": "the device's class, which sysfs gives for every function",
    "gpu/pci/pci_bridge_chip": "a bridge on boards with two GPUs; it reads N/A in every capture",
    "gpu/pci/pci_bus": _BUS_ID_PART,
    "gpu/pci/pci_device": _BUS_ID_PART,
    "gpu/pci/pci_domain": f"{_BUS_ID_PART}; four digits here cannot hold a longer domain",
    "gpu/pci/pci_gpu_link_info/pcie_gen/device_current_link_gen": _OWN_LIMIT,
    "gpu/pci/pci_gpu_link_info/pcie_gen/max_device_link_gen": _OWN_LIMIT,
    "gpu/pci/pci_gpu_link_info/pcie_gen/max_host_link_gen": _OWN_LIMIT,
    "gpu/pci/pci_sub_class": "the device's class, which sysfs gives for every function",
    "gpu/pdi": "one more identity of the chip; the UUID is the one that every source has",
    "gpu/platformInfo/gpu_fabric_guid": "the fabric's name for the GPU; membership is the pair of cluster and clique",
    "gpu/platformInfo/peer_type": "how its peers are wired; the topology and the links say it for each peer",
    "gpu/power_profiles": "profiles of power that were asked for; they read N/A in every capture",
    "gpu/power_readings/power_management": "whether power is managed, which the limits show",
    "gpu/power_readings/power_state": _STATE_TWICE,
    "gpu/power_smoothing": "reads N/A or lacks permission in every capture",
    "gpu/product_brand": "a word of marketing; the product's name says more",
    "gpu/remapped_rows/row_remapper_histogram": "how many spare rows are left; pending and failed remaps are read",
    "gpu/retired_pages/double_bit_retirement/retired_page_addresses": _PAGE_LIST,
    "gpu/retired_pages/double_bit_retirement/retired_pagelist": _PAGE_LIST,
    "gpu/retired_pages/multiple_single_bit_retirement/retired_page_addresses": _PAGE_LIST,
    "gpu/retired_pages/multiple_single_bit_retirement/retired_pagelist": _PAGE_LIST,
    "gpu/sparse_operation_mode": "a mode of the tensor cores; it is off or N/A in every capture",
    "gpu/supported_clocks": f"{_CLOCK_TABLE}, and most of a document's bytes",
    "gpu/supported_gpu_target_temp": "the range of a setting of the fans",
    "gpu/temperature/gpu_target_temperature": "a setting of the fans; thresholds and margins are read",
    "gpu/vgpu_software_licensed_product": "the licence of a vGPU guest",
    "gpu/voltage": "the voltage of the chip; no rule asks for it, and newer drivers no longer say it",
}

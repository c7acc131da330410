"""A GPU and the `gpus` section: facts that change only when the hardware, its driver or its configuration does."""

from __future__ import annotations

import enum

import attrs

from gpuinv.ids import GpuUuid, PciBusId, PciId
from gpuinv.inventory._fields import doc, reading, record, rows
from gpuinv.inventory.ecc import EccErrors, EccMode, RemappedRows, RetiredPages
from gpuinv.inventory.fabric import Fabric, NvLink, TopologyPeer
from gpuinv.inventory.mig import GpuInstance, MigInstance, MigMode, MigProfile
from gpuinv.readings import Reading
from gpuinv.versions import DriverVersion

__all__ = ["Gpu", "GpuSection", "Layer", "PlatformInfo", "PowerLimits"]


class Layer(enum.Enum):
    """Where facts about GPUs come from. A section without NVIDIA_SMI retires nothing and lifts nothing."""

    PROCFS = "procfs"
    """/proc/driver/nvidia and sysfs."""
    NVIDIA_SMI = "nvidia_smi"
    """nvidia-smi."""


@attrs.frozen(kw_only=True)
class PowerLimits:
    """The limits of one power domain."""

    current_power_limit_mw: Reading[int] = reading("The limit in force.", unit="mW")
    requested_power_limit_mw: Reading[int] = reading("The limit that was asked for.", unit="mW")
    default_power_limit_mw: Reading[int] = reading("The limit after a reset.", unit="mW")
    min_power_limit_mw: Reading[int] = reading("The smallest limit that can be set.", unit="mW")
    max_power_limit_mw: Reading[int] = reading("The largest limit that can be set.", unit="mW")


@attrs.frozen(kw_only=True)
class PlatformInfo:
    """Where a GPU of a rack-scale system sits."""

    chassis_serial_number: Reading[str] = reading("Serial number of the chassis.")
    slot_number: Reading[int] = reading("Slot in the chassis.")
    tray_index: Reading[int] = reading("Tray of the slot.")
    host_id: Reading[int] = reading("Host on the tray.")
    module_id: Reading[int] = reading("Module on the host's board.")


@attrs.frozen(kw_only=True)
class Gpu:
    """One GPU. Its identity is `uuid`, its address `pci_bus_id`; index, minor number and names are attributes."""

    gpu_index: int = doc("The collector's index, from 0 in bus order; a missing neighbour shifts it.")
    layers: tuple[Layer, ...] = doc("The layers that know this GPU, sorted by name.", default=())
    uuid: Reading[GpuUuid] = reading("The identity; missing on a GPU that was never initialised.")
    pci_bus_id: Reading[PciBusId] = reading("The PCI address.")
    minor_number: Reading[int] = reading("The number of its device node, `/dev/nvidia<minor>`; not the index.")
    product_name: Reading[str] = reading("The name as the driver prints it.")
    product_architecture: Reading[str] = reading("The architecture, such as `Ada Lovelace`.")
    compute_capability: Reading[str] = reading("The CUDA compute capability, `9.0`.")
    serial: Reading[str] = reading("Serial number of the board; GPUs of one board share it.")
    vbios_version: Reading[str] = reading("Version of the VBIOS; letters are upper case.")
    gpu_part_number: Reading[str] = reading("Part number of the GPU.")
    board_part_number: Reading[str] = reading("Part number of the board.")
    gpu_fru_part_number: Reading[str] = reading("Part number of the field-replaceable unit.")
    pci_device_id: Reading[PciId] = reading("PCI vendor and device id.")
    pci_sub_system_id: Reading[PciId] = reading("PCI subsystem vendor and device id.")
    max_link_gen: Reading[int] = reading("The highest PCIe generation that GPU and slot support.")
    max_link_width: Reading[int] = reading("The widest PCIe link that GPU and slot support.", unit="lanes")
    numa_node: Reading[int] = reading("The host's NUMA node that the slot belongs to, from sysfs.")
    gpu_numa_id: Reading[int] = reading("The NUMA node of the GPU's own memory, on coherent platforms.")
    fb_total_mib: Reading[int] = reading("Frame buffer memory.", unit="MiB")
    ecc_mode: EccMode = record("ECC on or off.", EccMode)
    ecc_errors: EccErrors = record("ECC counters and repair states.", EccErrors)
    retired_pages: RetiredPages = record("Retired pages.", RetiredPages)
    remapped_rows: RemappedRows = record("Remapped rows.", RemappedRows)
    gpu_recovery_action: Reading[str] = reading("What the driver asks for: `None`, `Reset`, `Reboot`, `Drain P2P` …")
    reset_required: Reading[bool] = reading("Whether the driver wants a reset; drivers R535 to R565 say it this way.")
    drain_and_reset_recommended: Reading[bool] = reading("Whether the driver advises to drain and reset; as above.")
    mig_mode: MigMode = record("MIG on or off.", MigMode)
    mig_profiles: Reading[tuple[MigProfile, ...]] = rows(
        "The GPU instance profiles on offer.", by=("mig_profile_id", "mig_profile")
    )
    gpu_instances: Reading[tuple[GpuInstance, ...]] = rows("The GPU instances.", by=("gpu_instance_id",))
    mig_instances: Reading[tuple[MigInstance, ...]] = rows(
        "The MIG devices.", by=("gpu_instance_id", "compute_instance_id")
    )
    nvlinks: Reading[tuple[NvLink, ...]] = rows(
        "The NVLinks; an empty list is a GPU all of whose links are down.", by=("link",)
    )
    topology: Reading[tuple[TopologyPeer, ...]] = rows("The row of the topology matrix.", by=("peer",))
    fabric: Fabric = record("The NVLink fabric.", Fabric)
    power_limits: PowerLimits = record("Limits of the GPU.", PowerLimits)
    module_power_limits: PowerLimits = record("Limits of the module that a superchip's GPU sits on.", PowerLimits)
    persistence_mode: Reading[bool] = reading("Whether the driver stays loaded without a client.")
    compute_mode: Reading[str] = reading("Who may compute on it: `Default`, `Exclusive_Process`, `Prohibited`.")
    virtualization_mode: Reading[str] = reading("`None`, `Pass-Through`, `VGPU`, `Host VGPU`, as seen from inside.")
    addressing_mode: Reading[str] = reading("How it reaches host memory: `None`, `HMM`, `ATS`.")
    platform_info: PlatformInfo = record("Where it sits in a rack.", PlatformInfo)
    gpu_excluded: Reading[bool] = reading("Whether the driver was told to leave it alone; no tool can use it then.")
    gpu_lost: bool = doc("Whether any value read `GPU is lost`.", default=False)


@attrs.frozen(kw_only=True)
class GpuSection:
    """The `gpus` section of a node's inventory."""

    layers: tuple[Layer, ...] = doc("The layers that were read, sorted by name.")
    driver_version: Reading[DriverVersion] = reading("Version of the NVIDIA driver.")
    cuda_driver_version: Reading[str] = reading("The CUDA version that the driver supports.")
    nvml_version: Reading[str] = reading("Version of the NVML library.")
    gpus: tuple[Gpu, ...] = attrs.field(metadata={"doc": "The GPUs.", "sort_key": ("uuid", "pci_bus_id")})

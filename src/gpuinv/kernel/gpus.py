"""The `gpus` section as procfs and sysfs alone can tell it: the base that nvidia-smi's facts are merged into."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from gpuinv.inventory import Gpu, GpuSection, Layer
from gpuinv.readings import Missing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuinv.ids import PciBusId
    from gpuinv.kernel.pci import PciFunction
    from gpuinv.kernel.proc_nvidia import ProcInformation, ProcVersion

__all__ = ["procfs_section"]

_LAYERS = (Layer.PROCFS,)


def procfs_section(
    version: ProcVersion | None, gpus: Iterable[tuple[ProcInformation, PciFunction | None]]
) -> GpuSection:
    """The section of the GPUs that the driver's procfs directory lists, each with its PCI function where sysfs has it.

    Without a version and without GPUs the layer is not there, and the section does not claim it. GPUs are numbered in
    bus order, those without an address last; an excluded GPU and one without a UUID are in it. The architecture is
    left out: it is derived from all layers, once they are merged.
    """
    built = sorted((_gpu(information, function) for information, function in gpus), key=_bus_order)
    return GpuSection(
        layers=_LAYERS if version is not None or built else (),
        driver_version=Missing.ABSENT if version is None else version.driver_version,
        gpus=tuple(attrs.evolve(gpu, gpu_index=index) for index, gpu in enumerate(built)),
    )


def _gpu(information: ProcInformation, function: PciFunction | None) -> Gpu:
    gpu = Gpu(
        gpu_index=0,
        layers=_LAYERS,
        uuid=information.uuid,
        pci_bus_id=information.pci_bus_id,
        minor_number=information.minor_number,
        product_name=information.product_name,
        vbios_version=information.vbios_version,
        gpu_excluded=information.gpu_excluded,
    )
    return gpu if function is None else _with_function(gpu, function)


def _with_function(gpu: Gpu, function: PciFunction) -> Gpu:
    return attrs.evolve(
        gpu,
        pci_bus_id=function.pci_bus_id if isinstance(gpu.pci_bus_id, Missing) else gpu.pci_bus_id,
        pci_device_id=function.pci_device_id,
        pci_sub_system_id=function.pci_sub_system_id,
        max_link_gen=function.max_link_gen,
        max_link_width=function.max_link_width,
        numa_node=function.numa_node,
    )


def _bus_order(gpu: Gpu) -> tuple[bool, PciBusId | None]:
    """Addresses in the order of their numbers, then what has none."""
    return (True, None) if isinstance(gpu.pci_bus_id, Missing) else (False, gpu.pci_bus_id)

from __future__ import annotations

from gpuinv.ids import GpuUuid, PciBusId, PciId
from gpuinv.inventory import Gpu, GpuSection, Layer
from gpuinv.kernel.gpus import procfs_section
from gpuinv.kernel.pci import PciFunction
from gpuinv.kernel.proc_nvidia import ProcInformation, ProcVersion
from gpuinv.readings import Missing
from gpuinv.versions import DriverVersion

VERSION = ProcVersion(driver_version=DriverVersion("580.95.05"), open_kernel_module=True, nvrm_version="…")
UUID = GpuUuid("GPU-6b0d4c11-7e52-43aa-9f10-2a3b4c5d6e7f")


def information(bus: int | None, *, domain: int = 0) -> ProcInformation:
    return ProcInformation(
        pci_bus_id=Missing.ABSENT if bus is None else PciBusId(domain, bus, 0), minor_number=bus or 0
    )


def test_a_gpu_takes_its_facts_from_both() -> None:
    gpu = ProcInformation(
        product_name="NVIDIA L40S",
        uuid=UUID,
        vbios_version="95.02.5C.00.0B",
        pci_bus_id=PciBusId(0, 0xC1, 0),
        minor_number=6,
        gpu_excluded=True,
    )
    function = PciFunction(
        pci_bus_id=PciBusId(0, 0xC1, 0),
        pci_device_id=PciId(0x10DE, 0x26B9),
        pci_sub_system_id=PciId(0x10DE, 0x1851),
        numa_node=1,
        max_link_speed_mtps=16000,
        max_link_width=16,
    )
    assert procfs_section(VERSION, [(gpu, function)]) == GpuSection(
        layers=(Layer.PROCFS,),
        driver_version=DriverVersion("580.95.05"),
        gpus=(
            Gpu(
                gpu_index=0,
                layers=(Layer.PROCFS,),
                uuid=UUID,
                pci_bus_id=PciBusId(0, 0xC1, 0),
                minor_number=6,
                product_name="NVIDIA L40S",
                vbios_version="95.02.5C.00.0B",
                pci_device_id=PciId(0x10DE, 0x26B9),
                pci_sub_system_id=PciId(0x10DE, 0x1851),
                max_link_gen=4,
                max_link_width=16,
                numa_node=1,
                gpu_excluded=True,
            ),
        ),
    )


def test_gpus_are_numbered_in_bus_order_and_those_without_an_address_come_last() -> None:
    gpus = [information(None), information(0xF1), information(1, domain=0x10000), information(0x9), information(None)]
    section = procfs_section(None, [(gpu, None) for gpu in gpus])
    assert section.driver_version is Missing.ABSENT
    assert [gpu.gpu_index for gpu in section.gpus] == [0, 1, 2, 3, 4]
    assert [None if isinstance(gpu.pci_bus_id, Missing) else gpu.pci_bus_id.sysfs for gpu in section.gpus] == [
        "0000:09:00.0",
        "0000:f1:00.0",
        "10000:01:00.0",
        None,
        None,
    ]


def test_an_address_that_procfs_lacks_comes_from_sysfs() -> None:
    function = PciFunction(pci_bus_id=PciBusId(0, 5, 0))
    (gpu,) = procfs_section(None, [(information(None), function)]).gpus
    assert gpu.pci_bus_id == PciBusId(0, 5, 0)


def test_no_gpus_is_an_empty_section() -> None:
    assert procfs_section(None, []).gpus == ()

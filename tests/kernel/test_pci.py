from __future__ import annotations

import pytest

from gpuinv.errors import IssueKind, ParseError
from gpuinv.ids import PciBusId, PciId
from gpuinv.kernel.pci import PciFunction, parse_pci_function
from gpuinv.readings import Missing

GPU = {
    "vendor": "0x10de\n",
    "device": "0x26b9\n",
    "subsystem_vendor": "0x10de\n",
    "subsystem_device": "0x1851\n",
    "class": "0x030200\n",
    "revision": "0xa1\n",
    "numa_node": "1\n",
    "current_link_speed": "2.5 GT/s PCIe\n",
    "current_link_width": "8\n",
    "max_link_speed": "16.0 GT/s PCIe\n",
    "max_link_width": "16\n",
    "sriov_totalvfs": "32\n",
    "sriov_numvfs": "0\n",
    "driver": "../../../../bus/pci/drivers/nvidia",
    "iommu_group": "../../../../kernel/iommu_groups/27",
    "uevent": "DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID=10DE:26B9\nPCI_SUBSYS_ID=10DE:1851\nPCI_SLOT_NAME=0000:c1:00.0\n",
}


def with_files(**changes: str | bytes) -> PciFunction:
    return parse_pci_function({**GPU, **changes})


def without(*names: str) -> PciFunction:
    return parse_pci_function({name: text for name, text in GPU.items() if name not in names}, address="0000:c1:00.0")


def test_a_gpu() -> None:
    found = parse_pci_function(GPU)
    assert found == PciFunction(
        pci_bus_id=PciBusId(0, 0xC1, 0),
        pci_device_id=PciId(0x10DE, 0x26B9),
        pci_sub_system_id=PciId(0x10DE, 0x1851),
        pci_class=0x030200,
        revision=0xA1,
        numa_node=1,
        driver_name="nvidia",
        iommu_group=27,
        current_link_speed_mtps=2500,
        max_link_speed_mtps=16000,
        current_link_width=8,
        max_link_width=16,
        sriov_totalvfs=32,
        sriov_numvfs=0,
    )
    assert (found.current_link_gen, found.max_link_gen) == (1, 4)
    assert found.is_nvidia_gpu
    assert not found.is_passed_through
    assert not found.is_virtual_function


def test_bytes_are_read_alike() -> None:
    assert parse_pci_function({name: text.encode() for name, text in GPU.items()}) == parse_pci_function(GPU)


def test_uevent_stands_in_for_files() -> None:
    files = ("vendor", "device", "subsystem_device", "class", "driver")
    assert without(*files) == parse_pci_function(GPU)


def test_a_function_with_nothing_but_an_address() -> None:
    found = parse_pci_function({}, address="10000:01:00.1")
    assert found == PciFunction(pci_bus_id=PciBusId(0x10000, 1, 0, 1))
    assert (found.pci_device_id, found.driver_name, found.max_link_gen) == (Missing.ABSENT,) * 3
    assert not found.is_nvidia_gpu
    assert not found.is_passed_through


def test_the_given_address_counts() -> None:
    assert parse_pci_function(GPU, address="0000:c2:00.0").pci_bus_id == PciBusId(0, 0xC2, 0)


@pytest.mark.parametrize("files", [{}, {"uevent": "DRIVER=nvidia\n"}, {"uevent": "PCI_SLOT_NAME=c1:00.0"}])
def test_no_address_is_refused(files: dict[str, str]) -> None:
    with pytest.raises(ParseError, match="/sys/bus/pci/devices"):
        parse_pci_function(files)


def test_a_huge_file_is_refused() -> None:
    with pytest.raises(ParseError, match="more than 65536 bytes"):
        with_files(modalias="x" * 65537)


@pytest.mark.parametrize(
    ("text", "speed", "gen"),
    [
        ("2.5 GT/s", 2500, 1),
        ("5 GT/s", 5000, 2),
        ("5.0 GT/s PCIe", 5000, 2),
        ("8 GT/s", 8000, 3),
        ("16 GT/s", 16000, 4),
        ("32.0 GT/s PCIe", 32000, 5),
        ("64.0 GT/s PCIe", 64000, 6),
        ("128.0 GT/s PCIe", 128000, 7),
        ("8.0", 8000, 3),
        ("Unknown speed", Missing.NOT_AVAILABLE, Missing.NOT_AVAILABLE),
        ("Unknown", Missing.NOT_AVAILABLE, Missing.NOT_AVAILABLE),
        ("0.0 GT/s", Missing.NOT_AVAILABLE, Missing.NOT_AVAILABLE),
        ("", Missing.NOT_AVAILABLE, Missing.NOT_AVAILABLE),
        ("7 GT/s", 7000, Missing.ERROR),
        ("fast", Missing.ERROR, Missing.ERROR),
    ],
)
def test_link_speeds(text: str, speed: int | Missing, gen: int | Missing) -> None:
    found = with_files(max_link_speed=text)
    assert (found.max_link_speed_mtps, found.max_link_gen) == (speed, gen)


@pytest.mark.parametrize("text", ["0", "63", "255"])
def test_widths_that_are_none(text: str) -> None:
    found = with_files(max_link_width=text, current_link_width=text)
    assert (found.max_link_width, found.current_link_width) == (Missing.NOT_AVAILABLE,) * 2
    assert found.issues == ()


def test_no_numa_node_is_not_minus_one() -> None:
    assert with_files(numa_node="-1\n").numa_node is Missing.NOT_AVAILABLE
    assert without("numa_node").numa_node is Missing.ABSENT


@pytest.mark.parametrize(
    ("pci_class", "is_gpu"),
    [("0x030000", True), ("0x030200", True), ("0x030001", True), ("0x068000", False), ("0x040300", False), ("", False)],
)
def test_which_functions_of_nvidia_are_gpus(pci_class: str, is_gpu: bool) -> None:  # noqa: FBT001
    assert with_files(**{"class": pci_class}).is_nvidia_gpu is is_gpu


def test_another_vendor_and_a_virtual_function_are_no_gpus() -> None:
    assert not with_files(vendor="0x1002").is_nvidia_gpu
    virtual = with_files(physfn="../0000:c1:00.0")
    assert virtual.is_virtual_function
    assert not virtual.is_nvidia_gpu


@pytest.mark.parametrize(
    ("driver", "passed"),
    [
        ("vfio-pci", True),
        ("nvgrace-gpu-vfio-pci", True),
        ("nvgrace_gpu_vfio_pci", True),
        ("pciback", True),
        ("xen-pciback", True),
        ("xen_pciback", True),
        ("vfio_mdev", False),
        ("nvidia", False),
        ("nouveau", False),
    ],
)
def test_which_drivers_mean_passthrough(driver: str, passed: bool) -> None:  # noqa: FBT001
    found = with_files(driver=f"../../../bus/pci/drivers/{driver}/")
    assert found.driver_name == driver
    assert found.is_passed_through is passed


@pytest.mark.parametrize(
    ("name", "text", "field"),
    [
        ("vendor", "0x10de0", "pci_device_id"),
        ("device", "nvidia", "pci_device_id"),
        ("class", "0x1030200", "pci_class"),
        ("revision", "0x1ff", "revision"),
        ("max_link_width", "x16", "max_link_width"),
        ("iommu_group", "../../groups/all", "iommu_group"),
        ("sriov_numvfs", "-4", "sriov_numvfs"),
    ],
)
def test_a_value_of_another_form_is_an_error_and_noted(name: str, text: str, field: str) -> None:
    found = with_files(**{name: text})
    assert getattr(found, field) is Missing.ERROR
    (issue,) = found.issues
    assert (issue.kind, issue.place, issue.pci_bus_id) == (IssueKind.BAD_VALUE, name, "00000000:C1:00.0")


def test_an_issue_of_uevent_names_uevent() -> None:
    found = parse_pci_function({"uevent": "PCI_ID=10DE\nPCI_SLOT_NAME=0000:c1:00.0"})
    assert found.pci_device_id is Missing.ERROR
    assert [issue.place for issue in found.issues] == ["uevent"]

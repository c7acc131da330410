"""The captured PCI functions: directories of sysfs, and what lspci says of whole hosts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from gpuinv.kernel.pci import PciFunction, parse_pci_function
from gpuinv.readings import Missing

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.corpus


def read(corpus: Path, number: str) -> str:
    """The text of one file of the kind, which may not be in this corpus."""
    found = sorted((corpus / "host" / "sysfs_pci").glob(f"{number}-*"))
    if not found:
        pytest.skip(f"no file {number}")
    return found[0].read_text(encoding="utf-8")


def function(text: str, address: str | None = None) -> PciFunction:
    """A directory that was written down as `file: text`; a link as `name -> target` or `name: -> target`."""
    files: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        found = re.match(r"([a-z_0-9]+)(?:: (?:-> )?| -> )(.*)", line)
        if found:
            name = found[1]
            files[name] = found[2] + "\n"
        elif name:
            files[name] += line + "\n"
    return parse_pci_function(files, address=address)


def test_the_functions_of_a_virtual_machine(corpus: Path) -> None:
    blocks = re.split(r"^== ", read(corpus, "001"), flags=re.MULTILINE)[1:]
    found = [function(block, block.split("\n", 1)[0]) for block in blocks]
    assert [each.pci_bus_id.device for each in found] == list(range(len(blocks)))
    assert {str(each.numa_node) for each in found} == {str(Missing.NOT_AVAILABLE)}
    assert {str(each.driver_name) for each in found} == {str(Missing.ABSENT), "virtio-pci"}
    assert {str(each.max_link_gen) for each in found} == {str(Missing.ABSENT)}
    assert not any(each.is_nvidia_gpu or each.issues for each in found)


def test_a_network_card_with_virtual_functions(corpus: Path) -> None:
    found = function(read(corpus, "011"))
    assert found.pci_bus_id.sysfs == "0000:a2:00.0"
    assert (str(found.pci_device_id), str(found.pci_sub_system_id)) == ("8086:159b", "8086:0003")
    assert (found.max_link_gen, found.current_link_gen) == (4, 4)
    assert (found.max_link_width, found.current_link_width) == (8, 8)
    assert (found.sriov_totalvfs, found.sriov_numvfs) == (128, 0)
    assert (found.numa_node, found.driver_name, found.pci_class, found.revision) == (1, "ice", 0x020000, 2)
    assert found.issues == ()


def test_a_gpu_of_another_vendor(corpus: Path) -> None:
    found = function(read(corpus, "013"))
    assert found.pci_bus_id.sysfs == "0000:09:00.0"
    assert (found.numa_node, found.driver_name) == (Missing.NOT_AVAILABLE, "amdgpu")
    assert (found.max_link_gen, found.max_link_width) == (3, 16)
    assert not found.is_nvidia_gpu


def test_the_gpus_among_the_functions_of_a_host(corpus: Path) -> None:
    lines = re.findall(r"^(\S+) .*?\[(\w{4})\]: .*\[(\w{4}):(\w{4})\]", read(corpus, "021"), re.MULTILINE)
    found = [
        parse_pci_function({"class": f"0x{kind}00", "vendor": f"0x{vendor}", "device": f"0x{device}"}, address=address)
        for address, kind, vendor, device in lines
    ]
    gpus = [each.pci_bus_id for each in found if each.is_nvidia_gpu]
    assert len(found) == len(read(corpus, "021").splitlines())
    assert len(gpus) == 8
    assert [bus_id.domain for bus_id in gpus] == [1, 2, 3, 4, 0xB, 0xC, 0xD, 0xE]  # the bridges between are NVSwitches


@pytest.mark.parametrize(("number", "count"), [("040", 2), ("042", 1)])
def test_the_drivers_that_hold_functions_for_virtual_machines(corpus: Path, number: str, count: int) -> None:
    drivers = re.findall(r"Kernel driver in use: (\S+)", read(corpus, number))
    assert len(drivers) == count
    for driver in drivers:
        link = f"../../../../bus/pci/drivers/{driver}"
        assert parse_pci_function({"driver": link}, address="0000:5a:00.0").is_passed_through

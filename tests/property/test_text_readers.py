"""No reader of host text raises anything but ParseError, on any text, on any bytes, on any damage to a good text."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuinv.errors import ParseError
from gpuinv.kernel.pci import parse_pci_function
from gpuinv.kernel.proc_nvidia import parse_proc_information, parse_proc_version
from gpuinv.naming.architecture import architecture_of_compute_capability, architecture_of_name
from gpuinv.smi.compute_cap import parse_compute_cap
from gpuinv.smi.gpu_list import parse_smi_list

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.property

UUID = "GPU-6b0d4c11-7e52-43aa-9f10-2a3b4c5d6e7f"
GOOD: dict[Callable[[Any], Any], str] = {
    parse_smi_list: (
        f"GPU 0: NVIDIA H200 (UUID: {UUID})\n  MIG 1c.3g.71gb  Device  0: (UUID: MIG-{UUID}/1/0)\n"
        "Unable to determine the device handle for GPU3: 0000:5F:00.0: GPU is lost.  Reboot\nNo devices were found\n"
    ),
    parse_compute_cap: f"uuid, compute_cap\n{UUID}, 9.0\nUnable to determine the device handle for GPU2: Not Found\n",
    parse_proc_information: (
        f"Model: \t\t NVIDIA L40S\nGPU UUID: \t {UUID}\nVideo BIOS: \t 95.02.5c.00.0b\nBus Location: \t 0000:c1:00.0\n"
        "Device Minor: \t 6\nGPU Firmware: \t N/A\nGPU Excluded:\t No\nBlacklisted:\t No\n"
    ),
    parse_proc_version: "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.04  Release Build\n",
}
READERS = st.sampled_from(list(GOOD))
FILE_NAMES = st.sampled_from(
    [
        "vendor",
        "device",
        "subsystem_vendor",
        "subsystem_device",
        "class",
        "revision",
        "numa_node",
        "current_link_speed",
        "max_link_width",
        "sriov_totalvfs",
        "driver",
        "iommu_group",
        "physfn",
        "uevent",
    ]
)
FILE_TEXTS = st.one_of(
    st.text(max_size=40),
    st.binary(max_size=40),
    st.from_regex(r"(0x)?[0-9a-f]{0,8}|-?[0-9]{1,30}|[0-9.]{1,9} GT/s( PCIe)?|\[.{0,9}\]", fullmatch=True),
    st.from_regex(r"PCI_(ID|CLASS|SUBSYS_ID|SLOT_NAME)=[0-9A-Fa-f:.]{0,14}\n?", fullmatch=True),
)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Callable[[Any], Any], str]:
    """A reader with its good text, of which pieces were cut, repeated, or replaced."""
    reader = draw(READERS)
    text = GOOD[reader]
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 30)))
        text = text[:start] + draw(st.one_of(st.just(text[start:end] * 2), st.text(max_size=5))) + text[end:]
    return reader, text


@given(READERS, st.one_of(st.text(), st.binary()))
def test_any_text(reader: Callable[[Any], Any], text: str | bytes) -> None:
    with contextlib.suppress(ParseError):
        reader(text)


@given(damaged())
def test_damaged_text(case: tuple[Callable[[Any], Any], str]) -> None:
    reader, text = case
    with contextlib.suppress(ParseError):
        reader(text)


@given(damaged(), st.sampled_from(["utf-8", "utf-16", "latin-1"]))
def test_damaged_text_in_bytes(case: tuple[Callable[[Any], Any], str], encoding: str) -> None:
    reader, text = case
    with contextlib.suppress(ParseError):
        reader(text.encode(encoding, "replace"))


@given(st.dictionaries(FILE_NAMES, FILE_TEXTS), st.one_of(st.none(), st.just("0000:01:00.0"), st.text(max_size=14)))
def test_any_files_of_a_function(files: dict[str, str | bytes], address: str | None) -> None:
    with contextlib.suppress(ParseError):
        found = parse_pci_function(files, address=address)
        assert found.is_nvidia_gpu in {True, False}
        assert found.max_link_gen is not None


@given(st.text(), st.text(max_size=20))
def test_any_directory_name(directory: str, model: str) -> None:
    with contextlib.suppress(ParseError):
        parse_proc_information(f"Model: {model}", directory=directory)


@given(st.text())
def test_any_name(name: str) -> None:
    architecture_of_name(name)
    architecture_of_compute_capability(name)

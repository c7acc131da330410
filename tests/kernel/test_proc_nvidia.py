from __future__ import annotations

import pytest

from gpuinv.errors import IssueKind, ParseError
from gpuinv.ids import GpuUuid, PciBusId
from gpuinv.kernel.proc_nvidia import ProcInformation, ProcVersion, parse_proc_information, parse_proc_version
from gpuinv.readings import Missing
from gpuinv.versions import DriverVersion

UUID = "GPU-6b0d4c11-7e52-43aa-9f10-2a3b4c5d6e7f"
FULL = (
    "Model: \t\t NVIDIA L40S\n"
    "IRQ:   \t\t 210\n"
    f"GPU UUID: \t {UUID}\n"
    "Video BIOS: \t 95.02.5c.00.0b\n"
    "Bus Type: \t PCIe\n"
    "DMA Size: \t 47 bits\n"
    "DMA Mask: \t 0x7fffffffffff\n"
    "Bus Location: \t 0000:c1:00.0\n"
    "Device Minor: \t 6\n"
    "GPU Firmware: \t 580.95.05\n"
    "GPU Excluded:\t No\n"
)


def kinds(found: ProcInformation) -> list[IssueKind]:
    return [issue.kind for issue in found.issues]


def test_a_current_driver() -> None:
    assert parse_proc_information(FULL) == ProcInformation(
        product_name="NVIDIA L40S",
        uuid=GpuUuid(UUID),
        vbios_version="95.02.5C.00.0B",
        bus_type="PCIe",
        pci_bus_id=PciBusId(0, 0xC1, 0),
        minor_number=6,
        gpu_firmware="580.95.05",
        gpu_excluded=False,
    )


@pytest.mark.parametrize(
    "text", [FULL.encode(), FULL.replace("\n", "\r\n"), FULL.replace("\t", " "), FULL + "\n\nBAR1:\n"]
)
def test_other_spellings_of_the_same(text: str | bytes) -> None:
    assert parse_proc_information(text) == parse_proc_information(FULL)


def test_a_gpu_that_never_started() -> None:
    found = parse_proc_information(
        "Model: \t\t Unknown\nVideo BIOS: \t ??.??.??.??.??\nBus Location: \t 0000:47:00.0\nGPU Firmware: \t N/A\n"
    )
    assert found.product_name is Missing.NOT_AVAILABLE
    assert found.vbios_version is Missing.NOT_AVAILABLE
    assert found.gpu_firmware is Missing.NOT_SUPPORTED
    assert (found.uuid, found.minor_number, found.gpu_excluded) == (Missing.ABSENT,) * 3
    assert [(issue.kind, issue.pci_bus_id) for issue in found.issues] == [(IssueKind.NO_UUID, "00000000:47:00.0")]


@pytest.mark.parametrize(
    "uuid",
    ["GPU-????????-????-????-????-????????????", "GPU-00000000-0000-0000-0000-000000000000", "...", "GPU-12", ""],
)
def test_what_is_no_uuid(uuid: str) -> None:
    found = parse_proc_information(FULL.replace(UUID, uuid))
    assert found.uuid is Missing.NOT_AVAILABLE
    assert [(issue.kind, issue.place) for issue in found.issues] == [(IssueKind.NO_UUID, "line 3")]


@pytest.mark.parametrize(("key", "word", "excluded"), [("Blacklisted", "Yes", True), ("GPU Excluded", "Yes", True)])
def test_an_excluded_gpu_by_either_name(key: str, word: str, excluded: bool) -> None:  # noqa: FBT001
    found = parse_proc_information(FULL.replace("GPU Excluded:\t No", f"{key}:\t {word}"))
    assert found.gpu_excluded is excluded


def test_the_newer_name_counts() -> None:
    assert parse_proc_information(FULL + "Blacklisted:\t Yes\n").gpu_excluded is False


def test_the_firmware_line_of_a_capture_board_is_not_gpu_firmware() -> None:
    found = parse_proc_information("Model: X\nFirmware: \t ????.??.??\nBus Location: 0000:01:00.0\n")
    assert found.gpu_firmware is Missing.ABSENT


@pytest.mark.parametrize(
    ("location", "domain"),
    [("10000:01:00.0", 0x10000), ("3f8cfdd:01:00.0", 0x3F8CFDD), ("0000:01.00.0", 0), ("0000:01:00", 0)],
)
def test_domains_are_never_cut(location: str, domain: int) -> None:
    found = parse_proc_information(FULL.replace("0000:c1:00.0", location))
    assert found.pci_bus_id == PciBusId(domain, 1, 0)
    assert found.issues == ()


def test_a_numbered_directory_of_an_old_driver_is_no_address() -> None:
    assert parse_proc_information(FULL, directory="0").pci_bus_id == PciBusId(0, 0xC1, 0)
    without = parse_proc_information(FULL.replace("Bus Location", "Bus"), directory="0")
    assert without.pci_bus_id is Missing.ABSENT


@pytest.mark.parametrize("directory", ["0000:c1:00.0", "gpus/0000:c1:00.0/"])
def test_the_directory_stands_in_for_a_missing_address(directory: str) -> None:
    found = parse_proc_information(FULL.replace("Bus Location", "Bus"), directory=directory)
    assert found.pci_bus_id == PciBusId(0, 0xC1, 0)
    assert found.issues == ()


def test_the_directory_stands_in_for_an_address_that_cannot_be_read() -> None:
    found = parse_proc_information(FULL.replace("0000:c1:00.0", "c1:00.0"), directory="0000:c1:00.0")
    assert found.pci_bus_id == PciBusId(0, 0xC1, 0)
    assert kinds(found) == [IssueKind.BAD_VALUE]


def test_another_address_in_the_directory_is_noted_and_a_cut_domain_is_not() -> None:
    found = parse_proc_information(FULL, directory="0000:c2:00.0")
    assert found.pci_bus_id == PciBusId(0, 0xC1, 0)
    assert kinds(found) == [IssueKind.LAYERS_DISAGREE]
    cut = parse_proc_information(FULL.replace("0000:c1", "3f8cfdd:c1"), directory="cfdd:c1:00.0")
    assert (cut.pci_bus_id, cut.issues) == (PciBusId(0x3F8CFDD, 0xC1, 0), ())


def test_a_name_that_is_not_utf8_is_unknown_and_the_gpu_stays() -> None:
    found = parse_proc_information(FULL.encode().replace(b"NVIDIA L40S", b"\xf8\x01"))
    assert (found.product_name, found.uuid) == (Missing.ERROR, UUID)
    assert [(issue.kind, issue.uuid) for issue in found.issues] == [(IssueKind.BAD_CHARACTERS, UUID)]


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        ("95.02.5c.00.0b", "one", "vbios_version"),
        ("Minor: \t 6", "Minor: \t -1", "minor_number"),
        ("Minor: \t 6", "Minor: \t 4294967295", "minor_number"),
        ("Excluded:\t No", "Excluded:\t perhaps", "gpu_excluded"),
    ],
)
def test_a_value_of_another_form_is_an_error_and_noted(before: str, after: str, field: str) -> None:
    found = parse_proc_information(FULL.replace(before, after))
    assert getattr(found, field) is Missing.ERROR
    assert kinds(found) == [IssueKind.BAD_VALUE]


def test_of_a_key_that_stands_twice_the_first_value_counts() -> None:
    found = parse_proc_information(FULL + "Device Minor: \t 6\nDevice Minor: \t 7\n")
    assert found.minor_number == 6
    assert [(issue.kind, issue.place) for issue in found.issues] == [(IssueKind.BAD_VALUE, "line 13")]


@pytest.mark.parametrize(
    "text", ["", "\n", b"\x00\xff\xfe\x01", "model\t\t: 106\nmodel name\t: EPYC\n", "Runtime D3 status: \t Disabled\n"]
)
def test_what_is_no_information(text: str | bytes) -> None:
    with pytest.raises(ParseError, match="no key of a GPU's information"):
        parse_proc_information(text)


def test_the_refusal_shows_the_first_line() -> None:
    with pytest.raises(ParseError) as caught:
        parse_proc_information("\nhello\nModell: x\n")
    assert (caught.value.place, caught.value.text) == ("line 2", "hello")
    assert caught.value.source == "/proc/driver/nvidia/gpus/*/information"


@pytest.mark.parametrize("parse", [parse_proc_information, parse_proc_version])
def test_more_than_any_such_file_is_refused(parse: type) -> None:
    with pytest.raises(ParseError, match="more than 65536 bytes"):
        parse(FULL * 1000)


@pytest.mark.parametrize(
    ("line", "version", "is_open"),
    [
        ("NVIDIA UNIX x86_64 Kernel Module  580.142  Tue Mar  3 20:04:04 UTC 2026", "580.142", False),
        ("NVIDIA UNIX x86_64 Kernel Module 390.48 Thu Mar 22 00:42:57 PDT 2018", "390.48", False),
        ("NVIDIA UNIX Kernel Module for aarch64  34.1.1  Release Build  (b@m)", "34.1.1", False),
        ("NVIDIA UNIX Open Kernel Module for x86_64  550.54.04  Release Build  (d@U16)  ", "550.54.04", True),
        ("NVIDIA UNIX Open Kernel Module for aarch64  35.3.1  Release Build", "35.3.1", True),
    ],
)
def test_the_wordings_of_the_version(line: str, version: str, is_open: bool) -> None:  # noqa: FBT001
    found = parse_proc_version(f"NVRM version: {line}\nGCC version:  collect2: error: ld returned 1 exit status\n")
    assert found == ProcVersion(
        driver_version=DriverVersion(version), open_kernel_module=is_open, nvrm_version=line.strip()
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("NVIDIA Linux x86 NVIDIA Kernel Module  1.0-9755  Mon Feb 26", Missing.ERROR),
        ("NVIDIA UNIX x86_64 Kernel Module", Missing.NOT_AVAILABLE),
        ("580.142", Missing.NOT_AVAILABLE),
    ],
)
def test_a_version_of_another_form_is_missing(line: str, reason: Missing) -> None:
    found = parse_proc_version(f"NVRM version: {line}".encode())
    assert (found.driver_version, found.nvrm_version) == (reason, line)


@pytest.mark.parametrize("text", ["", "GCC version:  gcc version 12.3.0\n", b"\xff\x00"])
def test_what_is_no_version(text: str | bytes) -> None:
    with pytest.raises(ParseError, match="no line NVRM version:"):
        parse_proc_version(text)

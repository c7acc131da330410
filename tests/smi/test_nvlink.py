from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from gpuinv.errors import IssueKind, ParseError
from gpuinv.ids import GpuUuid, PciBusId
from gpuinv.readings import Missing, Reading
from gpuinv.smi.nvlink import (
    GpuLinks,
    LinkCounter,
    LinkRemote,
    LinkStatus,
    NvlinkErrors,
    NvlinkRemotes,
    NvlinkState,
    NvlinkStatus,
    parse_nvlink_errors,
    parse_nvlink_remote,
    parse_nvlink_status,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

A = GpuUuid("GPU-7b0e5a10-3c2d-4e1f-9a8b-0c1d2e3f4a01")
B = GpuUuid("GPU-7b0e5a10-3c2d-4e1f-9a8b-0c1d2e3f4a02")
GPU_A = f"GPU 0: NVIDIA H100 80GB HBM3 (UUID: {A})\n"
GPU_B = f"GPU 1: NVIDIA H100 80GB HBM3 (UUID: {B})\n"
ALL_INACTIVE = "NVML: Unable to retrieve NVLink information as all links are inActive"
MIG = "Nvlink queries are not supported for Devices in MIG mode"
PARSERS: list[Callable[[str | bytes], NvlinkStatus | NvlinkRemotes | NvlinkErrors]] = [
    parse_nvlink_status,
    parse_nvlink_remote,
    parse_nvlink_errors,
]


def kinds(found: NvlinkStatus | NvlinkRemotes | NvlinkErrors) -> list[IssueKind]:
    return [issue.kind for issue in found.issues]


def link(text: str) -> LinkStatus:
    """What one line says of link 3."""
    found = parse_nvlink_status(f"{GPU_A}\t Link 3: {text}\n")
    assert found.issues == ()
    (status,) = found.gpus[0].links
    return status


def test_links_of_several_gpus() -> None:
    found = parse_nvlink_status(
        f"{GPU_A}\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n\t Link 10: 26.562 GB/s\n"
        f"{GPU_B}         Link 0: 25 GB/s\n"
    )
    assert found == NvlinkStatus(
        gpus=(
            GpuLinks(
                smi_index=0,
                product_name="NVIDIA H100 80GB HBM3",
                uuid=A,
                state=NvlinkState.LINKS,
                links=(
                    LinkStatus(link=0, up=True, speed_gb_per_s=Decimal("26.562")),
                    LinkStatus(link=1, up=False),
                    LinkStatus(link=10, up=True, speed_gb_per_s=Decimal("26.562")),
                ),
            ),
            GpuLinks(
                smi_index=1,
                product_name="NVIDIA H100 80GB HBM3",
                uuid=B,
                state=NvlinkState.LINKS,
                links=(LinkStatus(link=0, up=True, speed_gb_per_s=Decimal(25)),),
            ),
        )
    )


@pytest.mark.parametrize(
    ("text", "up", "speed", "note"),
    [
        ("25 GB/s", True, Decimal(25), ""),
        ("25.781 GB/s", True, Decimal("25.781"), ""),
        ("53.125 GB/s (sleep)", True, Decimal("53.125"), "(sleep)"),
        ("50 GB/s, low power", True, Decimal(50), ", low power"),
        ("<inactive>", False, None, ""),
        ("<inActive>", False, None, ""),
        ("inactive", False, None, ""),
        ("<sleep>", True, None, "<sleep>"),
        ("asleep", True, None, "asleep"),
        ("N/A", Missing.NOT_SUPPORTED, None, ""),
        ("<N/A>", Missing.NOT_SUPPORTED, None, ""),
        ("[Unknown Error]", Missing.ERROR, None, ""),
        ("", Missing.NOT_AVAILABLE, None, ""),
    ],
)
def test_every_form_of_a_link(text: str, up: Reading[bool], speed: Decimal | None, note: str) -> None:
    assert link(text) == LinkStatus(link=3, up=up, speed_gb_per_s=speed, note=note)


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize(
    ("sentence", "state"),
    [
        (ALL_INACTIVE, NvlinkState.ALL_INACTIVE),
        ("NVML: Unable to retrieve Nvlink information as all links are inActive", NvlinkState.ALL_INACTIVE),
        ("  Unable to retrieve NVLink information as all links are inactive", NvlinkState.ALL_INACTIVE),
        ("Device does not have or support Nvlink", NvlinkState.UNSUPPORTED),
        ("Device does not have or support NVLink.", NvlinkState.UNSUPPORTED),
        (MIG, NvlinkState.MIG),
        (MIG.upper(), NvlinkState.MIG),
    ],
)
def test_a_sentence_in_place_of_the_links(
    parse: Callable[[str], NvlinkStatus | NvlinkRemotes | NvlinkErrors], sentence: str, state: NvlinkState
) -> None:
    found = parse(f"{GPU_A}{sentence}\n{GPU_B}{sentence}\n")
    assert [(gpu.uuid, gpu.state) for gpu in found.gpus] == [(A, state), (B, state)]
    assert found.issues == ()


def test_a_sentence_belongs_to_the_gpu_above_it() -> None:
    found = parse_nvlink_status(f"{GPU_A}\t Link 0: 14.062 GB/s\n{GPU_B}{ALL_INACTIVE}\n")
    assert [(gpu.state, len(gpu.links)) for gpu in found.gpus] == [
        (NvlinkState.LINKS, 1),
        (NvlinkState.ALL_INACTIVE, 0),
    ]


def test_links_outweigh_a_sentence_and_the_first_sentence_the_next() -> None:
    found = parse_nvlink_status(f"{GPU_A}{ALL_INACTIVE}\n\t Link 0: 25 GB/s\n{GPU_B}{MIG}\n{ALL_INACTIVE}\n")
    assert [gpu.state for gpu in found.gpus] == [NvlinkState.LINKS, NvlinkState.MIG]


def test_a_gpu_below_which_nothing_stands_has_no_state() -> None:
    """Releases that print no sentence; also what is left of an answer that was cut."""
    found = parse_nvlink_status(GPU_A + GPU_B)
    assert [gpu.state for gpu in found.gpus] == [Missing.ABSENT, Missing.ABSENT]
    assert found.issues == ()


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("NVML: Unable to retrieve NVLink information: Insufficient Permissions", Missing.NO_PERMISSION),
        ("Unable to retrieve NVLink information: GPU is lost.  Reboot the system to recover this GPU", Missing.LOST),
        ("Failed to get the NVLink state: Something New", Missing.ERROR),
        ("Unable to retrieve NVLink information: GPU is lost.\nWhat a line.", Missing.LOST),
    ],
)
def test_a_gpu_that_cannot_be_asked_has_the_reason(said: str, reason: Missing) -> None:
    found = parse_nvlink_status(f"{GPU_A}{said}\n")
    assert [gpu.state for gpu in found.gpus] == [reason]
    assert (found.issues[0].kind, found.issues[0].uuid) == (IssueKind.READ_ERROR, A)


@pytest.mark.parametrize(
    "line", ["Link 1: fast", "Link 1: 25 GB/sec", "Link 1: 26.5", "Link one: 25 GB/s", "???", "Link 1: " + 400 * "x"]
)
def test_a_line_of_another_form_is_an_issue_and_the_others_stay(line: str) -> None:
    found = parse_nvlink_status(f"{GPU_A}\t Link 0: 25 GB/s\n\t {line}\n\t Link 2: 25 GB/s\n{GPU_B}{line}\n")
    assert [each.link for each in found.gpus[0].links] == [0, 2]
    assert [gpu.state for gpu in found.gpus] == [NvlinkState.LINKS, Missing.ERROR]
    assert [(issue.kind, issue.place, issue.uuid) for issue in found.issues] == [
        (IssueKind.TEXT_AROUND, "line 3", A),
        (IssueKind.TEXT_AROUND, "line 6", B),
    ]


def test_of_two_lines_for_a_link_the_first_is_kept_and_links_are_sorted() -> None:
    found = parse_nvlink_status(f"{GPU_A}Link 2: 25 GB/s\nLink 0: <inactive>\nLink 2: <inactive>\n")
    assert [(each.link, each.up) for each in found.gpus[0].links] == [(0, False), (2, True)]
    assert [(issue.kind, issue.place) for issue in found.issues] == [(IssueKind.MORE_DOCUMENTS, "line 4")]


def test_a_lost_gpu_leaves_the_others() -> None:
    lost = "Unable to determine the device handle for GPU1: 0000:5F:00.0: GPU is lost.  Reboot the system\n"
    text = f"{GPU_A}Link 0: 25 GB/s\n{lost}Link 1: 25 GB/s\n"
    found = parse_nvlink_status(text)
    assert [each.link for each in found.gpus[0].links] == [0, 1]
    assert [(issue.kind, issue.pci_bus_id) for issue in found.issues] == [(IssueKind.GPU_LOST, "00000000:5F:00.0")]
    assert parse_nvlink_status(lost) == NvlinkStatus(issues=(parse_nvlink_status(lost).issues[0],))


def test_the_gpus_own_line_in_all_its_forms() -> None:
    found = parse_nvlink_status(
        f"$ nvidia-smi nvlink -s\n\x1b[1mGPU 7: A (UUID: old) B (UUID: {A.upper()})\x1b[0m ;\n{MIG}\n"
        f"GPU 8: \N{REPLACEMENT CHARACTER} (UUID: GPU-00000000-0000-0000-0000-000000000000)\n{MIG}\n"
        f"GPU 7: C (UUID: {A})\n{MIG}\nGPU 9: D (UUID: GPU-7b0e"
    )
    assert [(gpu.smi_index, gpu.product_name, gpu.uuid) for gpu in found.gpus] == [
        (7, "A (UUID: old) B", A),
        (8, Missing.ERROR, Missing.NOT_AVAILABLE),
        (7, "C", A),
        (9, "D", Missing.NOT_AVAILABLE),
    ]
    assert [(issue.kind, issue.place, issue.uuid) for issue in found.issues] == [
        (IssueKind.TEXT_AROUND, "line 1", None),
        (IssueKind.TEXT_AROUND, "line 2", A),
        (IssueKind.NO_UUID, "line 4", None),
        (IssueKind.BAD_CHARACTERS, "line 4", None),
        (IssueKind.DUPLICATE_UUID, "line 6", A),
        (IssueKind.MORE_DOCUMENTS, "line 6", A),
        (IssueKind.NO_UUID, "line 8", None),
    ]


def test_lines_below_a_gpu_that_cannot_be_read_go_to_no_other() -> None:
    found = parse_nvlink_status(f"{GPU_A}Link 0: 25 GB/s\nGPU 1: NVIDIA H100\nLink 1: 25 GB/s\n")
    assert [[each.link for each in gpu.links] for gpu in found.gpus] == [[0]]
    assert [(issue.kind, issue.place) for issue in found.issues] == [
        (IssueKind.TEXT_AROUND, "line 3"),
        (IssueKind.TEXT_AROUND, "line 4"),
    ]


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "Failed to initialize NVML: Driver/library version mismatch\n",
        "\tGPU0\tCPU Affinity\nGPU0\t X \t0-7\n",
        "Link 0: 25 GB/s\n",
        "GPU 0: NVIDIA H100\nLink 0: 25 GB/s\n",
        "0, NVIDIA A10, 43 W\nUnable to determine the device handle for GPU1: 0000:0A:00.0: GPU is lost.\n",
        f"{GPU_A}  MIG 1g.10gb     Device  0: (UUID: MIG-7b0e5a10-3c2d-4e1f-9a8b-0c1d2e3f4a03)\n",
        f"{GPU_A}\t Link 0: fast\n{GPU_B}",
        b"\x7fELF\x00\xff",
    ],
)
def test_what_is_no_answer_is_refused(parse: Callable[[str | bytes], object], text: str | bytes) -> None:
    with pytest.raises(ParseError, match="nvidia-smi nvlink -"):
        parse(text)


def test_one_query_does_not_read_anothers_answer() -> None:
    lines = ["Link 0: 25 GB/s", "Link 0: Remote Device 00000000:C5:00.0: Link 35", "Link 0: CRC Errors: 0"]
    for parse, own in zip(PARSERS, lines, strict=True):
        for line in lines:
            if line == own:
                assert kinds(parse(f"{GPU_A}\t {line}\n")) == []
                continue
            with pytest.raises(ParseError, match="not the answer to this query") as caught:
                parse(f"{GPU_A}\t {line}\n")
            assert caught.value.place == "line 2"


@pytest.mark.parametrize("parse", PARSERS)
def test_no_devices_is_an_answer(parse: Callable[[str], NvlinkStatus | NvlinkRemotes | NvlinkErrors]) -> None:
    assert (parse("No devices were found\n").gpus, parse("No devices found.").issues) == ((), ())
    assert kinds(parse("$ nvidia-smi\nNo devices were found\n")) == [IssueKind.TEXT_AROUND]


@pytest.mark.parametrize(
    ("text", "remote", "remote_link"),
    [
        ("Remote Device 00000000:C5:00.0: Link 35", PciBusId(0, 0xC5, 0), 35),
        ("Remote Device 0000000A:00:00.0: Link 26", PciBusId(0xA, 0, 0), 26),
        ("Remote Device 03f8cfdd:00:00.0: Link 0", PciBusId(0x3F8CFDD, 0, 0), 0),
        ("Remote Device 00000000:C5:00.0: Link <N/A>", PciBusId(0, 0xC5, 0), Missing.NOT_AVAILABLE),
        ("Remote Device 00000000:C5:00.0: Link x", PciBusId(0, 0xC5, 0), Missing.ERROR),
        ("Remote Device 00000000:C5:00.0", PciBusId(0, 0xC5, 0), Missing.NOT_AVAILABLE),
        ("Remote Device <N/A>: Link 3", None, 3),
        ("Remote Device <N/A>", None, Missing.NOT_AVAILABLE),
        ("Remote Device GPU 0: Link 0", None, 0),
        ("<inactive>", None, Missing.NOT_AVAILABLE),
    ],
)
def test_every_form_of_a_far_end(text: str, remote: PciBusId | None, remote_link: Reading[int]) -> None:
    found = parse_nvlink_remote(f"{GPU_A}\t Link 4: {text}\n")
    assert found.issues == ()
    assert found.gpus[0].links == (LinkRemote(link=4, remote=remote, remote_link=remote_link),)


def test_a_far_end_of_another_form_is_an_issue() -> None:
    found = parse_nvlink_remote(
        f"{GPU_A}\t Link 0: Remote Device C5:00.0: Link 1\n\t Link 1: Far Device\n"
        "\t Link 2: Remote Device 00000000:C5:00.0: Link 2\n"
    )
    assert [each.link for each in found.gpus[0].links] == [2]
    assert kinds(found) == [IssueKind.TEXT_AROUND, IssueKind.TEXT_AROUND]


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("Replay Errors: 0", "Replay Errors", 0),
        ("CRC Errors: 18446744073709551615", "CRC Errors", 2**64 - 1),
        ("Effective BER: 1.5e-254", "Effective BER", Decimal("1.5e-254")),
        ("Effective BER: 15E-255", "Effective BER", Decimal("15E-255")),
        ("Symbol BER: 0.0", "Symbol BER", Decimal("0.0")),
        ("FEC Errors - 15: 7", "FEC Errors - 15", 7),
        ("Link: recovery: 1", "Link: recovery", 1),
        ("Effective Errors: N/A", "Effective Errors", Missing.NOT_SUPPORTED),
        ("Effective Errors: [Unknown Error]", "Effective Errors", Missing.ERROR),
        ("Effective Errors:", "Effective Errors", Missing.NOT_AVAILABLE),
    ],
)
def test_every_form_of_a_counter(text: str, name: str, value: Reading[int | Decimal]) -> None:
    found = parse_nvlink_errors(f"{GPU_A}\t Link 5: {text}\n")
    assert found.gpus[0].counters == (LinkCounter(link=5, counter_name=name, value=value),)
    assert type(found.gpus[0].counters[0].value) is type(value)
    assert found.issues == ()


def test_counters_of_several_links() -> None:
    found = parse_nvlink_errors(
        f"{GPU_A}\t Link 1: Replay Errors: 4\n\t Link 1: CRC Errors: 5\n\n\t Link 0: Replay Errors: 1\n"
        f"\t Link 0: Replay Errors: 2\n\t Link 0: CRC Errors\n\t Link 0: : 3\n\t Link 0: CRC Errors: many\n"
    )
    assert [(each.link, each.counter_name, each.value) for each in found.gpus[0].counters] == [
        (0, "Replay Errors", 1),
        (1, "Replay Errors", 4),
        (1, "CRC Errors", 5),
    ]
    assert kinds(found) == [IssueKind.MORE_DOCUMENTS, *[IssueKind.TEXT_AROUND] * 3]


def test_the_hosts(fixtures_dir: Path) -> None:
    hosts = fixtures_dir / "nvidia-smi"
    found = parse_nvlink_status((hosts / "dgx-a100-mig" / "smi" / "nvlink-s.txt").read_bytes())
    assert [(gpu.state, len(gpu.links)) for gpu in found.gpus] == [
        (NvlinkState.MIG, 0) if index in {1, 6} else (NvlinkState.LINKS, 12) for index in range(8)
    ]
    remotes = parse_nvlink_remote((hosts / "dgx-a100-mig" / "smi" / "nvlink-R.txt").read_bytes())
    assert [len(gpu.links) for gpu in remotes.gpus] == [len(gpu.links) for gpu in found.gpus]
    assert len({each.remote for gpu in remotes.gpus for each in gpu.links}) == 6
    for host in ("workstation-rtx-5090", "wsl2-rtx-5090"):
        for name, parse in (("nvlink-s", parse_nvlink_status), ("nvlink-R", parse_nvlink_remote)):
            gpus = parse((hosts / host / "smi" / f"{name}.txt").read_bytes()).gpus
            assert [gpu.state for gpu in gpus] == [NvlinkState.UNSUPPORTED]

"""Every captured answer of `nvidia-smi nvlink`, against a reading with one regular expression a line."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

import pytest

from gpuinv.errors import ParseError
from gpuinv.readings import Missing
from gpuinv.smi.nvlink import (
    NvlinkErrors,
    NvlinkRemotes,
    NvlinkState,
    NvlinkStatus,
    parse_nvlink_errors,
    parse_nvlink_remote,
    parse_nvlink_status,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.corpus

Blocks: TypeAlias = list[tuple[int, str, str]]

_ZERO = "GPU-00000000-0000-0000-0000-000000000000"
_NAIVE_GPU = re.compile(r"^\s*GPU (\d+): .* \(UUID: (GPU-\S+)\)", re.MULTILINE)
_NAIVE_LINK = re.compile(r"Link (\d+): (?:([\d.]+) GB/s|<inactive>)", re.IGNORECASE)
_NAIVE_REMOTE = re.compile(r"Link (\d+): Remote Device (\S+): Link (\d+)")
_NAIVE_COUNTER = re.compile(r"Link (\d+): (.* Errors.*|.*BER): (\S+)")
_NAIVE_STATES = {
    r"links are inactive": NvlinkState.ALL_INACTIVE,
    r"does not have or support": NvlinkState.UNSUPPORTED,
    r"MIG mode": NvlinkState.MIG,
    r"Link \d+:": NvlinkState.LINKS,
}

LINKS, ALL_INACTIVE = NvlinkState.LINKS, NvlinkState.ALL_INACTIVE
A100 = ["25"] * 12
B300 = ["53.125"] * 18
A6000 = ["14.062"] * 4

# By the number of the file: for each GPU its index, its state, and the speed of each of its links.
STATUS: dict[int, list[tuple[int, NvlinkState, list[str]]]] = {
    1: [(0, ALL_INACTIVE, [])],
    3: [(0, LINKS, ["26.562"] * 18)],
    5: [(0, NvlinkState.MIG, [])],
    7: [(0, NvlinkState.UNSUPPORTED, [])],
    9: [(7, LINKS, A100)],  # one GPU of eight
    11: [(index, LINKS, A100) for index in range(8)],
    13: [(0, LINKS, A6000), (1, LINKS, A6000), (2, ALL_INACTIVE, [])],  # a bridge on two boards of three
    15: [(index, LINKS, B300) for index in range(7)],
}

# By the number of the file: the GPU's index, how many links, and how many devices are at their far ends.
REMOTES: dict[int, tuple[int, int, int]] = {
    1: (1, 3, 2),
    3: (1, 12, 6),
    5: (0, 12, 6),  # switches in domains of their own
}


def texts(directory: Path) -> dict[int, str]:
    """By the number of the file: its text."""
    found = {int(path.name[:3]): path.read_text(encoding="utf-8") for path in directory.iterdir()}
    assert found
    return found


@pytest.fixture(scope="module")
def statuses(corpus: Path) -> dict[int, tuple[Blocks, NvlinkStatus]]:
    return {n: (blocks(text), parse_nvlink_status(text)) for n, text in texts(corpus / "text" / "nvlink-s").items()}


@pytest.fixture(scope="module")
def remotes(corpus: Path) -> dict[int, tuple[Blocks, NvlinkRemotes]]:
    return {n: (blocks(text), parse_nvlink_remote(text)) for n, text in texts(corpus / "text" / "nvlink-R").items()}


@pytest.fixture(scope="module")
def errors(corpus: Path) -> dict[int, tuple[Blocks, NvlinkErrors]]:
    return {n: (blocks(text), parse_nvlink_errors(text)) for n, text in texts(corpus / "text" / "nvlink-e").items()}


def blocks(text: str) -> Blocks:
    """Index, UUID and text of each GPU."""
    starts = [*_NAIVE_GPU.finditer(text)]
    ends = [*(start.start() for start in starts[1:]), len(text)]
    return [(int(start[1]), start[2], text[start.end() : end]) for start, end in zip(starts, ends, strict=True)]


def test_every_gpu_and_its_state(
    statuses: dict[int, tuple[Blocks, NvlinkStatus]],
    remotes: dict[int, tuple[Blocks, NvlinkRemotes]],
    errors: dict[int, tuple[Blocks, NvlinkErrors]],
) -> None:
    answers: list[tuple[Blocks, NvlinkStatus | NvlinkRemotes | NvlinkErrors]] = [
        *statuses.values(),
        *remotes.values(),
        *errors.values(),
    ]
    for naive, found in answers:
        assert naive
        expected = [
            (
                index,
                Missing.NOT_AVAILABLE if uuid == _ZERO else uuid,  # masked by who captured it
                next(state for part, state in _NAIVE_STATES.items() if re.search(part, text, re.IGNORECASE)),
            )
            for index, uuid, text in naive
        ]
        assert [(gpu.smi_index, gpu.uuid, gpu.state) for gpu in found.gpus] == expected
        assert len(found.issues) == sum(uuid == _ZERO for _, uuid, _ in naive)


def test_every_link(statuses: dict[int, tuple[Blocks, NvlinkStatus]]) -> None:
    for number, (naive, found) in statuses.items():
        for gpu, (_, _, text) in zip(found.gpus, naive, strict=True):
            expected = [
                (int(link), bool(speed), Decimal(speed) if speed else None) for link, speed in _NAIVE_LINK.findall(text)
            ]
            assert (number, [(each.link, each.up, each.speed_gb_per_s) for each in gpu.links]) == (number, expected)
            assert not any(each.note for each in gpu.links)


def test_states_and_speeds(statuses: dict[int, tuple[Blocks, NvlinkStatus]]) -> None:
    assert statuses.keys() & STATUS.keys()
    for number in statuses.keys() & STATUS.keys():
        gpus = statuses[number][1].gpus
        found = [(gpu.smi_index, gpu.state, [str(each.speed_gb_per_s) for each in gpu.links]) for gpu in gpus]
        assert (number, found) == (number, STATUS[number])
        assert all([each.link for each in gpu.links] == [*range(len(gpu.links))] for gpu in gpus)
        assert all(each.up is True for gpu in gpus for each in gpu.links)


def test_every_far_end(remotes: dict[int, tuple[Blocks, NvlinkRemotes]]) -> None:
    for number, (naive, found) in remotes.items():
        for gpu, (_, _, text) in zip(found.gpus, naive, strict=True):
            known = [(each.link, str(each.remote), each.remote_link) for each in gpu.links if each.remote is not None]
            expected = [(int(link), bus_id, int(far)) for link, bus_id, far in _NAIVE_REMOTE.findall(text)]
            assert (number, known) == (number, expected)
            assert len(gpu.links) == text.count("Remote Device")


def test_counts_of_far_ends(remotes: dict[int, tuple[Blocks, NvlinkRemotes]]) -> None:
    assert remotes.keys() & REMOTES.keys()
    for number in remotes.keys() & REMOTES.keys():
        (gpu,) = remotes[number][1].gpus
        summary = (gpu.smi_index, len(gpu.links), len({each.remote for each in gpu.links}))
        assert (number, summary) == (number, REMOTES[number])


def test_every_counter(errors: dict[int, tuple[Blocks, NvlinkErrors]]) -> None:
    for number, (naive, found) in errors.items():
        for gpu, (_, _, text) in zip(found.gpus, naive, strict=True):
            expected = [(int(link), name, value) for link, name, value in _NAIVE_COUNTER.findall(text)]
            assert expected, number
            counters = [(each.link, each.counter_name, str(each.value)) for each in gpu.counters]
            assert (number, counters) == (number, expected)


def test_the_counters_of_the_first_file(errors: dict[int, tuple[Blocks, NvlinkErrors]]) -> None:
    (gpu,) = errors[1][1].gpus
    assert [(each.link, each.counter_name, each.value) for each in gpu.counters] == [
        (0, "Replay Errors", 0),
        (0, "Recovery Errors", 0),
        (0, "CRC Errors", 0),
    ]


def test_no_query_reads_anothers_answer(corpus: Path) -> None:
    """But for a sentence that stands in place of the links, which every query prints."""
    parsers = {"nvlink-s": parse_nvlink_status, "nvlink-R": parse_nvlink_remote, "nvlink-e": parse_nvlink_errors}
    for directory in parsers:
        for text in texts(corpus / "text" / directory).values():
            others = [parse for name, parse in parsers.items() if name != directory]
            for parse in others if all("Link 0:" in block for _, _, block in blocks(text)) else ():
                with pytest.raises(ParseError):
                    parse(text)


def test_failures_are_refused_or_name_their_gpu(corpus: Path) -> None:
    for path in (corpus / "text" / "failures").iterdir():
        try:
            found = parse_nvlink_status(path.read_bytes())
        except ParseError as error:
            assert error.source == "nvidia-smi nvlink -s"  # noqa: PT017 - the other outcome is good too
        else:
            text = path.read_text(encoding="utf-8")
            assert "device handle" in text or "No devices" in text
            assert found.gpus == ()

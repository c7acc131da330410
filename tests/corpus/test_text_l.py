"""Every captured `nvidia-smi -L`, against a reading with one regular expression a line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from gpuinv.errors import IssueKind
from gpuinv.readings import Missing
from gpuinv.smi.gpu_list import ListedGpu, ListedMigDevice, SmiList, parse_smi_list

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.corpus

_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ZERO = "00000000-0000-0000-0000-000000000000"
_NAIVE_GPU = re.compile(rf"^\s*GPU (\d+): (.*) \(UUID: (GPU-{_UUID})?", re.MULTILINE)
_NAIVE_MIG = re.compile(
    rf"^\s*MIG (\S*g\.\S+)? *Device +(\d+): \(UUID: (MIG-(?:GPU-)?{_UUID}(?:/\d+/\d+)?)?", re.MULTILINE
)

# By the number of the file: how many GPUs it has, how many MIG devices, and which issues, with their reason.
FILES: dict[int, tuple[int, int, list[IssueKind]]] = {
    1: (1, 0, [IssueKind.NO_UUID]),  # masked with zeros by who captured it
    3: (1, 0, [IssueKind.NO_UUID]),
    5: (1, 5, [IssueKind.NO_UUID] * 2),
    7: (1, 0, [IssueKind.NO_UUID]),
    10: (2, 0, []),
    12: (1, 7, []),
    14: (1, 7, []),
    16: (1, 1, []),  # indented by three
    18: (1, 1, []),  # not indented
    20: (1, 1, []),
    22: (1, 0, []),
    24: (1, 0, []),
    26: (2, 0, []),
    28: (1, 3, []),  # MIG devices without a profile
    30: (1, 2, [IssueKind.NO_UUID] * 3),  # a shell test's shortened UUIDs
    32: (2, 0, []),
    34: (2, 0, []),  # index 1 is missing
    36: (2, 0, [IssueKind.NO_UUID]),  # `(UUID: )`
    38: (
        7,
        6,
        [IssueKind.NO_UUID, IssueKind.NO_UUID, IssueKind.TEXT_AROUND],
    ),  # letters in UUIDs; the `"""` of a test's source
    40: (4, 0, [IssueKind.NO_UUID] * 4),  # `GPU-...` of a page of documentation
    42: (2, 0, [IssueKind.NO_UUID, IssueKind.MORE_DOCUMENTS]),  # the lists of two containers in one text
    44: (2, 0, [IssueKind.DUPLICATE_UUID, IssueKind.MORE_DOCUMENTS]),  # two containers that share one GPU
    46: (2, 0, [IssueKind.NO_UUID] * 2),  # a shell test's shortened UUIDs
    48: (1, 3, []),
    50: (1, 3, []),
    52: (2, 4, []),
}


@pytest.fixture(scope="module")
def lists(corpus: Path) -> dict[int, tuple[str, SmiList]]:
    """By the number of the file: its text, and what the parser makes of it."""
    files = sorted((corpus / "text" / "L").iterdir())
    return {int(path.name[:3]): (path.read_text(encoding="utf-8"), parse_smi_list(path.read_bytes())) for path in files}


def naive_uuid(text: str | None) -> str | Missing:
    return Missing.NOT_AVAILABLE if not text or _ZERO in text else text


def as_tuple(gpu: ListedGpu) -> tuple[int, object, object]:
    return gpu.smi_index, gpu.product_name, gpu.uuid


def mig_tuple(device: ListedMigDevice) -> tuple[object, int, object]:
    return device.mig_profile, device.mig_device_index, device.mig_uuid


def test_every_gpu_is_read(lists: dict[int, tuple[str, SmiList]]) -> None:
    for number, (text, found) in lists.items():
        expected = [(int(index), name, naive_uuid(uuid)) for index, name, uuid in _NAIVE_GPU.findall(text)]
        assert expected, number
        assert (number, [as_tuple(gpu) for gpu in found.gpus]) == (number, expected)


def test_every_mig_device_belongs_to_the_gpu_above_it(lists: dict[int, tuple[str, SmiList]]) -> None:
    for number, (text, found) in lists.items():
        blocks = re.split(r"^\s*GPU ", text, flags=re.MULTILINE)[1:]
        expected = [
            [
                (profile or Missing.ABSENT, int(index), naive_uuid(uuid))
                for profile, index, uuid in _NAIVE_MIG.findall(block)
            ]
            for block in blocks
        ]
        assert (number, [list(map(mig_tuple, gpu.mig_devices)) for gpu in found.gpus]) == (number, expected)


def test_counts_and_issues(lists: dict[int, tuple[str, SmiList]]) -> None:
    assert lists.keys() & FILES.keys()
    for number in lists.keys() & FILES.keys():
        found = lists[number][1]
        migs = sum(len(gpu.mig_devices) for gpu in found.gpus)
        assert (number, len(found.gpus), migs, [issue.kind for issue in found.issues]) == (number, *FILES[number])

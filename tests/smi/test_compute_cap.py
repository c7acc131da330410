from __future__ import annotations

import pytest

from gpuinv.errors import IssueKind, ParseError
from gpuinv.ids import GpuUuid
from gpuinv.readings import Missing
from gpuinv.smi.compute_cap import ComputeCaps, parse_compute_cap

A = GpuUuid("GPU-5c1f2a30-91d4-4be7-8a6e-0d2f7c9b1e01")
B = GpuUuid("GPU-5c1f2a30-91d4-4be7-8a6e-0d2f7c9b1e02")


@pytest.mark.parametrize("text", [f"{A}, 9.0\n{B}, 12.1\n", f"uuid, compute_cap\r\n{A}, 9.0\r\n{B}, 12.1".encode()])
def test_rows_with_and_without_a_header(text: str | bytes) -> None:
    assert parse_compute_cap(text) == ComputeCaps(by_uuid=((A, "9.0"), (B, "12.1")))


@pytest.mark.parametrize(
    ("cell", "reason", "kinds"),
    [
        ("[N/A]", Missing.NOT_SUPPORTED, []),
        ("[GPU is lost]", Missing.LOST, [IssueKind.GPU_LOST]),
        ("[Unknown Error]", Missing.ERROR, [IssueKind.READ_ERROR]),
        ("", Missing.NOT_AVAILABLE, []),
        ("nine", Missing.ERROR, [IssueKind.BAD_VALUE]),
    ],
)
def test_a_cell_without_a_number_says_why(cell: str, reason: Missing, kinds: list[IssueKind]) -> None:
    found = parse_compute_cap(f"{A}, {cell}\n")
    assert found.by_uuid == ((A, reason),)
    assert [issue.kind for issue in found.issues] == kinds


def test_a_gpu_that_cannot_be_opened_is_no_row() -> None:
    found = parse_compute_cap(
        f"{A}, 8.6\nUnable to determine the device handle for GPU1: 0000:0A:00.0: GPU is lost.  Reboot, please\n"
    )
    assert found.by_uuid == ((A, "8.6"),)
    assert [(issue.kind, issue.pci_bus_id) for issue in found.issues] == [(IssueKind.GPU_LOST, "00000000:0A:00.0")]


def test_rows_without_a_uuid_and_second_rows_are_issues() -> None:
    found = parse_compute_cap(f"{A}, 8.6\n[N/A], 8.6\n{A}, 8.9\n")
    assert found.by_uuid == ((A, "8.6"),)
    assert [(issue.kind, issue.place) for issue in found.issues] == [
        (IssueKind.NO_UUID, "line 2"),
        (IssueKind.DUPLICATE_UUID, "line 3"),
    ]


def test_no_devices_is_an_empty_answer() -> None:
    assert parse_compute_cap("No devices were found\n") == ComputeCaps()


def test_a_driver_that_does_not_know_the_field() -> None:
    with pytest.raises(ParseError) as caught:
        parse_compute_cap('Field "compute_cap" is not a valid field to query.\n\n')
    assert caught.value.message == "this driver does not know the field"
    assert caught.value.text == "compute_cap"


@pytest.mark.parametrize("row", [f"{B}", f"{B}, 8.6, 1", "a sentence that nobody knows"])
def test_one_wrong_row_refuses_them_all(row: str) -> None:
    with pytest.raises(ParseError, match="columns instead of 2") as caught:
        parse_compute_cap(f"{A}, 8.6\n{row}\n")
    assert caught.value.place == "line 2"


@pytest.mark.parametrize("text", ["", b"\n\n"])
def test_nothing_is_no_answer(text: str | bytes) -> None:
    with pytest.raises(ParseError, match="no answer"):
        parse_compute_cap(text)

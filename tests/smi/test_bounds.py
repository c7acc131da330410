"""A text that is no output of the tool is refused before it becomes a million issues or records."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from gpuinv.errors import IssueKind, ParseError
from gpuinv.readings import Missing
from gpuinv.smi import _matrix, topology
from gpuinv.smi.compute_apps import parse_compute_apps
from gpuinv.smi.compute_cap import parse_compute_cap
from gpuinv.smi.gpu_list import parse_smi_list
from gpuinv.smi.gpu_reset import parse_gpu_reset
from gpuinv.smi.mig_tables import (
    parse_compute_instance_profiles,
    parse_compute_instances,
    parse_gpu_instances,
    parse_mig_placements,
    parse_mig_profiles,
)
from gpuinv.smi.nvlink import parse_nvlink_errors, parse_nvlink_remote, parse_nvlink_status
from gpuinv.smi.query_gpu import parse_query_gpu
from gpuinv.smi.query_help import parse_help_query_gpu
from gpuinv.smi.remapped_rows import parse_remapped_rows
from gpuinv.smi.samples import parse_samples
from gpuinv.smi.sentences import MAX_GPUS, MAX_ROWS
from gpuinv.smi.smi_version import parse_smi_version
from gpuinv.smi.topology import parse_topology
from gpuinv.text import MAX_ISSUES

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuinv.smi._matrix import Header

GPU = "GPU 0: NVIDIA H200 (UUID: GPU-5d4ab8a4-3d3f-4b3f-9d3c-6d3f3b3c7a01)\n"
MANY = 100_000
ADVICE = "give it what this command printed, and nothing else"

PARSERS: dict[str, Callable[[str], Any]] = {
    "list": parse_smi_list,
    "topology": parse_topology,
    "nvlink status": parse_nvlink_status,
    "nvlink remote": parse_nvlink_remote,
    "nvlink errors": parse_nvlink_errors,
    "MIG profiles": parse_mig_profiles,
    "GPU instances": parse_gpu_instances,
    "compute instances": parse_compute_instances,
    "MIG placements": parse_mig_placements,
    "compute instance profiles": parse_compute_instance_profiles,
    "GPU reset": parse_gpu_reset,
    "version": parse_smi_version,
    "query help": parse_help_query_gpu,
    "query of one field": partial(parse_query_gpu, fields=["name"]),
    "compute processes": parse_compute_apps,
}


@pytest.mark.parametrize("parse", PARSERS.values(), ids=PARSERS)
def test_junk_is_refused_with_what_to_do(parse: Callable[[str], Any]) -> None:
    with pytest.raises(ParseError, match=ADVICE) as caught:
        parse("junk\n" * MANY)
    assert (caught.value.text, len(str(caught.value)) < 400) == ("junk", True)


@pytest.mark.parametrize("parse", [parse_samples, parse_remapped_rows, parse_compute_cap])
def test_junk_that_has_no_columns_is_refused_at_once(parse: Callable[[str], Any]) -> None:
    with pytest.raises(ParseError, match="columns instead of"):
        parse("junk\n" * MANY)


REPEATED = {
    "GPUs": (parse_smi_list, GPU * MANY),
    "GPUs without NVLink": (parse_nvlink_status, GPU * MANY),
    "lines below a GPU": (parse_smi_list, GPU + "junk\n" * MANY),
    "MIG devices": (parse_smi_list, GPU + "  MIG 1g.10gb     Device  0: (UUID: MIG-x)\n" * MANY),
    "links": (parse_nvlink_status, GPU + "\t Link 0: 26.562 GB/s\n" * MANY),
    "sentences about links": (parse_nvlink_status, GPU + "as all links are inActive\n" * MANY),
    "GPUs that cannot be opened": (parse_smi_list, "Unable to determine the device handle for GPU1: Lost\n" * MANY),
    "rows of MIG placements": (parse_mig_placements, "GPU  0 Profile ID 14 Placements: {0,2,4}:2\n" * MANY),
    "rows in a box": (parse_gpu_instances, "| GPU instances: |\n" + "|   0  MIG 1g.10gb   19    9   2:1  |\n" * MANY),
    "rows of a matrix": (parse_topology, "\tGPU0\tGPU1\n" + "GPU0\tX\tSYS\n" * MANY),
    "answers to a reset": (parse_gpu_reset, "GPU 00000000:01:00.0 was successfully reset.\n" * MANY),
    "an explanation": (parse_gpu_reset, "Reboot the system\n" + "soon\n" * MANY),
    "fields": (parse_help_query_gpu, '"uuid"\nThe UUID.\n' * MANY),
    "complaints": (partial(parse_query_gpu, fields=["name", "uuid"]), "WARNING: something\n" * MANY),
    "rows": (partial(parse_query_gpu, fields=["name", "index"]), "NVIDIA H200, 0\n" * MANY),
    "processes": (parse_compute_apps, "GPU-5d4ab8a4-3d3f-4b3f-9d3c-6d3f3b3c7a01\n" * MANY),
    "versions": (parse_smi_version, "".join(f"{'a' * n} version: 1\n" for n in range(1, 1000))),
}


@pytest.mark.parametrize(("parse", "text"), REPEATED.values(), ids=REPEATED)
def test_more_than_any_host_has_is_refused(parse: Callable[[str], Any], text: str) -> None:
    with pytest.raises(ParseError, match=ADVICE):
        parse(text)


def different_gpus(count: int) -> tuple[list[str], str]:
    """The UUIDs of that many GPUs, and the lines that the tool prints for them."""
    uuids = [f"GPU-5d4ab8a4-3d3f-4b3f-9d3c-{number:012x}" for number in range(1, count + 1)]
    return uuids, "".join(f"GPU {index}: NVIDIA H200 (UUID: {uuid})\n" for index, uuid in enumerate(uuids))


@pytest.mark.parametrize("parse", [parse_smi_list, parse_nvlink_status, parse_nvlink_errors, parse_nvlink_remote])
def test_more_different_gpus_than_any_host_has_are_refused(parse: Callable[[str], Any]) -> None:
    with pytest.raises(ParseError, match=f"more than {MAX_GPUS} GPUs.*{ADVICE}"):
        parse(different_gpus(MAX_GPUS + 1)[1])


def test_as_much_as_a_host_may_have_is_read() -> None:
    uuids, listed = different_gpus(MAX_GPUS)
    assert len(parse_smi_list(listed).gpus) == MAX_GPUS
    assert len(parse_query_gpu("\n".join(uuids), ["uuid"]).rows) == MAX_GPUS
    found = parse_compute_apps(f"{uuids[0]}\n" * MAX_ROWS)
    assert found.by_uuid == ((uuids[0], MAX_ROWS),)


def test_a_thousand_oddities_are_issues() -> None:
    assert len(parse_smi_list(GPU + "junk\n" * MAX_ISSUES).issues) == MAX_ISSUES


def test_a_name_that_is_too_long_is_an_issue() -> None:
    found = parse_smi_list(GPU.replace("H200", "H" * 5000))
    assert found.gpus[0].product_name is Missing.ERROR
    assert [issue.kind for issue in found.issues] == [IssueKind.BAD_VALUE]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_list_that_powershell_redirected(encoding: str) -> None:
    text = GPU.replace("\n", "\r\n")
    assert parse_smi_list(("\ufeff" + text).encode(encoding)) == parse_smi_list(GPU)


def matrix(labels: int, tail: int = 1) -> str:
    names = [f"GPU{number}" for number in range(labels)]
    rows = ["\t".join([name, *("X" if name == other else "SYS" for other in names)]) for name in names]
    return "\n".join(["\t".join(["", *names, *(f"Column{number}" for number in range(tail))]), *rows, ""]).replace(
        "Column0", "CPU Affinity"
    )


@pytest.mark.parametrize(("labels", "tail"), [(1025, 1), (2, 17), (4000, 4000)])
def test_a_header_of_no_host_is_refused(labels: int, tail: int) -> None:
    names = "\t".join(f"GPU{number}" for number in range(labels))
    columns = "\t".join(["CPU Affinity", *(f"Column{number}" for number in range(1, tail))])
    with pytest.raises(ParseError, match="more than 1024 devices or 16 columns behind them"):
        parse_topology(f"\t{names}\t{columns}\nGPU0\tX\n")


def test_a_large_matrix_is_read() -> None:
    found = parse_topology(matrix(200, 16))
    assert (len(found.rows), found.issues) == (200, ())


@pytest.mark.parametrize(
    "row", ["GPU0\tX\n", "GPU0 X\n", "GPU0\tX\tSYS\n", "GPU0 X SYS\n", "GPU7\tX\tSYS\n", "GPU1\tX\tSYS\n"]
)
def test_the_columns_behind_a_matrix_are_read_of_rows_that_stay(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rows are left out, and however many columns the header has."""
    read = []
    tail_of = _matrix.tail_of

    def counted(text: str, header: Header) -> list[str] | None:
        read.append(text)
        return tail_of(text, header)

    monkeypatch.setattr(topology, "tail_of", counted)
    for repeated in (100, 200, 400):
        read.clear()
        found = parse_topology(matrix(2, 16) + row * repeated)
        assert (len(found.rows), len(found.issues), len(read)) == (2, repeated, 2)

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gpuinv.errors import IssueKind, ParseError
from gpuinv.readings import Missing, Reading
from gpuinv.smi.topology import (
    Connection,
    LabelKind,
    Topology,
    TopologyCell,
    TopologyLabel,
    TopologyRow,
    parse_topology,
)

if TYPE_CHECKING:
    from pathlib import Path

LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NV#  = Connection traversing a bonded set of # NVLinks
"""
HGX = (
    "\t\x1b[4mGPU0\tGPU1\tGPU12\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tSYS\tPXB\tSYS\t0-47,96-143\t0-1\t\tN/A\n"
    "GPU1\tNV18\t X \tSYS\tNODE\tSYS\t\t0\t\tN/A\n"
    "GPU12\tSYS\tSYS\t X \tSYS\tPIX\t\t\tN/A\t\t8\n"
    "NIC0\tPXB\tNODE\tSYS\t X \tSYS\t\t\t\t\n"
    "NIC1\tSYS\tSYS\tPIX\tSYS\t X \t\t\t\t\n"
    f"{LEGEND}\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_bond_0\n\n"
)


def kinds(found: Topology) -> list[IssueKind]:
    return [issue.kind for issue in found.issues]


def tails(found: Topology) -> list[tuple[str, Reading[str], Reading[tuple[int, ...]], Reading[int]]]:
    return [(row.label, row.cpu_affinity, row.numa_affinity, row.gpu_numa_id) for row in found.rows]


def tail(header: str, cells: str) -> tuple[Reading[str], Reading[tuple[int, ...]], Reading[int]]:
    """What the last columns of one GPU's row say."""
    found = parse_topology(f"\tGPU0\t{header}\nGPU0\t X \t{cells}\n")
    assert found.issues == ()
    return tails(found)[0][1:]


def one(kind: Connection, count: Reading[int] = Missing.ABSENT) -> TopologyCell:
    return TopologyCell(kind=kind, nvlink_count=count)


def test_a_whole_matrix() -> None:
    found = parse_topology(HGX)
    assert found.labels == (
        TopologyLabel(label="GPU0", kind=LabelKind.GPU, smi_index=0),
        TopologyLabel(label="GPU1", kind=LabelKind.GPU, smi_index=1),
        TopologyLabel(label="GPU12", kind=LabelKind.GPU, smi_index=12),
        TopologyLabel(label="NIC0", kind=LabelKind.NIC, nic_index=0, device_name="mlx5_0"),
        TopologyLabel(label="NIC1", kind=LabelKind.NIC, nic_index=1, device_name="mlx5_bond_0"),
    )
    assert found.rows[0] == TopologyRow(
        label="GPU0",
        cells=(
            ("GPU0", one(Connection.X)),
            ("GPU1", one(Connection.NV, 18)),
            ("GPU12", one(Connection.SYS)),
            ("NIC0", one(Connection.PXB)),
            ("NIC1", one(Connection.SYS)),
        ),
        cpu_affinity="0-47,96-143",
        numa_affinity=(0, 1),
        gpu_numa_id=Missing.NOT_SUPPORTED,
    )
    assert tails(found)[1:] == [
        ("GPU1", Missing.NOT_AVAILABLE, (0,), Missing.NOT_SUPPORTED),
        ("GPU12", Missing.NOT_AVAILABLE, Missing.NOT_SUPPORTED, 8),
        ("NIC0", Missing.ABSENT, Missing.ABSENT, Missing.ABSENT),
        ("NIC1", Missing.ABSENT, Missing.ABSENT, Missing.ABSENT),
    ]
    assert found.issues == ()


def test_several_nodes_are_no_single_one_and_the_gpus_own_is_not_the_hosts() -> None:
    rows = parse_topology(HGX.encode()).rows
    assert [row.numa_node for row in rows[:3]] == [Missing.NOT_AVAILABLE, 0, Missing.NOT_SUPPORTED]
    assert rows[2].gpu_numa_id == 8


def test_nvlink_peers_are_gpus_and_a_label_is_never_a_part_of_another() -> None:
    found = parse_topology(HGX)
    assert [found.nvlink_peer_count(label) for label in ("GPU0", "GPU1", "GPU12")] == [1, 1, 0]
    assert found.nvlink_peer_count("GPU2") is Missing.ABSENT
    assert found.cell("GPU0", "GPU12") == one(Connection.SYS)
    assert found.cell("GPU0", "GPU1") == one(Connection.NV, 18)
    assert found.cell("GPU0", "GPU2") is None
    assert found.row("GPU2") is None


def test_a_pair_is_read_from_either_row() -> None:
    found = parse_topology("\tGPU0\tmlx4_0\tCPU Affinity\nGPU0\t X \tPHB\t0-11\n")
    assert found.cell("mlx4_0", "GPU0") == one(Connection.PHB)
    assert found.cell("mlx4_0", "mlx4_0") is None
    assert [row.label for row in found.rows] == ["GPU0"]


@pytest.mark.parametrize("kind", Connection)
def test_every_connection(kind: Connection) -> None:
    text = "NV4" if kind is Connection.NV else kind.value
    if kind is Connection.X:
        text = "SOC"
    (row, _) = parse_topology(f"\tGPU0\tGPU1\nGPU0\t X \t{text}\nGPU1\t{text}\t X \n").rows
    cell = row.cell("GPU1")
    assert cell is not None
    expected = Connection.SOC if kind is Connection.X else kind
    assert (cell.kind, cell.nvlink_count) == (expected, 4 if text == "NV4" else Missing.ABSENT)


def test_devices_as_labels_are_their_own_names() -> None:
    """The generation before the legend."""
    found = parse_topology(
        "\tGPU0\tmlx5_0\tmlx5_bond_0\tCPU Affinity\n"
        "GPU0\t X \tPIX\tSOC\t0-19\nmlx5_0\tPIX\t X \tSOC\t\nmlx5_bond_0\tSOC\tSOC\t X \t\n"
    )
    assert [(label.kind, label.nic_index, label.device_name) for label in found.labels[1:]] == [
        (LabelKind.NIC, Missing.ABSENT, "mlx5_0"),
        (LabelKind.NIC, Missing.ABSENT, "mlx5_bond_0"),
    ]
    assert tails(found)[0] == ("GPU0", "0-19", Missing.ABSENT, Missing.ABSENT)


def test_a_nic_without_a_legend_has_no_name() -> None:
    found = parse_topology("\tGPU0\tNIC0\tCPU Affinity\nGPU0\t X \tPIX\t0-7\nNIC0\tPIX\t X \t\n")
    assert found.labels[1].device_name is Missing.ABSENT


def test_a_device_whose_name_is_not_utf8_has_none() -> None:
    found = parse_topology(b"\tGPU0\tNIC0\nGPU0\t X \tPIX\nNIC0\tPIX\t X \n\nNIC Legend:\n  NIC0: mlx\xff\n")
    assert found.labels[1].device_name is Missing.ERROR


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ("0-23\t0\t\tN/A", ("0-23", (0,), Missing.NOT_SUPPORTED)),
        ("0-23\t0\tN/A", ("0-23", (0,), Missing.NOT_SUPPORTED)),
        ("0-23\t\t0\tN/A", ("0-23", (0,), Missing.NOT_SUPPORTED)),
        ("0-23\t\tN/A\t\tN/A", ("0-23", Missing.NOT_SUPPORTED, Missing.NOT_SUPPORTED)),
        ("\t0\t\tN/A", (Missing.NOT_AVAILABLE, (0,), Missing.NOT_SUPPORTED)),
        ("\t\t0\t\t1", (Missing.NOT_AVAILABLE, (0,), 1)),
        ("\t\t\tN/A", (Missing.NOT_AVAILABLE, Missing.NOT_AVAILABLE, Missing.NOT_SUPPORTED)),
        ("0-23\t\t\tN/A", ("0-23", Missing.NOT_AVAILABLE, Missing.NOT_SUPPORTED)),
        ("0-23\t0\t\t", ("0-23", (0,), Missing.NOT_AVAILABLE)),
        ("0-23", ("0-23", Missing.NOT_AVAILABLE, Missing.NOT_AVAILABLE)),
        ("", (Missing.NOT_AVAILABLE,) * 3),
        ("\t\t\t\t", (Missing.NOT_AVAILABLE,) * 3),
        ("N/A\t-1\t\t-1", (Missing.NOT_SUPPORTED, Missing.NOT_AVAILABLE, Missing.NOT_AVAILABLE)),
        ("0,2,4,6,8,10\t0,2-3\t\t16", ("0,2,4,6,8,10", (0, 2, 3), 16)),
    ],
)
def test_the_last_columns_with_empty_and_doubled_cells(cells: str, expected: tuple[object, ...]) -> None:
    assert tail("CPU Affinity\tNUMA Affinity\tGPU NUMA ID", cells) == expected


@pytest.mark.parametrize(
    ("header", "cells", "expected"),
    [
        ("CPU Affinity", "0-11", ("0-11", Missing.ABSENT, Missing.ABSENT)),
        ("CPU Affinity", "", (Missing.NOT_AVAILABLE, Missing.ABSENT, Missing.ABSENT)),
        ("CPU Affinity\tNUMA Affinity", "0-11\t1", ("0-11", (1,), Missing.ABSENT)),
        ("CPU Affinity\tNUMA Affinity", "0-11\t\tN/A", ("0-11", Missing.NOT_SUPPORTED, Missing.ABSENT)),
        ("CPU Affinity\tNUMA Affinity", "\t\t1", (Missing.NOT_AVAILABLE, (1,), Missing.ABSENT)),
        ("NUMA Affinity\tCPU Affinity", "1\t0-11", ("0-11", (1,), Missing.ABSENT)),
        ("CPU Affinity\tNew Column\tNUMA Affinity", "0-11\tnew\t1", ("0-11", (1,), Missing.ABSENT)),
    ],
)
def test_the_columns_are_the_headers(header: str, cells: str, expected: tuple[object, ...]) -> None:
    assert tail(header, cells) == expected


def test_blanks_in_place_of_tabs() -> None:
    """As a terminal shows the same matrix, with an empty cell that only the distance tells."""
    pasted = parse_topology(HGX.replace("\x1b[4m", "").replace("\x1b[0m", "").expandtabs())
    assert pasted == parse_topology(HGX)
    indented = "\n".join(f"    {line}" for line in HGX.replace("\x1b[4m", "").expandtabs().splitlines())
    assert parse_topology(indented) == parse_topology(HGX)


def test_a_paste_with_other_distances() -> None:
    found = parse_topology(
        "GPU0  GPU1  mlx5_0 CPU    Affinity NUMA   Affinity\n"
        "GPU0   X    NV2    PIX   0-19  0\n"
        "GPU1  NV2  X SYS 20-39 1\n"
        "mlx5_0 PIX SYS X\n"
    )
    assert tails(found)[:2] == [("GPU0", "0-19", (0,), Missing.ABSENT), ("GPU1", "20-39", (1,), Missing.ABSENT)]
    assert found.issues == ()


@pytest.mark.parametrize("text", ["GPU0  X   0   N/A", "GPU0\t X \t0\t\t\t\t0\t1", "GPU0  X  0-7  0  N/A  5"])
def test_last_cells_that_cannot_be_told_apart_are_unknown(text: str) -> None:
    """Better none than a node's number taken for a CPU list."""
    found = parse_topology(f"\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n{text}\n")
    if "0\t1" in text:  # as many values as columns need no guess
        assert tails(found) == [("GPU0", "0", (0,), 1)]
        return
    assert tails(found) == [("GPU0", *[Missing.NOT_AVAILABLE] * 3)]
    assert [(issue.kind, issue.place) for issue in found.issues] == [(IssueKind.BAD_VALUE, "line 2")]


def test_last_cells_of_a_nic_that_cannot_be_told_apart_are_absent() -> None:
    found = parse_topology("\tGPU0\tNIC0\tCPU Affinity\nGPU0\t X \tPIX\t0-7\nNIC0\tPIX\t X \ta\tb\n")
    assert tails(found)[1] == ("NIC0", *[Missing.ABSENT] * 3)
    assert kinds(found) == [IssueKind.BAD_VALUE]


@pytest.mark.parametrize(
    "nodes", ["x", "0-", "3-1", "0,,1", "0-99999", "1-2-3", "\N{SUPERSCRIPT TWO}", "0-4095," * 600 + "0"]
)
def test_an_odd_node_is_an_error_and_an_issue(nodes: str) -> None:
    found = parse_topology(f"\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-7\t{nodes}\n")
    assert tails(found) == [("GPU0", "0-7", Missing.ERROR, Missing.ABSENT)]
    assert kinds(found) == [IssueKind.BAD_VALUE]
    assert "numa_affinity of GPU0" in found.issues[0].message


def test_a_reason_of_the_tool_is_no_issue() -> None:
    assert tail("CPU Affinity\tNUMA Affinity", "0-7\t[Unknown Error]") == ("0-7", Missing.ERROR, Missing.ABSENT)


def test_a_legend_in_another_language_or_indented_is_passed_over() -> None:
    legend = "\n   Légende :\n\n     X    = Soi-même\n     PIX  = X GPU0\n    NIC Legend:\n\n      NIC0: mlx5_9\n"
    found = parse_topology("\tGPU0\tNIC0\tCPU Affinity\nGPU0\t X \tPIX\t0-7\nNIC0\tPIX\t X \n" + legend)
    assert found.labels[1].device_name == "mlx5_9"
    assert kinds(found) == []


def test_text_above_and_failures_anywhere_are_issues() -> None:
    lost = "Unable to determine the device handle for GPU2: 0000:5F:00.0: GPU is lost.  Reboot the system"
    found = parse_topology(
        f"$ nvidia-smi topo -m\n{lost}\n\tGPU0\tGPU1\n\n...\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n{lost}\n"
    )
    assert [(issue.kind, issue.place, issue.pci_bus_id) for issue in found.issues] == [
        (IssueKind.TEXT_AROUND, "line 1", None),
        (IssueKind.GPU_LOST, "line 2", "00000000:5F:00.0"),
        (IssueKind.TEXT_AROUND, "line 5", None),
        (IssueKind.GPU_LOST, "line 8", "00000000:5F:00.0"),
    ]


def test_contradicting_cells_are_an_issue_and_stay() -> None:
    found = parse_topology("\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV4\tSYS\nGPU1\tNV2\t X \tSYS\nGPU2\tSYS\tNODE\t X \n")
    assert [(issue.kind, issue.message) for issue in found.issues] == [
        (IssueKind.LAYERS_DISAGREE, "GPU0 to GPU1 is NV4, and GPU1 to GPU0 is NV2"),
        (IssueKind.LAYERS_DISAGREE, "GPU1 to GPU2 is SYS, and GPU2 to GPU1 is NODE"),
    ]
    assert found.cell("GPU0", "GPU1") == one(Connection.NV, 4)
    assert found.cell("GPU1", "GPU0") == one(Connection.NV, 2)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("GPU1\tSYS", "the row of GPU1 has 1 of 2 cells and is left out"),
        ("GPU1\t X \tSYS", "the row of GPU1 has its X elsewhere and is left out"),
        ("GPU1\tSYS\tSYS", "the row of GPU1 has its X elsewhere and is left out"),
        ("GPU0\t X \tPIX", "a row of GPU0 stands above; this one is left out"),
        ("GPU7\tSYS\t X ", "a row of GPU7, which is no column, is left out"),
    ],
)
def test_a_row_that_may_be_another_devices_is_left_out(row: str, message: str) -> None:
    found = parse_topology(f"\tGPU0\tGPU1\nGPU0\t X \tSYS\n{row}\n")
    assert [each.label for each in found.rows] == ["GPU0"]
    assert found.cell("GPU0", "GPU1") == one(Connection.SYS)
    assert [(issue.kind, issue.place, issue.message) for issue in found.issues] == [
        (IssueKind.BAD_VALUE, "line 3", message)
    ]


def test_of_two_matrices_the_first_is_read() -> None:
    other = HGX.replace("NV18", "NV1").replace("mlx5_0", "mlx5_7")
    found = parse_topology(HGX + other)
    assert (found.labels, found.rows) == (parse_topology(HGX).labels, parse_topology(HGX).rows)
    assert kinds(found) == [IssueKind.MORE_DOCUMENTS]


def test_the_order_of_rows_is_the_headers() -> None:
    found = parse_topology("\tGPU0\tGPU1\nGPU1\tSYS\t X \nGPU0\t X \tSYS\n")
    assert [row.label for row in found.rows] == ["GPU0", "GPU1"]


def test_a_single_gpu() -> None:
    found = parse_topology("\tGPU3\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\r\nGPU3\t X \t0-15\t0\t\tN/A\r\n")
    assert tails(found) == [("GPU3", "0-15", (0,), Missing.NOT_SUPPORTED)]
    assert found.nvlink_peer_count("GPU3") == 0


@pytest.mark.parametrize("cell", ["OK", "CNS", "GNS", "TNS", "NS", "DR", "U"])
def test_a_peer_to_peer_table_is_refused(cell: str) -> None:
    text = f" \tGPU0\tGPU1\t\n GPU0\tX\t{cell}\t\n GPU1\t{cell}\tX\t\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n"
    with pytest.raises(ParseError, match="a table of topo -p2p") as caught:
        parse_topology(text)
    assert (caught.value.source, caught.value.place) == ("nvidia-smi topo -m", "line 2")
    assert cell in caught.value.text


@pytest.mark.parametrize("cell", ["N/A", "NV", "NVX", "nv4", "QPI", ""])
def test_a_cell_that_is_no_connection_is_refused(cell: str) -> None:
    with pytest.raises(ParseError, match=r"line 2.*is no connection"):
        parse_topology(f"\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \t{cell}\t0-7\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no topology matrix"),
        ("Failed to retrieve the topology matrix: Not Supported\n", "no topology matrix"),
        ("ERROR: Option -m is missing its value. Please run 'nvidia-smi -h' for help.\n", "no topology matrix"),
        ("Unable to determine the device handle for GPU0000:25:00.0: Unknown Error\n", "no topology matrix"),
        ("GPU0 and GPU1 are connected\n", "no topology matrix"),
        ("\tNIC0\tNIC1\tCPU Affinity\nNIC0\t X \tPIX\n", "no topology matrix"),
        ("\tGPU0\tGPU1\tCPU Affinity\n", "a matrix without a row"),
        ("\tGPU0\tGPU1\tCPU Affinity\nGPU0\nGPU1\tnothing\n", "a matrix without a row"),
        ("\tGPU0\tGPU0\tCPU Affinity\nGPU0\t X \tPIX\n", "a label stands twice in the header"),
        (LEGEND, "no topology matrix"),
        (b"\x7fELF\x00\xff", "no topology matrix"),
    ],
)
def test_what_is_no_matrix_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(ParseError, match=message) as caught:
        parse_topology(text)
    assert caught.value.source == "nvidia-smi topo -m"


def test_the_refusal_shows_what_the_tool_said() -> None:
    with pytest.raises(ParseError) as caught:
        parse_topology("\nFailed to retrieve the topology matrix: Not Supported\n")
    assert str(caught.value) == (
        "nvidia-smi topo -m: line 2: no topology matrix: 'Failed to retrieve the topology matrix: Not Supported'"
    )


def test_no_devices_is_an_empty_matrix() -> None:
    assert parse_topology("No devices were found\n") == Topology()
    found = parse_topology("Unable to determine the device handle for GPU1: Not Found\nNo devices were found\n")
    assert found.labels == ()
    assert kinds(found) == [IssueKind.READ_ERROR]


@pytest.mark.parametrize(
    ("host", "gpus", "nics", "peers"),
    [("dgx-a100-mig", 8, 10, [5, 0, 5, 5, 5, 5, 0, 5]), ("workstation-rtx-5090", 1, 0, [0])],
)
def test_the_hosts(fixtures_dir: Path, host: str, gpus: int, nics: int, peers: list[int]) -> None:
    found = parse_topology((fixtures_dir / "nvidia-smi" / host / "smi" / "topo-m.txt").read_bytes())
    labels = [label for label in found.labels if label.kind is LabelKind.GPU]
    assert (len(labels), len(found.labels) - len(labels), found.issues) == (gpus, nics, ())
    assert [found.nvlink_peer_count(label.label) for label in labels] == peers


def test_a_host_under_wsl_has_no_matrix(fixtures_dir: Path) -> None:
    with pytest.raises(ParseError, match="Not Supported"):
        parse_topology((fixtures_dir / "nvidia-smi" / "wsl2-rtx-5090" / "smi" / "topo-m.txt").read_bytes())

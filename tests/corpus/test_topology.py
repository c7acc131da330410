"""Every captured `nvidia-smi topo -m`, against a reading with one regular expression a line."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from gpuinv.errors import ParseError
from gpuinv.readings import Missing, Reading
from gpuinv.smi.topology import Connection, LabelKind, Topology, TopologyCell, parse_topology

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.corpus

_NAIVE_ROW = re.compile(r"^\s*((?:GPU|NIC|mlx)\w+)[ \t]+(?=.*\bX\b)(.*)", re.MULTILINE)
_NAIVE_CELL = re.compile(r"(?<!\S)(?:X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC)(?!\S)")
_NAIVE_LEGEND = re.compile(r"^\s*(NIC\d+): (\S+)", re.MULTILINE)

UNSUPPORTED, EMPTY, ABSENT = Missing.NOT_SUPPORTED, Missing.NOT_AVAILABLE, Missing.ABSENT

# By the number of the file: how many GPUs and NICs the header names; how many pairs of GPUs have so many NVLinks; for
# each GPU in turn its CPUs, its node and the node of its own memory.
FILES: dict[int, tuple[int, int, dict[int, int], Sequence[tuple[object, object, object]]]] = {
    1: (1, 0, {}, [("0-23", 0, UNSUPPORTED)]),
    3: (1, 0, {}, [("0-19", 0, UNSUPPORTED)]),
    8: (8, 6, {18: 28}, [(EMPTY, 0, UNSUPPORTED)] * 4 + [("1", 1, UNSUPPORTED)] * 4),  # a virtual machine
    10: (2, 1, {18: 1}, [("0-55", ABSENT, ABSENT)] * 2),  # names in place of NIC0; its row is missing
    12: (2, 0, {18: 1}, [("0-47", 0, ABSENT)] * 2),
    14: (2, 0, {}, [("0-47", 0, UNSUPPORTED)] * 2),
    16: (1, 2, {}, [("0-11", 0, UNSUPPORTED)]),
    18: (2, 0, {2: 1}, [("0-23", UNSUPPORTED, ABSENT)] * 2),  # blanks, with a second tab's worth before `N/A`
    20: (8, 0, {12: 28}, [("0-23", 0, ABSENT)] * 4 + [("24-47", 1, ABSENT)] * 4),
    24: (8, 0, {18: 28}, [("0-51,104-155", 0, ABSENT)] * 4 + [("52-103,156-207", 1, ABSENT)] * 4),
    26: (2, 2, {12: 1}, [("0-63", 0, UNSUPPORTED), ("64-127", 1, UNSUPPORTED)]),
    28: (1, 0, {}, [("0-31", 0, UNSUPPORTED)]),
    30: (8, 0, {}, [("0-15,32-47", 0, UNSUPPORTED)] * 4 + [("16-31,48-63", 1, UNSUPPORTED)] * 4),
    32: (2, 0, {}, [("0-63", 0, UNSUPPORTED)] * 2),
    # The tool cut these lists after twelve characters.
    35: (7, 0, {18: 21}, [("0,2,4,6,8,10", 0, UNSUPPORTED)] * 3 + [("1,3,5,7,9,11", 1, UNSUPPORTED)] * 4),
}

# What is refused: what the tool said instead.
REFUSED = {
    5: "ERROR: Option -m is missing its value. Please run 'nvidia-smi -h' for help.",  # Windows
}


@pytest.fixture(scope="module")
def texts(corpus: Path) -> dict[int, str]:
    """By the number of the file: its text."""
    return {int(path.name[:3]): path.read_text(encoding="utf-8") for path in (corpus / "text" / "topo-m").iterdir()}


@pytest.fixture(scope="module")
def matrices(texts: dict[int, str]) -> dict[int, Topology]:
    """What the parser makes of each text that holds a row."""
    return {number: parse_topology(text) for number, text in texts.items() if _NAIVE_ROW.search(text)}


def shown(cell: TopologyCell) -> str:
    return cell.kind.value if isinstance(cell.nvlink_count, Missing) else f"{cell.kind.value}{cell.nvlink_count}"


def nvlink_pairs(found: Topology) -> dict[int, int]:
    gpus = [label.label for label in found.labels if label.kind is LabelKind.GPU]
    cells = (found.cell(a, b) for a, b in combinations(gpus, 2))
    counts: list[Reading[int]] = [cell.nvlink_count for cell in cells if cell and cell.kind is Connection.NV]
    return Counter(count for count in counts if not isinstance(count, Missing))


def test_every_file_is_a_matrix_or_refused(texts: dict[int, str], matrices: dict[int, Topology]) -> None:
    assert texts
    for number, text in texts.items():
        if number not in matrices:
            with pytest.raises(ParseError, match="no topology matrix"):
                parse_topology(text)


def test_the_refusals(texts: dict[int, str]) -> None:
    for number in texts.keys() & REFUSED.keys():
        with pytest.raises(ParseError) as caught:
            parse_topology(texts[number])
        assert (number, caught.value.place, caught.value.text) == (number, "line 1", REFUSED[number])


def test_every_cell_is_read(texts: dict[int, str], matrices: dict[int, Topology]) -> None:
    for number, found in matrices.items():
        naive = {label: _NAIVE_CELL.findall(cells) for label, cells in _NAIVE_ROW.findall(texts[number])}
        assert (number, {row.label: [shown(cell) for _, cell in row.cells] for row in found.rows}) == (number, naive)
        assert all(len(cells) == len(found.labels) for cells in naive.values()), number


def test_every_cell_stands_below_its_column(matrices: dict[int, Topology]) -> None:
    for number, found in matrices.items():
        for row in found.rows:
            assert [column for column, cell in row.cells if cell.kind is Connection.X] == [row.label], number
        assert (number, found.issues) == (number, ())  # no pair contradicts itself


def test_the_legends_names(texts: dict[int, str], matrices: dict[int, Topology]) -> None:
    for number, found in matrices.items():
        names = dict(_NAIVE_LEGEND.findall(texts[number]))
        for label in found.labels:
            if label.kind is LabelKind.NIC:
                known = names.get(label.label, ABSENT if label.label.startswith("NIC") else label.label)
                assert (number, label.label, label.device_name) == (number, label.label, known)


def test_counts_and_last_columns(matrices: dict[int, Topology]) -> None:
    assert matrices.keys() & FILES.keys()
    for number in matrices.keys() & FILES.keys():
        found = matrices[number]
        gpus = [label.label for label in found.labels if label.kind is LabelKind.GPU]
        rows = [row for row in found.rows if row.label in gpus]
        tails = [(row.cpu_affinity, row.numa_node, row.gpu_numa_id) for row in rows]
        summary = (len(gpus), len(found.labels) - len(gpus), nvlink_pairs(found), tails)
        assert (number, *summary) == (number, *FILES[number])


def test_nics_have_no_last_columns(matrices: dict[int, Topology]) -> None:
    nics = {
        (number, label.label) for number, m in matrices.items() for label in m.labels if label.kind is LabelKind.NIC
    }
    rows = [row for number, found in matrices.items() for row in found.rows if (number, row.label) in nics]
    assert {(row.cpu_affinity, row.numa_affinity, row.gpu_numa_id) for row in rows} <= {(ABSENT, ABSENT, ABSENT)}


def test_every_peer_to_peer_table_is_refused(corpus: Path) -> None:
    files = list((corpus / "text" / "topo-p2p").iterdir())
    assert files
    for path in files:
        with pytest.raises(ParseError, match=r"line \d+: a table of topo -p2p: 'GPU\d"):
            parse_topology(path.read_bytes())


def test_every_failure_is_refused(corpus: Path) -> None:
    files = [path for path in (corpus / "text" / "failures").iterdir() if b"No devices" not in path.read_bytes()]
    assert files
    for path in files:
        with pytest.raises(ParseError, match="no topology matrix"):
            parse_topology(path.read_bytes())

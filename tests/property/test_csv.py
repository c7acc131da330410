"""The CSV readers raise nothing but ParseError, and the order of the rows decides nothing."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuinv.errors import ParseError
from gpuinv.readings import Missing
from gpuinv.smi.compute_apps import parse_compute_apps
from gpuinv.smi.gpu_reset import parse_gpu_reset
from gpuinv.smi.query_fields import QUERY_FIELDS
from gpuinv.smi.query_gpu import parse_query_gpu
from gpuinv.smi.query_help import parse_help_query_gpu
from gpuinv.smi.remapped_rows import parse_remapped_rows
from gpuinv.smi.samples import Samples, comparable, parse_samples
from gpuinv.smi.smi_version import parse_smi_version

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.property

UUID = "GPU-7a10c0de-44d4-4be7-8a6e-0d2f7c9b1e01"
LOST = "Unable to determine the device handle for GPU1: 0000:0A:00.0: GPU is lost.  Reboot\n"
SAMPLE = f"{UUID}, 32510, 4, 338, 32168, 7, 3, 35, 41.20, 300.00, 1290, 877, P0, [N/A]\n"
FIELDS = ("uuid", "memory.used", "power.draw", "pci.bus_id", "remapped_rows.pending", "mig.mode.current", "name")
APPS = ("gpu_uuid", "pid", "process_name", "used_gpu_memory")
GOOD: dict[Callable[[Any], Any], str] = {
    partial(parse_query_gpu, fields=FIELDS): (
        f"uuid, memory.used [MiB], power.draw [W], pci.bus_id, remapped_rows.pending, mig.mode.current, name\n{LOST}"
        f"{UUID}, 5 MiB, 7.25 W, 00000000:0C:00.0, [N/A], Enabled, Card\n"
        "[N/A], 5 MiB, [GPU is lost], 00000000:0D:00.0, Yes, Disabled, Card, more\nWARNING: infoROM\n"
    ),
    parse_samples: f"{SAMPLE}{SAMPLE}{LOST}",
    partial(parse_compute_apps, fields=APPS): (
        f"gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n{UUID}, 1, /a, b, 5 MiB\n{UUID}, [N/A], , [N/A]\n{LOST}"
    ),
    parse_compute_apps: f"{UUID}\nMIG-{UUID}/1/0\nNo devices were found\n",
    parse_remapped_rows: f"{UUID}, 1, 0, Yes, 0\n",
    parse_smi_version: (
        'DRIVER version : Deprecated, see "KMD version" instead\nKMD version : 610.1\nNVML version : 1.2\n'
    ),
    parse_help_query_gpu: 'properties for the switch "--query-gpu":\n\n"uuid" or "gpu_uuid"\nThe "id".\n',
    parse_gpu_reset: "GPU 00000000:0C:00.0  was successfully reset.\n  GPU 00000000:0D:00.0: Busy\nAll done.\n",
}
READERS = st.sampled_from(list(GOOD))
CELLS = st.sampled_from(
    ["[N/A]", "N/A", "", "0", "7 MiB", "7.5 W", "Enabled", "[GPU is lost]", UUID, "x", "[?]", "1 %"]
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


@given(damaged(), st.sampled_from([None, "utf-8", "utf-16", "latin-1"]))
def test_damaged_text(case: tuple[Callable[[Any], Any], str], encoding: str | None) -> None:
    reader, text = case
    with contextlib.suppress(ParseError):
        reader(text if encoding is None else text.encode(encoding, "replace"))


@given(st.data(), st.lists(st.sampled_from([column.name for column in QUERY_FIELDS]), min_size=2, max_size=8))
def test_permuted_rows_give_permuted_readings(data: st.DataObject, fields: list[str]) -> None:
    rows = data.draw(st.lists(st.lists(CELLS, min_size=len(fields), max_size=len(fields)), min_size=1, max_size=6))
    order = data.draw(st.permutations(range(len(rows))))
    lines = [", ".join(["row", *row]) for row in rows]
    plain = parse_query_gpu("\n".join(lines), ["timestamp", *fields])
    permuted = parse_query_gpu("\n".join(lines[each] for each in order), ["timestamp", *fields])
    assert list(permuted.rows) == [plain.rows[each] for each in order]
    assert len(permuted.issues) == len(plain.issues)


@given(st.lists(st.lists(CELLS, min_size=13, max_size=13), min_size=1, max_size=4))
def test_a_sample_is_what_is_comparable_of_it(rows: list[list[str]]) -> None:
    found = parse_samples("\n".join(", ".join([UUID, *row]) for row in rows))
    assert isinstance(found, Samples)
    assert [comparable(sample) for sample in found.samples] == list(found.samples)


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=30))
def test_any_process_name_counts_once(name: str) -> None:
    """Its commas are its own, and its words are no reasons."""
    found = parse_compute_apps(f"{UUID}, 77, {name}, 5 MiB\n", APPS)
    assert [count for _, count in found.by_uuid] == [1]
    assert found.issues == ()
    assert Missing.ERROR not in dict(found.by_uuid).values()

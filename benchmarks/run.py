"""Run the benchmarks and compare each with its budget: `python -m benchmarks.run [NAME …]`; 1 when one is over.

Every figure is a ratio of two durations of one run, ours and a yardstick's, taken in turns on the same bytes. What the
machine does meanwhile only ever adds to a duration, so the shortest of many is taken.
"""

from __future__ import annotations

import csv
import gc
import io
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import xmltodict
from lxml import etree

from benchmarks.documents import captures, eight_gpus, many_gpus, sample_csv
from gpuinv import GpuSection, enrich, parse_smi_xml, seal
from gpuinv.sections.canonical import plain
from gpuinv.smi.samples import parse_samples

if TYPE_CHECKING:
    from gpuinv.smi.records import SmiSnapshot

Action = Callable[[], object]


class Row(NamedTuple):
    """One comparison: how many times the yardstick's duration our own may take, and what it took."""

    name: str
    yardstick: str
    budget: float
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        """Our duration in yardsticks."""
        return self.ours / self.theirs


def in_turns(ours: Action, theirs: Action, *, rounds: int) -> tuple[float, float]:
    """The shortest duration in seconds of each of two actions, run in turns."""
    best = [float("inf"), float("inf")]
    gc.disable()
    try:
        for _ in range(rounds):
            for position, action in enumerate((ours, theirs)):
                start = time.perf_counter()
                action()
                best[position] = min(best[position], time.perf_counter() - start)
            gc.collect(0)
    finally:
        gc.enable()
    return best[0], best[1]


def interpreter(statement: str) -> Action:
    """An action that runs the statement in a fresh interpreter."""
    return lambda: subprocess.run([sys.executable, "-c", statement], check=True)


def import_rows() -> Iterator[Row]:
    """`import gpuinv` against `import attrs`, interpreter included."""
    ours, theirs = in_turns(interpreter("import gpuinv"), interpreter("import attrs"), rounds=20)
    yield Row("import gpuinv", "import attrs", 1.2, ours, theirs)


def xml_rows() -> Iterator[Row]:
    """Typed records of a document against lxml and xmltodict, which only build trees and dicts of it."""
    document = eight_gpus()
    ours, theirs = in_turns(lambda: parse_smi_xml(document), lambda: etree.fromstring(document), rounds=200)
    yield Row("8 GPUs, all clocks", "lxml.etree.fromstring", 2.0, ours, theirs)
    ours, theirs = in_turns(lambda: parse_smi_xml(document), lambda: xmltodict.parse(document), rounds=10)
    yield Row("8 GPUs, all clocks", "xmltodict.parse", 0.2, ours, theirs)


def scaling_rows() -> Iterator[Row]:
    """The time for one GPU of 800 against that for one of 8."""
    few, many = many_gpus(8), many_gpus(800)
    ours, theirs = in_turns(lambda: parse_smi_xml(many), lambda: parse_smi_xml(few), rounds=5)
    yield Row("800 GPUs, each", "8 GPUs, each", 1.15, ours / 800, theirs / 8)


def capture_rows() -> Iterator[Row]:
    """The real capture that takes longest in comparison."""
    rows = []
    for name, document in captures().items():
        ours, theirs = in_turns(_reading(document), _tree(document), rounds=200)
        rows.append(Row(name, "lxml.etree.fromstring", 4.0, ours, theirs))
    yield from sorted(rows, key=lambda row: -row.ratio)[:3]


def _reading(document: bytes) -> Action:
    return lambda: parse_smi_xml(document)


def _tree(document: bytes) -> Action:
    return lambda: etree.fromstring(document)


def sample_rows() -> Iterator[Row]:
    """Typed samples of 800 GPUs against the csv module, which only splits the text."""
    text = sample_csv(800)
    ours, theirs = in_turns(lambda: parse_samples(text), lambda: list(csv.reader(io.StringIO(text))), rounds=100)
    yield Row("800 rows of 14 fields", "csv.reader", 10.0, ours, theirs)


def seal_rows() -> Iterator[Row]:
    """Canonical bytes and their hash against `json.dumps` of the same data."""
    section = _section(parse_smi_xml(eight_gpus()))
    data = plain(section)
    ours, theirs = in_turns(lambda: seal(section), lambda: json.dumps(data), rounds=300)
    yield Row("seal 8 GPUs", "json.dumps", 6.0, ours, theirs)


def _section(snapshot: SmiSnapshot) -> GpuSection:
    return enrich(GpuSection(layers=(), gpus=()), snapshot)


BENCHMARKS: dict[str, Callable[[], Iterator[Row]]] = {
    "import": import_rows,
    "xml": xml_rows,
    "scaling": scaling_rows,
    "captures": capture_rows,
    "samples": sample_rows,
    "seal": seal_rows,
}


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all, and return the exit code."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    print(f"{python}, {platform.machine()}, lxml {etree.__version__}")
    over = False
    for benchmark in names or BENCHMARKS:
        for row in BENCHMARKS[benchmark]():
            over |= row.ratio > row.budget
            verdict = "over" if row.ratio > row.budget else "ok"
            ours, theirs = row.ours * 1e3, row.theirs * 1e3
            print(
                f"{benchmark:9} {row.name[:36]:36} {ours:9.3f} ms   {row.yardstick:22} {theirs:9.3f} ms"
                f"   {row.ratio:6.2f} of {row.budget:.2f}  {verdict}"
            )
    return int(over)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

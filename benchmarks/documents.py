"""What the benchmarks read: documents built from the fixtures, and captures of real hosts where there are some."""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["captures", "eight_gpus", "many_gpus", "sample_csv"]

_FIXTURES = Path(__file__).parents[1] / "fixtures" / "nvidia-smi"
_GPU = re.compile(rb"\t<gpu id=.*?</gpu>\n", re.DOTALL)
_CLOCKS = re.compile(rb"<supported_clocks>.*?</supported_clocks>", re.DOTALL)
_MEMORY_CLOCKS = 4
_GRAPHICS_CLOCKS = 100


def eight_gpus() -> bytes:
    """A DGX with the long clock lists of newer GPUs: they are seven tenths of the bytes, as on a real B200."""
    document = (_FIXTURES / "dgx-a100-mig" / "smi" / "q-x.xml").read_bytes()
    return _CLOCKS.sub(_clocks(), document)


def many_gpus(count: int) -> bytes:
    """The same host with another number of GPUs, all different."""
    document = eight_gpus()
    bodies = _GPU.findall(document)
    head, tail = document[: document.index(bodies[0])], document[document.rindex(b"</nvidia_smi_log>") :]
    gpus = (_renamed(bodies[number % len(bodies)], number) for number in range(count))
    return re.sub(rb"<attached_gpus>\d+", b"<attached_gpus>%d" % count, head) + b"".join(gpus) + tail


def sample_csv(count: int) -> str:
    """The same host's sample query with another number of GPUs, whose use of memory and whose power all differ."""
    text = (_FIXTURES / "dgx-a100-mig" / "smi" / "query-gpu-sample.csv").read_text(encoding="utf-8")
    bodies = [line.split(", ") for line in text.splitlines()]
    rows = []
    for number in range(count):
        cells = list(bodies[number % len(bodies)])
        used = 4 + 101 * number
        cells[0] = f"GPU-{number:08x}{cells[0][12:]}"
        cells[2], cells[4], cells[8] = str(used), str(81049 - used), f"{58 + number * 0.43:.2f}"
        rows.append(", ".join(cells))
    return "\n".join(rows) + "\n"


def captures() -> dict[str, bytes]:
    """The documents of real hosts that the parser reads, by name; none without `GPUINV_CORPUS`."""
    directory = os.environ.get("GPUINV_CORPUS")
    files = sorted(Path(directory, "xml").glob("*.xml")) if directory else []
    return {file.name: file.read_bytes() for file in files if "trimmed" not in file.name}


def _clocks() -> bytes:
    graphics = b"".join(
        b"\t\t\t\t<supported_graphics_clock>%d MHz</supported_graphics_clock>\n" % (1980 - 15 * step % 1800)
        for step in range(_GRAPHICS_CLOCKS)
    )
    memory = b"".join(
        b"\t\t\t<supported_mem_clock>\n\t\t\t\t<value>%d MHz</value>\n%s\t\t\t</supported_mem_clock>\n"
        % (3996 - 600 * step, graphics)
        for step in range(_MEMORY_CLOCKS)
    )
    return b"<supported_clocks>\n" + memory + b"\t\t</supported_clocks>"


def _renamed(gpu: bytes, number: int) -> bytes:
    gpu = re.sub(rb"GPU-[0-9a-f]{8}", b"GPU-%08x" % number, gpu)
    return re.sub(rb"0000[0-9A-F]{4}:", b"%08X:" % number, gpu)

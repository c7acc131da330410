"""Hosts made of values: an nvidia-smi that answers from a table, files by path, a clock that runs tell on."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import attrs

from gpuinv.errors import NoDriverError
from gpuinv.host.ports import MAX_FILE_BYTES, CommandResult, FileTree, SmiRunner
from gpuinv.ids import GpuUuid
from gpuinv.smi.compute_apps import COMPUTE_APPS
from gpuinv.smi.queries import (
    COMPUTE_CAP,
    COMPUTE_INSTANCES,
    FULL,
    GPU_INSTANCES,
    LIST,
    MIG_PROFILES,
    NVLINK_REMOTE,
    NVLINK_STATUS,
    TOPOLOGY,
    Query,
)
from gpuinv.smi.samples import SAMPLE
from gpuinv.testing import replay

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from threading import Event

OPTIONAL = (LIST, COMPUTE_CAP, TOPOLOGY, NVLINK_STATUS, NVLINK_REMOTE, MIG_PROFILES)
MIG_LISTINGS = (GPU_INSTANCES, COMPUTE_INSTANCES)
EVERY_QUERY = (FULL, *OPTIONAL, *MIG_LISTINGS, SAMPLE, COMPUTE_APPS)
HOSTS = ("dgx-a100-mig", "workstation-rtx-5090", "wsl2-rtx-5090")

U1 = GpuUuid("GPU-3d9e0c55-1111-4c0f-8a00-000000000001")
U2 = GpuUuid("GPU-3d9e0c55-1111-4c0f-8a00-000000000002")
BUS = "0000:01:00.0"
DRIVER = "/proc/driver/nvidia"


def xml(*gpus: tuple[str, str]) -> bytes:
    rows = "".join(
        f'<gpu id="{bus}"><product_name>NVIDIA L4</product_name><uuid>{uuid}</uuid><pci><pci_bus_id>{bus}</pci_bus_id>'
        "</pci></gpu>"
        for uuid, bus in gpus
    )
    return (
        f'<?xml version="1.0" ?><nvidia_smi_log><driver_version>550.54.15</driver_version>'
        f"<attached_gpus>{len(gpus)}</attached_gpus>{rows}</nvidia_smi_log>"
    ).encode()


def result(query: Query, stdout: bytes = b"", **how: object) -> CommandResult:
    facts: dict[str, object] = {"argv": query.argv, "stdout": stdout, "exit_code": 0, "seconds": 0.5, **how}
    return CommandResult(**facts)  # type: ignore[arg-type] # facts, by name


Answers = dict[Query, CommandResult]

ONE_GPU: Answers = {
    FULL: result(FULL, xml((U1, "00000000:01:00.0"))),
    LIST: result(LIST, f"GPU 0: NVIDIA L4 (UUID: {U1})\n".encode()),
    COMPUTE_CAP: result(COMPUTE_CAP, f"{U1}, 8.9\n".encode()),
    TOPOLOGY: result(TOPOLOGY, b"\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-31\t\tN/A\n"),
    NVLINK_STATUS: result(NVLINK_STATUS, b"GPU 0: NVIDIA L4 (UUID: %s)\n\t Link 0: 25 GB/s\n" % U1.encode()),
    NVLINK_REMOTE: result(
        NVLINK_REMOTE,
        b"GPU 0: NVIDIA L4 (UUID: %s)\n\t Link 0: Remote Device 00000000:C4:00.0: Link 7\n" % U1.encode(),
    ),
    MIG_PROFILES: result(MIG_PROFILES, b"No MIG-supported devices found.\n", exit_code=6),
}


def captured(fixtures_dir: Path, host: str) -> Answers:
    """What a captured host answers, to be changed at will."""
    smi = replay(fixtures_dir / "nvidia-smi" / host).smi
    results = {query: smi.run(query.args, timeout=1) for query in EVERY_QUERY}
    return {query: result for query, result in results.items() if b"not in this capture" not in result.stderr}


@attrs.define
class FakeSmi:
    """Answers from a table; what is not in it is a tool that is not there.

    `before` is called for each query in the thread that asks, outside every lock.
    """

    answers: Mapping[Query, CommandResult]
    before: Callable[[Query], None] | None = None
    timeouts: list[float] = attrs.field(factory=list)
    asked: list[Query] = attrs.field(factory=list)
    threads: set[int] = attrs.field(factory=set)
    _lock: threading.Lock = attrs.field(factory=threading.Lock)

    def run(self, args: Sequence[str], *, timeout: float, stop: Event | None = None) -> CommandResult:
        query = Query(tuple(args), required=tuple(args) == FULL.args)
        with self._lock:
            self.timeouts.append(timeout)
            self.asked.append(query)
            self.threads.add(threading.get_ident())
        assert (stop is None) == (threading.current_thread() is threading.main_thread())
        if self.before is not None:
            self.before(query)
        if query not in self.answers:
            raise NoDriverError
        return self.answers[query]


@attrs.define
class FakeClock:
    """A clock that moves when it is told to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@attrs.define
class FakeTree:
    """Files and directories by path; an errno in place of a content is raised."""

    files: dict[str, bytes | str | tuple[str, ...] | int] = attrs.field(factory=dict)

    def _get(self, path: str, kind: type) -> object:
        found = self.files.get(path, errno.ENOENT)
        if isinstance(found, int):
            raise OSError(found, os.strerror(found), path)
        assert isinstance(found, kind)
        return found

    def read(self, path: str, *, limit: int = MAX_FILE_BYTES) -> bytes:
        found = self._get(path, bytes)
        assert isinstance(found, bytes)
        assert len(found) <= limit
        return found

    def list(self, path: str) -> tuple[str, ...]:
        found = self._get(path, tuple)
        assert isinstance(found, tuple)
        return found

    def link(self, path: str) -> str:
        found = self._get(path, str)
        assert isinstance(found, str)
        return found

    def exists(self, path: str) -> bool:
        return path in self.files


@attrs.frozen
class FakeHost:
    smi: SmiRunner
    tree: FileTree


def information(uuid: str, bus: str) -> bytes:
    return f"Model: \t\t NVIDIA L4\nGPU UUID: \t {uuid}\nBus Location: \t {bus}\nDevice Minor: \t 0\n".encode()


def tree(**gpus: bytes | int) -> FakeTree:
    files: dict[str, bytes | str | tuple[str, ...] | int] = {
        f"{DRIVER}/version": b"NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5\n",
        f"{DRIVER}/gpus": tuple(gpus),
    }
    files.update({f"{DRIVER}/gpus/{name}/information": content for name, content in gpus.items()})
    return FakeTree(files)


def at(bus: str, content: bytes | int) -> FakeTree:
    return tree(**{bus: content})

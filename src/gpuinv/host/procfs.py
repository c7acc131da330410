"""Reading what the kernel driver's files and sysfs know of the GPUs; what cannot be read becomes an issue."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, TypeVar

import attrs

from gpuinv.errors import Issue, IssueKind, ParseError
from gpuinv.host.ports import FileTree
from gpuinv.ids import PciBusId
from gpuinv.kernel.gpus import procfs_section
from gpuinv.kernel.pci import PciFunction, parse_pci_function
from gpuinv.kernel.proc_nvidia import ProcInformation, parse_proc_information, parse_proc_version
from gpuinv.readings import Missing
from gpuinv.sections.enrich import with_architecture

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuinv.inventory import GpuSection
    from gpuinv.readings import Reading

__all__ = ["read_procfs"]

T = TypeVar("T")

_DRIVER = "/proc/driver/nvidia"
_GPUS = f"{_DRIVER}/gpus"
_PCI = "/sys/bus/pci/devices"
_PCI_FILES = (
    "vendor",
    "device",
    "class",
    "subsystem_vendor",
    "subsystem_device",
    "revision",
    "numa_node",
    "current_link_speed",
    "current_link_width",
    "max_link_speed",
    "max_link_width",
    "sriov_totalvfs",
    "sriov_numvfs",
)
_PCI_LINKS = ("driver", "iommu_group", "physfn")
_GONE = {errno.ENOENT, errno.ENOTDIR}


def read_procfs(tree: FileTree) -> tuple[GpuSection, tuple[Issue, ...]]:
    """Read what the kernel driver's files and sysfs know of the GPUs, without waking one.

    A GPU whose file cannot be read is in the section by its address alone. Where the directory of the GPUs cannot be
    listed, the section does not claim this layer. Nothing is raised: a file that cannot be read is an issue, and one
    that is not there is nothing.
    """
    reader = _TreeReader(tree)
    version = reader.parse(f"{_DRIVER}/version", parse_proc_version)
    gpus = [gpu for name in reader.names(_GPUS) if (gpu := _procfs_gpu(reader, name)) is not None]
    section = with_architecture(procfs_section(version, gpus))
    if reader.trouble(_GPUS) is not None:
        section = attrs.evolve(section, layers=())
    return section, tuple(reader.issues)


@attrs.define
class _TreeReader:
    """A file tree whose failures are collected. A file that is not there is no failure."""

    tree: FileTree
    issues: list[Issue] = attrs.field(factory=list)

    def names(self, path: str) -> tuple[str, ...]:
        return self._tried(path, self.tree.list, ())

    def read(self, path: str) -> bytes | None:
        return self._tried(path, self.tree.read, None)

    def link(self, path: str) -> str | None:
        return self._tried(path, self.tree.link, None)

    def parse(self, path: str, parser: Callable[[bytes], T]) -> T | None:
        content = self.read(path)
        try:
            return None if content is None else parser(content)
        except ParseError as error:
            issue = Issue(
                kind=IssueKind.BAD_VALUE, source=path, message=error.message, place=error.place, text=error.text
            )
            self.issues.append(issue)
            return None

    def trouble(self, path: str) -> Missing | None:
        """Why a path could not be read; None where it was read, and where it is not there."""
        kinds = {issue.kind for issue in self.issues if issue.source == path}
        if not kinds:
            return None
        return Missing.NO_PERMISSION if IssueKind.NO_PERMISSION in kinds else Missing.ERROR

    def _tried(self, path: str, action: Callable[[str], T], default: T) -> T:
        try:
            return action(path)
        except OSError as error:
            if error.errno not in _GONE:
                kind = IssueKind.NO_PERMISSION if error.errno in {errno.EACCES, errno.EPERM} else IssueKind.READ_ERROR
                name = errno.errorcode.get(error.errno or 0, "error")
                self.issues.append(Issue(kind=kind, source=path, message=f"could not be read ({name})"))
            return default


def _procfs_gpu(reader: _TreeReader, name: str) -> tuple[ProcInformation, PciFunction | None] | None:
    path = f"{_GPUS}/{name}/information"
    information = reader.parse(path, lambda content: parse_proc_information(content, directory=name))
    if information is None:
        reason = reader.trouble(path)
        if reason is None:
            return None
        information = _address_alone(name, reason)
    reader.issues += information.issues
    if isinstance(information.pci_bus_id, Missing):
        return information, None
    return information, _pci_function(reader, information.pci_bus_id.sysfs)


def _address_alone(name: str, reason: Missing) -> ProcInformation:
    """A GPU of which only the name of its directory is known."""
    try:
        pci_bus_id: Reading[PciBusId] = PciBusId.parse(name)
    except ParseError:
        pci_bus_id = reason
    return ProcInformation(
        product_name=reason,
        uuid=reason,
        vbios_version=reason,
        pci_bus_id=pci_bus_id,
        minor_number=reason,
        gpu_excluded=reason,
    )


def _pci_function(reader: _TreeReader, address: str) -> PciFunction | None:
    """A function's directory in sysfs; None where there is none, as under WSL."""
    directory = f"{_PCI}/{address}"
    names = set(reader.names(directory))
    files: dict[str, str | bytes] = {}
    for name in names.intersection(_PCI_FILES):
        content = reader.read(f"{directory}/{name}")
        if content is not None:
            files[name] = content
    for name in names.intersection(_PCI_LINKS):
        target = reader.link(f"{directory}/{name}")
        if target is not None:
            files[name] = target
    if not files:
        return None
    try:
        return parse_pci_function(files, address=address)
    except ParseError as error:
        reader.issues.append(
            Issue(kind=IssueKind.BAD_VALUE, source=directory, message=error.message, place=error.place, text=error.text)
        )
        return None

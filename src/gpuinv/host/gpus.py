"""Reading the GPUs of a host: procfs and sysfs, then nvidia-smi, merged.

The few lines of I/O between the ports and the pure parsers; what cannot be read becomes an issue.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, TypeVar

import attrs

from gpuinv.errors import Issue, IssueKind, NoDriverError, ParseError, SmiError, SmiFailure
from gpuinv.host.ports import FileTree, SmiRunner
from gpuinv.ids import PciBusId
from gpuinv.kernel.gpus import procfs_section
from gpuinv.kernel.pci import PciFunction, parse_pci_function
from gpuinv.kernel.proc_nvidia import ProcInformation, parse_proc_information, parse_proc_version
from gpuinv.readings import Missing
from gpuinv.sections.enrich import disagreements, enrich, with_architecture
from gpuinv.smi.compute_cap import parse_compute_cap
from gpuinv.smi.failures import smi_failure
from gpuinv.smi.gpu_list import parse_smi_list
from gpuinv.smi.join import join_compute_caps, join_list
from gpuinv.smi.queries import COMPUTE_CAP, FULL, LIST, MAX_OUTPUT_BYTES, OVERALL_SECONDS, QUERY_SECONDS, Query
from gpuinv.smi.records import QueryRun, SmiSnapshot, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuinv.host.ports import CommandResult, Host
    from gpuinv.inventory import GpuSection
    from gpuinv.readings import Reading

__all__ = ["read_gpus", "read_procfs", "read_smi"]

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


def read_gpus(host: Host) -> Snapshot:
    """Read the GPUs of a host from both layers: procfs and sysfs, then nvidia-smi, merged.

    A host without nvidia-smi gives what procfs and sysfs know, in a section whose layers say so. What went wrong beside
    the result (a file, an optional query, one GPU) is in `issues`.

    Raises:
        NoDriverError: there is no nvidia-smi, and procfs and sysfs know nothing either.
        SmiError: nvidia-smi is there and did not answer. No section is better than one without its GPUs.
    """
    base, issues = read_procfs(host.tree)
    try:
        snapshot, queries = read_smi(host.smi)
    except NoDriverError as error:
        if not base.layers:
            raise
        issue = Issue(kind=IssueKind.NO_DRIVER, source="PATH", message=str(error))
        return Snapshot(section=base, issues=(*issues, issue))
    return Snapshot(
        section=enrich(base, snapshot),
        samples=snapshot.samples,
        issues=(*issues, *snapshot.issues, *disagreements(base, snapshot)),
        queries=queries,
    )


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


def read_smi(smi: SmiRunner) -> tuple[SmiSnapshot, tuple[QueryRun, ...]]:
    """Run the queries of a snapshot, each for at most 30 s and all for 60 s, and join their answers by UUID.

    Raises:
        NoDriverError: the host has no nvidia-smi.
        SmiError: the full query failed. An optional query that fails is an issue.
    """
    reader = _SmiReader(smi)
    snapshot = reader.full()
    caps = reader.optional(COMPUTE_CAP, parse_compute_cap)
    if caps is not None:
        snapshot = join_compute_caps(snapshot, caps)
    listed = reader.optional(LIST, parse_smi_list)
    if listed is not None:
        snapshot = join_list(snapshot, listed)
    return attrs.evolve(snapshot, issues=(*snapshot.issues, *reader.issues)), tuple(reader.queries)


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


@attrs.define
class _SmiReader:
    """The queries of one snapshot, within the time for one and for all."""

    smi: SmiRunner
    issues: list[Issue] = attrs.field(factory=list)
    queries: list[QueryRun] = attrs.field(factory=list)

    def full(self) -> SmiSnapshot:
        """The required query. Its document counts even where the exit code is not 0."""
        # The one module that loads lxml: a host without nvidia-smi never needs it.
        from gpuinv.smi.query_xml import parse_smi_xml

        result = self._run(FULL)
        try:
            if result.timed_out or result.truncated:
                raise _failure(result)
            snapshot = parse_smi_xml(result.stdout)
        except ParseError as error:
            failure = _failure(result, error)
            if failure.failure is not SmiFailure.NO_DEVICES:
                raise failure from error
            snapshot = SmiSnapshot()
        self._done(result, answered=True)
        return snapshot

    def optional(self, query: Query, parser: Callable[[bytes], T]) -> T | None:
        """A query that a snapshot can do without."""
        if self._left() <= 0:
            self._failed(query, "was not run: the time for all queries was used up", "")
            return None
        try:
            result = self._run(query)
        except NoDriverError:
            self._failed(query, "was not run: nvidia-smi is not there any more", "")
            return None
        answer = None
        try:
            if not result.timed_out and not result.truncated:
                answer = parser(result.stdout)
        except ParseError:
            pass
        if answer is None:
            lines = (result.error_text + "\n" + result.text).strip().splitlines()
            self._failed(query, _fate(result), lines[0] if lines else "")
        self._done(result, answered=answer is not None)
        return answer

    def _run(self, query: Query) -> CommandResult:
        return self.smi.run(query.args, timeout=min(QUERY_SECONDS, self._left()))

    def _left(self) -> float:
        return OVERALL_SECONDS - sum(query.seconds for query in self.queries)

    def _done(self, result: CommandResult, *, answered: bool) -> None:
        self.queries.append(
            QueryRun(argv=result.argv, exit_code=result.exit_code, seconds=result.seconds, answered=answered)
        )

    def _failed(self, query: Query, message: str, text: str) -> None:
        self.issues.append(Issue(kind=IssueKind.QUERY_FAILED, source=query.source, message=message, text=text))


def _fate(result: CommandResult) -> str:
    """How a query ended that gave no answer."""
    if result.timed_out:
        return f"did not end within {result.seconds:.0f} s and was killed"
    if result.truncated:
        return f"printed more than {MAX_OUTPUT_BYTES} bytes and was killed"
    return f"failed with exit code {result.exit_code}"


def _failure(result: CommandResult, error: ParseError | None = None) -> SmiError:
    """What a failed full query means; where it printed something else than its document, what is wrong with that."""
    failure = smi_failure(
        result.argv,
        exit_code=result.exit_code,
        stdout=result.stdout,
        stderr=result.stderr,
        timed_out=result.timed_out,
    )
    if error is not None and failure.failure is SmiFailure.NOT_XML:
        failure.output = str(error)
    return failure

"""Running the queries of a snapshot and joining their answers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from gpuinv.errors import Issue, IssueKind, NoDriverError, ParseError, SmiError, SmiFailure
from gpuinv.host.ports import CommandResult, SmiRunner
from gpuinv.readings import Missing
from gpuinv.smi._csv import RefusedField, WrongColumns
from gpuinv.smi.compute_cap import parse_compute_cap
from gpuinv.smi.failures import FailureRule, failure_rule, smi_failure
from gpuinv.smi.gpu_list import parse_smi_list
from gpuinv.smi.join import join_compute_caps, join_list, mark_missing
from gpuinv.smi.join_links import join_nvlinks, join_topology, smi_indices
from gpuinv.smi.join_mig import join_compute_instances, join_gpu_instances, join_mig_profiles
from gpuinv.smi.mig_tables import parse_compute_instances, parse_gpu_instances, parse_mig_profiles
from gpuinv.smi.nvlink import parse_nvlink_remote, parse_nvlink_status
from gpuinv.smi.queries import (
    COMPUTE_CAP,
    COMPUTE_INSTANCES,
    FULL,
    GPU_INSTANCES,
    LIST,
    MAX_OUTPUT_BYTES,
    MIG_PROFILES,
    NVLINK_REMOTE,
    NVLINK_STATUS,
    OVERALL_SECONDS,
    QUERY_SECONDS,
    TOOL,
    TOPOLOGY,
    Query,
)
from gpuinv.smi.records import QueryRun, SmiSnapshot
from gpuinv.smi.sentences import failure_issue, named_gpu
from gpuinv.smi.topology import parse_topology
from gpuinv.text import Line, lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["SmiReader", "read_smi"]

T = TypeVar("T")

_AT_ONCE = 3
"""How many optional queries run side by side. Each is a process of its own that only asks; more would only wait."""

_LOOK_SECONDS = 0.2
"""How long the calling thread waits before it looks whether it was interrupted."""

_HEARD = 64 * 1024
"""How many bytes of a stream are read for what the tool says beside its answer."""

_SENTENCE = re.compile(r"(?:Unable|Failed) to |No [^,]+ found|Field \"")
_ENDED_WELL = frozenset({0, 14})
"""With these exit codes nothing printed is an answer too; 14 warns of a corrupted infoROM."""

_NONE_FOUND = frozenset({0, 6})
"""With these exit codes "No devices were found" is a fact; with another one the tool failed."""

_KINDS = {
    SmiFailure.GPU_LOST: IssueKind.GPU_LOST,
    SmiFailure.NEEDS_RESET: IssueKind.NEEDS_RESET,
    SmiFailure.NO_PERMISSION: IssueKind.NO_PERMISSION,
}

_PARSERS: Mapping[Query, Callable[[bytes], Any]] = {
    LIST: parse_smi_list,
    COMPUTE_CAP: parse_compute_cap,
    TOPOLOGY: parse_topology,
    NVLINK_STATUS: parse_nvlink_status,
    NVLINK_REMOTE: parse_nvlink_remote,
    MIG_PROFILES: parse_mig_profiles,
}
_MIG_PARSERS: Mapping[Query, Callable[[bytes], Any]] = {
    GPU_INSTANCES: parse_gpu_instances,
    COMPUTE_INSTANCES: parse_compute_instances,
}


def read_smi(
    smi: SmiRunner, *, clock: Callable[[], float] = time.monotonic
) -> tuple[SmiSnapshot, tuple[QueryRun, ...]]:
    """Run the queries of a snapshot, each for at most 30 s and all for 60 s, and join their answers by UUID.

    The full query runs first and alone; the optional ones run side by side, those about MIG instances only where a GPU
    is in MIG mode. They are reported in one order, however they ended. `clock` gives seconds that only grow, and is
    asked from several threads.

    Raises:
        NoDriverError: the host has no nvidia-smi.
        SmiError: the full query failed. An optional query that fails is an issue, and its fields say why they are
            missing.
    """
    reader = SmiReader(smi, clock)
    snapshot = reader.full()
    parsers = dict(_PARSERS) if snapshot.gpus else {}
    if any(gpu.mig_mode.current_mig is True for gpu in snapshot.gpus):
        parsers |= _MIG_PARSERS
    snapshot = _joined(snapshot, reader.optional(parsers))
    return attrs.evolve(snapshot, issues=(*snapshot.issues, *reader.issues)), tuple(reader.queries)


def _joined(snapshot: SmiSnapshot, answers: Mapping[Query, Any]) -> SmiSnapshot:
    """The snapshot with every answer; a `Missing` stands for the answer of a query that failed."""
    known = {query: answer for query, answer in answers.items() if not isinstance(answer, Missing)}
    listed = known.get(LIST)
    indices = smi_indices(snapshot, listed)
    if COMPUTE_CAP in known:
        snapshot = join_compute_caps(snapshot, known[COMPUTE_CAP])
    if listed is not None:
        snapshot = join_list(snapshot, listed)
    if TOPOLOGY in known:
        snapshot = join_topology(snapshot, known[TOPOLOGY], indices)
    if MIG_PROFILES in known:
        snapshot = join_mig_profiles(snapshot, known[MIG_PROFILES], indices)
    if GPU_INSTANCES in known:
        snapshot = join_gpu_instances(snapshot, known[GPU_INSTANCES], indices)
    if COMPUTE_INSTANCES in known:
        snapshot = join_compute_instances(snapshot, known[COMPUTE_INSTANCES], indices)
    snapshot = join_nvlinks(snapshot, known.get(NVLINK_STATUS), known.get(NVLINK_REMOTE))
    for query, answer in answers.items():
        if isinstance(answer, Missing):
            snapshot = mark_missing(snapshot, query, answer)
    return snapshot


@attrs.define
class SmiReader:
    """The queries of one reading, within the time for one and for all, and what went wrong with them."""

    smi: SmiRunner
    clock: Callable[[], float] = time.monotonic
    deadline: float = attrs.field(init=False)
    issues: list[Issue] = attrs.field(factory=list)
    queries: list[QueryRun] = attrs.field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.deadline = self.clock() + OVERALL_SECONDS

    def full(self) -> SmiSnapshot:
        """The required query. Its document counts even where the exit code is not 0.

        Raises:
            NoDriverError: the host has no nvidia-smi.
            SmiError: there is no document.
        """
        # The one module that loads lxml: a host without nvidia-smi never needs it.
        from gpuinv.smi.query_xml import parse_smi_xml

        result = self._needed(FULL)
        try:
            snapshot = _populated(parse_smi_xml(_whole(result).stdout), result)
        except ParseError as error:
            failure = _failure(result, error)
            if failure.failure is not SmiFailure.NO_DEVICES or result.exit_code not in _NONE_FOUND:
                raise failure from error
            snapshot = SmiSnapshot()
        else:
            heard = _heard(result)
            if heard or result.exit_code:
                self._remark(FULL, result, heard)
        self._done(result, answered=True)
        return snapshot

    def one(self, query: Query, parser: Callable[[bytes], T]) -> T:
        """A query whose answer is needed; what its parser refuses is the caller's to judge.

        Raises:
            NoDriverError: the host has no nvidia-smi.
            SmiError: the query failed.
            RefusedField: the driver does not know a field.
            WrongColumns: a line has another number of columns.
        """
        result = self._needed(query)
        try:
            text = _text(result)
            if not text.strip() and result.exit_code not in _ENDED_WELL:
                raise _failure(result)
            answer = parser(text)
        except (RefusedField, WrongColumns, SmiError):
            self._done(result, answered=False)
            raise
        except ParseError as error:
            self._done(result, answered=False)
            raise _failure(result, error) from error
        warnings = [line for line in _heard(result) if not _is_answer(line)]
        if warnings:
            self._remark(query, result, warnings)
        self._done(result, answered=True)
        return answer

    def optional(self, parsers: Mapping[Query, Callable[[bytes], Any]]) -> dict[Query, Any]:
        """Queries that can be done without, side by side: what each answered, or the reason why it did not.

        What ends the call early, an interrupt or an exception of the runner, stops the queries that still run.
        """
        results = self._side_by_side(parsers)
        return {query: self._answer(query, result, parsers[query]) for query, result in results.items()}

    def _side_by_side(self, queries: Iterable[Query]) -> dict[Query, CommandResult | str]:
        stop = Event()
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="nvidia-smi") as pool:
            try:
                futures = {query: pool.submit(self._tried, query, stop) for query in queries}
                running = set(futures.values())
                while running:
                    # A signal that comes just before the wait is handled only after it, so none is long.
                    running = wait(running, _LOOK_SECONDS).not_done
            except BaseException:
                stop.set()
                raise
        return {query: future.result() for query, future in futures.items()}

    def _needed(self, query: Query) -> CommandResult:
        return self._run(query) or CommandResult(argv=query.argv, timed_out=True)

    def _tried(self, query: Query, stop: Event) -> CommandResult | str:
        """The result of a query, or why nothing ran. An exception stops the other queries."""
        if stop.is_set():
            return "was not run: it was not wanted any more"
        try:
            return self._run(query, stop) or "was not run: the time for all queries was used up"
        except NoDriverError:
            return "was not run: nvidia-smi is not there any more"
        except BaseException:
            stop.set()
            raise

    def _run(self, query: Query, stop: Event | None = None) -> CommandResult | None:
        """Run a query for what is left of the time; None where that is nothing."""
        left = self.deadline - self.clock()
        return self.smi.run(query.args, timeout=min(QUERY_SECONDS, left), stop=stop) if left > 0 else None

    def _answer(self, query: Query, result: CommandResult | str, parser: Callable[[bytes], Any]) -> Any:  # noqa: ANN401
        if isinstance(result, str):
            self._failed(query, result)
            return Missing.ERROR
        try:
            answer = parser(_text(result))
        except (ParseError, SmiError):
            self._done(result, answered=False)
            self._failed(query, _fate(result), _first_line(result.stderr) or _first_line(result.stdout))
            return _rule(result).reason
        self._done(result, answered=True)
        return answer

    def _done(self, result: CommandResult, *, answered: bool) -> None:
        """Keep in mind how a query went."""
        self.queries.append(
            QueryRun(argv=result.argv, exit_code=result.exit_code, seconds=result.seconds, answered=answered)
        )

    def _remark(self, query: Query, result: CommandResult, said: list[Line]) -> None:
        """What a tool that answered had to say beside it: a corrupted infoROM, GPUs that it lost."""
        issues = [issue for line in said if (issue := failure_issue(line, source=query.source)) is not None]
        if not issues:
            text = said[0].text.strip() if said else ""
            pci_bus_id = named_gpu(text)
            issues = [
                Issue(
                    kind=_KINDS.get(_rule(result).failure, IssueKind.READ_ERROR),
                    source=query.source,
                    message=f"it answered, and reports a problem (exit code {result.exit_code})",
                    text=text,
                    pci_bus_id=None if pci_bus_id is None else str(pci_bus_id),
                )
            ]
        self.issues += issues

    def _failed(self, query: Query, message: str, text: str = "") -> None:
        self.issues.append(Issue(kind=IssueKind.QUERY_FAILED, source=query.source, message=message, text=text))


def _whole(result: CommandResult) -> CommandResult:
    """A result that was not cut short.

    Raises:
        SmiError: it did not end in time, or printed too much.
    """
    if result.timed_out or result.truncated:
        raise _failure(result)
    return result


def _text(result: CommandResult) -> bytes:
    """What a query printed, and behind it the tool's sentences on standard error: readers know them among the rows.

    Raises:
        SmiError: it did not end in time, or printed too much.
    """
    printed = _whole(result).stdout
    said = [line.text.strip().encode() for line in _heard(result) if _is_answer(line)]
    return b"\n".join([printed, *said]) if said else printed


def _heard(result: CommandResult) -> list[Line]:
    """The lines of standard error."""
    return list(lines(result.stderr[:_HEARD], source=TOOL))


def _is_answer(line: Line) -> bool:
    """Whether a line of standard error belongs to the answer: a GPU that could not be opened, that there is none."""
    return _SENTENCE.match(line.text.strip()) is not None


def _populated(snapshot: SmiSnapshot, result: CommandResult) -> SmiSnapshot:
    """The snapshot, which has GPUs or says that there are none; only a tool that ended well can say that."""
    if snapshot.gpus or (snapshot.attached_gpus == 0 and result.exit_code == 0):
        return snapshot
    raise ParseError(FULL.source, "a document without GPUs, which does not say that there are none")


def _first_line(stream: bytes) -> str:
    """The first line that has anything in it."""
    found = next(lines(stream.lstrip()[:_HEARD], source=TOOL), None)
    return "" if found is None else found.text.strip()


def _fate(result: CommandResult) -> str:
    """How a query ended that gave no answer."""
    if result.timed_out:
        return f"did not end within {result.seconds:.3g} s and was killed"
    if result.truncated:
        return f"printed more than {MAX_OUTPUT_BYTES} bytes and was killed"
    if result.exit_code == 0:
        return "ended with exit code 0 and gave no answer"
    return f"failed with exit code {result.exit_code}"


def _rule(result: CommandResult) -> FailureRule:
    return failure_rule(result.exit_code, stdout=result.stdout, stderr=result.stderr, timed_out=result.timed_out)


def _failure(result: CommandResult, error: ParseError | None = None) -> SmiError:
    """What a failed query means; where it printed something else than its document, what is wrong with that."""
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

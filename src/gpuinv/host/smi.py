"""Running the queries of a snapshot and joining their answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from gpuinv.errors import GpuInvError, Issue, IssueKind, NoDriverError, ParseError, SmiError, SmiFailure
from gpuinv.host.ports import SmiRunner
from gpuinv.readings import Missing
from gpuinv.smi.compute_cap import parse_compute_cap
from gpuinv.smi.failures import reason_of_exit, smi_failure
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
    TOPOLOGY,
    Query,
)
from gpuinv.smi.records import QueryRun, SmiSnapshot
from gpuinv.smi.topology import parse_topology

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gpuinv.host.ports import CommandResult

__all__ = ["SmiReader", "failed", "read_smi"]

T = TypeVar("T")

_AT_ONCE = 3
"""How many optional queries run side by side. Each is a process of its own that only asks; more would only wait."""

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
    is in MIG mode. `clock` gives seconds that only grow.

    Raises:
        NoDriverError: the host has no nvidia-smi.
        SmiError: the full query failed. An optional query that fails is an issue, and its fields say why they are
            missing.
    """
    reader = SmiReader(smi, clock)
    snapshot = reader.full()
    answers = reader.optional(_PARSERS) if snapshot.gpus else {}
    if any(gpu.mig_mode.current_mig is True for gpu in snapshot.gpus):
        answers |= reader.optional(_MIG_PARSERS)
    snapshot = _joined(snapshot, answers)
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
        """The required query. Its document counts even where the exit code is not 0."""
        # The one module that loads lxml: a host without nvidia-smi never needs it.
        from gpuinv.smi.query_xml import parse_smi_xml

        result = self.smi.run(FULL.args, timeout=min(QUERY_SECONDS, self._left()))
        try:
            snapshot = parse_smi_xml(usable(result))
        except ParseError as error:
            failure = failed(result, error)
            if failure.failure is not SmiFailure.NO_DEVICES:
                raise failure from error
            snapshot = SmiSnapshot()
        else:
            self._remark(result)
        self.done(result, answered=True)
        return snapshot

    def optional(self, parsers: Mapping[Query, Callable[[bytes], Any]]) -> dict[Query, Any]:
        """Queries that can be done without, side by side: what each answered, or the reason why it did not."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            results = list(pool.map(self._tried, parsers))
        pairs = zip(parsers.items(), results, strict=True)
        return {query: self._answer(query, result, parser) for (query, parser), result in pairs}

    def one(self, query: Query, parser: Callable[[bytes], T]) -> T:
        """A query whose answer is needed.

        Raises:
            NoDriverError: the host has no nvidia-smi.
            SmiError: it did not end, or printed too much.
            ParseError: its output is no answer.
        """
        result = self.smi.run(query.args, timeout=min(QUERY_SECONDS, self._left()))
        try:
            answer = parser(usable(result))
        except GpuInvError:
            self.done(result, answered=False)
            raise
        self.done(result, answered=True)
        return answer

    def done(self, result: CommandResult, *, answered: bool) -> None:
        """Keep in mind how a query went."""
        self.queries.append(
            QueryRun(argv=result.argv, exit_code=result.exit_code, seconds=result.seconds, answered=answered)
        )

    def _left(self) -> float:
        return self.deadline - self.clock()

    def _tried(self, query: Query) -> CommandResult | None:
        """The result of a query; None where nothing ran."""
        left = self._left()
        try:
            return self.smi.run(query.args, timeout=min(QUERY_SECONDS, left)) if left > 0 else None
        except NoDriverError:
            return None

    def _answer(self, query: Query, result: CommandResult | None, parser: Callable[[bytes], Any]) -> Any:  # noqa: ANN401
        if result is None:
            self._failed(query, "was not run: the time was used up, or nvidia-smi is not there any more", "")
            return Missing.ERROR
        try:
            answer = parser(usable(result))
        except (ParseError, SmiError):
            self.done(result, answered=False)
            self._failed(query, _fate(result), _first_line(result.error_text, result.text))
            return Missing.ERROR if result.exit_code is None else reason_of_exit(result.exit_code)
        self.done(result, answered=True)
        return answer

    def _remark(self, result: CommandResult) -> None:
        """What a tool that printed its document had to say beside it: a corrupted infoROM, a GPU that it lost."""
        if result.exit_code or result.stderr.strip():
            message = f"printed its document and ended with exit code {result.exit_code}"
            self._failed(FULL, message, _first_line(result.error_text))

    def _failed(self, query: Query, message: str, text: str) -> None:
        self.issues.append(Issue(kind=IssueKind.QUERY_FAILED, source=query.source, message=message, text=text))


def usable(result: CommandResult) -> bytes:
    """What a query printed, as far as it was not cut short.

    Raises:
        SmiError: it did not end in time, or printed too much.
    """
    if result.timed_out or result.truncated:
        raise failed(result)
    return result.stdout


def _first_line(*texts: str) -> str:
    """The first line that has anything in it."""
    lines: Iterable[str] = (line for text in texts for line in text.splitlines())
    return next((line.strip() for line in lines if line.strip()), "")


def _fate(result: CommandResult) -> str:
    """How a query ended that gave no answer."""
    if result.timed_out:
        return f"did not end within {result.seconds:.0f} s and was killed"
    if result.truncated:
        return f"printed more than {MAX_OUTPUT_BYTES} bytes and was killed"
    return f"failed with exit code {result.exit_code}"


def failed(result: CommandResult, error: ParseError | None = None) -> SmiError:
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

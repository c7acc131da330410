"""`nvidia-smi --gpu-reset`: which GPUs were reset, and why the others were not."""

from __future__ import annotations

import re

import attrs

import gpuinv.values as v
from gpuinv.errors import Issue, IssueKind
from gpuinv.ids import PciBusId
from gpuinv.inventory._fields import doc, reading
from gpuinv.readings import Missing, Reading
from gpuinv.smi.queries import Query
from gpuinv.smi.sentences import MAX_GPUS, failure_issue
from gpuinv.text import Issues, Line, lines, too_many, unanswered

__all__ = ["GPU_RESET", "GpuReset", "ResetAnswer", "parse_gpu_reset"]

GPU_RESET = Query(("--gpu-reset",))

_SOURCE = GPU_RESET.source
_GPU = r"GPU\s+(?P<bus_id>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])"
_DONE = re.compile(rf"{_GPU}\s+was successfully reset\.?", re.ASCII | re.IGNORECASE)
_REFUSED = tuple(
    re.compile(form, re.ASCII | re.IGNORECASE)
    for form in (
        rf"{_GPU}\s*:\s*(?P<reason>.+)",
        rf"{_GPU}\s+(?P<reason>is currently in use\b.*)",
        rf"GPU Reset couldn't run because {_GPU}\s+(?P<reason>is .+)",
        rf"Unable to reset {_GPU}\s+because\s+(?P<reason>.+)",
        rf"Resetting {_GPU}\s+(?P<reason>is not supported\b.*)",
    )
)
_PENDING = re.compile(rf"Warning: MIG mode is in pending \w+ state for {_GPU}.*", re.ASCII | re.IGNORECASE)
_HEADING = re.compile(r"(?:The following|Some) GPUs could not be reset[.:]?", re.IGNORECASE)
_EXPLANATION = re.compile(r"[0-9]+ devices? (?:is|are) currently being used by|Reboot the system", re.IGNORECASE)
_MAX_EXPLANATION = 1000
"""More lines than any explanation has."""
_ALL_DONE = re.compile(r"All done\.?", re.IGNORECASE)


@attrs.frozen(kw_only=True)
class ResetAnswer:
    """What became of one GPU."""

    pci_bus_id: Reading[PciBusId] = reading("Its PCI address.")
    was_reset: bool = doc("Whether it was reset.")
    reason: str = doc("Why it was not, in the tool's words.", default="")


@attrs.frozen(kw_only=True)
class GpuReset:
    """The answer for every GPU that it names, in the tool's order.

    `all_done` is the tool's last line, which it prints after a warning too: only the answers say what was reset.
    """

    answers: tuple[ResetAnswer, ...] = doc("The GPUs.", default=())
    refused: bool = doc("Whether the tool says of any GPU, named or not, that it was not reset.", default=False)
    all_done: bool = doc("Whether the tool says `All done.`.", default=False)
    explanation: str = doc("What a person should do about it, in the tool's words.", default="")
    issues: tuple[Issue, ...] = doc("GPUs that could not be opened or wait for a reset, and other lines.", default=())


def parse_gpu_reset(text: str | bytes) -> GpuReset:
    """Read the output of `nvidia-smi --gpu-reset` (`-r`), and what `-mig` says when its change waits for a reset.

    Raises:
        ParseError: it says nothing of a GPU and not `All done.`: the tool failed, or this is another text. More
            than 4096 GPUs or 1000 oddities.
    """
    reader = _Reader()
    for line in lines(text, source=_SOURCE):
        reader.read(line)
    return reader.result()


@attrs.define
class _Reader:
    """The answer so far. `explaining` says whether lines of an explanation may follow: they are wrapped."""

    answers: list[ResetAnswer] = attrs.field(factory=list)
    issues: Issues = attrs.field(factory=Issues)
    explanation: list[str] = attrs.field(factory=list)
    refused: bool = False
    all_done: bool = False
    answered: bool = False
    explaining: bool = False
    first: Line | None = None

    def read(self, line: Line) -> None:
        """Take in one line."""
        self.first = self.first or line
        text = line.text.strip()
        if self._answer(text) or self._issue(line, text) or self._sign(text):
            self.answered, self.explaining = True, False
            if len(self.answers) > MAX_GPUS:
                raise too_many(_SOURCE, f"{MAX_GPUS} GPUs", line)
        elif self.explaining or _EXPLANATION.match(text) is not None:
            self.explaining = True
            self.explanation.append(text)
            if len(self.explanation) > _MAX_EXPLANATION:
                raise too_many(_SOURCE, f"{_MAX_EXPLANATION} lines of explanation", line)
        else:
            self.issues.append(line.issue(IssueKind.TEXT_AROUND, _SOURCE, "says nothing of a GPU"))

    def result(self) -> GpuReset:
        """The answer."""
        if not self.answered:
            raise unanswered(_SOURCE, "nothing about a reset", self.first)
        return GpuReset(
            answers=tuple(self.answers),
            refused=self.refused,
            all_done=self.all_done,
            explanation=" ".join(self.explanation),
            issues=tuple(self.issues),
        )

    def _answer(self, text: str) -> bool:
        done = _DONE.fullmatch(text)
        refused = next(filter(None, (form.fullmatch(text) for form in _REFUSED)), None)
        if done is not None:
            self.answers.append(ResetAnswer(pci_bus_id=_bus_id(done), was_reset=True))
        elif refused is not None:
            reason = refused["reason"].strip()
            self.answers.append(ResetAnswer(pci_bus_id=_bus_id(refused), was_reset=False, reason=reason))
            self.refused = True
        return done is not None or refused is not None

    def _issue(self, line: Line, text: str) -> bool:
        issue = failure_issue(line, source=_SOURCE)
        pending = _PENDING.fullmatch(text)
        if pending is not None:
            issue = line.issue(IssueKind.NEEDS_RESET, _SOURCE, "the change of MIG mode waits for a reset")
            bus_id = _bus_id(pending)
            issue = attrs.evolve(issue, pci_bus_id=None if isinstance(bus_id, Missing) else str(bus_id))
        if issue is not None:
            self.issues.append(issue)
        return issue is not None

    def _sign(self, text: str) -> bool:
        done = _ALL_DONE.fullmatch(text) is not None
        heading = _HEADING.fullmatch(text) is not None
        self.all_done |= done
        self.refused |= heading
        return done or heading


def _bus_id(match: re.Match[str]) -> Reading[PciBusId]:
    return v.BUS_ID.read(match["bus_id"])

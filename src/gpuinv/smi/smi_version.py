"""`nvidia-smi --version`: the versions of the tool, the library, the driver, and the CUDA that it supports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

import gpuinv.values as v
from gpuinv.errors import Issue, IssueKind
from gpuinv.inventory._fields import doc, reading
from gpuinv.readings import Missing, Reading
from gpuinv.smi.queries import Query
from gpuinv.text import Issues, Line, lines, too_many, unanswered
from gpuinv.versions import DriverVersion

if TYPE_CHECKING:
    from typing import Any

__all__ = ["VERSION", "SmiVersion", "parse_smi_version"]

VERSION = Query(("--version",))

_LINE = re.compile(r"([A-Za-z][A-Za-z -]* version)\s*:\s*(.*)", re.IGNORECASE | re.ASCII)
_MAX_VERSIONS = 100
"""More than any release states; it is six at most."""
_ELSEWHERE = re.compile(r'Deprecated, see "([^"]+)" instead\.?', re.IGNORECASE)


@attrs.frozen(kw_only=True)
class SmiVersion:
    """The versions. Under WSL those of the tool and the driver differ: the driver is that of Windows."""

    smi_version: Reading[DriverVersion] = reading("Version of nvidia-smi.")
    nvml_version: Reading[str] = reading("Version of the NVML library.")
    driver_version: Reading[DriverVersion] = reading("Version of the driver.")
    cuda_driver_version: Reading[str] = reading("The CUDA version that the driver supports; WSL may fail to say it.")
    issues: tuple[Issue, ...] = doc("Versions that could not be read, and lines that state none.", default=())


def parse_smi_version(text: str | bytes) -> SmiVersion:
    """Read the output of `nvidia-smi --version`: lines `DRIVER version      : 580.105.08`.

    A line that is `Deprecated, see "KMD version" instead` (610) takes its value from that line; `KMD version` and `CUDA
    UMD version` stand in where the old lines are gone. `ERR!` is a reason and an issue, never a version.

    Raises:
        ParseError: no such line: an older tool, which does not know the option, or another text; more than
            1000 oddities.
    """
    stated: dict[str, tuple[Line, str]] = {}
    issues = Issues()
    first = None
    for line in lines(text, source=VERSION.source):
        first = first or line
        match = _LINE.fullmatch(line.text.strip())
        if match is None:
            issues.append(line.issue(IssueKind.TEXT_AROUND, VERSION.source, "states no version"))
        else:
            stated.setdefault(" ".join(match[1].casefold().split()), (line, match[2]))
            if len(stated) > _MAX_VERSIONS:
                raise too_many(VERSION.source, f"{_MAX_VERSIONS} versions", line)
    if not stated:
        raise unanswered(VERSION.source, "no version in it", first)
    nvml = _version(stated, issues, v.DRIVER_VERSION, "nvml version")
    return SmiVersion(
        smi_version=_version(stated, issues, v.DRIVER_VERSION, "nvidia-smi version"),
        nvml_version=nvml if isinstance(nvml, Missing) else str(nvml),
        driver_version=_version(stated, issues, v.DRIVER_VERSION, "driver version", "kmd version"),
        cuda_driver_version=_version(stated, issues, v.MAJOR_MINOR, "cuda version", "cuda umd version"),
        issues=tuple(issues),
    )


def _version(stated: dict[str, tuple[Line, str]], issues: Issues, reader: v.ValueReader, *names: str) -> Reading[Any]:
    """The version that the first of the named lines states, or the line that it refers to."""
    name = next((each for each in names if each in stated), None)
    if name is None:
        return Missing.ABSENT
    line, text = stated[name]
    elsewhere = _ELSEWHERE.fullmatch(text.strip())
    if elsewhere is not None:
        other = elsewhere[1].casefold()
        if other not in stated:
            return Missing.DEPRECATED
        line, text = stated[other]
    value = reader.read(text)
    if value is Missing.ERROR:
        issues.append(line.issue(IssueKind.READ_ERROR, VERSION.source, "not a version"))
    return value

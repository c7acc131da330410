"""Sealing and verifying: a section travels and is stored by the hash of its canonical bytes."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import attrs

from gpuinv.errors import InvalidSection, UsageError, shorten
from gpuinv.inventory import SECTION_TYPES, OpaqueSection, Section
from gpuinv.sections.canonical import canonical_bytes

__all__ = ["MAX_SECTION_BYTES", "SealedSection", "decoded_view", "seal", "verify"]

MAX_SECTION_BYTES = 1024 * 1024
"""The most bytes of one section."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAMES: dict[type[Any], str] = {cls: name for name, cls in SECTION_TYPES.items() if cls is not OpaqueSection}


@attrs.frozen
class SealedSection:
    """A section's name, its canonical bytes, and their SHA-256 in lower-case hexadecimal."""

    name: str
    content: bytes = attrs.field(repr=False)
    sha256: str


def seal(section: Section) -> SealedSection:
    """Put a section into canonical form (docs/reference/canonical.md) and hash it.

    An `OpaqueSection` keeps its name and its bytes.

    Raises:
        UsageError: it is no section, or opaque under the name of a typed one; it cannot be written canonically, or
            takes more than `MAX_SECTION_BYTES`.
    """
    name = _name_of(section)
    content = canonical_bytes(section)
    if len(content) > MAX_SECTION_BYTES:
        raise UsageError(f"the section {shorten(name)} takes {len(content)} bytes; {MAX_SECTION_BYTES} are allowed")
    return SealedSection(name, content, hashlib.sha256(content).hexdigest())


def _name_of(section: Section) -> str:
    if not isinstance(section, OpaqueSection):
        name = _NAMES.get(type(section))
        if name is None:
            raise UsageError(f"a {type(section).__name__} is no section")
        return name
    if section.section_name in _NAMES.values():
        raise UsageError(f"a section {section.section_name} is typed; opaque bytes cannot stand for it")
    return section.section_name


def verify(name: str, content: bytes, sha256: str) -> Section:
    """Check a section's bytes as received against their hash, and decode them.

    The bytes are never encoded again to compare, so a writer need not be this one. A section that gpuinv does not type,
    `bmc` or one of a newer writer, comes back as an `OpaqueSection`.

    Raises:
        InvalidSection: more than `MAX_SECTION_BYTES`, a hash that is none or another one, or bytes that do not decode.
    """
    if len(content) > MAX_SECTION_BYTES:
        raise InvalidSection(name, f"{len(content)} bytes; {MAX_SECTION_BYTES} are allowed")
    if _SHA256.fullmatch(sha256) is None:
        raise InvalidSection(name, f"the hash is not 64 lower-case hexadecimal digits: {shorten(sha256)!r}")
    actual = hashlib.sha256(content).hexdigest()
    if actual != sha256:
        raise InvalidSection(name, f"the bytes hash to {actual}, not to {sha256}")
    cls = SECTION_TYPES.get(name, OpaqueSection)
    return OpaqueSection(name, content) if cls is OpaqueSection else _decode(name, content, cls)


def decoded_view(sealed: SealedSection) -> dict[str, Any]:
    """A sealed section as plain data, 64-bit numbers as decimal strings.

    Raises:
        InvalidSection: the bytes do not decode; those of an opaque section need not.
    """
    return _load(sealed.name, sealed.content)


def _decode(name: str, content: bytes, cls: type[Any]) -> Section:
    from gpuinv.sections._structure import StructureError, structure

    try:
        section: Section = structure(_load(name, content), cls)
    except StructureError as error:
        raise InvalidSection(name, f"does not decode: {shorten(str(error), 200)}") from None
    return section


def _load(name: str, content: bytes) -> dict[str, Any]:
    try:
        data = json.loads(content.decode("utf-8"), object_pairs_hook=_object, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidSection(name, f"does not decode: {shorten(str(error), 200)}") from None
    if not isinstance(data, dict):
        raise InvalidSection(name, "does not decode: not a JSON object")
    return data


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object without two values for one key, which readers would take differently."""
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key that stands twice in one object")
    return result


def _refuse(constant: str) -> Any:  # noqa: ANN401 - json's type
    raise ValueError(f"{constant} is not JSON")

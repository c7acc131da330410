"""From the bytes that a tool printed to one `nvidia_smi_log` document, with everything unneeded cut away.

No XML is parsed here: the cuts are made on bytes, before any parser sees them. `supported_clocks` is most of a
document's size, is needed by nobody, and is the one part that drivers are known to print mis-nested.
"""

from __future__ import annotations

import re

import attrs

from gpuinv.errors import Issue, IssueKind, ParseError
from gpuinv.smi.queries import MAX_OUTPUT_BYTES

__all__ = ["Document", "bad_characters", "find_document"]

_OPEN = b"<nvidia_smi_log"
_CLOSE = b"</nvidia_smi_log>"
_CLOCKS_OPEN = b"<supported_clocks>"
_CLOCKS_CLOSE = b"</supported_clocks>"
_MEM_CLOCK_OPEN = b"<supported_mem_clock>"
_MEM_CLOCK_CLOSE = b"</supported_mem_clock>"
_CONTROL = bytes(set(range(0x20)) - {0x09, 0x0A, 0x0D})
_START = re.compile(rb"<\?xml[\s?]|<!DOCTYPE\s|<nvidia_smi_log[\s/>]")
_DTD_NAME = re.compile(rb"""<!DOCTYPE\s+[\w.:-]+\s+SYSTEM\s+["']([\w.:/-]{1,100})["']\s*>""")
_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)


@attrs.frozen(kw_only=True)
class Document:
    """One document, ready to be parsed.

    `body` starts at the root element, ends with it, and lacks the clocks; `text` is the whole source, in which the
    document opens at `opening`.
    """

    body: bytes
    text: bytes
    opening: int
    dtd: str | None
    clocks_cut: bool
    issues: tuple[Issue, ...]

    @property
    def first_line(self) -> int:
        """The line of the source that the document starts on, from 1."""
        return self.text.count(b"\n", 0, self.opening) + 1

    @property
    def body_in_place(self) -> bytes:
        """The body with the clocks blanked out, so that every line is where the source has it: to find errors by."""
        body, _ = _without_clocks(self.text[self.opening :], keep_lines=True)
        return body[: body.find(_CLOSE) + len(_CLOSE)]

    def line(self, number: int) -> str:
        """A line of the source, for an error to show."""
        lines = self.text.split(b"\n", number)
        return lines[number - 1].decode(errors="replace") if 0 < number <= len(lines) else ""

    def without_control_characters(self) -> Document | None:
        """The document without the characters that XML forbids, or None where it has none of them."""
        body = self.body.translate(None, _CONTROL)
        if len(body) == len(self.body):
            return None
        head = self.text[: self.opening]
        return attrs.evolve(self, body=body, text=head + self.text[self.opening :].translate(None, _CONTROL))


def find_document(data: bytes | str, source: str) -> Document:
    """Find the first document in `data`.

    Raises:
        ParseError: no document, one that is cut off, one that declares entities, or more data than `MAX_OUTPUT_BYTES`.
    """
    raw = data.encode(errors="replace") if isinstance(data, str) else bytes(data)
    if len(raw) > MAX_OUTPUT_BYTES:
        raise ParseError(source, f"more than {MAX_OUTPUT_BYTES} bytes; this is no output of the tool")
    text, issues = _decoded(raw, source)
    start = _START.search(text)
    opening = -1 if start is None else text.find(_OPEN, start.start())
    if start is None or opening < 0:
        raise ParseError(source, "no nvidia_smi_log document", place="line 1", text=_sample(text))
    prolog = text[start.start() : opening]
    _refuse_declarations(prolog, source)
    rest, clocks = _without_clocks(text[opening:])
    end = _end(rest, text, source)
    issues += _around(text[: start.start()], rest[end:], source)
    if any(_misnested(part) for part in clocks):
        message = "supported_clocks was not well formed; it was cut out, since nothing needs it"
        issues.append(Issue(kind=IssueKind.REPAIRED, source=source, message=message, place="gpu/supported_clocks"))
    name = _DTD_NAME.search(prolog)
    return Document(
        body=rest[:end],
        text=text,
        opening=opening,
        dtd=None if name is None else name[1].decode("ascii", errors="replace"),
        clocks_cut=bool(clocks),
        issues=tuple(issues),
    )


def _decoded(raw: bytes, source: str) -> tuple[bytes, list[Issue]]:
    """The data as UTF-8; what had to change becomes an issue."""
    encoding = _BOMS.get(raw[:2])
    issues = []
    try:
        text = raw[2:].decode(encoding).encode() if encoding else raw
        if not text.isascii():
            text.decode()
    except UnicodeError:
        text = raw.decode(encoding or "utf-8", errors="replace").encode()
        issues = [bad_characters(source, "bytes that are not valid text were replaced")]
    return text.removeprefix(b"\xef\xbb\xbf"), issues


def bad_characters(source: str, message: str) -> Issue:
    """The issue of a text that had to be changed before it could be read."""
    return Issue(kind=IssueKind.BAD_CHARACTERS, source=source, message=message)


def _refuse_declarations(prolog: bytes, source: str) -> None:
    """A document type with contents of its own is an attack or a mistake; nvidia-smi only names its DTD."""
    doctype = _COMMENT.sub(b"", prolog).partition(b"<!DOCTYPE")[2]
    if b"[" in doctype or b"<!" in doctype:
        raise ParseError(source, "a DOCTYPE with declarations of its own", place="DOCTYPE", text=_sample(prolog))


def _end(rest: bytes, text: bytes, source: str) -> int:
    """Where the document that `rest` opens with ends."""
    tag_end = rest.find(b">")
    if tag_end > 0 and rest[tag_end - 1 : tag_end] == b"/":
        return tag_end + 1
    end = rest.find(_CLOSE)
    if end < 0:
        last = text.count(b"\n") + 1
        raise ParseError(source, "the document is cut off", place=f"line {last}", text=_sample(text[-200:]))
    return end + len(_CLOSE)


def _around(before: bytes, after: bytes, source: str) -> list[Issue]:
    issues = []
    more = after.count(_OPEN)
    if more:
        message = f"{more} more document(s) after the first were not read"
        issues.append(Issue(kind=IssueKind.MORE_DOCUMENTS, source=source, message=message))
        after = after[: _START.search(after).start()]  # type: ignore[union-attr] # it holds an opening
    for where, text in (("before", before), ("after", after)):
        if text.strip():
            message = f"text {where} the document"
            shown = text.decode(errors="replace")
            issues.append(Issue(kind=IssueKind.TEXT_AROUND, source=source, message=message, place=where, text=shown))
    return issues


def _without_clocks(text: bytes, *, keep_lines: bool = False) -> tuple[bytes, list[bytes]]:
    """The text without its `supported_clocks` elements, and these; `bytes.find` beats every regex here."""
    kept, cut, position = [], [], 0
    while (start := text.find(_CLOCKS_OPEN, position)) >= 0:
        end = text.find(_CLOCKS_CLOSE, start)
        if end < 0:
            break
        end += len(_CLOCKS_CLOSE)
        kept.append(text[position:start])
        if keep_lines:
            kept.append(b"\n" * text.count(b"\n", start, end))
        cut.append(text[start:end])
        position = end
    kept.append(text[position:])
    return b"".join(kept), cut


def _misnested(clocks: bytes) -> bool:
    """Whether a list of clocks lacks a tag; counting is enough to say that the driver printed it wrongly."""
    return clocks.count(_MEM_CLOCK_OPEN) != clocks.count(_MEM_CLOCK_CLOSE)


def _sample(text: bytes) -> str:
    return text.lstrip()[:200].decode(errors="replace")

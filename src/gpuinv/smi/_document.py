"""From the bytes that a tool printed to one `nvidia_smi_log` document, with everything unneeded cut away.

No XML is parsed here: the cuts are made on bytes, before any parser sees them. `supported_clocks` is most of a
document's size, is needed by nobody, and is the one part that drivers are known to print mis-nested.
"""

from __future__ import annotations

import re

import attrs

from gpuinv.errors import Issue, IssueKind, ParseError
from gpuinv.smi.queries import MAX_OUTPUT_BYTES
from gpuinv.text import UTF16_BOMS

__all__ = ["Document", "find_document"]

_OPEN = b"<nvidia_smi_log"
_CLOSE = b"</nvidia_smi_log>"
_CLOCKS_OPEN = b"<supported_clocks>"
_CLOCKS_CLOSE = b"</supported_clocks>"
_CONTROL = bytes(set(range(0x20)) - {0x09, 0x0A, 0x0D})
_START = re.compile(rb"<!--.*?(?:-->|\Z)|<\?xml[\s?]|<!DOCTYPE\s|<nvidia_smi_log[\s/>]", re.DOTALL)
_ROOT = re.compile(rb"<!--.*?(?:-->|\Z)|<nvidia_smi_log[\s/>]", re.DOTALL)
_CLOSE_WITH_BLANKS = re.compile(rb"</nvidia_smi_log\s+>")
_DTD_NAME = re.compile(rb"""<!DOCTYPE\s+[\w.:-]+\s+SYSTEM\s+["']([\w.:/-]{1,100})["']\s*>""")
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_MARKUP = re.compile(rb"<[!?][^<>]*>")
_NONCHARACTERS = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()
_INDENT = 100  # how far an element may be indented and still be seen to have a line of its own
_NAME_END = b"</process_name>\n"
_NAME_OPEN = b"<process_name>"
_NAME_CLOSE = b"</process_name>"
_BARE_AMPERSAND = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)")


@attrs.frozen(kw_only=True)
class Document:
    """One document, ready to be parsed.

    `body` starts at the root element, ends with it, and lacks the clocks; `text` is the whole source, in which the
    document opens at `opening`.
    """

    source: str
    body: bytes
    text: bytes
    opening: int
    dtd: str | None
    clocks_cut: bool
    issues: tuple[Issue, ...]

    def place(self, line: int, column: int) -> tuple[int, int]:
        """Where the source has a line and column of the body, all of them from 1."""
        if line == 1:
            column += self.opening - (self.text.rfind(b"\n", 0, self.opening) + 1)
        return line + self.text.count(b"\n", 0, self.opening), column

    @property
    def body_in_place(self) -> bytes:
        """The body with the clocks blanked out, so that every line is where the source has it: to find errors by."""
        body, _ = _without_clocks(self.text[self.opening :], keep_lines=True)
        return body[: _end(body, self.text, self.source)]

    def line(self, number: int) -> str:
        """A line of the source, for an error to show."""
        lines = self.text.split(b"\n", number)
        return lines[number - 1].decode(errors="replace") if 0 < number <= len(lines) else ""

    def repaired(self) -> Document | None:
        """The document with its text made legal, or None where nothing in it could be the matter.

        XML forbids some characters; and what a process calls itself is printed as it is, markup or not.
        """
        legal = _legal(self.body)
        body = _escaped_names(legal)
        if body == self.body:
            return None
        issues = self.issues
        if legal != self.body:
            issues += (_bad_characters(self.source, "characters that XML forbids were dropped"),)
        if body != legal and _escaped(self.source) not in issues:
            issues += (_escaped(self.source),)
        text = self.text[: self.opening] + _escaped_names(_legal(self.text[self.opening :]))
        return attrs.evolve(self, body=body, text=text, issues=issues)


def find_document(data: bytes | str, source: str) -> Document:
    """Find the first document in `data`.

    Raises:
        ParseError: no document, one that is cut off, one that declares entities, or more data than `MAX_OUTPUT_BYTES`.
    """
    raw = data.encode(errors="surrogatepass") if isinstance(data, str) else bytes(data)
    if len(raw) > MAX_OUTPUT_BYTES:
        raise ParseError(source, f"more than {MAX_OUTPUT_BYTES} bytes; this is no output of the tool")
    text, issues = _decoded(raw, source)
    start = _first(_START, text)
    opening = -1 if start < 0 else _first(_ROOT, text, start)
    if opening < 0:
        raise ParseError(source, "no nvidia_smi_log document", place="line 1", text=_sample(text))
    prolog = _COMMENT.sub(b"", text[start:opening])
    _refuse_declarations(prolog, source)
    rest, clocks = _without_clocks(text[opening:])
    literal = _with_literal_names(rest)
    end = _end(literal, text, source)
    issues += _around(text[:start] + _MARKUP.sub(b"", prolog).strip(), literal[end:].strip(), source)
    if literal is not rest:
        issues.append(_escaped(source))
    if any(_misnested(part) for part in clocks):
        message = "supported_clocks was not well formed; it was cut out, since nothing needs it"
        issues.append(Issue(kind=IssueKind.REPAIRED, source=source, message=message, place="gpu/supported_clocks"))
    name = _DTD_NAME.search(prolog)
    return Document(
        source=source,
        body=literal[:end],
        text=text,
        opening=opening,
        dtd=None if name is None else name[1].decode("ascii", errors="replace"),
        clocks_cut=bool(clocks),
        issues=tuple(issues),
    )


def _decoded(raw: bytes, source: str) -> tuple[bytes, list[Issue]]:
    """The data as UTF-8; what had to change becomes an issue."""
    encoding = UTF16_BOMS.get(raw[:2])
    issues = []
    try:
        text = raw[2:].decode(encoding).encode() if encoding else raw
        if not text.isascii():
            text.decode()
    except UnicodeError:
        text = raw.decode(encoding or "utf-8", errors="replace").encode()
        issues = [_bad_characters(source, "bytes that are not valid text were replaced")]
    return text.removeprefix(b"\xef\xbb\xbf"), issues


def _legal(text: bytes) -> bytes:
    """The text without what XML forbids: control characters, and the two code points that are no characters."""
    text = text.translate(None, _CONTROL)
    for noncharacter in _NONCHARACTERS:
        text = text.replace(noncharacter, _REPLACEMENT)
    return text


def _with_literal_names(text: bytes) -> bytes:
    """The text with no process name that would be taken for markup.

    A process calls itself what it likes, and the tool may print that as it is: a comment or a tag in a name could hide
    a GPU or forge a reading. Where the element has a line of its own, as the tool prints it, all between its first and
    its last tag on that line is the name.
    """
    kept: list[bytes] = []
    done = position = 0
    while (position := text.find(_NAME_OPEN, position) + len(_NAME_OPEN)) >= len(_NAME_OPEN):
        if text.startswith(_NAME_END, text.find(b"<", position)):
            continue  # nearly every name: nothing in it but text
        if text[max(position - _INDENT, 0) : position].rpartition(b"\n")[2].strip() != _NAME_OPEN:
            continue
        line_end = text.find(b"\n", position)
        close = text.rfind(_NAME_CLOSE, position, line_end if line_end >= 0 else len(text))
        name = text[position:close] if close >= 0 else b""
        if b"<" in name:
            kept += (text[done:position], _literal(name))
            done = position = close
    return b"".join((*kept, text[done:])) if kept else text


def _escaped_names(text: bytes) -> bytes:
    """The text with its process names made text where they could be taken for markup."""
    before, *parts = text.split(_NAME_OPEN)
    return _NAME_OPEN.join([before, *(_escaped_name(part) for part in parts)])


def _escaped_name(text: bytes) -> bytes:
    name, close, rest = text.partition(_NAME_CLOSE)
    return _literal(name) + close + rest if close else text


def _literal(name: bytes) -> bytes:
    return _BARE_AMPERSAND.sub(b"&amp;", name).replace(b"<", b"&lt;").replace(b">", b"&gt;")


def _escaped(source: str) -> Issue:
    message = "a process name was not escaped"
    return Issue(kind=IssueKind.REPAIRED, source=source, message=message, place="gpu/processes")


def _bad_characters(source: str, message: str) -> Issue:
    """The issue of a text that had to be changed before it could be read."""
    return Issue(kind=IssueKind.BAD_CHARACTERS, source=source, message=message)


def _first(pattern: re.Pattern[bytes], text: bytes, position: int = 0) -> int:
    """Where the pattern first matches outside comments, or -1."""
    found = pattern.search(text, position)
    while found is not None and found[0].startswith(b"<!--"):
        found = pattern.search(text, found.end())
    return -1 if found is None else found.start()


def _refuse_declarations(prolog: bytes, source: str) -> None:
    """A document type with contents of its own is an attack or a mistake; nvidia-smi only names its DTD."""
    doctype = prolog.partition(b"<!DOCTYPE")[2]
    if b"[" in doctype or b"<!" in doctype:
        raise ParseError(source, "a DOCTYPE with declarations of its own", place="DOCTYPE", text=_sample(prolog))


def _end(rest: bytes, text: bytes, source: str) -> int:
    """Where the document that `rest` opens with ends."""
    tag_end = rest.find(b">")
    if tag_end > 0 and rest[tag_end - 1 : tag_end] == b"/":
        return tag_end + 1
    end = rest.find(_CLOSE)
    if end >= 0:
        return end + len(_CLOSE)
    close = _CLOSE_WITH_BLANKS.search(rest)
    if close is None:
        last = text.count(b"\n") + 1
        raise ParseError(source, "the document is cut off", place=f"line {last}", text=_sample(text[-200:]))
    return close.end()


def _around(before: bytes, after: bytes, source: str) -> list[Issue]:
    issues = []
    more = sum(not found.startswith(b"<!--") for found in _ROOT.findall(after)) if after else 0
    if more:
        message = f"{more} more document(s) after the first were not read"
        issues.append(Issue(kind=IssueKind.MORE_DOCUMENTS, source=source, message=message))
        after = after[: _first(_START, after)]
    for where, text in (("before", before), ("after", after)):
        shown = _sample(text)
        if shown:
            message = f"text {where} the document"
            issues.append(Issue(kind=IssueKind.TEXT_AROUND, source=source, message=message, place=where, text=shown))
    return issues


def _without_clocks(text: bytes, *, keep_lines: bool = False) -> tuple[bytes, list[bytes]]:
    """The text without its `supported_clocks` elements, and these; `bytes.find` beats every regex here.

    One that reaches into the next GPU stays, for the parser to refuse: a cut would swallow that GPU. It is known by
    the GPU's attribute, since clocks have none. A word in place of the list stays too: it may say that the GPU is lost.
    """
    kept, cut, position = [], [], 0
    while (start := text.find(_CLOCKS_OPEN, position)) >= 0:
        close = text.find(_CLOCKS_CLOSE, start)
        if close < 0 or text.find(b"=", start, close) >= 0:
            break
        end = close + len(_CLOCKS_CLOSE)
        is_list = text.find(b"<", start + 1) < close
        kept.append(text[position : start if is_list else end])
        if is_list:
            kept.append(b"\n" * text.count(b"\n", start, end) if keep_lines else b"")
            cut.append(text[start:end])
        position = end
    kept.append(text[position:])
    return b"".join(kept), cut


def _misnested(clocks: bytes) -> bool:
    """Whether a list of clocks lacks a tag; counting is enough to say that the driver printed it wrongly."""
    tags, slashes = clocks.count(b"<"), clocks.count(b"/")
    return tags != 2 * slashes and tags != 2 * (slashes - clocks.count(b"N/A"))


def _sample(text: bytes) -> str:
    return text.lstrip()[:200].decode(errors="replace")

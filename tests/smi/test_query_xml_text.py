"""The bytes around and inside a document: encodings, blanks, other text, cuts and repairs, places of errors."""

from __future__ import annotations

import pytest

from gpuinv.errors import IssueKind, ParseError
from gpuinv.readings import Missing
from gpuinv.smi.query_xml import parse_smi_xml
from tests.smi import xml_builder as build

TWO = build.document(build.gpu(1, supported_clocks=build.clocks(1593, 810)), build.gpu(2))
CLEAN = parse_smi_xml(TWO)


def found(data: bytes) -> list[tuple[IssueKind, str, str]]:
    """The issues of a document that must otherwise read as the clean one does."""
    snapshot = parse_smi_xml(data)
    assert (snapshot.gpus, snapshot.samples, snapshot.unread) == (CLEAN.gpus, CLEAN.samples, CLEAN.unread)
    return [(issue.kind, issue.place, issue.text) for issue in snapshot.issues]


def refusal(data: bytes | str) -> ParseError:
    with pytest.raises(ParseError) as caught:
        parse_smi_xml(data)
    assert caught.value.source == "nvidia-smi -q -x"
    return caught.value


@pytest.mark.parametrize("dtd", [None, "nvsmi_device_v12.dtd"])
@pytest.mark.parametrize("declaration", [True, False])
@pytest.mark.parametrize("indent", ["", " ", "\t", "        "])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\n\n\t\n"])
def test_blanks_do_not_matter(dtd: str | None, declaration: bool, indent: str, newline: str) -> None:  # noqa: FBT001
    gpus = (build.gpu(1, supported_clocks=build.clocks(1593, 810)), build.gpu(2))
    data = build.document(*gpus, dtd=dtd, declaration=declaration, indent=indent, newline=newline)
    assert found(data) == []


def test_a_document_on_one_line() -> None:
    assert found(TWO.replace(b"\n", b"").replace(b"\t", b"")) == []


@pytest.mark.parametrize(
    "data",
    [
        b"\n" + TWO,
        b"\n \r\n\t" + TWO + b"\n\n",
        b"\xef\xbb\xbf" + TWO,
        b"\xef\xbb\xbf\n" + TWO,
        TWO.decode().encode("utf-16"),
        b"\xff\xfe" + TWO.decode().encode("utf-16-le"),
        b"\xfe\xff" + TWO.decode().encode("utf-16-be"),
        TWO.replace(b"</nvidia_smi_log>", b"</nvidia_smi_log \n>"),
        TWO.replace(b"<nvidia_smi_log>", b"<nvidia_smi_log  >"),
        TWO.replace(b"<nvidia_smi_log>", b"<!-- a comment -->\n<nvidia_smi_log>"),
        TWO.replace(b"<!DOCTYPE", b"<?tool version='1'?><!DOCTYPE"),
        TWO.replace(b"nvsmi_device_v12.dtd", b"file:///etc/passwd"),
    ],
)
def test_what_surrounds_a_document_and_is_no_text(data: bytes) -> None:
    assert found(data) == []


@pytest.mark.parametrize(
    "text", ["Warning: infoROM is corrupted at gpu 0000:3B:00.0", "<warning>", "< nvidia_smi_log >"]
)
def test_text_around_a_document_is_an_issue(text: str) -> None:
    raw = text.encode()
    assert found(raw + b"\n" + TWO) == [(IssueKind.TEXT_AROUND, "before", text)]
    assert found(TWO + raw) == [(IssueKind.TEXT_AROUND, "after", text)]
    assert found(raw + TWO + raw) == [
        (IssueKind.TEXT_AROUND, "before", text),
        (IssueKind.TEXT_AROUND, "after", text),
    ]


def test_text_between_the_declaration_and_the_document_is_an_issue() -> None:
    data = TWO.replace(b"<nvidia_smi_log>", b"WARNING: noise\n<nvidia_smi_log>", 1)
    assert found(data) == [(IssueKind.TEXT_AROUND, "before", "WARNING: noise")]


def test_of_several_documents_the_first_is_read() -> None:
    other = build.document(build.gpu(7))
    assert found(TWO + other) == [(IssueKind.MORE_DOCUMENTS, "", "")]
    snapshot = parse_smi_xml(TWO + b"noise\n" + other + other)
    assert [issue.message for issue in snapshot.issues] == [
        "2 more document(s) after the first were not read",
        "text after the document",
    ]
    assert snapshot.issues[1].text == "noise"


def test_the_start_of_another_word_is_no_document() -> None:
    assert found(TWO + b"<nvidia_smi_logs>") == [(IssueKind.TEXT_AROUND, "after", "<nvidia_smi_logs>")]
    assert found(TWO + b"<!-- <nvidia_smi_log> -->") == [(IssueKind.TEXT_AROUND, "after", "<!-- <nvidia_smi_log> -->")]


@pytest.mark.parametrize("prefix", [b"", b"<?xml version='1.0'?>\n"])
def test_a_document_in_a_comment_is_none(prefix: bytes) -> None:
    comment = b"<!-- " + build.document(build.gpu(7), declaration=False, dtd=None) + b" -->"
    data = prefix + comment + build.document(build.gpu(1), declaration=False, dtd=None)
    assert [gpu.uuid for gpu in parse_smi_xml(data).gpus] == [build.uuid(1)]
    assert "no nvidia_smi_log document" in str(refusal(prefix + comment))


@pytest.mark.parametrize("data", ["", " \n", "<", "No devices were found\n", "NVIDIA-SMI has failed", b"\x00" * 9])
def test_no_document(data: bytes | str) -> None:
    assert refusal(data).message == "no nvidia_smi_log document"


def test_no_prefix_of_a_document_is_a_document() -> None:
    small = build.document(build.gpu(1, supported_clocks=build.clocks(810)), build.gpu(2))
    end = small.index(b"</nvidia_smi_log>") + len(b"</nvidia_smi_log>")
    for length in range(end):
        refusal(small[:length])
    for length in range(end, len(small) + 1):
        assert len(parse_smi_xml(small[:length]).gpus) == 2


def test_a_cut_off_document_says_how_it_ended() -> None:
    error = refusal(TWO[: TWO.index(b"</gpu>")])
    assert error.message == "the document is cut off"
    assert error.place == f"line {TWO[: TWO.index(b'</gpu>')].count(10) + 1}"
    assert "supported_graphics_clock" in error.text


def test_a_document_that_breaks_off_before_the_next_one_is_refused() -> None:
    half = TWO[: TWO.index(b"</gpu>")]
    refusal(half + TWO)
    refusal(half + build.document(build.gpu(7), declaration=False, dtd=None))


def test_an_error_is_at_its_line_and_column_of_the_source() -> None:
    lines = TWO.split(b"\n")
    number = lines.index(b"\t\t<product_name>NVIDIA H200</product_name>") + 1
    lines[number - 1] = b"\t\t<product_name>NVIDIA & H200</product_name>"
    error = refusal(b"noise\n" + b"\n".join(lines))
    assert error.place.startswith(f"line {number + 1}, column ")
    assert error.text == "<product_name>NVIDIA & H200</product_name>"


def test_an_error_after_the_clocks_is_at_its_line_too() -> None:
    data = TWO.replace(b"</supported_clocks>\n", b"</supported_clocks>\n<broken\n")
    number = data[: data.index(b"<broken")].count(b"\n") + 1
    assert refusal(data).place.partition(",")[0] in {f"line {number}", f"line {number + 1}"}


def test_an_error_in_a_document_that_closes_with_a_blank_is_at_its_line() -> None:
    data = TWO.replace(b"</nvidia_smi_log>", b"<a></b>\n</nvidia_smi_log >")
    number = data[: data.index(b"<a></b>")].count(b"\n") + 1
    error = refusal(data)
    assert (error.place.partition(",")[0], error.text) == (f"line {number}", "<a></b>")


def test_an_error_on_the_line_of_the_root_counts_its_column_from_there() -> None:
    broken = b"<?xml version='1.0'?><nvidia_smi_log><a></b>"
    assert refusal(broken + b"</nvidia_smi_log>").place == f"line 1, column {len(broken) + 1}"


def test_bytes_that_are_no_text_cost_only_the_value_they_are_in() -> None:
    data = build.document(build.gpu(1, product_name="marker"), build.gpu(2)).replace(b"marker", b"\xf8\xfe\x80")
    snapshot = parse_smi_xml(data)
    assert snapshot.gpus[0].product_name is Missing.ERROR
    assert [gpu.uuid for gpu in snapshot.gpus] == [build.uuid(1), build.uuid(2)]
    assert [issue.kind for issue in snapshot.issues] == [IssueKind.BAD_CHARACTERS, IssueKind.BAD_VALUE]


def test_text_with_lone_surrogates_reads_as_bytes_that_are_no_text() -> None:
    data = build.document(build.gpu(product_name="marker")).decode().replace("marker", "RTX \udcf8")
    snapshot = parse_smi_xml(data)
    assert snapshot.gpus[0].product_name is Missing.ERROR
    assert [issue.kind for issue in snapshot.issues] == [IssueKind.BAD_CHARACTERS, IssueKind.BAD_VALUE]


def test_a_broken_utf_16_document_is_read_as_far_as_it_is_text() -> None:
    text = build.document(build.gpu(product_name="marker")).decode().replace("marker", "RTX \ud800")
    snapshot = parse_smi_xml(b"\xff\xfe" + text.encode("utf-16-le", errors="surrogatepass"))
    assert snapshot.gpus[0].uuid == build.uuid()
    assert snapshot.gpus[0].product_name is Missing.ERROR


@pytest.mark.parametrize("character", [*range(9), 0x0B, 0x0C, *range(0x0E, 0x20)])
def test_control_characters_are_dropped(character: int) -> None:
    data = TWO.replace(b"NVIDIA H200", b"NVIDIA" + bytes([character]) + b" H200")
    assert found(data) == [(IssueKind.BAD_CHARACTERS, "", "")]


@pytest.mark.parametrize("character", ["\ufffe", "\uffff"])
def test_what_is_no_character_costs_only_the_value_it_is_in(character: str) -> None:
    snapshot = parse_smi_xml(build.document(build.gpu(1, serial=character), build.gpu(2)))
    assert snapshot.gpus[0].serial is Missing.ERROR
    assert snapshot.gpus[1].uuid == build.uuid(2)
    assert [issue.kind for issue in snapshot.issues] == [IssueKind.BAD_CHARACTERS, IssueKind.BAD_VALUE]


def test_an_error_beside_a_control_character_is_still_an_error() -> None:
    assert "not well-formed" in refusal(TWO.replace(b"NVIDIA H200", b"\x01<").replace(b"</gpu>", b"")).message


def test_letters_of_every_script_are_text() -> None:
    name = "GPU \N{GREEK SMALL LETTER MU} \N{CJK UNIFIED IDEOGRAPH-4E2D} \N{GRINNING FACE}"
    assert parse_smi_xml(build.document(build.gpu(serial=name))).gpus[0].serial == name


@pytest.mark.parametrize(
    ("raw", "serial"),
    [
        (b"<![CDATA[12<34>&5]]>", "12<34>&5"),
        (b"12<!-- a comment -->34", "1234"),
        (b"<!-- -->1234", "1234"),
        (b"12<?a processing instruction?>34", "1234"),
        (b"&lt;12&amp;&#51;&#x34;&gt;", "<12&34>"),
        (b"\n\t\t 1234 \n", "1234"),
    ],
)
def test_every_way_that_xml_writes_text(raw: bytes, serial: str) -> None:
    data = build.document(build.gpu(serial="marker")).replace(b"marker", raw)
    snapshot = parse_smi_xml(data)
    assert snapshot.gpus[0].serial == serial
    assert (snapshot.issues, snapshot.unread) == ((), ())


@pytest.mark.parametrize("name", ["a & b", "a < b", "</b", "<!--", "a &unknown; b", "a &amp b", "&&<<>>", "a\n<b"])
def test_a_process_cannot_break_the_document_with_its_name(name: str) -> None:
    content: build.Tree = {"process_info": [build.process(1, "C", "marker"), build.process(2, "C", "a &amp; b")]}
    data = build.document(build.gpu(1, processes=content), build.gpu(2)).replace(b"marker", name.encode())
    snapshot = parse_smi_xml(data)
    assert [gpu.uuid for gpu in snapshot.gpus] == [build.uuid(1), build.uuid(2)]
    names = [process.process_name for process in snapshot.samples[0].processes]  # type: ignore[union-attr]
    assert names == [name, "a &amp; b"]
    assert [(issue.kind, issue.place) for issue in snapshot.issues] == [(IssueKind.REPAIRED, "gpu/processes")]


def test_a_name_that_is_escaped_stays_escaped_beside_one_that_is_not() -> None:
    content: build.Tree = {"process_info": [build.process(1, "C", "marker"), build.process(2, "C", "<&>")]}
    data = build.document(build.gpu(processes=content)).replace(b"marker", b"\x02a&b")
    snapshot = parse_smi_xml(data)
    names = [process.process_name for process in snapshot.samples[0].processes]  # type: ignore[union-attr]
    assert names == ["a&b", "<&>"]
    assert [issue.kind for issue in snapshot.issues] == [IssueKind.BAD_CHARACTERS, IssueKind.REPAIRED]


CLOCKS = b"""<supported_clocks>
\t<supported_mem_clock>
\t\t<value>10001 MHz</value>
\t\t<supported_graphics_clock>3105 MHz</supported_graphics_clock>
\t</supported_mem_clock>
%s
</supported_clocks>"""
COUNT_IS_OFF = CLOCKS % (
    b"</supported_mem_clock>\n<supported_mem_clock>\n5001 MHz\n"
    b"<supported_graphics_clock>2100 MHz</supported_graphics_clock>\n</supported_mem_clock>"
)
COUNT_IS_RIGHT = CLOCKS % b"</supported_mem_clock>\n5001 MHz\n<supported_mem_clock>"
NOT_CLOSED = CLOCKS % b"<supported_mem_clock><value>405 MHz</value>"


@pytest.mark.parametrize(
    ("clocks", "issues"), [(COUNT_IS_OFF, 1), (NOT_CLOSED, 1), (COUNT_IS_RIGHT, 0), (CLOCKS % b"", 0)]
)
def test_mis_nested_clocks_cost_no_gpu(clocks: bytes, issues: int) -> None:
    marked = build.document(build.gpu(1, supported_clocks="marker"), build.gpu(2), build.gpu(3))
    snapshot = parse_smi_xml(marked.replace(b"<supported_clocks>marker</supported_clocks>", clocks))
    assert [gpu.uuid for gpu in snapshot.gpus] == [build.uuid(1), build.uuid(2), build.uuid(3)]
    assert [(issue.kind, issue.place) for issue in snapshot.issues] == (
        [(IssueKind.REPAIRED, "gpu/supported_clocks")] * issues
    )
    assert snapshot.unread == ("gpu/supported_clocks",)


def test_clocks_that_do_not_end_in_their_gpu_are_refused() -> None:
    gpus = [build.gpu(number, supported_clocks=build.clocks(1593), processes="") for number in (1, 2)]
    data = build.document(*gpus)
    refusal(data.replace(b"</supported_clocks>", b"", 1))
    refusal(data.replace(b"</supported_clocks>", b""))
    first, second = data.split(b'<gpu id="00000000:02:00.0">')
    refusal(first.replace(b"</supported_clocks>", b"") + b"<gpu id='1'>" + second.replace(b"<supported_clocks>", b""))


def test_clocks_in_a_comment_hide_nothing() -> None:
    data = build.document(build.gpu(1, serial="marker"), build.gpu(2, supported_clocks=build.clocks(1593)))
    snapshot = parse_smi_xml(data.replace(b"marker", b"12<!-- <supported_clocks> -->34"))
    assert snapshot.gpus[0].serial == "1234"
    assert [gpu.uuid for gpu in snapshot.gpus] == [build.uuid(1), build.uuid(2)]


def test_values_of_clocks_that_are_missing_are_no_repair() -> None:
    content: build.Tree = {"supported_mem_clock": [{"value": "N/A", "supported_graphics_clock": ["N/A"]}]}
    assert parse_smi_xml(build.document(build.gpu(supported_clocks=content))).issues == ()

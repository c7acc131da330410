"""Documents that mean harm: each is refused at once or read rightly, and nothing is fetched, opened or expanded."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from typing import TYPE_CHECKING

import pytest

from gpuinv.errors import ParseError
from gpuinv.readings import Missing
from gpuinv.smi.query_xml import parse_smi_xml
from tests.smi import xml_builder as build

if TYPE_CHECKING:
    from collections.abc import Iterator

GPU = build.document(build.gpu(serial="marker"), declaration=False, dtd=None)
LAUGHS = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10))


@pytest.fixture(autouse=True)
def _at_once() -> Iterator[None]:
    """None of these may take long."""
    start = time.perf_counter()
    yield
    assert time.perf_counter() - start < 5


def with_doctype(doctype: bytes, serial: bytes = b"1234") -> bytes:
    return b"<?xml version='1.0'?>\n" + doctype + b"\n" + GPU.replace(b"marker", serial)


@pytest.mark.parametrize(
    "doctype",
    [
        b"<!DOCTYPE nvidia_smi_log [<!ENTITY l0 'ha'>" + LAUGHS + b"]>",
        b"<!DOCTYPE nvidia_smi_log [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>",
        b"<!DOCTYPE nvidia_smi_log [<!ENTITY % x SYSTEM 'http://127.0.0.1:9/x.dtd'> %x;]>",
        b"<!DOCTYPE nvidia_smi_log SYSTEM 'nvsmi_device_v12.dtd' [<!ENTITY x 'y'>]>",
        b"<!DOCTYPE nvidia_smi_log []>",
        b"<!DOCTYPE\n\tnvidia_smi_log\n\t[\n<!ENTITY\nx\n'y'>\n]\n>",
        b"<!-- a comment --><!DOCTYPE nvidia_smi_log [<!ENTITY x 'y'>]>",
        b"<!-- <!DOCTYPE nvidia_smi_log> --><!DOCTYPE nvidia_smi_log [<!ENTITY x 'y'>]>",
        b"<!DOCTYPE nvidia_smi_log><!DOCTYPE nvidia_smi_log>",
        b"<!DOCTYPE nvidia_smi_log <!ENTITY x 'y'>>",
    ],
)
def test_a_doctype_with_contents_is_refused(doctype: bytes) -> None:
    for serial in (b"1234", b"&l9;", b"&x;"):
        with pytest.raises(ParseError, match="DOCTYPE"):
            parse_smi_xml(with_doctype(doctype, serial))


@pytest.mark.parametrize(
    "doctype",
    [
        b"<!DOCTYPE nvidia_smi_log SYSTEM 'http://127.0.0.1:9/nvsmi_device_v12.dtd'>",
        b"<!DOCTYPE nvidia_smi_log PUBLIC '-//X//Y' 'file:///etc/passwd'>",
        b"<!DOCTYPE nvidia_smi_log>",
        b"<!doctype nvidia_smi_log SYSTEM 'x'>",
    ],
)
def test_a_doctype_that_only_names_its_dtd_is_read_and_never_fetched(doctype: bytes) -> None:
    assert parse_smi_xml(with_doctype(doctype)).gpus[0].serial == "1234"
    for serial in (b"&l9;", b"&x;", b"&nbsp;"):
        with pytest.raises(ParseError, match="not well-formed"):
            parse_smi_xml(with_doctype(doctype, serial))


@pytest.mark.parametrize(
    "data",
    [
        GPU.replace(b"marker", b"&undefined;"),
        GPU.replace(b'id="00000000:01:00.0"', b'id="&undefined;"'),
        GPU.replace(b"marker", b"&#1;"),
        GPU.replace(b"marker", b"&#0;"),
        GPU.replace(b"marker", b"&#xD800;"),
        GPU.replace(b"marker", b"&#99999999999;"),
        GPU.replace(b"marker", b"<!DOCTYPE a>"),
        GPU.replace(b"marker", b"<?xml version='1.0'?>"),
        GPU.replace(b"<gpu id=", b"<gpu id='a' id="),
        GPU.replace(b"marker", b"<unknown:prefix/>"),
        GPU.replace(b"<nvidia_smi_log>", b"<nvidia_smi_log xmlns='urn:x'>"),
        GPU.replace(b"marker", b"]]>"),
        GPU.replace(b"marker", b"<![CDATA["),
        GPU.replace(b"marker", b"<!-- -- -->"),
        b"<nvidia_smi_log " + GPU,
        b"<nvidia_smi_log",
        b"<nvidia_smi_log>" * 9 + b"</nvidia_smi_log>",
        b"<nvidia_smi_log>" + b"<a>" * 1000 + b"</a>" * 1000 + b"</nvidia_smi_log>",
        b"<nvidia_smi_log>" + b"<gpu>" * 300 + b"</gpu>" * 300 + b"</nvidia_smi_log>",
        b"<nvidia_smi_log><a></nvidia_smi_log>",
        b"<nvidia_smi_log attribute></nvidia_smi_log>",
        GPU.replace(b"marker", b"x" * 20_000_000),
        b"<?xml ?>" + b"<!--" * 1_000_000 + GPU,
        b"<?xml ?>" + b"<!DOCTYPE " * 100_000 + GPU,
        b"<!DOCTYPE a" + b" " * 1_000_000 + b"[" + GPU,
        b"<nvidia_smi_log>" + b"<supported_clocks>" * 200_000 + b"</nvidia_smi_log>",
        b"<nvidia_smi_log" * 200_000,
        GPU.replace(b"</nvidia_smi_log>", b"</nvidia_smi_log" + b" " * 1_000_000),
        GPU.replace(b"marker", b"<process_name>" * 100_000),
    ],
    ids=range(29),
)
def test_refused(data: bytes) -> None:
    with pytest.raises(ParseError) as caught:
        parse_smi_xml(data)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("data", "serial"),
    [
        (GPU.replace(b"marker", b"x" * 4096), "x" * 4096),
        (GPU.replace(b"marker", b"x" * 5_000_000), Missing.ERROR),
        (GPU.replace(b"marker", b"<?php system('id') ?>1234"), "1234"),
        (GPU.replace(b"marker", b"<!-- <gpu> -->1234"), "1234"),
        (
            GPU.replace(b"marker", b"1234<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='/etc/passwd'/>"),
            "1234",
        ),
        (GPU.replace(b"<serial>marker", b"<serial xmlns='urn:x'>1234"), Missing.ABSENT),
        (GPU.replace(b"<gpu ", b"<gpu xmlns:a='urn:x' a:id='0000:09:00.0' "), "marker"),
        (GPU.replace(b"<gpu ", b"<gpu " + b" ".join(b'a%d="1"' % n for n in range(100_000)) + b" "), "marker"),
        (b"<!" * 1_000_000 + GPU, "marker"),
        (GPU + b"<" * 1_000_000, "marker"),
        (GPU + b"<nvidia_smi_log>" * 100_000, "marker"),
        (b" " * 1_000_000 + GPU, "marker"),
        (GPU.replace(b"marker", b"12\x0034"), "1234"),
        (GPU.replace(b"</gpu>", b"\x00</gpu>"), "marker"),
        (GPU.replace(b"<gpu ", b"\x00<gpu "), "marker"),
    ],
    ids=range(15),
)
def test_read(data: bytes, serial: str | Missing) -> None:
    (gpu,) = parse_smi_xml(data).gpus
    assert gpu.serial == serial
    assert str(gpu.pci_bus_id) == build.bus_id()


def test_an_element_of_another_namespace_is_unread() -> None:
    data = GPU.replace(b"<serial>marker", b"<serial xmlns='urn:x'>1234")
    assert parse_smi_xml(data).unread == ("gpu/{urn:x}serial",)


def test_more_than_the_tool_can_print_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuinv.smi._document.MAX_OUTPUT_BYTES", len(GPU))
    assert len(parse_smi_xml(GPU).gpus) == 1
    with pytest.raises(ParseError, match=f"more than {len(GPU)} bytes"):
        parse_smi_xml(GPU + b"\n")


def test_a_nul_anywhere_never_hides_a_gpu() -> None:
    data = build.document(build.gpu(1), build.gpu(2))
    for position in range(0, len(data), 7):
        spoiled = data[:position] + b"\x00" + data[position:]
        try:
            snapshot = parse_smi_xml(spoiled)
        except ParseError:
            continue
        assert [gpu.uuid for gpu in snapshot.gpus] == [build.uuid(1), build.uuid(2)]


WATCH = textwrap.dedent("""
    import sys
    from gpuinv.errors import ParseError
    from gpuinv.smi.query_xml import parse_smi_xml

    ENTITY = '<!DOCTYPE nvidia_smi_log [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    DTD = '<!DOCTYPE nvidia_smi_log SYSTEM "file:///etc/passwd">'
    BODY = '<nvidia_smi_log><gpu id="0000:01:00.0"><serial>%s</serial></gpu></nvidia_smi_log>'
    INCLUDE = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/passwd"/>'
    documents = [
        ENTITY + BODY % '&x;', DTD + BODY % '&x;', DTD + BODY % '1', BODY % INCLUDE, BODY % '&x;', BODY % '<', '<',
        '<?xml-stylesheet href="file:///etc/passwd"?>' + BODY % '1', BODY % '1' + BODY % '2',
    ]
    parse_smi_xml(BODY % '1')
    touched = []
    watching = True

    def watch(event, args):
        if watching and event.partition('.')[0] in {'open', 'os', 'socket', 'subprocess', 'urllib', 'ctypes', 'import'}:
            touched.append((event, args))

    sys.addaudithook(watch)
    outcomes = []
    for document in documents:
        try:
            outcomes.append(len(parse_smi_xml(document).gpus))
        except ParseError:
            outcomes.append('refused')
    watching = False
    print(outcomes, touched)
""")


def test_nothing_is_opened_or_fetched_while_reading() -> None:
    ran = subprocess.run([sys.executable, "-c", WATCH], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stderr == ""
    assert ran.stdout == "['refused', 'refused', 1, 1, 'refused', 'refused', 'refused', 1, 1] []\n"


def test_libxml2_opens_nothing_either() -> None:
    """The audit hook sees Python only: a FIFO that nobody writes would block whoever opened it."""
    code = textwrap.dedent("""
        import os, tempfile
        from gpuinv.smi.query_xml import parse_smi_xml
        with tempfile.TemporaryDirectory() as directory:
            fifo = os.path.join(directory, 'x.dtd')
            os.mkfifo(fifo)
            parse_smi_xml(f'<!DOCTYPE nvidia_smi_log SYSTEM "{fifo}"><nvidia_smi_log></nvidia_smi_log>')
        print('done')
    """)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "done\n"

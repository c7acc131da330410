"""The grammar of values: what is one, what is a reason, and what is an issue that names its place."""

from __future__ import annotations

import pytest

import gpuinv.values as v
from gpuinv.errors import IssueKind
from gpuinv.readings import Missing
from gpuinv.smi.query_xml import parse_smi_xml
from tests.smi import xml_builder as build

REASONS = {
    "N/A": Missing.NOT_SUPPORTED,
    "[N/A]": Missing.NOT_SUPPORTED,
    "Not Supported": Missing.NOT_SUPPORTED,
    "[Not Supported]": Missing.NOT_SUPPORTED,
    "Function Not Found": Missing.NOT_SUPPORTED,
    build.DEPRECATED: Missing.DEPRECATED,
    "Not Found": Missing.NOT_AVAILABLE,
    "Insufficient Size": Missing.NOT_AVAILABLE,
    "??": Missing.NOT_AVAILABLE,
    "": Missing.NOT_AVAILABLE,
    " \t": Missing.NOT_AVAILABLE,
    "Insufficient Permissions": Missing.NO_PERMISSION,
    "[Insufficient Permissions]": Missing.NO_PERMISSION,
    "GPU requires reset": Missing.NEEDS_RESET,
    "Unknown Error": Missing.ERROR,
    "[Unknown Error]": Missing.ERROR,
    "ERR!": Missing.ERROR,
    "[GPU access blocked by the operating system]": Missing.ERROR,
    "GPU is lost": Missing.LOST,
}
READERS = {
    "text": v.TEXT,
    "name": v.NAME,
    "upper": v.UPPER,
    "flag": v.FLAG,
    "integer": v.INTEGER,
    "counter": v.COUNTER,
    "MiB": v.MIB,
    "percent": v.PERCENT,
    "MHz": v.MHZ,
    "celsius": v.CELSIUS,
    "KB/s": v.KBPS,
    "lanes": v.LANES,
    "milliwatts": v.MILLIWATTS,
    "major.minor": v.MAJOR_MINOR,
    "driver version": v.DRIVER_VERSION,
    "bus id": v.BUS_ID,
    "pci ids": v.PCI_IDS,
    "uuid": v.UUID,
}
KINDS = {
    Missing.NO_PERMISSION: IssueKind.NO_PERMISSION,
    Missing.NEEDS_RESET: IssueKind.NEEDS_RESET,
    Missing.ERROR: IssueKind.READ_ERROR,
    Missing.LOST: IssueKind.GPU_LOST,
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_every_reader_knows_every_reason(reader: v.ValueReader) -> None:
    assert {text: reader.read(text) for text in REASONS} == REASONS
    assert {text: reader.read(f"\n  {text.upper()}\t") for text in REASONS} == REASONS


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        ("text", " P0 \n", "P0"),
        ("upper", "95.02.3c", "95.02.3C"),
        ("flag", "Yes", True),
        ("flag", "Enabled", True),
        ("flag", "disabled", False),
        ("flag", "Not Active", False),
        ("flag", "On", True),
        ("flag", "False", False),
        ("integer", "0", 0),
        ("integer", "007", 7),
        ("integer", str(2**53 - 1), 2**53 - 1),
        ("counter", str(2**64 - 1), 2**64 - 1),
        ("MiB", "143771 MiB", 143771),
        ("MiB", "143771MiB", 143771),
        ("percent", "0 %", 0),
        ("MHz", "1980 MHz", 1980),
        ("celsius", "31 C", 31),
        ("celsius", "-7 C", -7),
        ("celsius", "-0 C", 0),
        ("KB/s", "750 KB/s", 750),
        ("lanes", "16x", 16),
        ("milliwatts", "8.81 W", 8810),
        ("milliwatts", "700 W", 700000),
        ("milliwatts", "2900.00 W", 2900000),
        ("milliwatts", "0.0005 W", 1),
        ("milliwatts", "0.00049 W", 0),
        ("major.minor", "13.2", "13.2"),
    ],
)
def test_a_value_of_its_form(form: str, text: str, value: object) -> None:
    found = READERS[form].read(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("flag", "maybe"),
        ("flag", "1"),
        ("integer", "-1"),
        ("integer", "+1"),
        ("integer", "1.0"),
        ("integer", "1e3"),
        ("integer", "0x10"),
        ("integer", "1 000"),
        ("integer", "1,000"),
        ("integer", str(2**53)),
        ("integer", "9" * 40),
        ("integer", "\N{ARABIC-INDIC DIGIT ONE}"),
        ("integer", "\N{SUPERSCRIPT TWO}"),
        ("integer", "\N{FULLWIDTH DIGIT ONE}"),
        ("counter", str(2**64)),
        ("counter", "-1"),
        ("MiB", "143771"),
        ("MiB", "143771 MB"),
        ("MiB", "143771 mib"),
        ("MiB", "140.4 MiB"),
        ("MiB", "-1 MiB"),
        ("MiB", "1  MiB"),
        ("percent", "10.3 %"),
        ("percent", "10"),
        ("MHz", "1.98 GHz"),
        ("celsius", "88 F"),
        ("celsius", "--7 C"),
        ("celsius", "31.5 C"),
        ("celsius", f"-{2**53} C"),
        ("KB/s", "750 MB/s"),
        ("lanes", "x16"),
        ("lanes", "16 x"),
        ("milliwatts", "-1.00 W"),
        ("milliwatts", "700 mW"),
        ("milliwatts", "1e3 W"),
        ("milliwatts", ".5 W"),
        ("milliwatts", "NaN W"),
        ("major.minor", "13"),
        ("name", "NVIDIA \N{REPLACEMENT CHARACTER}"),
        ("upper", "95.\N{REPLACEMENT CHARACTER}"),
        ("text", "x" * 4097),
    ],
)
def test_any_other_form_is_an_error(form: str, text: str) -> None:
    assert READERS[form].read(text) is Missing.ERROR


def test_a_reader_forgets_long_texts_and_is_never_full() -> None:
    cache = v._Texts(len)  # noqa: SLF001 - nothing else can tell what is held on to
    assert [cache[text] for text in ("a", "a", "b" * 5000)] == [1, 1, 5000]
    assert list(cache) == ["a"]
    for number in range(5000):
        assert cache[str(number)] == len(str(number))
    assert len(cache) <= 2048


@pytest.mark.parametrize("text", [text for text in REASONS if REASONS[text] in KINDS])
def test_a_value_that_could_not_be_read_is_an_issue(text: str) -> None:
    snapshot = parse_smi_xml(build.document(build.gpu(1), build.gpu(2, serial=text)))
    reason = REASONS[text]
    assert snapshot.gpus[1].serial is reason
    assert snapshot.gpus[1].gpu_lost is (reason is Missing.LOST)
    (issue,) = snapshot.issues
    assert (issue.kind, issue.place, issue.text) == (KINDS[reason], "gpu[1]/serial", text)
    assert (issue.uuid, issue.pci_bus_id) == (build.uuid(2), build.bus_id(2))
    assert snapshot.gpus[0] == parse_smi_xml(build.document(build.gpu(1))).gpus[0]


@pytest.mark.parametrize("text", [text for text in REASONS if REASONS[text] not in KINDS])
def test_a_value_that_is_simply_not_there_is_no_issue(text: str) -> None:
    snapshot = parse_smi_xml(build.document(build.gpu(serial=text)))
    assert snapshot.gpus[0].serial is REASONS[text]
    assert snapshot.issues == ()


def test_values_of_another_form_are_one_issue_that_names_their_places() -> None:
    gpu = build.gpu(
        utilization={"memory_util": "10.3 %", "gpu_util": "busy"},
        fb_memory_usage={"total": "80 GB"},
        mig_mode={"current_mig": "perhaps"},
    )
    snapshot = parse_smi_xml(build.document(gpu))
    assert snapshot.gpus[0].fb_total_mib is snapshot.samples[0].fb_memory.total_mib is Missing.ERROR
    (issue,) = snapshot.issues
    assert issue.kind is IssueKind.BAD_VALUE
    assert issue.place == (
        "gpu[0]/fb_memory_usage/total, gpu[0]/mig_mode/current_mig, "
        "gpu[0]/utilization/gpu_util, gpu[0]/utilization/memory_util"
    )
    assert issue.text == "80 GB"


@pytest.mark.parametrize("name", ["product_name", "serial", "vbios_version", "compute_mode"])
def test_a_text_that_was_not_utf_8_is_unknown(name: str) -> None:
    data = build.document(build.gpu(**{name: "marker"})).replace(b"marker", b"\xf8\xffRTX")
    snapshot = parse_smi_xml(data)
    assert getattr(snapshot.gpus[0], name) is Missing.ERROR
    assert snapshot.gpus[0].uuid == build.uuid()
    assert [issue.kind for issue in snapshot.issues] == [IssueKind.BAD_CHARACTERS, IssueKind.BAD_VALUE]


def test_the_name_of_an_unknown_board_is_a_name() -> None:
    assert parse_smi_xml(build.document(build.gpu(product_name="Graphics Device"))).gpus[0].product_name == (
        "Graphics Device"
    )

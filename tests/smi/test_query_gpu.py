from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest

from gpuinv.errors import IssueKind, ParseError, UsageError
from gpuinv.ids import GpuUuid, PciBusId, PciId
from gpuinv.readings import Missing
from gpuinv.smi.query_fields import QUERY_FIELDS, query_field
from gpuinv.smi.query_gpu import QueryGpu, RefusedField, WrongColumns, parse_query_gpu
from gpuinv.versions import DriverVersion

if TYPE_CHECKING:
    from collections.abc import Sequence

A = GpuUuid("GPU-7a10c0de-11d4-4be7-8a6e-0d2f7c9b1e01")
B = GpuUuid("GPU-7a10c0de-11d4-4be7-8a6e-0d2f7c9b1e02")
TWO = ("uuid", "memory.used")


def cell(field: str, text: str) -> object:
    """What one cell reads as; a UUID stands before it, so that the row is never blank."""
    return parse_query_gpu(f"{A}, {text}\n", ("uuid", field)).rows[0][field]


def kinds(found: QueryGpu) -> list[IssueKind]:
    return [issue.kind for issue in found.issues]


@pytest.mark.parametrize(
    "text",
    [
        f"{A}, 512 MiB\n{B}, 0 MiB\n",
        f"{A}, 512\n{B}, 0\n",
        f"uuid, memory.used [MiB]\n{A}, 512 MiB\n{B}, 0 MiB\n",
        f"uuid, memory.used [MiB]\n{A}, 512\n{B}, 0\n",
        f"gpu_uuid, memory.used [MiB]\r\n{A}, 512 MiB\r\n{B}, 0 MiB".encode(),
        f"\ufeff{A},512\n{B},0 MiB\n\n",
    ],
    ids=["units", "nounits", "header", "header, nounits", "alias and CR LF", "no blanks"],
)
def test_a_row_for_each_gpu(text: str | bytes) -> None:
    assert parse_query_gpu(text, TWO) == QueryGpu(
        fields=TWO, rows=({"uuid": A, "memory.used": 512}, {"uuid": B, "memory.used": 0})
    )


def test_columns_are_known_by_their_order_and_named_as_asked() -> None:
    found = parse_query_gpu(f"clocks.current.sm [MHz], uuid\n1410 MHz, {A}\n", ["clocks.sm", "gpu_uuid"])
    assert found.fields == ("clocks.sm", "gpu_uuid")
    assert found.rows == ({"clocks.sm": 1410, "gpu_uuid": A},)


def test_an_unknown_field_is_text_and_its_header_is_known_by_the_unit_or_by_the_others() -> None:
    found = parse_query_gpu("index, future.field [V]\n0, 12.5 V\n", ("index", "future.field"))
    assert found.rows == ({"index": 0, "future.field": "12.5 V"},)
    assert parse_query_gpu("future.name [V]\n7 V\n", ("future.alias",)).rows == ({"future.alias": "7 V"},)
    without = parse_query_gpu("future\nold\n", ("future.alias",))
    assert [row["future.alias"] for row in without.rows] == ["future", "old"]


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("power.draw", "58.41 W", 58410),
        ("power.draw", "58.41", 58410),
        ("power.draw", "58", 58000),
        ("enforced.power.limit", "400.00 W", 400000),
        ("clocks.mem", "1593 MHz", 1593),
        ("temperature.gpu", "31", 31),
        ("temperature.gpu.tlimit", "-3", -3),
        ("temperature.gpu", "31 C", 31),
        ("utilization.gpu", "100 %", 100),
        ("fan.speed", "38", 38),
        ("clocks_event_reasons_counters.sw_power_cap", "15814595384 us", 15814595384),
        ("power_smoothing.window_multiplier", "5 ms", 5),
        ("bbx.time_run", "77 seconds", 77),
        ("clocks_throttle_reasons.active", "0x0000000000000005", 5),
        ("clocks_event_reasons.sw_power_cap", "Not Active", False),
        ("ecc.errors.corrected.volatile.total", "18446744073709551615", 2**64 - 1),
        ("remapped_rows.dbe", "2", 2),
        ("remapped_rows.pending", "Yes", True),
        ("remapped_rows.failure", "0", False),
        ("retired_pages.pending", "1", True),
        ("mig.mode.current", "Enabled", True),
        ("pci.bus_id", "00000000:0C:00.0", PciBusId(0, 12, 0)),
        ("gpu_bus_id", "0000:0c:00.0", PciBusId(0, 12, 0)),
        ("pci.device_id", "0x233010DE", PciId(0x10DE, 0x2330)),
        ("driver_version", "590.48.01", DriverVersion("590.48.01")),
        ("vbios_version", "90.04.7a.40.73", "90.04.7A.40.73"),
        ("compute_cap", "9.0", "9.0"),
        ("pstate", "P0", "P0"),
        ("addressing_mode", "None", "None"),
        ("gpu_recovery_action", "None", "None"),
        ("name", "NVIDIA H200", "NVIDIA H200"),
        ("pcie.link.gen.gpucurrent", "5", 5),
        ("fabric.cliqueId", "0", 0),
        ("edpp_multiplier", "100.00 %", "100.00 %"),
        ("timestamp", "2026/07/14 09:00:27.792", "2026/07/14 09:00:27.792"),
    ],
)
def test_a_cell_is_read_by_its_field(field: str, text: str, value: object) -> None:
    assert cell(field, text) == value
    assert type(cell(field, text)) is type(value)


@pytest.mark.parametrize(
    ("field", "text", "reason", "kind"),
    [
        ("fan.speed", "[N/A]", Missing.NOT_SUPPORTED, None),
        ("fan.speed", "[Not Supported]", Missing.NOT_SUPPORTED, None),
        ("fabric.state", "N/A", Missing.NOT_SUPPORTED, None),
        ("bbx.time_run", "[Function Not Found]", Missing.NOT_SUPPORTED, None),
        ("display_mode", "[Requested functionality has been deprecated]", Missing.DEPRECATED, None),
        ("platform.chassis_serial_number", "", Missing.NOT_AVAILABLE, None),
        ("pstate", "[Insufficient Permissions]", Missing.NO_PERMISSION, IssueKind.NO_PERMISSION),
        ("temperature.gpu", "[GPU requires reset]", Missing.NEEDS_RESET, IssueKind.NEEDS_RESET),
        ("name", "[Unknown Error]", Missing.ERROR, IssueKind.READ_ERROR),
        ("future.field", "[Something New]", Missing.ERROR, IssueKind.READ_ERROR),
        ("index", "[GPU is lost]", Missing.LOST, IssueKind.GPU_LOST),
        ("memory.used", "lots", Missing.ERROR, IssueKind.BAD_VALUE),
        ("memory.used", "512 KiB", Missing.ERROR, IssueKind.BAD_VALUE),
        ("memory.used", "-1", Missing.ERROR, IssueKind.BAD_VALUE),
        ("memory.used", "99999999999999999999", Missing.ERROR, IssueKind.BAD_VALUE),
        ("memory.used", "١٢", Missing.ERROR, IssueKind.BAD_VALUE),
        ("power.draw", "-3.5 W", Missing.ERROR, IssueKind.BAD_VALUE),
        ("remapped_rows.pending", "2", Missing.ERROR, IssueKind.BAD_VALUE),
        ("clocks_event_reasons.active", "5", Missing.ERROR, IssueKind.BAD_VALUE),
        ("name", "NVIDIA \N{REPLACEMENT CHARACTER}", Missing.ERROR, IssueKind.BAD_VALUE),
    ],
)
def test_a_cell_without_a_value_says_why(field: str, text: str, reason: Missing, kind: IssueKind | None) -> None:
    found = parse_query_gpu(f"{A}, {text}\n", ("uuid", field))
    assert found.rows == ({"uuid": A, field: reason},)
    assert kinds(found) == ([] if kind is None else [kind])
    assert [issue.uuid for issue in found.issues] == [A] * len(found.issues)


def test_one_issue_for_each_kind_of_trouble_in_a_row_names_its_fields() -> None:
    fields = ("index", "temperature.gpu", "utilization.gpu", "memory.used", "pstate")
    found = parse_query_gpu("0, [GPU requires reset], [GPU requires reset], 0 MiB, [Unknown Error]\n", fields)
    assert found.rows[0]["memory.used"] == 0
    assert [(issue.kind, issue.message.partition(":")[0], issue.uuid) for issue in found.issues] == [
        (IssueKind.NEEDS_RESET, "temperature.gpu, utilization.gpu", None),
        (IssueKind.READ_ERROR, "pstate", None),
    ]


def test_row_remapping_is_hidden_while_mig_is_on() -> None:
    remapping = ("remapped_rows.pending", "remapped_rows.dbe", "remapped_rows.histogram.max")
    fields = (*remapping, "mig.mode.current", "c2c.mode")
    found = parse_query_gpu(
        "[N/A], [N/A], 2560, Enabled, [N/A]\n"
        "[N/A], [N/A], 0, Disabled, [N/A]\n"
        "[N/A], [Unknown Error], 0, Enabled, [N/A]\n",
        fields,
    )
    on, off, failing = (tuple(row.values()) for row in found.rows)
    assert on == (Missing.HIDDEN_BY_MIG, Missing.HIDDEN_BY_MIG, 2560, True, Missing.NOT_SUPPORTED)
    assert off == (Missing.NOT_SUPPORTED, Missing.NOT_SUPPORTED, 0, False, Missing.NOT_SUPPORTED)
    assert failing[:2] == (Missing.HIDDEN_BY_MIG, Missing.ERROR)
    assert parse_query_gpu("[N/A], 7\n", ("remapped_rows.pending", "index")).rows[0]["remapped_rows.pending"] is (
        Missing.NOT_SUPPORTED
    )


HANDLE = "Unable to determine the device handle for"
LOST = f"{HANDLE} GPU1: 0000:0A:00.0: GPU is lost.  Reboot the system"


@pytest.mark.parametrize(
    ("sentence", "kind", "bus_id"),
    [
        (LOST, IssueKind.GPU_LOST, "00000000:0A:00.0"),
        (f"{HANDLE} gpu 0000:08:00.0: Unknown Error", IssueKind.READ_ERROR, "00000000:08:00.0"),
        (f"{HANDLE} GPU 0000:04:00.0: Not Found", IssueKind.READ_ERROR, "00000000:04:00.0"),
        (f"{HANDLE} GPU0000:25:00.0: Unknown Error", IssueKind.READ_ERROR, "00000000:25:00.0"),
        (f"{HANDLE} GPU2: Unknown Error", IssueKind.READ_ERROR, None),
        ("WARNING: infoROM is corrupted at gpu 0000:B3:00.0", IssueKind.READ_ERROR, "00000000:B3:00.0"),
        ("Warning: infoROM is corrupted at gpu 0000:B3:FF.0", IssueKind.READ_ERROR, None),
        ("Warning, with a comma", IssueKind.READ_ERROR, None),
        ("Failed to properly shut down NVML: Driver Not Loaded", IssueKind.READ_ERROR, None),
        ("Failed to initialize NVML: Insufficient Permissions", IssueKind.NO_PERMISSION, None),
    ],
)
@pytest.mark.parametrize("order", ["SAB", "ASB", "ABS", "HSAB", "SHAB"])
def test_a_sentence_of_the_tool_is_an_issue_wherever_it_stands(
    sentence: str, kind: IssueKind, bus_id: str | None, order: str
) -> None:
    texts = {"S": sentence, "A": f"{A}, 1", "B": f"{B}, 2", "H": "uuid, memory.used [MiB]"}
    found = parse_query_gpu("\n".join(texts[each] for each in order), TWO)
    assert [row["uuid"] for row in found.rows] == [A, B]
    assert [(issue.kind, issue.pci_bus_id) for issue in found.issues] == [(kind, bus_id)]


def test_a_sentence_is_no_row_of_a_query_for_one_field() -> None:
    found = parse_query_gpu(f"NVIDIA H200\n{LOST}\nFailed to initialize NVML: Unknown Error\n", ("name",))
    assert found.rows == ({"name": "NVIDIA H200"},)
    assert kinds(found) == [IssueKind.GPU_LOST, IssueKind.READ_ERROR]


def test_no_devices_and_gpus_that_cannot_be_opened_are_answers_without_rows() -> None:
    assert parse_query_gpu("No devices were found\n", TWO) == QueryGpu(fields=TWO)
    assert kinds(parse_query_gpu(f"{LOST}\nNo devices were found\n", TWO)) == [IssueKind.GPU_LOST]
    assert parse_query_gpu(f"{LOST}\n", TWO).rows == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ""),
        (b"\n \n", ""),
        ("uuid, memory.used [MiB]\n", ""),
        ("Failed to initialize NVML: Unknown Error\nWARNING: more\n", "Failed to initialize NVML: Unknown Error"),
        ("NVIDIA-SMI has failed because it couldn't communicate, sadly", "NVIDIA-SMI has failed because it couldn't"),
    ],
)
def test_a_failed_query_is_no_empty_answer(text: str | bytes, said: str) -> None:
    with pytest.raises(ParseError, match="no answer") as caught:
        parse_query_gpu(text, TWO)
    assert caught.value.text.startswith(said)


def test_a_refused_field_is_named() -> None:
    with pytest.raises(RefusedField) as caught:
        parse_query_gpu('Field "memory.reserved" is not a valid field to query.\n\n', TWO)
    assert caught.value.field == "memory.reserved"
    assert str(caught.value) == "nvidia-smi --query-gpu: line 1: this driver does not know the field: 'memory.reserved'"
    twin = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own
    assert (twin.field, twin.source, twin.text) == ("memory.reserved", "nvidia-smi --query-gpu", "memory.reserved")


@pytest.mark.parametrize("row", [f"{B}", f"{B}, 1, 2", f"{B},1,2", "some sentence", f"{B}, 1, "])
def test_one_row_of_other_columns_refuses_them_all(row: str) -> None:
    with pytest.raises(WrongColumns, match="columns instead of 2") as caught:
        parse_query_gpu(f"{A}, 1\n{row}\n", TWO)
    assert caught.value.place == "line 2"


def test_only_a_name_that_stands_last_may_hold_commas() -> None:
    found = parse_query_gpu(f"{A}, Card, with, commas\n{B},Card,with\n", ("uuid", "gpu_name"))
    assert [row["gpu_name"] for row in found.rows] == ["Card, with, commas", "Card,with"]
    with pytest.raises(WrongColumns):
        parse_query_gpu(f"Card, with commas, {A}\n", ("name", "uuid"))


@pytest.mark.parametrize(
    "header", ["memory.used [MiB], uuid", "uuid, memory.used [KiB]", "uuid, uuid", "uuid, memory.used [MiB], pstate"]
)
def test_a_header_of_other_columns_is_refused(header: str) -> None:
    with pytest.raises(WrongColumns):
        parse_query_gpu(f"{header}\n{A}, 1\n", TWO)


def test_a_second_answer_is_not_read() -> None:
    once = f"uuid, memory.used [MiB]\n{A}, 1 MiB\n"
    found = parse_query_gpu(once + once, TWO)
    assert found.rows == ({"uuid": A, "memory.used": 1},)
    assert [(issue.kind, issue.place) for issue in found.issues] == [(IssueKind.MORE_DOCUMENTS, "line 3")]


def test_rows_without_a_uuid_and_second_rows_stay_and_are_issues() -> None:
    found = parse_query_gpu(f"{A}, 1\n[N/A], 2\n{A}, 3\nGPU-0, 4\n", TWO)
    assert [row["memory.used"] for row in found.rows] == [1, 2, 3, 4]
    assert [(issue.kind, issue.place, issue.uuid) for issue in found.issues] == [
        (IssueKind.NO_UUID, "line 2", None),
        (IssueKind.DUPLICATE_UUID, "line 3", A),
        (IssueKind.NO_UUID, "line 4", None),
    ]


@pytest.mark.parametrize("fields", ["uuid,name", "", (), []])
def test_fields_are_a_list_of_names(fields: Sequence[str]) -> None:
    with pytest.raises(UsageError):
        parse_query_gpu("x", fields)


def test_the_table_knows_each_name_once() -> None:
    names = [name for column in QUERY_FIELDS for name in column.names]
    assert len(names) == len(set(names))
    for column in QUERY_FIELDS:
        assert all(query_field(name) is column for name in column.names)
        assert (column.unit or "none") in column.reader.form or column.unit in {"", "us", "ms"}

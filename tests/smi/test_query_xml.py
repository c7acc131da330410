"""The document as a whole: its GPUs, what the snapshot says of them, and what it leaves unread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gpuinv.errors import IssueKind, ParseError
from gpuinv.ids import GpuUuid, PciBusId, PciId
from gpuinv.inventory import Layer
from gpuinv.readings import Missing, known_or
from gpuinv.smi.query_xml import parse_smi_xml
from gpuinv.versions import DriverVersion
from tests.smi import xml_builder as build

if TYPE_CHECKING:
    from gpuinv.smi.records import SmiSnapshot


def kinds(snapshot: SmiSnapshot) -> list[IssueKind]:
    return [issue.kind for issue in snapshot.issues]


@pytest.mark.parametrize(
    ("generation", "driver", "cuda", "dtd", "gpus"),
    [
        ("340", "340.102", Missing.ABSENT, "nvsmi_device_v6.dtd", 1),
        ("none", "375.66", Missing.ABSENT, Missing.ABSENT, 1),
        ("510", "510.47.03", "11.6", "nvsmi_device_v11.dtd", 1),
        ("550", "570.124.06", "12.8", "nvsmi_device_v12.dtd", 2),
        ("610", "610.12", "13.4", "nvsmi_device_v13.dtd", 2),
    ],
)
def test_every_generation_is_read_without_an_issue(
    generation: str, driver: str, cuda: str | Missing, dtd: str | Missing, gpus: int
) -> None:
    snapshot = parse_smi_xml(build.GENERATIONS[generation])
    assert snapshot.driver_version == DriverVersion(driver)
    assert snapshot.cuda_driver_version == cuda
    assert snapshot.dtd == dtd
    assert snapshot.attached_gpus == len(snapshot.gpus) == len(snapshot.samples) == gpus
    assert snapshot.timestamp == "Mon Mar  2 09:00:00 2026"
    assert snapshot.nvml_version is Missing.ABSENT
    assert snapshot.issues == ()


@pytest.mark.parametrize("number", range(4, 14))
def test_the_dtd_is_a_fact_and_no_switch(number: int) -> None:
    name = f"nvsmi_device_v{number}.dtd"
    snapshot = parse_smi_xml(build.document(build.GPUS["610"], dtd=name))
    assert snapshot.dtd == name
    assert snapshot.gpus == parse_smi_xml(build.document(build.GPUS["610"])).gpus


def test_the_identity_of_a_gpu() -> None:
    old = parse_smi_xml(build.GENERATIONS["340"]).gpus[0]
    assert old.uuid == GpuUuid(build.uuid())
    assert old.pci_bus_id == PciBusId(0, 1, 0)
    assert old.pci_device_id == PciId(0x10DE, 0x0611)
    assert old.pci_sub_system_id == PciId(0x10DE, 0x18BE)
    assert (old.max_link_gen, old.max_link_width) == (5, 16)
    assert (old.gpu_index, old.minor_number) == (0, 0)
    assert old.product_name == "GeForce 8800 GT"
    assert old.serial is Missing.NOT_SUPPORTED
    assert old.product_architecture is Missing.ABSENT
    assert old.vbios_version == "62.92.16.00.04"
    assert old.persistence_mode is False
    assert old.layers == (Layer.NVIDIA_SMI,)
    assert not old.gpu_lost


def test_identity_fields_of_newer_drivers() -> None:
    gpu = build.gpu(
        product_architecture="Ada Lovelace",
        serial="0321014026924",
        vbios_version="95.02.3c.40.b4",
        gpu_part_number="900-2G133-A840-000",
        board_part_number="900-2G133-0000-000",
        gpu_fru_part_number="N/A",
        compute_mode="Exclusive_Process",
        gpu_virtualization_mode={"virtualization_mode": "Pass-Through", "host_vgpu_mode": "N/A"},
        addressing_mode="HMM",
        minor_number="N/A",
    )
    found = parse_smi_xml(build.document(gpu)).gpus[0]
    assert found.product_architecture == "Ada Lovelace"
    assert found.serial == "0321014026924"
    assert found.vbios_version == "95.02.3C.40.B4"
    assert (found.gpu_part_number, found.board_part_number) == ("900-2G133-A840-000", "900-2G133-0000-000")
    assert found.gpu_fru_part_number is Missing.NOT_SUPPORTED
    assert found.compute_mode == "Exclusive_Process"
    assert found.virtualization_mode == "Pass-Through"
    assert found.addressing_mode == "HMM"
    assert found.minor_number is Missing.NOT_SUPPORTED


def test_the_index_is_the_place_in_the_document() -> None:
    gpus = parse_smi_xml(build.document(build.gpu(9), build.gpu(3), build.gpu(5))).gpus
    assert [(gpu.gpu_index, gpu.uuid) for gpu in gpus] == [(0, build.uuid(9)), (1, build.uuid(3)), (2, build.uuid(5))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0000:04:00.0", "00000000:04:00.0"),
        ("00000000:F1:00.0", "00000000:F1:00.0"),
        ("00002DF7:00:00.0", "00002DF7:00:00.0"),
        ("2df7:00:1f.7", "00002DF7:00:1F.7"),
        ("03F8CFDD:00:00.0", "03F8CFDD:00:00.0"),
    ],
)
def test_an_address_has_one_form_and_keeps_its_domain(text: str, expected: str) -> None:
    snapshot = parse_smi_xml(build.document(build.gpu(**{"@id": text})))
    assert str(snapshot.gpus[0].pci_bus_id) == expected
    assert snapshot.samples[0].pci_bus_id == snapshot.gpus[0].pci_bus_id
    assert snapshot.issues == ()


@pytest.mark.parametrize(
    ("identifier", "element", "expected", "issues"),
    [
        ("00000000:17:00.0", None, PciBusId(0, 0x17, 0), []),
        (None, "00000000:17:00.0", PciBusId(0, 0x17, 0), []),
        ("00000000:17:00.0", "N/A", PciBusId(0, 0x17, 0), []),
        ("N/A", "00000000:17:00.0", PciBusId(0, 0x17, 0), []),
        ("no bus id", "00000000:17:00.0", PciBusId(0, 0x17, 0), [IssueKind.BAD_VALUE]),
        ("17:00.0", None, Missing.ERROR, [IssueKind.BAD_VALUE]),
        ("00000000:17:20.0", None, Missing.ERROR, [IssueKind.BAD_VALUE]),
        (None, None, Missing.ABSENT, []),
    ],
)
def test_an_address_may_stand_in_either_place(
    identifier: str | None, element: str | None, expected: PciBusId | Missing, issues: list[IssueKind]
) -> None:
    pci: build.Tree = {} if element is None else {"pci_bus_id": element}
    snapshot = parse_smi_xml(build.document(build.gpu(**{"@id": identifier}, pci=pci)))
    assert snapshot.gpus[0].pci_bus_id == expected
    assert kinds(snapshot) == issues


def test_a_bad_address_is_named() -> None:
    issue = parse_smi_xml(build.document(build.gpu(**{"@id": "17:00.0"}))).issues[0]
    assert (issue.place, issue.text, issue.uuid) == ("gpu[0]/@id", "17:00.0", build.uuid())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2B8510DE", PciId(0x10DE, 0x2B85)),
        ("0x2b8510de", PciId(0x10DE, 0x2B85)),
        ("N/A", Missing.NOT_SUPPORTED),
        ("[REDACTED]", Missing.ERROR),
        ("2B85", Missing.ERROR),
    ],
)
def test_pci_ids(text: str, expected: PciId | Missing) -> None:
    snapshot = parse_smi_xml(build.document(build.gpu(pci={"pci_device_id": text})))
    assert snapshot.gpus[0].pci_device_id == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("GPU-00000000-0000-0000-0000-000000000000", Missing.NOT_AVAILABLE),
        ("GPU-aaaaaaaa-bbbb-cccc-dddd", Missing.NOT_AVAILABLE),
        ("GPU-XXXXXXXX-XXXX-XXXX-XXXX-XXXXXXXXXXXX", Missing.NOT_AVAILABLE),
        ("GPU-????????-????-????-????-????????????", Missing.NOT_AVAILABLE),
        ("REDACTED", Missing.NOT_AVAILABLE),
        ("", Missing.NOT_AVAILABLE),
        ("x" * 5000, Missing.NOT_AVAILABLE),
        ("N/A", Missing.NOT_SUPPORTED),
        (None, Missing.ABSENT),
    ],
)
def test_a_gpu_without_a_uuid_stays_and_is_an_issue(text: str | None, reason: Missing) -> None:
    snapshot = parse_smi_xml(build.document(build.gpu(1, uuid=text), build.gpu(2)))
    assert snapshot.gpus[0].uuid is snapshot.samples[0].uuid is reason
    assert snapshot.gpus[1].uuid == build.uuid(2)
    assert kinds(snapshot) == [IssueKind.NO_UUID]
    assert snapshot.issues[0].place == "gpu[0]/uuid"
    assert snapshot.issues[0].pci_bus_id == build.bus_id()


def test_a_uuid_is_written_in_lower_case() -> None:
    gpu = parse_smi_xml(build.document(build.gpu(uuid=build.uuid(0xABC).upper()))).gpus[0]
    assert gpu.uuid == build.uuid(0xABC)


def test_two_gpus_with_one_uuid_both_stay() -> None:
    snapshot = parse_smi_xml(build.document(build.gpu(1), build.gpu(2, uuid=build.uuid(1).upper()), build.gpu(3)))
    assert [gpu.uuid for gpu in snapshot.gpus] == [build.uuid(1), build.uuid(1), build.uuid(3)]
    assert kinds(snapshot) == [IssueKind.DUPLICATE_UUID]
    assert (snapshot.issues[0].place, snapshot.issues[0].uuid) == ("gpu[1]/uuid", build.uuid(1))


@pytest.mark.parametrize("attached", ["4", "0", "2"])
def test_another_number_of_gpus_than_attached_is_an_issue(attached: str) -> None:
    snapshot = parse_smi_xml(build.document(build.gpu(), attached_gpus=attached))
    assert len(snapshot.gpus) == 1
    assert kinds(snapshot) == [IssueKind.COUNT_MISMATCH]
    assert (snapshot.issues[0].place, snapshot.issues[0].text) == ("attached_gpus", attached)


def test_a_document_that_does_not_count_its_gpus_has_no_mismatch() -> None:
    snapshot = parse_smi_xml(build.document(build.gpu(), attached_gpus=None))
    assert snapshot.attached_gpus is Missing.ABSENT
    assert snapshot.issues == ()


@pytest.mark.parametrize("document", [b"<nvidia_smi_log/>", b"<nvidia_smi_log></nvidia_smi_log>", build.document()])
def test_a_document_without_gpus_is_read(document: bytes) -> None:
    snapshot = parse_smi_xml(document)
    assert (snapshot.gpus, snapshot.samples, snapshot.issues) == ((), (), ())


def test_an_error_of_the_tool_is_an_issue() -> None:
    snapshot = parse_smi_xml(build.document(error_string="Driver/library version mismatch", attached_gpus=None))
    assert snapshot.gpus == ()
    assert kinds(snapshot) == [IssueKind.READ_ERROR]
    assert (snapshot.issues[0].place, snapshot.issues[0].text) == ("error_string", "Driver/library version mismatch")


def test_a_word_instead_of_the_whole_document_is_an_issue() -> None:
    snapshot = parse_smi_xml(b"<nvidia_smi_log>No devices were found</nvidia_smi_log>")
    assert snapshot.driver_version is snapshot.attached_gpus is Missing.ERROR
    assert kinds(snapshot) == [IssueKind.BAD_VALUE]
    assert snapshot.issues[0].text == "No devices were found"


@pytest.mark.parametrize(
    ("text", "expected", "issues"),
    [
        ("12.4", "12.4", []),
        ("Not Found", Missing.NOT_AVAILABLE, []),
        ("N/A", Missing.NOT_SUPPORTED, []),
        ("ERR!", Missing.ERROR, [IssueKind.READ_ERROR]),
        ("12", Missing.ERROR, [IssueKind.BAD_VALUE]),
        ("12.4.1", Missing.ERROR, [IssueKind.BAD_VALUE]),
    ],
)
def test_the_cuda_version(text: str, expected: str | Missing, issues: list[IssueKind]) -> None:
    snapshot = parse_smi_xml(build.document(build.gpu(), cuda_version=text))
    assert snapshot.cuda_driver_version == expected
    assert kinds(snapshot) == issues
    assert {issue.place for issue in snapshot.issues} <= {"cuda_version"}


@pytest.mark.parametrize("text", ["not a version", "550", "550.54.15-extra"])
def test_a_driver_version_of_another_form_is_an_issue(text: str) -> None:
    snapshot = parse_smi_xml(build.document(build.gpu(), driver_version=text))
    assert snapshot.driver_version is Missing.ERROR
    assert [(issue.kind, issue.place, issue.text) for issue in snapshot.issues] == [
        (IssueKind.BAD_VALUE, "driver_version", text)
    ]


def test_what_the_table_does_not_name_is_unread_once_and_sorted() -> None:
    new: build.Tree = {"deep": {"deeper": "1"}}
    gpu = build.gpu(
        zeta="1",
        alpha=new,
        pci={"pci_bus_id": build.bus_id(), "pci_serdes": "1", "pci_gpu_link_info": {"pcie_gen": {"new_gen": "7"}}},
        mig_devices={"mig_device": [{**build.mig_device(1, 0), "mig_new": "1"}], "mig_summary": "1"},
        processes={"process_info": [{**build.process(1, "C", "a"), "cgroup": "/"}], "process_count": "1"},
        ecc_errors={"volatile": {"hbm": "1", "single_bit": {"l3_cache": "0"}}},
        supported_clocks=build.clocks(1593),
    )
    snapshot = parse_smi_xml(build.document(gpu, {**gpu, "uuid": build.uuid(2)}, vgpu_driver_capability=new))
    assert snapshot.unread == (
        "gpu/alpha",
        "gpu/ecc_errors/volatile/hbm",
        "gpu/ecc_errors/volatile/single_bit/l3_cache",
        "gpu/mig_devices/mig_device/mig_new",
        "gpu/mig_devices/mig_summary",
        "gpu/pci/pci_gpu_link_info/pcie_gen/new_gen",
        "gpu/pci/pci_serdes",
        "gpu/processes/process_count",
        "gpu/processes/process_info/cgroup",
        "gpu/supported_clocks",
        "gpu/zeta",
        "vgpu_driver_capability",
    )
    assert snapshot.issues == ()


def test_what_a_driver_puts_below_a_value_of_ours_is_unread_too() -> None:
    snapshot = parse_smi_xml(build.document(build.gpu(fan_speed={"fan": ["41 %", "43 %"], "fan_count": "2"})))
    assert snapshot.samples[0].fan_speed_percent is Missing.NOT_AVAILABLE
    assert snapshot.unread == ("gpu/fan_speed/fan", "gpu/fan_speed/fan_count")


def test_a_gpu_inside_a_gpu_is_no_gpu() -> None:
    snapshot = parse_smi_xml(build.document(build.gpu(1, gpu=build.gpu(2))))
    assert [gpu.uuid for gpu in snapshot.gpus] == [build.uuid(1)]
    assert snapshot.unread == ("gpu/gpu",)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "2"], 1),
        (["N/A", "2"], Missing.NOT_SUPPORTED),
        (["2", "N/A"], 2),
        (["", "N/A"], Missing.NOT_AVAILABLE),
    ],
)
def test_of_an_element_that_stands_twice_the_first_counts(values: list[str], expected: int | Missing) -> None:
    snapshot = parse_smi_xml(build.document(build.gpu(minor_number=values)))
    assert snapshot.gpus[0].minor_number == expected
    assert snapshot.unread == ("gpu/minor_number",)


def test_of_a_list_that_stands_twice_the_first_counts() -> None:
    gpu = build.gpu(
        mig_devices=[{"mig_device": [build.mig_device(1, 0)]}, {"mig_device": [build.mig_device(2, 0)]}],
        processes=["N/A", {"process_info": [build.process(8, "C", "b")]}],
        clocks_throttle_reasons="N/A",
        clocks_event_reasons={"clocks_event_reason_gpu_idle": "Active"},
    )
    snapshot = parse_smi_xml(build.document(gpu))
    (instance,) = snapshot.gpus[0].mig_instances  # type: ignore[misc] # it has a value
    assert instance.gpu_instance_id == snapshot.samples[0].mig_samples[0].gpu_instance_id == 1
    assert snapshot.samples[0].processes is Missing.NOT_SUPPORTED
    assert snapshot.samples[0].clocks_event_reasons is Missing.NOT_SUPPORTED
    assert snapshot.unread == ("gpu/clocks_event_reasons", "gpu/mig_devices", "gpu/processes")


# What a process may call itself to be taken for something else.
FORGERIES = [
    ("<!--", "-->"),
    ("<![CDATA[", "]]>"),
    ("a & b <c>", "</nvidia_smi_log>"),
    ("</process_name><note>GPU is lost</note><process_name>", "<process_name>"),
    (
        "x</process_name></process_info></processes><ecc_errors><volatile><dram_uncorrectable>7</dram_uncorrectable>",
        '</process_name></process_info></processes></gpu><gpu id="00000000:09:00.0"><processes><process_info>',
    ),
    (
        "x</process_name></process_info></processes><gpu_recovery_action>Reset</gpu_recovery_action><processes>",
        "<process_info><process_name>y",
    ),
]


@pytest.mark.parametrize(("first", "second"), FORGERIES)
def test_a_process_name_is_a_name_whatever_it_says(first: str, second: str) -> None:
    """As the tool prints it: a line for each element, the name as it is."""
    gpus = "".join(
        f'\t<gpu id="00000000:0{number}:00.0">\n\t\t<uuid>{build.uuid(number)}</uuid>\n\t\t<processes>\n'
        f"\t\t\t<process_info>\n\t\t\t\t<process_name>{name}</process_name>\n\t\t\t</process_info>\n"
        "\t\t</processes>\n\t</gpu>\n"
        for number, name in ((1, first), (2, second))
    )
    snapshot = parse_smi_xml(f"<nvidia_smi_log>\n{gpus}</nvidia_smi_log>\n")
    assert [gpu.uuid for gpu in snapshot.gpus] == [build.uuid(1), build.uuid(2)]
    assert [gpu.gpu_lost for gpu in snapshot.gpus] == [False, False]
    assert snapshot.gpus[0].ecc_errors.volatile.uncorrected_total is Missing.ABSENT
    names = [process.process_name for sample in snapshot.samples for process in known_or(sample.processes, ())]
    assert names == [first, second]
    assert [issue.kind for issue in snapshot.issues] == [IssueKind.REPAIRED]
    assert snapshot.unread == ()


def test_more_gpus_than_any_host_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuinv.smi.query_xml.MAX_GPUS", 2)
    assert len(parse_smi_xml(build.document(build.gpu(1), build.gpu(2))).gpus) == 2
    with pytest.raises(ParseError, match="more than 2 GPUs"):
        parse_smi_xml(build.document(build.gpu(1), build.gpu(2), build.gpu(3)))


def test_another_document_is_refused() -> None:
    with pytest.raises(ParseError, match="no nvidia_smi_log document") as caught:
        parse_smi_xml(b"<?xml version='1.0'?><rss><channel/></rss>")
    assert caught.value.source == "nvidia-smi -q -x"
    assert caught.value.text.startswith("<?xml")


def test_bytes_and_text_read_alike() -> None:
    data = build.GENERATIONS["610"]
    assert parse_smi_xml(data) == parse_smi_xml(data.decode())

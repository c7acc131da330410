from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuinv.errors import ParseError
from gpuinv.ids import DeviceId, GpuUuid, MigUuid, PciBusId, PciId
from tests.property import strategies

HEX = "6b0d4c11-7e52-43aa-9f10-2a3b4c5d6e7f"
UUID = GpuUuid("GPU-" + HEX)
ZERO = "00000000-0000-0000-0000-000000000000"
NOT_UUIDS = [
    "",
    HEX[1:],
    HEX + "0",
    HEX.replace("-", ""),
    HEX.replace("6", "\N{ARABIC-INDIC DIGIT SIX}"),
    "x" + HEX[1:],
]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0000:01:00.0", PciBusId(0, 1, 0)),
        ("00000000:F1:00.0", PciBusId(0, 0xF1, 0)),
        ("0000:f1:1f.7", PciBusId(0, 0xF1, 0x1F, 7)),
        ("10000:01:00.0", PciBusId(0x10000, 1, 0)),
        ("00010000:01:00.0", PciBusId(0x10000, 1, 0)),
        ("c0d323:00:00.0", PciBusId(0xC0D323, 0, 0)),
        ("3f8cfdd:00:00.0", PciBusId(0x3F8CFDD, 0, 0)),
        ("03F8CFDD:00:00.0", PciBusId(0x3F8CFDD, 0, 0)),
        ("FFFFFFFF:FF:1F.7", PciBusId(0xFFFFFFFF, 0xFF, 0x1F, 7)),
        ("0000:04.00.0", PciBusId(0, 4, 0)),
        ("0000:04.1f", PciBusId(0, 4, 0x1F)),
        ("0000:00:05", PciBusId(0, 0, 5)),
        ("PCI:0000:00:05", PciBusId(0, 0, 5)),
        ("pci:0009:01:00.0", PciBusId(9, 1, 0)),
        (" \t0000:01:00.0\n", PciBusId(0, 1, 0)),
    ],
)
def test_every_spelling_of_an_address_is_read(text: str, address: PciBusId) -> None:
    for spelled in (text, text.upper(), text.lower()):
        assert PciBusId.parse(spelled) == address


@pytest.mark.parametrize("text", ["01:00.0", "01:00", "PCI:01:00.0", "f1.00.0"])
def test_a_missing_domain_is_never_taken_for_zero(text: str) -> None:
    with pytest.raises(ParseError, match="kmsg: a PCI bus id without its domain"):
        PciBusId.parse(text, source="kmsg")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "000:01:00.0",
        "000000000:01:00.0",
        "0000:1:00.0",
        "0000:001:00.0",
        "0000:01:0.0",
        "0000:01:00.8",
        "0000:01:00.",
        "0000:01:00.00",
        "0000:01:00:0",
        "0000.01:00.0",
        "0x0000:01:00.0",
        "0000:g1:00.0",
        "0000 :01:00.0",
        "0000:01:00.0 extra",
        "PCI:PCI:0000:01:00",
        "PCI 0000:01:00",
        "0000:01:00.\u0660",
        "\uff10000:01:00.0",
        "\u017f000:01:00.0",
        "-000:01:00.0",
        "0000:01:00.0\x00",
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ParseError, match="not a PCI bus id"):
        PciBusId.parse(text)


@pytest.mark.parametrize("device", ["20", "3f", "ff"])
def test_a_device_number_has_five_bits(device: str) -> None:
    with pytest.raises(ParseError, match="five bits"):
        PciBusId.parse(f"0000:01:{device}.0")


def test_an_address_is_spelled_as_each_source_does() -> None:
    address = PciBusId.parse("0000:f1:0a.1")
    assert (str(address), address.sysfs, address.kernel_log) == ("00000000:F1:0A.1", "0000:f1:0a.1", "0000:f1:0a")
    wide = PciBusId.parse("3f8cfdd:00:00.0")
    assert (str(wide), wide.sysfs, wide.kernel_log) == ("03F8CFDD:00:00.0", "3f8cfdd:00:00.0", "3f8cfdd:00:00")


def test_addresses_are_ordered_by_their_numbers() -> None:
    texts = ["0000:01:00.0", "0000:01:00.1", "0000:01:1f.0", "0000:02:00.0", "ffff:00:00.0", "10000:00:00.0"]
    assert sorted(map(PciBusId.parse, reversed(texts))) == [PciBusId.parse(text) for text in texts]


@pytest.mark.parametrize("numbers", [(-1, 0, 0, 0), (2**32, 0, 0, 0), (0, 256, 0, 0), (0, 0, 32, 0), (0, 0, 0, 8)])
def test_an_address_is_never_made_of_other_numbers(numbers: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="must be"):
        PciBusId(*numbers)


def test_a_truncated_address_is_matched_by_its_lower_sixteen_bits() -> None:
    address = PciBusId.parse("03f8cfdd:00:00.0")
    assert address.truncated == PciBusId.parse("cfdd:00:00.0")
    assert address.truncated == PciBusId.parse("0000cfdd:00:00.0")
    for other in ("cfdd:00:00.1", "cfdd:01:00.0", "cfde:00:00.0", "03f8cfdd:00:00.0"):
        assert address.truncated != PciBusId.parse(other)


@pytest.mark.property
@given(strategies.of(PciBusId))
def test_addresses_round_trip(address: PciBusId) -> None:
    assert PciBusId.parse(str(address)) == address
    assert PciBusId.parse(address.sysfs) == address
    assert PciBusId.parse("PCI:" + address.kernel_log) == PciBusId(address.domain, address.bus, address.device)


@pytest.mark.parametrize("text", [UUID, UUID.upper(), UUID.lower(), f"  {UUID}\n", f"gpu-{HEX.upper()}"])
def test_a_uuid_has_one_spelling(text: str) -> None:
    assert GpuUuid.parse(text) == UUID
    assert type(GpuUuid.parse(text)) is GpuUuid


@pytest.mark.parametrize("text", [*("GPU-" + hex_text for hex_text in NOT_UUIDS), HEX, "MIG-" + HEX, f"GPU-{HEX} x"])
def test_what_is_no_gpu_uuid(text: str) -> None:
    with pytest.raises(ParseError, match="not a GPU UUID"):
        GpuUuid.parse(text)


def test_the_all_zero_uuid_names_nothing() -> None:
    with pytest.raises(ParseError, match="names no GPU"):
        GpuUuid.parse("GPU-" + ZERO)
    for text in ("MIG-" + ZERO, f"MIG-GPU-{ZERO}/1/0"):
        with pytest.raises(ParseError):
            MigUuid.parse(text)
    assert GpuUuid.parse("GPU-" + ZERO[:-1] + "1")


def test_a_mig_uuid_of_the_new_form_says_nothing_of_its_place() -> None:
    uuid = MigUuid.parse(f" mig-{HEX.upper()} ")
    assert uuid == "MIG-" + HEX
    assert type(uuid) is MigUuid
    assert uuid.device_id is None


def test_a_mig_uuid_of_the_old_form_is_a_device_id() -> None:
    uuid = MigUuid.parse(f"mig-gpu-{HEX.upper()}/01/0")
    assert uuid == f"MIG-GPU-{HEX}/1/0"
    device = DeviceId(UUID, gpu_instance_id=1, compute_instance_id=0)
    assert uuid.device_id == device
    assert device.legacy_mig_uuid == uuid
    assert str(device) == f"{UUID}/gi1/ci0"


@pytest.mark.parametrize(
    "text",
    [
        *("MIG-" + hex_text for hex_text in NOT_UUIDS),
        f"MIG-{HEX}/1/0",
        f"MIG-GPU-{HEX}",
        f"MIG-GPU-{HEX}/1",
        f"MIG-GPU-{HEX}/1/0/0",
        f"MIG-GPU-{HEX}/-1/0",
        f"MIG-GPU-{HEX}/12345/0",
        f"MIG-GPU-{HEX}/\u0661/0",
        UUID,
    ],
)
def test_what_is_no_mig_uuid(text: str) -> None:
    with pytest.raises(ParseError, match="not a MIG UUID"):
        MigUuid.parse(text)


@pytest.mark.parametrize("text", [UUID, f"{UUID}/gi0/ci0", f"{UUID}/gi13/ci9999", f"{UUID}/s0", f"{UUID}/s47"])
def test_device_ids_round_trip(text: str) -> None:
    assert str(DeviceId.parse(text)) == text
    assert str(DeviceId.parse(f" {text} ")) == text


@pytest.mark.parametrize(
    "tail",
    ["/", "/gi1", "/ci1", "/gi1/ci", "/gi1/ci1/s0", "/s", "/s-1", "/s1/s2", "/gi\u0661/ci0", "/1/0", "/gi12345/ci0"],
)
def test_what_is_no_device_id(tail: str) -> None:
    with pytest.raises(ParseError, match="not a device id"):
        DeviceId.parse(UUID + tail)


@pytest.mark.parametrize("text", ["", "GPU-", "GPU-" + ZERO, "MIG-" + HEX, f"GPU-{HEX[1:]}/s0"])
def test_a_device_id_starts_with_a_gpu_uuid(text: str) -> None:
    with pytest.raises(ParseError):
        DeviceId.parse(text)


@pytest.mark.parametrize(
    ("gi", "ci", "slot"),
    [(1, None, None), (None, 1, None), (1, 1, 1), (-1, 0, None), (0, 10000, None), (None, None, -1)],
)
def test_a_device_is_one_of_three_things(gi: int | None, ci: int | None, slot: int | None) -> None:
    with pytest.raises(ParseError, match="a GPU, a MIG instance"):
        DeviceId(UUID, gpu_instance_id=gi, compute_instance_id=ci, slot=slot)


def test_only_a_mig_instance_had_a_name_with_its_place() -> None:
    for text in (UUID, f"{UUID}/s1"):
        with pytest.raises(ParseError, match="not a MIG instance"):
            _ = DeviceId.parse(text).legacy_mig_uuid


@pytest.mark.parametrize(
    "text", ["10de:2b85", "10DE:2B85", "0x10de:0x2b85", "2B8510DE", "0x2B8510DE", "\t0x2b8510de\n"]
)
def test_both_spellings_of_a_pair_of_pci_ids(text: str) -> None:
    assert PciId.parse(text) == PciId(vendor=0x10DE, device=0x2B85)
    assert str(PciId.parse(text)) == "10de:2b85"


@pytest.mark.parametrize(
    "text",
    ["", "10de", "10de:", "10de:2b8", "10de:2b850", "2B8510D", "2B8510DE0", "10de-2b85", "10de:2b8\u0665", "0x0x10de"],
)
def test_what_is_no_pair_of_pci_ids(text: str) -> None:
    with pytest.raises(ParseError, match="not a pair of PCI ids"):
        PciId.parse(text)


@pytest.mark.parametrize("numbers", [(-1, 0), (0, 0x10000)])
def test_a_pci_id_has_sixteen_bits(numbers: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="must be"):
        PciId(*numbers)
    assert [str(PciId(0, 0xFFFF)), str(PciId(0xFFFF, 0))] == ["0000:ffff", "ffff:0000"]
    assert PciId(1, 2) < PciId(1, 3) < PciId(2, 0)


@pytest.mark.parametrize(
    "value", [PciBusId(0, 1, 0), PciId(0x10DE, 1), UUID, MigUuid("MIG-" + HEX), DeviceId(UUID, slot=1)], ids=str
)
def test_ids_are_values(value: object) -> None:
    twins = (copy.deepcopy(value), pickle.loads(pickle.dumps(value)))  # noqa: S301 - our own bytes
    for twin in twins:
        assert twin == value
        assert type(twin) is type(value)
        assert hash(twin) == hash(value)


@pytest.mark.property
@pytest.mark.parametrize("cls", [PciBusId, GpuUuid, MigUuid, DeviceId, PciId])
@given(data=st.data())
def test_nothing_but_a_parse_error(cls: type[PciBusId], data: st.DataObject) -> None:
    text = data.draw(st.one_of(st.text(), st.from_regex(r"(PCI:|GPU-|MIG-)?[0-9a-fA-F:./-]{0,50}(/gi1/ci1)?")))
    try:
        parsed = cls.parse(text)
    except ParseError:
        return
    assert cls.parse(str(parsed)) == parsed

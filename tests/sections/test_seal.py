from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from gpuinv.errors import InvalidSection, UsageError
from gpuinv.ids import PciBusId
from gpuinv.inventory import (
    CpuSection,
    DisksSection,
    EccMode,
    Gpu,
    GpuSection,
    Layer,
    MemorySection,
    OpaqueSection,
    OsSection,
    Section,
)
from gpuinv.readings import Missing
from gpuinv.sections.seal import MAX_SECTION_BYTES, SealedSection, decoded_view, seal, verify


def verified(name: str, content: bytes) -> Section:
    return verify(name, content, hashlib.sha256(content).hexdigest())


def read(name: str, data: object) -> Section:
    return verified(name, json.dumps(data).encode())


def gpu_row(**row: object) -> Gpu:
    section = read("gpus", {"layers": [], "gpus": [{"gpu_index": 0, **row}]})
    assert isinstance(section, GpuSection)
    return section.gpus[0]


def test_a_seal_is_the_hash_of_the_canonical_bytes() -> None:
    sealed = seal(OsSection(hostname="n1"))
    assert sealed == SealedSection("os", b'{"hostname":"n1"}', hashlib.sha256(b'{"hostname":"n1"}').hexdigest())
    assert "hostname" not in repr(sealed)
    assert verify(sealed.name, sealed.content, sealed.sha256) == OsSection(hostname="n1")


@pytest.mark.parametrize("name", ["bmc", "tape_drives", ""])
def test_a_section_that_is_not_typed_keeps_its_bytes(name: str) -> None:
    sealed = seal(OpaqueSection(name, b"\xff\x00 no JSON"))
    assert verify(name, sealed.content, sealed.sha256) == OpaqueSection(name, b"\xff\x00 no JSON")


@pytest.mark.parametrize("name", ["gpus", "os"])
def test_opaque_bytes_cannot_stand_for_a_typed_section(name: str) -> None:
    with pytest.raises(UsageError, match="is typed"):
        seal(OpaqueSection(name, b"{}"))


def test_only_sections_are_sealed() -> None:
    stranger: Any = EccMode()
    with pytest.raises(UsageError, match="EccMode is no section"):
        seal(stranger)


def test_a_section_takes_a_mebibyte_at_most() -> None:
    fits = OpaqueSection("bmc", b"x" * MAX_SECTION_BYTES)
    assert verify("bmc", fits.content, seal(fits).sha256) == fits
    with pytest.raises(UsageError, match="1048577 bytes; 1048576 are allowed"):
        seal(OpaqueSection("bmc", fits.content + b"x"))
    with pytest.raises(InvalidSection, match="1048577 bytes"):
        verified("bmc", fits.content + b"x")


@pytest.mark.parametrize(
    "sha256",
    ["", "0" * 63, "0" * 65, "g" * 64, "A" * 64, "0" * 64 + "\n", " " + "0" * 64, "\u0660" * 64, "\x1b" * 10**6],
)
def test_a_hash_is_64_lower_case_digits(sha256: str) -> None:
    with pytest.raises(InvalidSection, match="the hash is not 64 lower-case hexadecimal digits") as caught:
        verify("os", b"{}", sha256)
    assert str(caught.value).isprintable()
    assert caught.value.code == "INVALID_INPUT"


def test_another_hash_is_refused_and_both_are_shown() -> None:
    actual = hashlib.sha256(b"{}").hexdigest()
    with pytest.raises(InvalidSection, match=f"hash to {actual}, not to {'0' * 64}"):
        verify("os", b"{}", "0" * 64)


def test_the_bytes_are_hashed_as_received() -> None:
    content = b' {"hostname" : "n\\u0031", "distribution": "debian"}\n'
    assert verified("os", content) == OsSection(hostname="n1", distribution="debian")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("os", b""),
        ("os", b"\xff"),
        ("os", b"\xef\xbb\xbf{}"),
        ("os", "{}".encode("utf-16")),
        ("os", b"{"),
        ("os", b"{} {}"),
        ("os", b"[]"),
        ("os", b"null"),
        ("os", b'"os"'),
        ("os", b'{"hostname":"a","hostname":"a"}'),
        ("os", b'{"new":{"x":1,"x":2}}'),
        ("os", b'{"new":NaN}'),
        ("os", b'{"new":[-Infinity]}'),
        ("os", b'{"hostname":"\\ud800"}'),
        ("os", b'{"hostname":"\xed\xa0\x80"}'),
        ("os", b'{"hostname":null}'),
        ("os", b'{"cgroup_version":"2"}'),
        ("os", b'{"cgroup_version":2.0}'),
        ("os", b'{"cgroup_version":true}'),
        ("os", b'{"cgroup_version":9007199254740992}'),
        ("os", b'{"cgroup_version":' + b"9" * 5000 + b"}"),
        ("os", b'{"kvm_available":1}'),
        ("os", b'{"kvm_available":"yes"}'),
        ("os", b'{"runtimes":{}}'),
        ("os", b'{"runtimes":[[]]}'),
        ("os", b'{"runtimes":[{}]}'),
        ("os", b"[" * 100_000),
        ("os", b'{"a":' * 100_000),
        ("cpu", b'{"flags":["a",1]}'),
        ("cpu", b'{"flags":"abc"}'),
        ("cpu", b'{"flags":[' + b"1," * 200_000 + b"1]}"),
        ("memory", b'{"total_bytes":1}'),
        ("memory", b'{"total_bytes":""}'),
        ("memory", b'{"total_bytes":"01"}'),
        ("memory", b'{"total_bytes":"-0"}'),
        ("memory", b'{"total_bytes":"-1"}'),
        ("memory", b'{"total_bytes":"+1"}'),
        ("memory", b'{"total_bytes":"1\\n"}'),
        ("memory", b'{"total_bytes":"1_0"}'),
        ("memory", '{"total_bytes":"\u0661"}'.encode()),
        ("memory", b'{"total_bytes":"18446744073709551616"}'),
        ("memory", b'{"total_bytes":"' + b"9" * 1_000_000 + b'"}'),
        ("gpus", b"{}"),
        ("gpus", b'{"layers":[]}'),
        ("gpus", b'{"layers":{},"gpus":[]}'),
        ("gpus", b'{"layers":[],"gpus":{}}'),
        ("gpus", b'{"layers":[],"gpus":[],"missing":[{"path":"layers","reason":"lost"}],"driver_version":"ERR!"}'),
        ("gpus", b'{"layers":[],"gpus":[{}]}'),
        ("gpus", b'{"layers":[],"gpus":[{"gpu_index":0,"uuid":"GPU-1"}]}'),
        ("gpus", b'{"layers":[],"gpus":[{"gpu_index":0,"pci_bus_id":"01:00.0"}]}'),
        ("gpus", b'{"layers":[],"gpus":[{"gpu_index":0,"pci_device_id":"10de"}]}'),
        ("gpus", b'{"layers":[],"gpus":[{"gpu_index":0,"ecc_mode":"on"}]}'),
        ("gpus", b'{"layers":[],"gpus":[{"gpu_index":0,"ecc_mode":[]}]}'),
        (
            "gpus",
            b'{"layers":[],"gpus":[{"gpu_index":0,"missing":[{"path":"gpu_index"}]},{"missing":[{"path":"gpu_index"}]}]}',
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value[:40]),
)
def test_bytes_that_are_no_section_are_refused_in_one_line(name: str, content: bytes) -> None:
    with pytest.raises(InvalidSection, match=f"section '{name}': does not decode") as caught:
        verified(name, content)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


def test_the_refusal_says_where() -> None:
    rows = [{"gpu_index": 0}, {"gpu_index": 1, "nvlinks": [{"link": 0}, {"link": "1"}]}]
    with pytest.raises(InvalidSection, match=r"expected an integer @ \$\.gpus\[1\]\.nvlinks\[1\]\.link"):
        read("gpus", {"layers": [], "gpus": rows})
    with pytest.raises(InvalidSection, match=r"a required field is missing @ \$\.gpus\[0\]\.gpu_index"):
        read("gpus", {"layers": [], "gpus": [{}]})


def test_what_a_newer_writer_adds_is_ignored() -> None:
    section = read(
        "gpus",
        {
            "layers": ["nvml", "procfs", {"a": 1}, None, "nvidia_smi"],
            "gpus": [{"gpu_index": 0, "layers": ["redfish"], "quantum_state": [1.5, None], "ecc_mode": {"new": 1}}],
            "warranty": {"until": 2040},
        },
    )
    assert section == GpuSection(layers=(Layer.NVIDIA_SMI, Layer.PROCFS), gpus=(Gpu(gpu_index=0),))


def test_a_reason_that_is_not_known_reads_as_an_error() -> None:
    gpu = gpu_row(
        missing=[{"path": "serial", "reason": "moved"}, {"path": "uuid"}, {"path": "minor_number", "reason": 3}]
    )
    assert gpu == Gpu(gpu_index=0, serial=Missing.ERROR, uuid=Missing.ERROR, minor_number=Missing.ERROR)


@pytest.mark.parametrize(
    "missing",
    [
        "lost",
        {"path": "serial", "reason": "lost"},
        [None, 3, [], {}, {"path": 1}, {"path": ["serial"]}, {"reason": "lost"}],
        [{"path": "", "reason": "lost"}, {"path": ".", "reason": "lost"}, {"path": "serial.", "reason": "lost"}],
        [{"path": "missing", "reason": "lost"}, {"path": "__class__", "reason": "lost"}],
        [
            {"path": "gpu_index", "reason": "lost"},
            {"path": "gpu_lost", "reason": "lost"},
            {"path": "layers", "reason": "lost"},
        ],
        [{"path": "ecc_mode", "reason": "lost"}, {"path": "ecc_mode.new", "reason": "lost"}],
        [{"path": "pci_bus_id.domain", "reason": "lost"}, {"path": "nvlinks.up", "reason": "lost"}],
        [{"path": "ecc_mode." * 10_000, "reason": "lost"}, {"path": "." * 10_000, "reason": "lost"}],
    ],
)
def test_a_reason_for_what_has_none_is_ignored(missing: object) -> None:
    assert gpu_row(missing=missing) == Gpu(gpu_index=0)


def test_a_value_wins_over_a_reason() -> None:
    gpu = gpu_row(
        serial="1650",
        ecc_mode={"current_ecc": True},
        missing=[
            {"path": "serial", "reason": "lost"},
            {"path": "ecc_mode.current_ecc", "reason": "lost"},
            {"path": "ecc_mode.pending_ecc", "reason": "no_permission"},
        ],
    )
    assert gpu == Gpu(gpu_index=0, serial="1650", ecc_mode=EccMode(current_ecc=True, pending_ecc=Missing.NO_PERMISSION))


def test_ids_of_another_spelling_are_read() -> None:
    gpu = gpu_row(uuid="gpu-3D9E0C55-1111-4C0F-8A00-000000000001", pci_bus_id="0000:f1:00.0")
    assert gpu.uuid == "GPU-3d9e0c55-1111-4c0f-8a00-000000000001"
    assert gpu.pci_bus_id == PciBusId(0, 0xF1, 0)


def test_the_widest_counter() -> None:
    assert read("memory", {"total_bytes": "18446744073709551615"}) == MemorySection(total_bytes=2**64 - 1)


def test_a_decoded_view_is_plain_data() -> None:
    section = MemorySection(total_bytes=2**64 - 1, dimms=Missing.NO_PERMISSION)
    assert decoded_view(seal(section)) == {
        "total_bytes": "18446744073709551615",
        "missing": [{"path": "dimms", "reason": "no_permission"}],
    }
    assert decoded_view(seal(OpaqueSection("bmc", b'{"a":[1]}'))) == {"a": [1]}
    with pytest.raises(InvalidSection, match="does not decode"):
        decoded_view(seal(OpaqueSection("bmc", b"\xff")))


def test_empty_sections() -> None:
    assert [read(name, {}) for name in ("cpu", "disks", "os")] == [CpuSection(), DisksSection(), OsSection()]

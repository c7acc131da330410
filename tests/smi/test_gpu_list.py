from __future__ import annotations

import pytest

from gpuinv.errors import IssueKind, ParseError
from gpuinv.ids import DeviceId, GpuUuid, MigUuid
from gpuinv.readings import Missing
from gpuinv.smi.gpu_list import ListedGpu, ListedMigDevice, SmiList, parse_smi_list

A = "GPU-5c1f2a30-91d4-4be7-8a6e-0d2f7c9b1e01"
B = "GPU-5c1f2a30-91d4-4be7-8a6e-0d2f7c9b1e02"
MIG_A = "MIG-7d2e3b40-a2e5-5cf8-9b7f-1e3a8d0c2f01"
MIG_B = "MIG-7d2e3b40-a2e5-5cf8-9b7f-1e3a8d0c2f02"


def kinds(found: SmiList) -> list[IssueKind]:
    return [issue.kind for issue in found.issues]


def test_gpus_and_their_mig_devices() -> None:
    found = parse_smi_list(
        f"GPU 0: NVIDIA H200 (UUID: {A})\n"
        f"  MIG 1c.3g.71gb  Device  0: (UUID: {MIG_A})\n"
        f"  MIG 1g.18gb+me  Device 11: (UUID: {MIG_B})\n"
        f"GPU 1: NVIDIA H200 (UUID: {B})\n"
    )
    assert found == SmiList(
        gpus=(
            ListedGpu(
                smi_index=0,
                product_name="NVIDIA H200",
                uuid=GpuUuid(A),
                mig_devices=(
                    ListedMigDevice(mig_device_index=0, mig_profile="1c.3g.71gb", mig_uuid=MigUuid(MIG_A)),
                    ListedMigDevice(mig_device_index=11, mig_profile="1g.18gb+me", mig_uuid=MigUuid(MIG_B)),
                ),
            ),
            ListedGpu(smi_index=1, product_name="NVIDIA H200", uuid=GpuUuid(B)),
        )
    )


def test_a_lost_gpu_leaves_the_others_with_their_own_indices() -> None:
    found = parse_smi_list(
        "Unable to determine the device handle for gpu 0000:3B:00.0: Unknown Error\n"
        f"GPU 1: TITAN X (Pascal) (UUID: {A})\n"
        "Unable to determine the device handle for GPU2: 0000:86:00.0: GPU is lost.  Reboot the system\n"
        f"GPU 3: NVIDIA A10 (UUID: {B})\n"
        f"  MIG 1g.5gb Device 0: (UUID: {MIG_A})\n"
    )
    assert [(gpu.smi_index, gpu.product_name) for gpu in found.gpus] == [(1, "TITAN X (Pascal)"), (3, "NVIDIA A10")]
    assert [(issue.kind, issue.pci_bus_id) for issue in found.issues] == [
        (IssueKind.READ_ERROR, "00000000:3B:00.0"),
        (IssueKind.GPU_LOST, "00000000:86:00.0"),
    ]
    assert "GPU is lost. Reboot the system" in found.issues[1].message


def test_the_old_mig_form_keeps_its_place_and_may_lack_a_profile() -> None:
    old = f"MIG-{A}/11/0"
    (gpu,) = parse_smi_list(f"GPU 0: Graphics Device (UUID: {A})\n  MIG Device 2: (UUID: {old})\n").gpus
    (device,) = gpu.mig_devices
    assert (device.mig_device_index, device.mig_profile, device.mig_uuid) == (2, Missing.ABSENT, old)
    assert isinstance(device.mig_uuid, MigUuid)
    assert device.mig_uuid.device_id == DeviceId(GpuUuid(A), gpu_instance_id=11, compute_instance_id=0)


@pytest.mark.parametrize(
    "profile", ["1g.5gb", "1c.2g.10gb", "1g.10gb+me", "1g.24gb+gfx", "2g.48gb+me.all", "1g.24gb-me"]
)
@pytest.mark.parametrize("indent", ["", "  ", "\t"])
def test_every_profile_at_every_indent(profile: str, indent: str) -> None:
    (gpu,) = parse_smi_list(f"GPU 0: X (UUID: {A})\n{indent}MIG {profile} Device 0: (UUID: {MIG_A})").gpus
    assert [device.mig_profile for device in gpu.mig_devices] == [profile]


@pytest.mark.parametrize(
    ("uuid", "reason"),
    [
        ("", Missing.NOT_AVAILABLE),
        ("GPU-0004", Missing.NOT_AVAILABLE),
        ("GPU-...", Missing.NOT_AVAILABLE),
        ("GPU-00000000-0000-0000-0000-000000000000", Missing.NOT_AVAILABLE),
        ("GPU-????????-????-????-????-????????????", Missing.NOT_AVAILABLE),
        ("GPU is lost", Missing.LOST),
        ("Insufficient Permissions", Missing.NO_PERMISSION),
    ],
)
def test_a_gpu_without_a_uuid_stays(uuid: str, reason: Missing) -> None:
    found = parse_smi_list(f"GPU 4: NVIDIA A10 (UUID: {uuid})")
    assert [(gpu.smi_index, gpu.uuid) for gpu in found.gpus] == [(4, reason)]
    assert kinds(found) == [IssueKind.NO_UUID]
    assert found.issues[0].uuid is None


@pytest.mark.parametrize(
    ("uuid", "reason"),
    [
        ("", Missing.NOT_AVAILABLE),
        ("MIG-aaaa", Missing.NOT_AVAILABLE),
        ("MIG-????????-????-????-????-????????????", Missing.NOT_AVAILABLE),
        ("MIG-00000000-0000-0000-0000-000000000000", Missing.NOT_AVAILABLE),
        ("MIG-GPU-00000000-0000-0000-0000-000000000000/1/0", Missing.NOT_AVAILABLE),
        ("N/A", Missing.NOT_SUPPORTED),
    ],
)
def test_a_mig_device_without_a_uuid_stays(uuid: str, reason: Missing) -> None:
    found = parse_smi_list(f"GPU 0: NVIDIA A30 (UUID: {A})\n  MIG 1g.6gb Device 1: (UUID: {uuid})")
    assert [device.mig_uuid for device in found.gpus[0].mig_devices] == [reason]
    assert [(issue.kind, issue.uuid, issue.place) for issue in found.issues] == [(IssueKind.NO_UUID, A, "line 2")]


def test_a_list_that_was_cut_keeps_its_last_gpu() -> None:
    found = parse_smi_list(f"GPU 0: NVIDIA A10 (UUID: {A})\nGPU 1: NVIDIA A10 (UUID: {B[:20]}")
    assert [gpu.uuid for gpu in found.gpus] == [A, Missing.NOT_AVAILABLE]
    assert kinds(found) == [IssueKind.NO_UUID]


def test_mig_lines_below_a_gpu_line_that_cannot_be_read_go_to_no_other_gpu() -> None:
    found = parse_smi_list(
        f"GPU 0: NVIDIA A30 (UUID: {A})\nGPU 1: NVIDIA A30\n  MIG 1g.6gb Device 0: (UUID: {MIG_A})\n"
    )
    assert [gpu.mig_devices for gpu in found.gpus] == [()]
    assert kinds(found) == [IssueKind.TEXT_AROUND, IssueKind.TEXT_AROUND]


def test_a_mig_line_before_any_gpu_is_an_issue() -> None:
    found = parse_smi_list(f"  MIG 1g.6gb Device 0: (UUID: {MIG_A})\nGPU 0: NVIDIA A30 (UUID: {A})\n")
    assert [gpu.mig_devices for gpu in found.gpus] == [()]
    assert [(issue.kind, issue.place) for issue in found.issues] == [(IssueKind.TEXT_AROUND, "line 1")]


def test_text_around_the_list_is_kept_as_issues() -> None:
    found = parse_smi_list(f"$ nvidia-smi -L\r\n\x1b[1mGPU 0: NVIDIA A10 (UUID: {A})\x1b[0m;\r\nbye\r\n")
    assert [gpu.uuid for gpu in found.gpus] == [A]
    assert [(issue.kind, issue.place, issue.uuid) for issue in found.issues] == [
        (IssueKind.TEXT_AROUND, "line 1", None),
        (IssueKind.TEXT_AROUND, "line 2", A),
        (IssueKind.TEXT_AROUND, "line 3", A),
    ]


def test_a_name_that_is_not_utf8_is_unknown_and_its_gpu_stays() -> None:
    found = parse_smi_list(
        f"GPU 0: \xf8\xf8 (UUID: {A})\n  MIG 1g.\xf8gb Device 0: (UUID: {MIG_A})\n".encode("latin-1")
    )
    assert [(gpu.product_name, gpu.uuid) for gpu in found.gpus] == [(Missing.ERROR, A)]
    assert [device.mig_profile for device in found.gpus[0].mig_devices] == [Missing.ERROR]
    assert kinds(found) == [IssueKind.BAD_CHARACTERS, IssueKind.BAD_CHARACTERS]


def test_two_lists_in_one_text_are_kept_and_noted() -> None:
    found = parse_smi_list(f"GPU 0: X (UUID: {A})\nGPU 0: X (UUID: {B})\nGPU 1: X (UUID: {B})\n")
    assert [(gpu.smi_index, gpu.uuid) for gpu in found.gpus] == [(0, A), (0, B), (1, B)]
    assert kinds(found) == [IssueKind.MORE_DOCUMENTS, IssueKind.DUPLICATE_UUID]


@pytest.mark.parametrize("text", ["No devices were found", b"No devices found.\n"])
def test_no_devices_is_an_empty_list(text: str | bytes) -> None:
    assert parse_smi_list(text) == SmiList()


def test_a_list_of_failures_alone_says_so() -> None:
    found = parse_smi_list("Unable to determine the device handle for GPU0000:25:00.0: Unknown Error\n")
    assert found.gpus == ()
    assert [issue.pci_bus_id for issue in found.issues] == ["00000000:25:00.0"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \r\n",
        "Failed to initialize NVML: Driver/library version mismatch\n",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        f"  MIG 1g.6gb Device 0: (UUID: {MIG_A})\n",
        "GPU 0: NVIDIA A10\n",
        b"\x7fELF\x00\xff",
    ],
)
def test_what_is_no_list_is_refused(text: str | bytes) -> None:
    with pytest.raises(ParseError, match="nvidia-smi -L") as caught:
        parse_smi_list(text)
    assert caught.value.source == "nvidia-smi -L"


def test_the_refusal_shows_what_the_tool_said() -> None:
    with pytest.raises(ParseError) as caught:
        parse_smi_list("\nFailed to initialize NVML: Unknown Error\n")
    assert str(caught.value) == (
        "nvidia-smi -L: line 2: no GPU in the answer: 'Failed to initialize NVML: Unknown Error'"
    )

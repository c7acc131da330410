from __future__ import annotations

import random
from typing import TYPE_CHECKING

import attrs
import pytest

from gpuinv.errors import Issue, IssueKind
from gpuinv.host.smi import _MIG_PARSERS, _PARSERS, read_smi
from gpuinv.ids import GpuUuid, MigUuid
from gpuinv.inventory import Gpu, Layer, MigInstance, MigMode, NvLink
from gpuinv.readings import Missing, Reading
from gpuinv.smi import queries
from gpuinv.smi.compute_cap import parse_compute_cap
from gpuinv.smi.gpu_list import parse_smi_list
from gpuinv.smi.join import join_compute_caps, join_list, mark_missing
from gpuinv.smi.queries import (
    COMPUTE_CAP,
    COMPUTE_INSTANCES,
    FULL,
    GPU_INSTANCES,
    LIST,
    MIG_PROFILES,
    NVLINK_REMOTE,
    NVLINK_STATUS,
    TOPOLOGY,
    Query,
)
from gpuinv.smi.records import SmiSnapshot
from tests.host.fakes import HOSTS, FakeSmi, captured

if TYPE_CHECKING:
    from pathlib import Path

HEX1, HEX2 = "3d9e0c55-1111-4c0f-8a00-000000000001", "3d9e0c55-1111-4c0f-8a00-000000000002"
U1, U2 = GpuUuid("GPU-" + HEX1), GpuUuid("GPU-" + HEX2)
M0, M1 = "MIG-5a0f4e1c-6b1d-5a7e-9f00-0000000000a0", "MIG-5a0f4e1c-6b1d-5a7e-9f00-0000000000a1"
LIST_OF_R535 = (
    f"GPU 0: NVIDIA H100 80GB HBM3 (UUID: {U1})\n"
    f"  MIG 3g.40gb     Device  0: (UUID: {M0})\n"
    f"  MIG 1c.3g.40gb  Device  1: (UUID: {M1})\n"
)


def snapshot(*instances: MigInstance, uuid: Reading[GpuUuid] = U1) -> SmiSnapshot:
    gpu = Gpu(gpu_index=0, layers=(Layer.NVIDIA_SMI,), uuid=uuid, mig_mode=MigMode(current_mig=True))
    return SmiSnapshot(gpus=(attrs.evolve(gpu, mig_instances=instances) if instances else gpu,))


def instance(gi: int, ci: int, index: Reading[int]) -> MigInstance:
    return MigInstance(gpu_instance_id=gi, compute_instance_id=ci, mig_device_index=index, fb_total_mib=40448)


def named(joined: SmiSnapshot) -> list[tuple[int, int, Reading[str], Reading[MigUuid]]]:
    (gpu,) = joined.gpus
    assert not isinstance(gpu.mig_instances, Missing)
    return [
        (each.gpu_instance_id, each.compute_instance_id, each.mig_profile, each.mig_uuid) for each in gpu.mig_instances
    ]


def messages(joined: SmiSnapshot) -> list[str]:
    assert all(issue.kind is IssueKind.LAYERS_DISAGREE for issue in joined.issues)
    return [issue.message for issue in joined.issues]


def test_a_mig_device_takes_its_uuid_and_profile_by_its_number() -> None:
    joined = join_list(snapshot(instance(2, 1, 1), instance(1, 0, 0)), parse_smi_list(LIST_OF_R535))
    assert named(joined) == [(2, 1, "1c.3g.40gb", M1), (1, 0, "3g.40gb", M0)]
    assert joined.issues == ()


def test_the_profile_is_never_computed_from_the_memory() -> None:
    """40448 MiB would round to another name than the driver's."""
    joined = join_list(snapshot(instance(1, 0, 7)), parse_smi_list(LIST_OF_R535))
    assert named(joined) == [(1, 0, Missing.NOT_AVAILABLE, Missing.NOT_AVAILABLE)]
    assert messages(joined) == ["the MIG devices listed here are not those of -q -x; their names are not trusted"]


@pytest.mark.parametrize("numbers", [(0,), (0, 1, 2), (0, 2), (Missing.ERROR, 1)])
def test_other_devices_than_those_of_the_xml_name_none(numbers: tuple[Reading[int], ...]) -> None:
    """The layout changed between the two queries, and the numbers moved with it."""
    instances = [instance(1, ci, number) for ci, number in enumerate(numbers)]
    joined = join_list(snapshot(*instances), parse_smi_list(LIST_OF_R535))
    assert {(profile, uuid) for _, _, profile, uuid in named(joined)} == {
        (Missing.NOT_AVAILABLE, Missing.NOT_AVAILABLE)
    }


def test_the_old_uuid_tells_where_the_device_lies() -> None:
    """Drivers before R460 have no MIG devices in their XML; the list is all there is."""
    text = f"GPU 0: A100-PCIE-40GB (UUID: {U1})\n" + "".join(
        f"  MIG {profile} Device {index}: (UUID: MIG-{U1.upper()}/{place})\n"
        for index, (profile, place) in enumerate([("1c.3g.20gb", "1/0"), ("1c.3g.20gb", "1/1"), ("2g.10gb", "5/0")])
    )
    joined = join_list(snapshot(), parse_smi_list(text))
    assert named(joined) == [
        (1, 0, "1c.3g.20gb", f"MIG-{U1}/1/0"),
        (1, 1, "1c.3g.20gb", f"MIG-{U1}/1/1"),
        (5, 0, "2g.10gb", f"MIG-{U1}/5/0"),
    ]
    assert joined.issues == ()
    assert join_list(joined, parse_smi_list(text)) == joined


def test_an_old_uuid_that_contradicts_the_instance_is_not_taken() -> None:
    for place in (f"{U1}/2/0", f"{U1}/1/1", f"{U2}/1/0"):
        text = f"GPU 0: A100-PCIE-40GB (UUID: {U1})\n  MIG 2g.10gb Device 0: (UUID: MIG-{place})\n"
        joined = join_list(snapshot(instance(1, 0, 0)), parse_smi_list(text))
        assert named(joined) == [(1, 0, Missing.ABSENT, Missing.ABSENT)]
        assert len(joined.issues) == 2
    joined = join_list(
        snapshot(instance(1, 0, 0)), parse_smi_list(f"GPU 0: A100 (UUID: {U1})\nMIG Device 0: (UUID: MIG-{U1}/1/0)")
    )
    assert named(joined) == [(1, 0, Missing.ABSENT, f"MIG-{U1}/1/0")]
    assert joined.issues == ()


def test_of_two_devices_with_one_number_the_first_is_taken() -> None:
    devices = "".join(f"  MIG 2g.10gb Device 0: (UUID: {uuid})\n" for uuid in (f"MIG-{U1}/3/0", M0))
    text = f"GPU 0: A100 (UUID: {U1})\n{devices}"
    made = join_list(snapshot(), parse_smi_list(text))
    given = join_list(snapshot(instance(3, 0, 0)), parse_smi_list(text))
    for joined in (made, given, join_list(attrs.evolve(made, issues=()), parse_smi_list(text))):
        assert named(joined) == [(3, 0, "2g.10gb", f"MIG-{U1}/3/0")]
        assert messages(joined) == ["1 MIG device(s) are listed here and not by -q -x"]


def test_a_new_uuid_alone_makes_no_instance() -> None:
    joined = join_list(snapshot(), parse_smi_list(LIST_OF_R535))
    assert joined.gpus == snapshot().gpus
    assert messages(joined) == ["2 MIG device(s) are listed here and not by -q -x"]


def test_an_instance_that_the_list_lacks_is_an_issue() -> None:
    joined = join_list(snapshot(instance(1, 0, 0)), parse_smi_list(f"GPU 0: NVIDIA H100 (UUID: {U1})"))
    assert named(joined) == [(1, 0, Missing.ABSENT, Missing.ABSENT)]
    assert messages(joined) == ["the MIG device in gi 1, ci 0 is not listed"]
    assert joined.issues[0].uuid == U1


def test_a_gpu_that_one_of_the_two_lacks_is_an_issue() -> None:
    joined = join_list(snapshot(), parse_smi_list(f"GPU 4: NVIDIA H100 (UUID: {U2})"))
    assert [(issue.message, issue.uuid) for issue in joined.issues] == [
        ("GPU 0 of -q -x is not listed", U1),
        ("GPU 4 is listed here and not by -q -x", U2),
    ]
    assert joined.gpus == snapshot().gpus


def test_a_gpu_without_a_uuid_is_left_alone() -> None:
    nameless = snapshot(instance(1, 0, 0), uuid=Missing.NOT_AVAILABLE)
    text = LIST_OF_R535.replace(U1, "GPU-????????-????-????-????-????????????")
    listed = parse_smi_list(text)
    joined = join_list(nameless, listed)
    assert joined.gpus == nameless.gpus
    assert joined.issues == listed.issues


def test_issues_of_the_list_are_kept() -> None:
    trouble = "Unable to determine the device handle for GPU1: 0000:5F:00.0: GPU is lost."
    joined = join_list(snapshot(), parse_smi_list(f"GPU 0: NVIDIA H100 (UUID: {U1})\n{trouble}\n"))
    assert [issue.kind for issue in joined.issues] == [IssueKind.GPU_LOST]


def test_compute_capabilities_are_joined_by_uuid() -> None:
    earlier = Issue(kind=IssueKind.REPAIRED, source="nvidia-smi -q -x", message="…")
    uuids: list[Reading[GpuUuid]] = [U1, Missing.LOST, U2]
    gpus = tuple(Gpu(gpu_index=index, uuid=uuid, compute_capability="1.0") for index, uuid in enumerate(uuids))
    caps = parse_compute_cap(f"{U2}, 9.0\nGPU-{HEX1[:-1]}9, 7.5\n{U1}, [N/A]\nnone, 8.0\n")
    joined = join_compute_caps(SmiSnapshot(gpus=gpus, issues=(earlier,)), caps)
    assert [gpu.compute_capability for gpu in joined.gpus] == [Missing.NOT_SUPPORTED, "1.0", "9.0"]
    assert [issue.kind for issue in joined.issues] == [IssueKind.REPAIRED, IssueKind.NO_UUID]


# Why the fields of a query that failed are missing

EVERY_FIELD = {
    LIST: {"mig_uuid", "mig_profile"},
    COMPUTE_CAP: {"compute_capability"},
    TOPOLOGY: {"topology", "gpu_numa_id"},
    NVLINK_STATUS: {"up"},
    NVLINK_REMOTE: {"peer", "remote_link"},
    MIG_PROFILES: {"mig_profiles"},
    GPU_INSTANCES: {"gpu_instances"},
    COMPUTE_INSTANCES: {"compute_instance_profile_id", "placement_start", "placement_size"},
}


def with_rows(gpu: Gpu) -> SmiSnapshot:
    device = MigInstance(gpu_instance_id=1, compute_instance_id=0)
    return SmiSnapshot(gpus=(attrs.evolve(gpu, mig_instances=(device,), nvlinks=(NvLink(link=0),)),))


def marked(before: Gpu | MigInstance | NvLink, after: Gpu | MigInstance | NvLink, reason: Missing) -> set[str]:
    """The names of the fields that changed; each has the reason in place of nothing."""
    names = [name for name in attrs.fields_dict(type(before)) if name not in {"mig_instances", "nvlinks"}]
    changed = {name for name in names if getattr(before, name) != getattr(after, name)}
    for name in changed:
        assert getattr(before, name) is Missing.ABSENT
        # every driver knows -L: where it is refused, the names of MIG devices are there and could not be had
        refused = name in {"mig_uuid", "mig_profile"} and reason is Missing.NOT_SUPPORTED
        assert getattr(after, name) is (Missing.NOT_AVAILABLE if refused else reason)
    return changed


def test_every_optional_query_of_a_snapshot_has_its_fields_and_every_other_query_none() -> None:
    assert {*_PARSERS, *_MIG_PARSERS} == set(EVERY_FIELD)
    everything = {query for query in vars(queries).values() if isinstance(query, Query)}
    whole = with_rows(Gpu(gpu_index=0, mig_mode=MigMode(current_mig=True)))
    changing = {query for query in everything if mark_missing(whole, query, Missing.ERROR) != whole}
    assert changing == set(EVERY_FIELD)


@pytest.mark.parametrize("query", EVERY_FIELD, ids=lambda query: query.source)
@pytest.mark.parametrize("reason", [Missing.ERROR, Missing.NO_PERMISSION, Missing.NOT_SUPPORTED])
def test_the_fields_of_a_query_that_failed_have_a_reason(query: Query, reason: Missing) -> None:
    whole = with_rows(Gpu(gpu_index=0, mig_mode=MigMode(current_mig=True)))
    after = mark_missing(whole, query, reason)
    changed = set()
    for old, new in zip(whole.gpus, after.gpus, strict=True):
        changed |= marked(old, new, reason)
        for name in ("mig_instances", "nvlinks"):
            for rows in zip(getattr(old, name), getattr(new, name), strict=True):
                changed |= marked(*rows, reason)
    assert changed == EVERY_FIELD[query]
    assert mark_missing(after, query, reason) == after
    assert mark_missing(after, query, Missing.LOST) == after


@pytest.mark.parametrize("query", EVERY_FIELD, ids=lambda query: query.source)
def test_what_is_known_and_what_has_a_reason_stays(query: Query) -> None:
    for value in (Missing.NOT_SUPPORTED, Missing.HIDDEN_BY_MIG, ()):
        gpu = Gpu(
            gpu_index=0,
            mig_mode=MigMode(current_mig=True),
            gpu_numa_id=1,
            compute_capability="9.0",
            topology=value,
            nvlinks=value,
            mig_profiles=value,
            mig_instances=value,
            gpu_instances=value,
        )
        assert mark_missing(SmiSnapshot(gpus=(gpu,)), query, Missing.ERROR).gpus == (gpu,)


@pytest.mark.parametrize("current", [False, Missing.NOT_SUPPORTED, Missing.ABSENT, Missing.ERROR])
@pytest.mark.parametrize("query", [LIST, GPU_INSTANCES, COMPUTE_INSTANCES])
def test_a_gpu_that_is_not_in_mig_mode_has_nothing_of_the_listings(query: Query, current: Reading[bool]) -> None:
    gpu = Gpu(gpu_index=0, mig_mode=MigMode(current_mig=current))
    assert mark_missing(SmiSnapshot(gpus=(gpu,)), query, Missing.ERROR).gpus == (gpu,)


def test_where_only_the_list_knows_the_mig_devices_its_failure_is_theirs() -> None:
    """Before R460 the XML has none."""
    (gpu,) = mark_missing(snapshot(), LIST, Missing.ERROR).gpus
    assert gpu.mig_instances is Missing.ERROR


@pytest.mark.parametrize("host", HOSTS)
def test_the_order_of_the_gpus_in_the_document_makes_no_difference(fixtures_dir: Path, host: str) -> None:
    """Nor does that of the blocks in the answers that name their GPU by its UUID."""
    answers = captured(fixtures_dir, host)
    whole, _ = read_smi(FakeSmi(answers))
    head, *gpus = answers[FULL].stdout.decode().split("<gpu id=")
    last, tail = gpus[-1].rsplit("</gpu>", 1)
    gpus[-1] = f"{last}</gpu>"
    blocks = {query: answers[query].stdout.decode().split("GPU ")[1:] for query in (LIST, NVLINK_STATUS, NVLINK_REMOTE)}
    rows = answers[COMPUTE_CAP].stdout.decode().splitlines(keepends=True)
    for seed in range(3):
        chance = random.Random(seed)  # noqa: S311 - an order
        for each in (gpus, rows, *blocks.values()):
            chance.shuffle(each)
        texts = {query: "".join(f"GPU {block}" for block in each) for query, each in blocks.items()}
        texts |= {FULL: "<gpu id=".join([head, *gpus]) + tail, COMPUTE_CAP: "".join(rows)}
        changed = {query: attrs.evolve(answers[query], stdout=text.encode()) for query, text in texts.items()}
        shuffled, _ = read_smi(FakeSmi({**answers, **changed}))
        found = {gpu.uuid: attrs.evolve(gpu, gpu_index=0) for gpu in shuffled.gpus}
        assert found == {gpu.uuid: attrs.evolve(gpu, gpu_index=0) for gpu in whole.gpus}
        assert shuffled.issues == whole.issues

from __future__ import annotations

import attrs
import pytest

from gpuinv.errors import Issue, IssueKind
from gpuinv.ids import GpuUuid, MigUuid
from gpuinv.inventory import Gpu, GpuInstance, Layer, MigInstance, MigMode, MigProfile
from gpuinv.readings import Missing, Reading
from gpuinv.smi.gpu_list import parse_smi_list
from gpuinv.smi.join import join_list
from gpuinv.smi.join_mig import join_compute_instances, join_gpu_instances, join_mig_profiles
from gpuinv.smi.mig_listings import ComputeInstances, GpuInstances, MigProfiles, MigState
from gpuinv.smi.mig_tables import parse_compute_instances, parse_gpu_instances, parse_mig_profiles
from gpuinv.smi.records import SmiSnapshot
from tests.smi.mig_boxes import lci, lgi, lgip

UUIDS = [GpuUuid(f"GPU-8a41c7d2-5b0e-4f6a-9c13-00000000000{digit}") for digit in range(4)]
BY_INDEX = dict(enumerate(UUIDS))
MIG_UUID = MigUuid("MIG-2f6b9d10-7c44-5e21-8d00-0000000000b1")
LOST = "Unable to determine the device handle for GPU3: 0000:5F:00.0: GPU is lost.  Reboot the system\n"
P5, P10 = "MIG 1g.5gb 19 6/7 4.75 No 14 0 0 / 1 0 0", "MIG 2g.10gb 14 2/3 9.62 No 28 1 0 / 2 0 0"


def gpu(index: int, *devices: MigInstance, mig: Reading[bool] = True) -> Gpu:
    found = Gpu(gpu_index=index, layers=(Layer.NVIDIA_SMI,), uuid=UUIDS[index], mig_mode=MigMode(current_mig=mig))
    return attrs.evolve(found, mig_instances=devices) if devices else found


def device(gi: int, ci: int = 0, profile: Reading[str] = "1c.3g.40gb") -> MigInstance:
    return MigInstance(
        gpu_instance_id=gi, compute_instance_id=ci, mig_uuid=MIG_UUID, mig_profile=profile, fb_total_mib=40192
    )


def snapshot(*gpus: Gpu) -> SmiSnapshot:
    return SmiSnapshot(gpus=gpus)


def names(found: Gpu) -> Reading[list[tuple[int, str]]]:
    profiles = found.mig_profiles
    return profiles if isinstance(profiles, Missing) else [(each.mig_profile_id, each.mig_profile) for each in profiles]


def instance_ids(found: Gpu) -> Reading[list[int]]:
    instances = found.gpu_instances
    return instances if isinstance(instances, Missing) else [each.gpu_instance_id for each in instances]


def devices(found: Gpu) -> list[MigInstance]:
    assert not isinstance(found.mig_instances, Missing)
    return list(found.mig_instances)


def messages(found: SmiSnapshot) -> list[tuple[str, str | None]]:
    assert {issue.kind for issue in found.issues} <= {IssueKind.LAYERS_DISAGREE}
    return [(issue.message, issue.uuid) for issue in found.issues]


# --- profiles


def test_profiles_are_sorted_and_without_free_counts() -> None:
    before = snapshot(gpu(0), gpu(1, mig=False))
    text = lgip(f"1 {P5}", f"0 {P5}", f"0 {P10}")
    joined = join_mig_profiles(before, parse_mig_profiles(text), BY_INDEX)
    assert [names(each) for each in joined.gpus] == [[(14, "2g.10gb"), (19, "1g.5gb")], [(19, "1g.5gb")]]
    assert joined.issues == ()
    used = parse_mig_profiles(text.replace("6/7", "0/7"))
    assert join_mig_profiles(before, used, BY_INDEX) == joined


def test_gpus_of_one_product_keep_their_own_profiles() -> None:
    text = lgip("0 MIG 1g.23gb 19 7/7 22.00 No 18 1 0 / 1 1 0", "1 MIG 1g.24gb 19 7/7 20.00 No 18 1 0 / 1 1 0")
    joined = join_mig_profiles(snapshot(gpu(0), gpu(1)), parse_mig_profiles(text), BY_INDEX)
    assert [each.mig_profiles for each in joined.gpus] == [
        (attrs.evolve(parse_mig_profiles(text).profiles[index].profile, mig_profile=name, memory_mib=mib),)
        for index, (name, mib) in enumerate([("1g.23gb", 22528), ("1g.24gb", 20480)])
    ]


@pytest.mark.parametrize("mode", [True, False, Missing.NOT_SUPPORTED, Missing.ABSENT, Missing.LOST])
def test_where_no_gpu_can_do_mig_none_is_missing(mode: Reading[bool]) -> None:
    incapable = MigProfiles(state=MigState.INCAPABLE)
    joined = join_mig_profiles(snapshot(gpu(0, mig=mode), gpu(1, mig=mode)), incapable, BY_INDEX)
    assert [each.mig_profiles for each in joined.gpus] == [Missing.NOT_SUPPORTED] * 2
    assert joined.issues == ()


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        (True, Missing.NOT_AVAILABLE),
        (False, Missing.NOT_AVAILABLE),
        (Missing.ERROR, Missing.NOT_AVAILABLE),
        (Missing.LOST, Missing.NOT_AVAILABLE),
        (Missing.NOT_SUPPORTED, Missing.NOT_SUPPORTED),
        (Missing.ABSENT, Missing.NOT_SUPPORTED),
    ],
)
def test_a_gpu_that_lists_no_profiles(mode: Reading[bool], reason: Missing) -> None:
    for profiles in (
        MigProfiles(state=MigState.OFF),
        MigProfiles(state=MigState.EMPTY),
        MigProfiles(state=MigState.INCAPABLE, complete=False),
        parse_mig_profiles(lgip(f"0 {P5}")),
    ):
        joined = join_mig_profiles(snapshot(gpu(0), gpu(1, mig=mode)), profiles, BY_INDEX)
        assert joined.gpus[1].mig_profiles is reason


def test_the_last_gpu_of_a_cut_list_has_no_profiles() -> None:
    text = lgip(f"0 {P5}", f"1 {P5}") + "Failed to display GPU instance profiles: Unknown Error\n"
    joined = join_mig_profiles(snapshot(gpu(0), gpu(1)), parse_mig_profiles(text), BY_INDEX)
    assert [names(each) for each in joined.gpus] == [[(19, "1g.5gb")], Missing.NOT_AVAILABLE]
    assert [issue.kind for issue in joined.issues] == [IssueKind.READ_ERROR]


def test_an_index_that_is_no_gpu_of_ours_is_an_issue() -> None:
    text = lgip(f"3 {P5}", f"7 {P10}", f"7 {P5}", f"0 {P5}")
    joined = join_mig_profiles(snapshot(gpu(0)), parse_mig_profiles(text), BY_INDEX)
    assert names(joined.gpus[0]) == [(19, "1g.5gb")]
    assert messages(joined) == [
        ("GPU 3 is listed here and not by -q -x", UUIDS[3]),
        ("GPU 7 is listed here, and its UUID is not known", None),
    ]
    assert {issue.source for issue in joined.issues} == {"nvidia-smi mig -lgip"}


def test_the_index_of_the_tool_is_not_ours() -> None:
    """A GPU that cannot be opened leaves a gap in the one and not in the other."""
    joined = join_mig_profiles(snapshot(gpu(0)), parse_mig_profiles(lgip(f"5 {P5}")), {5: UUIDS[0]})
    assert names(joined.gpus[0]) == [(19, "1g.5gb")]


# --- GPU instances


def test_gpu_instances_are_sorted_by_id() -> None:
    text = lgi("0 MIG 1g.10gb 19 9 2:1", "0 MIG 3g.40gb 9 2 4:4")
    joined = join_gpu_instances(snapshot(gpu(0)), parse_gpu_instances(text), BY_INDEX)
    assert joined.gpus[0].gpu_instances == (
        GpuInstance(gpu_instance_id=2, mig_profile_id=9, mig_profile="3g.40gb", placement_start=4, placement_size=4),
        GpuInstance(gpu_instance_id=9, mig_profile_id=19, mig_profile="1g.10gb", placement_start=2, placement_size=1),
    )


def test_a_gpu_instance_without_compute_instances_is_seen_here_alone() -> None:
    before = snapshot(attrs.evolve(gpu(0), mig_instances=()), gpu(1, device(5)))
    text = lgi("0 MIG 1g.5gb 19 7 0:1", "1 MIG 3g.20gb 9 1 4:4", "1 MIG 2g.10gb 14 5 0:2")
    joined = join_gpu_instances(before, parse_gpu_instances(text), BY_INDEX)
    assert [instance_ids(each) for each in joined.gpus] == [[7], [1, 5]]
    assert [len(devices(each)) for each in joined.gpus] == [0, 1]
    assert joined.issues == ()


@pytest.mark.parametrize("text", ["No GPU instances found: Not Found", lgi("3 MIG 1g.5gb 19 7 0:1")])
def test_mig_on_and_nothing_listed_is_an_empty_list(text: str) -> None:
    before = snapshot(gpu(0), gpu(1, mig=False), gpu(2, mig=Missing.NOT_SUPPORTED), gpu(3))
    joined = join_gpu_instances(before, parse_gpu_instances(text), BY_INDEX)
    assert [instance_ids(each) for each in joined.gpus[:3]] == [[], Missing.ABSENT, Missing.ABSENT]


@pytest.mark.parametrize(("current", "pending"), [(True, False), (True, True), (False, True)])
def test_the_mode_in_force_counts_and_both_stay(*, current: bool, pending: bool) -> None:
    mode = MigMode(current_mig=current, pending_mig=pending)
    before = snapshot(attrs.evolve(gpu(0, mig=current), mig_mode=mode))
    joined = join_gpu_instances(before, GpuInstances(state=MigState.EMPTY), BY_INDEX)
    assert joined.gpus[0].mig_mode == mode
    assert instance_ids(joined.gpus[0]) == ([] if current else Missing.ABSENT)


@pytest.mark.parametrize(
    "instances",
    [
        parse_gpu_instances(LOST + lgi("1 MIG 1g.5gb 19 7 0:1")),
        parse_gpu_instances(LOST + "No GPU instances found: Not Found"),
        parse_gpu_instances(lgi("0 MIG 1g.5gb 19 7 0:1") + "Failed to display GPU instances: Unknown Error"),
        parse_gpu_instances(lgi("1 MIG 1g.5gb 19 7 0:1") + lgi("0 MIG 1g.5gb 19 7 0:1")),
    ],
)
def test_a_list_that_is_not_whole_never_says_that_there_are_none(instances: GpuInstances) -> None:
    joined = join_gpu_instances(snapshot(gpu(0), gpu(1)), instances, BY_INDEX)
    assert joined.gpus[0].gpu_instances is Missing.NOT_AVAILABLE
    assert joined.issues == instances.issues


def test_a_gpu_without_an_index_or_a_uuid_is_not_said_to_have_none() -> None:
    nameless = attrs.evolve(gpu(1), uuid=Missing.NOT_AVAILABLE)
    joined = join_gpu_instances(snapshot(gpu(0), nameless), GpuInstances(state=MigState.EMPTY), {5: UUIDS[2]})
    assert [each.gpu_instances for each in joined.gpus] == [Missing.NOT_AVAILABLE] * 2


@pytest.mark.parametrize("state", [MigState.OFF, MigState.INCAPABLE])
def test_mig_on_and_a_tool_that_denies_it_disagree(state: MigState) -> None:
    before = snapshot(gpu(0), gpu(1, mig=False), attrs.evolve(gpu(2), uuid=Missing.NOT_AVAILABLE))
    joined = join_gpu_instances(before, GpuInstances(state=state), BY_INDEX)
    assert [each.gpu_instances for each in joined.gpus] == [
        Missing.NOT_AVAILABLE,
        Missing.ABSENT,
        Missing.NOT_AVAILABLE,
    ]
    message = "MIG is on, and the tool lists no GPU with MIG on"
    assert messages(joined) == [(message, UUIDS[0]), (message, None)]


def test_what_is_listed_is_a_fact_whatever_the_mode() -> None:
    before = snapshot(gpu(0, mig=Missing.ERROR))
    joined = join_gpu_instances(before, parse_gpu_instances(lgi("0 MIG 1g.5gb 19 7 0:1")), BY_INDEX)
    assert instance_ids(joined.gpus[0]) == [7]


# --- compute instances


def test_a_device_gets_its_profile_id_and_placement_and_keeps_its_name() -> None:
    before = snapshot(gpu(0, device(1, 0), device(1, 1, Missing.ABSENT), device(2, 0, "3g.40gb")))
    text = lci("0 2 MIG 3g.40gb 2 0 0:3", "0 1 MIG 3g.40gb+me 0 1 1:1", "0 1 MIG 2c.3g.40gb 0 0 0:1")
    joined = join_compute_instances(before, parse_compute_instances(text), BY_INDEX)
    assert devices(joined.gpus[0]) == [
        attrs.evolve(each, compute_instance_profile_id=profile, placement_start=start, placement_size=size)
        for each, (profile, start, size) in zip(devices(before.gpus[0]), [(0, 0, 1), (0, 1, 1), (2, 0, 3)], strict=True)
    ]
    assert joined.issues == ()


def test_an_old_driver_gives_the_profile_id_alone() -> None:
    """Its XML has MIG devices without UUIDs, and the product's name lacks the maker's."""
    old = attrs.evolve(device(7, 0, Missing.ABSENT), mig_uuid=Missing.ABSENT)
    before = snapshot(attrs.evolve(gpu(0, old), product_name="A100-PCIE-40GB"))
    joined = join_compute_instances(before, parse_compute_instances(lci("0 7 MIG 1g.5gb 0 0")), BY_INDEX)
    assert devices(joined.gpus[0]) == [attrs.evolve(old, compute_instance_profile_id=0)]


def test_both_forms_of_uuid_stay_as_they_are() -> None:
    uuids = [MIG_UUID, MigUuid(f"MIG-{UUIDS[0]}/2/0")]
    both = [attrs.evolve(device(gi), mig_uuid=uuid) for gi, uuid in zip((1, 2), uuids, strict=True)]
    text = lci("0 1 MIG 3g.40gb 0 0 0:1", "0 2 MIG 1g.5gb 0 0 0:1")
    joined = join_compute_instances(snapshot(gpu(0, *both)), parse_compute_instances(text), BY_INDEX)
    assert [each.mig_uuid for each in devices(joined.gpus[0])] == uuids


def test_every_device_below_a_gpu_line_is_completed() -> None:
    lines = "".join(
        f"  MIG 1g.5gb Device {index}: (UUID: MIG-2f6b9d10-7c44-5e21-8d00-00000000000{index})\n" for index in range(7)
    )
    bare = [MigInstance(gpu_instance_id=7 + index, compute_instance_id=0, mig_device_index=index) for index in range(7)]
    listed = join_list(
        snapshot(gpu(0, *bare)), parse_smi_list(f"GPU 0: NVIDIA A100-SXM4-40GB (UUID: {UUIDS[0]})\n{lines}")
    )
    rows = [f"0 {7 + index} MIG 1g.5gb 0 0 0:1" for index in range(7)]
    joined = join_compute_instances(listed, parse_compute_instances(lci(*rows)), BY_INDEX)
    assert [(each.mig_uuid, each.placement_size) for each in devices(joined.gpus[0])] == [
        (f"MIG-2f6b9d10-7c44-5e21-8d00-00000000000{index}", 1) for index in range(7)
    ]
    assert joined.issues == ()


def test_a_device_that_only_this_list_has_is_an_issue_and_a_fact() -> None:
    before = snapshot(gpu(0, device(5)), gpu(1))
    text = lci(
        "0 5 MIG 2g.10gb 1 0 0:2", "1 9 MIG 1g.5gb 0 0 0:1", "0 1 MIG 1c.3g.20gb 0 1 1:1", "0 1 MIG 1c.3g.20gb 0 0 0:1"
    )
    joined = join_compute_instances(before, parse_compute_instances(text), BY_INDEX)
    added = [
        MigInstance(
            gpu_instance_id=gi,
            compute_instance_id=ci,
            mig_profile=name,
            compute_instance_profile_id=0,
            placement_start=start,
            placement_size=1,
        )
        for gi, ci, name, start in [(1, 0, "1c.3g.20gb", 0), (1, 1, "1c.3g.20gb", 1), (9, 0, "1g.5gb", 0)]
    ]
    assert devices(joined.gpus[0])[1:] == added[:2]
    assert devices(joined.gpus[1]) == added[2:]
    assert messages(joined) == [
        ("the MIG device in gi 1, ci 0 is listed here and not by -q -x", UUIDS[0]),
        ("the MIG device in gi 1, ci 1 is listed here and not by -q -x", UUIDS[0]),
        ("the MIG device in gi 9, ci 0 is listed here and not by -q -x", UUIDS[1]),
    ]
    assert join_compute_instances(joined, parse_compute_instances(text), BY_INDEX) == joined


def test_a_device_that_the_list_lacks_is_an_issue() -> None:
    before = snapshot(gpu(0, device(5, 2)))
    empty = ComputeInstances(state=MigState.EMPTY)
    joined = join_compute_instances(before, empty, BY_INDEX)
    assert joined.gpus == before.gpus
    assert messages(joined) == [("the MIG device in gi 5, ci 2 is not listed", UUIDS[0])]
    for unsure, by_index in ((attrs.evolve(empty, complete=False), BY_INDEX), (empty, {})):
        assert join_compute_instances(before, unsure, by_index) == before


def test_gpus_without_a_uuid_or_a_device_stay_as_they_are() -> None:
    nameless = attrs.evolve(gpu(1, device(1)), uuid=Missing.NOT_AVAILABLE)
    none = attrs.evolve(gpu(2), mig_instances=())
    before = snapshot(gpu(0, mig=False), nameless, none)
    joined = join_compute_instances(before, ComputeInstances(state=MigState.OFF), BY_INDEX)
    assert joined == before


# --- all of them


def test_the_order_of_the_rows_does_not_matter_and_once_is_enough() -> None:
    earlier = Issue(kind=IssueKind.REPAIRED, source="nvidia-smi -q -x", message="…")
    before = attrs.evolve(snapshot(gpu(0, device(1)), gpu(1)), issues=(earlier,))
    profiles = parse_mig_profiles(lgip(f"0 {P5}", f"1 {P10}", f"0 {P10}", f"9 {P5}"))
    instances = parse_gpu_instances(lgi("0 MIG 1g.5gb 19 7 0:1", "1 MIG 1g.5gb 19 7 0:1", "0 MIG 3g.20gb 9 1 4:4"))
    computes = parse_compute_instances(
        lci("0 7 MIG 1g.5gb 0 0 0:1", "1 7 MIG 1g.5gb 0 0 0:1", "0 1 MIG 3g.20gb 2 0 0:3")
    )
    once = join_compute_instances(
        join_gpu_instances(join_mig_profiles(before, profiles, BY_INDEX), instances, BY_INDEX), computes, BY_INDEX
    )
    assert once.issues[0] == earlier
    twice = join_mig_profiles(
        join_gpu_instances(
            join_compute_instances(once, attrs.evolve(computes, instances=computes.instances[::-1]), BY_INDEX),
            attrs.evolve(instances, instances=instances.instances[::-1]),
            BY_INDEX,
        ),
        attrs.evolve(profiles, profiles=profiles.profiles[::-1]),
        BY_INDEX,
    )
    assert twice == once
    assert isinstance(once.gpus[0].mig_profiles, tuple)
    assert all(isinstance(each, MigProfile) for each in once.gpus[0].mig_profiles)


# --- listings of another moment


def test_instances_of_a_gpu_that_is_not_in_mig_mode_show_that_the_indices_moved() -> None:
    before = snapshot(gpu(0, mig=False), gpu(1, device(1)))
    instances = join_gpu_instances(before, parse_gpu_instances(lgi("0 MIG 1g.5gb 19 1 0:1")), BY_INDEX)
    assert [instance_ids(each) for each in instances.gpus] == [Missing.ABSENT, Missing.NOT_AVAILABLE]
    devices_of = join_compute_instances(before, parse_compute_instances(lci("0 1 MIG 1g.5gb 0 0 0:1")), BY_INDEX)
    assert devices_of.gpus == before.gpus
    message = "GPU 0 has instances and is not in MIG mode; no row is trusted"
    assert [messages(each) for each in (instances, devices_of)] == [[(message, UUIDS[0])]] * 2


def test_a_row_of_another_profile_shows_that_the_names_are_another_devices() -> None:
    before = snapshot(gpu(0, device(1, 0, "3g.40gb")))
    joined = join_compute_instances(before, parse_compute_instances(lci("0 1 MIG 2g.20gb 1 0 0:2")), BY_INDEX)
    (found,) = devices(joined.gpus[0])
    assert (found.mig_uuid, found.mig_profile) == (Missing.NOT_AVAILABLE, Missing.NOT_AVAILABLE)
    assert (found.compute_instance_profile_id, found.placement_start, found.placement_size) == (1, 0, 2)

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from gpuinv.errors import IssueKind, ParseError
from gpuinv.inventory import GpuInstance, MigInstance, MigProfile
from gpuinv.readings import Missing
from gpuinv.smi.mig_listings import (
    ComputeInstanceProfiles,
    ComputeInstances,
    GpuInstances,
    ListedComputeInstance,
    ListedComputeInstanceProfile,
    ListedGpuInstance,
    ListedMigProfile,
    MigListing,
    MigPlacement,
    MigPlacements,
    MigProfiles,
    MigState,
)
from gpuinv.smi.mig_tables import (
    parse_compute_instance_profiles,
    parse_compute_instances,
    parse_gpu_instances,
    parse_mig_placements,
    parse_mig_profiles,
)
from tests.smi.mig_boxes import lci, lcip, lgi, lgip

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

READERS: dict[str, Callable[[str | bytes], MigListing]] = {
    "-lgip": parse_mig_profiles,
    "-lgi": parse_gpu_instances,
    "-lci": parse_compute_instances,
    "-lgipp": parse_mig_placements,
    "-lcip": parse_compute_instance_profiles,
}
EVERY_READER = pytest.mark.parametrize("option", READERS)
LOST = "Unable to determine the device handle for GPU3: 0000:5F:00.0: GPU is lost.  Reboot the system\n"


def kinds(found: MigListing) -> list[IssueKind]:
    return [issue.kind for issue in found.issues]


# --- mig -lgip


def test_both_lines_of_a_profile_are_one_row() -> None:
    found = parse_mig_profiles(lgip("0 MIG 2g.20gb 14 1/3 19.62 No 32 2 0 / 2 2 0"))
    profile = MigProfile(
        mig_profile_id=14,
        mig_profile="2g.20gb",
        total_instances=3,
        memory_mib=20091,
        p2p=False,
        multiprocessor_count=32,
        decoder_count=2,
        encoder_count=0,
        copy_engine_count=2,
        jpg_count=2,
        ofa_count=0,
    )
    row = ListedMigProfile(smi_index=0, profile=profile, free_instances=1, memory_gib=Decimal("19.62"))
    assert found == MigProfiles(state=MigState.LISTED, profiles=(row,))


@pytest.mark.parametrize("gap", [" ", "   ", "\t", "           "])
@pytest.mark.parametrize("width", [70, 77, 79, 200])
def test_neither_widths_nor_gaps_matter(width: int, gap: str) -> None:
    rows = ("0 MIG 1g.10gb 19 7/7 9.75 No 16 1 0 / 1 1 0", "11 MIG 7g.80gb 0 1/1 79.25 Yes 132 7 0 / 8 7 1")
    found = parse_mig_profiles(lgip(*rows, width=width, gap=gap))
    assert found == parse_mig_profiles(lgip(*rows))
    assert [(row.smi_index, row.profile.p2p, row.profile.multiprocessor_count) for row in found.profiles] == [
        (0, False, 16),
        (11, True, 132),
    ]


@pytest.mark.parametrize(
    "name",
    [
        "1g.5gb",
        "1g.24gb+me",
        "1g.24gb+gfx",
        "2g.48gb+me.all",
        "1g.24gb-me",
        "1g.0gb",
        "1c.3g.40gb",
        "7g.141gb",
        "1g.20gb+gfx,me",
    ],
)
def test_every_suffix_stays_in_the_name(name: str) -> None:
    (row,) = parse_mig_profiles(lgip(f"0 MIG {name} 65 1/4 23.62 No 46 4 4 / 1 4 1")).profiles
    assert (row.profile.mig_profile, row.profile.mig_profile_id, row.profile.encoder_count) == (name, 65, 4)


def test_a_row_without_its_second_line_lacks_three_counts() -> None:
    """As in an edited page of documentation."""
    found = parse_mig_profiles(
        lgip(
            "0 MIG 1g.5gb 19 7/7 4.75 No 14 1 0",
            "0 MIG 2g.10gb 14 3/3 9.62 No 28 1 0 / 2 0 0",
            "1 MIG 7g.40gb 0 1/1 39.25 No 98 5 0",
        )
    )
    counts = [(row.profile.copy_engine_count, row.profile.jpg_count, row.profile.ofa_count) for row in found.profiles]
    assert counts == [(Missing.ABSENT,) * 3, (2, 0, 0), (Missing.ABSENT,) * 3]
    assert [row.profile.decoder_count for row in found.profiles] == [1, 1, 5]


@pytest.mark.parametrize(
    ("printed", "mib"), [("4.75", 4864), ("5.81", 5949), ("9.62", 9851), ("23.62", 24187), ("95", 97280), ("0", 0)]
)
def test_memory_is_kept_as_printed_and_rounded_to_mib(printed: str, mib: int) -> None:
    (row,) = parse_mig_profiles(lgip(f"0 MIG 1g.5gb 19 7/7 {printed} No 14 1 0 / 1 0 0")).profiles
    assert (row.memory_gib, row.profile.memory_mib) == (Decimal(printed), mib)
    assert str(row.memory_gib) == printed


@pytest.mark.parametrize(("name", "printed"), [("1g.23gb", "22.00"), ("1g.24gb", "20.00"), ("2g.20gb", "19.50")])
def test_name_and_memory_are_two_facts(name: str, printed: str) -> None:
    (row,) = parse_mig_profiles(lgip(f"0 MIG {name} 19 7/7 {printed} No 18 1 0 / 1 1 0")).profiles
    assert (row.profile.mig_profile, row.memory_gib) == (name, Decimal(printed))


def test_gpus_of_one_product_have_the_names_of_their_own_rows() -> None:
    found = parse_mig_profiles(
        lgip("0 MIG 1g.23gb 19 7/7 22.00 No 18 1 0 / 1 1 0", "1 MIG 1g.24gb 19 7/7 20.00 No 18 1 0 / 1 1 0")
    )
    assert [(row.smi_index, row.profile.mig_profile) for row in found.profiles] == [(0, "1g.23gb"), (1, "1g.24gb")]


def test_free_counts_are_no_part_of_a_profile() -> None:
    full, used = (
        parse_mig_profiles(lgip(f"0 MIG 1g.5gb 19 {free}/7 4.75 No 14 0 0 / 1 0 0")).profiles for free in (7, 2)
    )
    assert [row.free_instances for row in (*full, *used)] == [7, 2]
    assert [row.profile for row in full] == [row.profile for row in used]


@pytest.mark.parametrize(
    ("row", "field", "reason", "issues"),
    [
        ("0 MIG 1g.5gb 19 7/7 4.75 N/A 14 1 0", "p2p", Missing.NOT_SUPPORTED, 0),
        ("0 MIG 1g.5gb 19 7/7 4.75 maybe 14 1 0", "p2p", Missing.ERROR, 1),
        ("0 MIG 1g.5gb 19 7/7 ERR! No 14 1 0", "memory_mib", Missing.ERROR, 0),
        ("0 MIG 1g.5gb 19 7/7 4,75 No 14 1 0", "memory_mib", Missing.ERROR, 1),
        ("0 MIG 1g.5gb 19 7/? 4.75 No 14 1 0", "total_instances", Missing.NOT_AVAILABLE, 0),
        ("0 MIG 1g.5gb 19 7/7 4.75 No 14 1 0 / x 0 0", "copy_engine_count", Missing.ERROR, 1),
        ("0 MIG 1g.5gb 19 7/7 4.75 No 14 1 0 / 0 N/A 0", "jpg_count", Missing.NOT_SUPPORTED, 0),
    ],
)
def test_an_odd_cell_leaves_the_others(row: str, field: str, reason: Missing, issues: int) -> None:
    found = parse_mig_profiles(lgip(row))
    assert getattr(found.profiles[0].profile, field) is reason
    assert kinds(found) == [IssueKind.BAD_VALUE] * issues
    assert found.complete
    assert found.profiles[0].profile.multiprocessor_count == 14


# --- mig -lgi


def test_gpu_instances_in_the_order_of_the_tool() -> None:
    found = parse_gpu_instances(lgi("0 MIG 1g.6gb+me 21 4 1:1", "2 MIG 4g.96gb+gfx 32 0 0:12"))
    assert found == GpuInstances(
        state=MigState.LISTED,
        instances=(
            ListedGpuInstance(
                smi_index=0,
                instance=GpuInstance(
                    gpu_instance_id=4, mig_profile_id=21, mig_profile="1g.6gb+me", placement_start=1, placement_size=1
                ),
            ),
            ListedGpuInstance(
                smi_index=2,
                instance=GpuInstance(
                    gpu_instance_id=0,
                    mig_profile_id=32,
                    mig_profile="4g.96gb+gfx",
                    placement_start=0,
                    placement_size=12,
                ),
            ),
        ),
    )


@pytest.mark.parametrize("width", [52, 55, 57])
def test_every_width_of_the_gpu_instances(width: int) -> None:
    rows = ("0 MIG 3g.20gb 9 1 4:4", "0 MIG 3g.20gb 9 2 0:4")
    assert parse_gpu_instances(lgi(*rows, width=width)) == parse_gpu_instances(lgi(*rows))


@pytest.mark.parametrize(
    ("cell", "reason", "issues"),
    [("", Missing.ABSENT, 0), (" N/A", Missing.NOT_SUPPORTED, 0), (" 4", Missing.ERROR, 1), (" 4:x", Missing.ERROR, 1)],
)
def test_a_placement_that_is_none(cell: str, reason: Missing, issues: int) -> None:
    for found, instance in (
        ((gis := parse_gpu_instances(lgi(f"0 MIG 1g.5gb 19 7{cell}"))), gis.instances[0].instance),
        ((cis := parse_compute_instances(lci(f"0 7 MIG 1g.5gb 0 0{cell}"))), cis.instances[0].instance),
    ):
        assert (instance.placement_start, instance.placement_size) == (reason, reason)
        assert kinds(found) == [IssueKind.BAD_VALUE] * issues


def test_an_instance_stays_where_its_profile_is_odd() -> None:
    (row,) = (found := parse_gpu_instances(lgi("0 MIG N/A ?? 7 0:1"))).instances
    assert (row.instance.mig_profile, row.instance.mig_profile_id) == (Missing.NOT_SUPPORTED, Missing.NOT_AVAILABLE)
    assert row.instance.gpu_instance_id == 7
    assert found.issues == ()


# --- mig -lci


def test_compute_instances_with_their_gpu_instance() -> None:
    found = parse_compute_instances(lci("0 1 MIG 1c.3g.40gb 0 0 0:1", "0 1 MIG 2c.3g.40gb 1 1 1:2"))
    assert found == ComputeInstances(
        state=MigState.LISTED,
        instances=(
            ListedComputeInstance(
                smi_index=0,
                instance=MigInstance(
                    gpu_instance_id=1,
                    compute_instance_id=0,
                    mig_profile="1c.3g.40gb",
                    compute_instance_profile_id=0,
                    placement_start=0,
                    placement_size=1,
                ),
            ),
            ListedComputeInstance(
                smi_index=0,
                instance=MigInstance(
                    gpu_instance_id=1,
                    compute_instance_id=1,
                    mig_profile="2c.3g.40gb",
                    compute_instance_profile_id=1,
                    placement_start=1,
                    placement_size=2,
                ),
            ),
        ),
    )


def test_an_old_driver_prints_no_placement_and_a_comment_no_border() -> None:
    text = (
        "| Compute instances:                                    |\n"
        "| GPU     GPU       Name             Profile   Instance |\n"
        "|       Instance                       ID        ID     |\n"
        "|         ID                                            |\n"
        "|   0      9       MIG 1g.5gb           0         0     |\n"
    )
    (row,) = (found := parse_compute_instances(text)).instances
    assert (row.instance.gpu_instance_id, row.instance.placement_start) == (9, Missing.ABSENT)
    assert (found.state, found.issues) == (MigState.LISTED, ())


# --- mig -lgipp


def test_placements_of_one_and_of_many_starts() -> None:
    found = parse_mig_placements(
        "GPU  0 Profile ID 14 Placements: {0,3,6,9}:3\n"
        "GPU  0 Profile ID  0 Placement : {0}:12\r\n"
        "  GPU 11 Profile ID 21 Placements : { 0, 1 }: 1\n"
        "GPU  1 Profile ID  5 Placements: {}:2\n"
    )
    assert found == MigPlacements(
        state=MigState.LISTED,
        placements=tuple(
            MigPlacement(smi_index=index, mig_profile_id=profile, placement_starts=starts, placement_size=size)
            for index, profile, starts, size in [
                (0, 14, (0, 3, 6, 9), 3),
                (0, 0, (0,), 12),
                (11, 21, (0, 1), 1),
                (1, 5, (), 2),
            ]
        ),
    )


@pytest.mark.parametrize(
    "line", ["GPU  0 Profile ID 14 Placements: {0,3", "GPU  0 Profile ID 14 Placements: {0,,3}:3", "GPU 0: NVIDIA A30"]
)
def test_a_placement_of_another_form_leaves_nothing_trusted(line: str) -> None:
    with pytest.raises(ParseError, match=r"nvidia-smi mig -lgipp: line 2: a row of another form: 'GPU"):
        parse_mig_placements(f"GPU  0 Profile ID  0 Placement : {{0}}:8\n{line}\n")


# --- mig -lcip


def test_the_default_profile_of_a_gpu_instance_is_marked() -> None:
    found = parse_compute_instance_profiles(
        lcip(
            "0 2 MIG 1c.2g.12gb 0 0/2 14 2 0 0 / 2 0",
            "0 2 MIG 2g.12gb 1* 0/1 128 2 1 3 / 4 5",
            "1 3 MIG 1g.6gb 0* 1/1 14 1 0 0",
        )
    )
    first, default, third = found.profiles
    assert (first.is_default, first.compute_instance_profile_id, first.total_instances) == (False, 0, 2)
    assert default == ListedComputeInstanceProfile(
        smi_index=0,
        gpu_instance_id=2,
        compute_instance_profile_id=1,
        mig_profile="2g.12gb",
        is_default=True,
        free_instances=0,
        total_instances=1,
        multiprocessor_count=128,
        decoder_count=2,
        encoder_count=1,
        ofa_count=3,
        copy_engine_count=4,
        jpg_count=5,
    )
    assert (third.smi_index, third.is_default, third.copy_engine_count) == (1, True, Missing.ABSENT)
    assert found == ComputeInstanceProfiles(state=MigState.LISTED, profiles=found.profiles)


# --- answers without a table


@EVERY_READER
@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("No MIG-supported devices found.\n", MigState.INCAPABLE),
        ("No MIG-supported devices found", MigState.INCAPABLE),
        ("\x1b[1mno mig-supported devices found.\x1b[0m\r\n", MigState.INCAPABLE),
        ("No MIG-enabled devices found.\n", MigState.OFF),
        ("$ nvidia-smi mig\nNo MIG-enabled devices found\n", MigState.OFF),
        ("No GPU instances found: Not Found\n", MigState.EMPTY),
        ("No compute instances found: Not Found\n", MigState.EMPTY),
        ("No compute instances found.", MigState.EMPTY),
        ("No compute instance profiles found: Not Found", MigState.EMPTY),
        (b"\xef\xbb\xbfNo GPU instances found: Not Found\n", MigState.EMPTY),
    ],
)
def test_a_sentence_is_an_answer(option: str, text: str | bytes, state: MigState) -> None:
    found = READERS[option](text)
    assert (found.state, found.complete, found.cut) == (state, True, False)
    assert kinds(found) == [IssueKind.TEXT_AROUND] * (b"$" in text if isinstance(text, bytes) else "$" in text)


@pytest.mark.parametrize(
    ("option", "text"), [("-lgip", lgip()), ("-lgi", lgi()), ("-lci", lci()), ("-lcip", lcip()), ("-lgi", lgi() * 2)]
)
def test_a_whole_table_without_rows_is_empty(option: str, text: str) -> None:
    assert READERS[option](text).state is MigState.EMPTY


def test_headings_of_an_unknown_driver_do_not_matter() -> None:
    text = lgi().replace("Profile  Instance   Placement", "Profile ID   CI_ID   Address ")
    assert parse_gpu_instances(text).state is MigState.EMPTY


@EVERY_READER
@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\n",
        "Failed to display GPU instance profiles: Unknown Error\n",
        "Failed to display compute instances: Insufficient Permissions\n",
        "Failed to display GPU instances: Insufficient Size\n",
        "Invalid combination of input arguments. Please run 'nvidia-smi mig -h' for help.",
        "No GPU instances found: Insufficient Permissions\n",
        "No MIG-supported devices were asked for",
        "No devices were found\n",
        "Failed to initialize NVML: Unknown Error\n",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        LOST,
        "+--------+\n",
        "|        |\n",
        "| GPU  Name |\n+-----------+\n",
        "| 0 |\n",
        "GPU 0: NVIDIA A30 (UUID: GPU-5c1f2a30-91d4-4be7-8a6e-0d2f7c9b1e01)\n",
        b"\x7fELF\x00\xff",
    ],
)
def test_no_answer_is_no_empty_list(option: str, text: str | bytes) -> None:
    with pytest.raises(ParseError) as caught:
        READERS[option](text)
    assert caught.value.source == f"nvidia-smi mig {option}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            (
                "$ nvidia-smi mig -lgi\nFailed to display GPU instances: Insufficient Permissions\n"
                "No GPU instances found: Insufficient Permissions\n"
            ),
            "line 2: nothing is listed: 'Failed to display GPU instances: Insufficient Permissions'",
        ),
        (
            "\nNo GPU instances found: Insufficient Permissions\n",
            "line 2: nothing is listed: 'No GPU instances found: Insufficient Permissions'",
        ),
        (
            "Invalid combination of input arguments.",
            "line 1: nothing is listed: 'Invalid combination of input arguments.'",
        ),
        ("| GPU instances: |\n", "line 1: nothing is listed: '| GPU instances: |'"),
        ("", "nothing is listed"),
    ],
)
def test_a_refusal_shows_what_the_tool_said(text: str, said: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_gpu_instances(text)
    assert str(caught.value) == f"nvidia-smi mig -lgi: {said}"


def test_a_failure_below_the_headings_is_shown_in_place_of_the_table() -> None:
    """So does a Jetson whose driver lacks what MIG needs, although MIG is on."""
    headings = lgip("0 MIG 1g.0gb 0 1/1 0 No 1 0 0").split("|   0")[0]
    for end in ("", "+-----+\n"):
        with pytest.raises(ParseError, match="Failed to display GPU instance profiles"):
            parse_mig_profiles(headings + end + "Failed to display GPU instance profiles: Unknown Error\n")


# --- failures beside rows


def test_a_gpu_that_could_not_be_opened_leaves_the_others() -> None:
    table = lgi("0 MIG 1g.5gb 19 7 0:1", "1 MIG 1g.5gb 19 7 0:1")
    head, last = table[: table.index("|   1")], table[table.index("|   1") :]
    for text in (LOST + table, table + LOST, head + LOST + last):
        found = parse_gpu_instances(text)
        assert [row.smi_index for row in found.instances] == [0, 1]
        assert (found.state, found.complete, found.cut) == (MigState.LISTED, False, False)
        assert [(issue.kind, issue.pci_bus_id) for issue in found.issues] == [(IssueKind.GPU_LOST, "00000000:5F:00.0")]


def test_a_gpu_that_could_not_be_opened_beside_a_sentence() -> None:
    found = parse_gpu_instances(LOST + "No GPU instances found: Not Found\n")
    assert (found.state, found.complete, kinds(found)) == (MigState.EMPTY, False, [IssueKind.GPU_LOST])


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("Insufficient Permissions", IssueKind.NO_PERMISSION),
        ("Unknown Error", IssueKind.READ_ERROR),
        ("GPU is lost", IssueKind.GPU_LOST),
        ("GPU requires reset", IssueKind.NEEDS_RESET),
        ("Insufficient Size", IssueKind.READ_ERROR),
    ],
)
def test_a_failure_after_rows_cuts_the_table(reason: str, kind: IssueKind) -> None:
    table = lgip("0 MIG 1g.5gb 19 7/7 4.75 No 14 1 0 / 1 0 0")
    failure = f"Failed to display GPU instance profiles: {reason}\n"
    for text in (table + failure, table[: table.rindex("+-")] + failure):
        found = parse_mig_profiles(text)
        assert [row.profile.mig_profile_id for row in found.profiles] == [19]
        assert (found.complete, found.cut, kinds(found)) == (False, True, [kind])
    before = parse_mig_profiles(failure + table)
    assert (before.complete, before.cut, kinds(before)) == (False, False, [kind])


def test_a_table_that_is_cut_is_refused() -> None:
    table = lgi("0 MIG 1g.5gb 19 7 0:1", "0 MIG 1g.5gb 19 8 1:1")
    for end in (table.index("19 8".replace(" ", "   ")), table.rindex("+-"), table.rindex("+-") + 1):
        with pytest.raises(ParseError, match="nvidia-smi mig -lgi: line"):
            parse_gpu_instances(table[:end])
    with pytest.raises(ParseError, match=r"the table is cut: '0 MIG 1g\.5gb 19 8 1:1'"):
        parse_gpu_instances(table[: table.rindex("+-")])


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("-lgip", lgip("0 MIG 1g.5gb 19 7/7 4.75 No 14 1 0 7 / 1 0 0")),  # one column more
        ("-lgip", lgip("0 MIG 1g.5gb 19 7/7 4.75 No 14 1 0 / 1 0 0 0")),
        ("-lgip", lgip("0 MIG 1g.5gb 19 7/7 4.75 No 14 1 0 / 1 0 0 / 1 0 0")),
        ("-lgip", lgip("1 0 0")),
        ("-lgip", lgip("0 MIG N/A 19 7/7 4.75 No 14 1 0 / 1 0 0")),
        ("-lgip", lgip("0 MIG 1g.\N{REPLACEMENT CHARACTER}gb 19 7/7 4.75 No 14 1 0 / 1 0 0")),
        ("-lgip", lgip("0 MIG 1g.5gb 19 7 4.75 No 14 1 0 / 1 0 0")),
        ("-lgip", lgip("0 MIG 1g.5gb 9999999 7/7 4.75 No 14 1 0 / 1 0 0")),
        ("-lgi", lgi("0 MIG 1g.5gb 19 7 0:1", "ERR! MIG 1g.5gb 19 8 1:1")),
        ("-lgi", lgi("0 MIG 1g.5gb 19 7 0:1 / 1 0 0")),
        ("-lgi", lgi("0 MIG 1g.5gb 19 99999 0:1")),
        ("-lci", lci("0 MIG 1g.5gb 0 0 0:1")),
        ("-lcip", lcip("0 2 MIG 2g.12gb *1 0/1 28 2 0 0 / 2 0")),
        ("-lcip", lcip("0 2 MIG N/A 1 0/1 28 2 0 0 / 2 0")),
    ],
)
def test_a_row_of_another_form_leaves_nothing_trusted(option: str, text: str) -> None:
    with pytest.raises(ParseError, match=rf"nvidia-smi mig {option}: line \d+: a row of another form"):
        READERS[option](text)


@pytest.mark.parametrize("option", ["-lgip", "-lci", "-lgipp", "-lcip"])
def test_the_table_of_another_command_is_refused(option: str) -> None:
    with pytest.raises(ParseError, match="the table of another command: 'GPU instances:'"):
        READERS[option](lgi("0 MIG 1g.5gb 19 7 0:1"))


def test_rows_that_were_picked_from_a_table_are_read() -> None:
    text = (
        "|   0  MIG 1g.5gb       19        7          0:1     |\n|   0  MIG 1g.5gb       19        8          1:1  |\n"
    )
    assert [row.instance.gpu_instance_id for row in parse_gpu_instances(text).instances] == [7, 8]


def test_a_markdown_page_doubles_the_bars() -> None:
    text = lgi("0 MIG 1g.5gb 19 7 0:1").replace("\n|", "\n||")
    assert parse_gpu_instances(text) == parse_gpu_instances(lgi("0 MIG 1g.5gb 19 7 0:1"))


def test_of_two_tables_the_first_is_read() -> None:
    found = parse_gpu_instances(lgi("0 MIG 1g.5gb 19 7 0:1") + "$ again\n" + lgi("1 MIG 2g.10gb 14 3 0:2"))
    assert [row.smi_index for row in found.instances] == [0]
    assert kinds(found) == [IssueKind.TEXT_AROUND, IssueKind.MORE_DOCUMENTS]
    assert (found.complete, found.cut) == (False, False)


def test_of_two_rows_with_one_key_the_first_is_kept() -> None:
    found = parse_mig_placements("GPU  0 Profile ID  0 Placement : {0}:8\nGPU  0 Profile ID  0 Placement : {4}:8\n")
    assert [row.placement_starts for row in found.placements] == [(0,)]
    assert [(issue.kind, issue.place) for issue in found.issues] == [(IssueKind.MORE_DOCUMENTS, "line 2")]


def test_rows_decide_over_a_sentence() -> None:
    found = parse_gpu_instances(lgi("0 MIG 1g.5gb 19 7 0:1") + "No GPU instances found: Not Found\n")
    assert (found.state, kinds(found)) == (MigState.LISTED, [IssueKind.TEXT_AROUND])


def test_of_two_sentences_the_first_decides() -> None:
    found = parse_gpu_instances("No MIG-enabled devices found.\nNo GPU instances found: Not Found\n")
    assert (found.state, kinds(found)) == (MigState.OFF, [IssueKind.TEXT_AROUND])


def test_the_fixtures_are_read_without_an_issue(fixtures_dir: Path) -> None:
    smi = fixtures_dir / "nvidia-smi" / "dgx-a100-mig" / "smi"
    profiles = parse_mig_profiles((smi / "mig-lgip.txt").read_bytes())
    instances = parse_gpu_instances((smi / "mig-lgi.txt").read_bytes())
    computes = parse_compute_instances((smi / "mig-lci.txt").read_bytes())
    assert [len(profiles.profiles), len(instances.instances), len(computes.instances)] == [14, 6, 6]
    assert all(found.complete and not found.issues for found in (profiles, instances, computes))
    plain = (fixtures_dir / "nvidia-smi" / "workstation-rtx-5090" / "smi" / "mig-lgip.txt").read_bytes()
    assert parse_mig_profiles(plain) == MigProfiles(state=MigState.INCAPABLE)

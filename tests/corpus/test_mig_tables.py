"""Every captured answer of `nvidia-smi mig`, against a table of its values and against a reading word by word."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from gpuinv.errors import IssueKind, ParseError
from gpuinv.readings import Missing
from gpuinv.smi.mig_listings import ListedMigProfile, MigListing, MigState
from gpuinv.smi.mig_tables import (
    parse_compute_instance_profiles,
    parse_compute_instances,
    parse_gpu_instances,
    parse_mig_placements,
    parse_mig_profiles,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.corpus

READERS: dict[str, Callable[[str | bytes], MigListing]] = {
    "mig-lgip": parse_mig_profiles,
    "mig-lgi": parse_gpu_instances,
    "mig-lci": parse_compute_instances,
    "mig-lgipp": parse_mig_placements,
    "mig-lcip": parse_compute_instance_profiles,
}

# What a product offers, by the tool's and the vendor's tables: id and name; instances, SMs, copy engines, decoders,
# encoders, JPEG engines, OFAs; the memory of one instance, which differs by driver.
A30 = {
    (14, "1g.6gb"): (4, 14, 1, 1, 0, 0, 0, "5.81"),
    (21, "1g.6gb+me"): (1, 14, 1, 1, 0, 1, 1, "5.81"),
    (5, "2g.12gb"): (2, 28, 2, 2, 0, 0, 0, "11.69"),
    (6, "2g.12gb+me"): (1, 28, 2, 2, 0, 1, 1, "11.69"),
    (0, "4g.24gb"): (1, 56, 4, 4, 0, 1, 1, "23.44 23.50"),
}
A100_80GB = {
    (19, "1g.10gb"): (7, 14, 1, 0, 0, 0, 0, "9.50"),
    (20, "1g.10gb+me"): (1, 14, 1, 1, 0, 1, 1, "9.50"),
    (15, "1g.20gb"): (4, 14, 1, 1, 0, 0, 0, "19.50"),
    (14, "2g.20gb"): (3, 28, 2, 1, 0, 0, 0, "19.50"),
    (9, "3g.40gb"): (2, 42, 3, 2, 0, 0, 0, "39.25 39.50"),
    (5, "4g.40gb"): (1, 56, 4, 2, 0, 0, 0, "39.25 39.50"),
    (0, "7g.80gb"): (1, 98, 7, 5, 0, 1, 1, "79.00 79.25"),
}
H100_80GB = {
    (19, "1g.10gb"): (7, 16, 1, 1, 0, 1, 0, "9.75 9.62"),
    (20, "1g.10gb+me"): (1, 16, 1, 1, 0, 1, 1, "9.75 9.62"),
    (15, "1g.20gb"): (4, 26, 1, 1, 0, 1, 0, "19.62 19.50"),
    (14, "2g.20gb"): (3, 32, 2, 2, 0, 2, 0, "19.62 19.50"),
    (9, "3g.40gb"): (2, 60, 3, 3, 0, 3, 0, "39.50 39.25"),
    (5, "4g.40gb"): (1, 64, 4, 4, 0, 4, 0, "39.50 39.25"),
    (0, "7g.80gb"): (1, 132, 8, 7, 0, 7, 1, "79.25"),
}
# Where instances of a profile can lie.
A30_PLACEMENTS = {14: ((0, 1, 2, 3), 1), 21: ((0, 1, 2, 3), 1), 5: ((0, 2), 2), 6: ((0, 2), 2), 0: ((0,), 4)}
SEVEN_SLICES = {19: (tuple(range(7)), 1), 15: ((0, 2, 4, 6), 2), 14: ((0, 2, 4), 2), 9: ((0, 4), 4), 5: ((0,), 4)}

# By the number of the file: the product's table, the ids in the tool's order, free instances and memory as printed.
PROFILES: dict[int, tuple[dict[tuple[int, str], tuple[Any, ...]], list[int], list[int], str]] = {
    1: (A30, [14, 21, 5, 6, 0], [4, 1, 2, 1, 1], "5.81 5.81 11.69 11.69 23.44"),
    3: (A100_80GB, [19, 20, 14, 9, 5, 0], [4, 1, 2, 1, 0, 0], "9.50 9.50 19.50 39.50 39.50 79.25"),
    5: (A100_80GB, [19, 20, 14, 9, 5], [7, 1, 3, 2, 1], "9.50 9.50 19.50 39.25 39.25"),
    7: (H100_80GB, [19, 20, 15, 14, 9], [7, 1, 4, 3, 2], "9.75 9.75 19.62 19.62 39.50"),
    9: (H100_80GB, [19, 20, 15, 14, 9], [7, 1, 4, 3, 2], "9.62 9.62 19.50 19.50 39.25"),
}
MIB = {"5.81": 5949, "9.50": 9728, "9.62": 9851, "9.75": 9984, "11.69": 11971, "19.50": 19968, "19.62": 20091}
MIB |= {"23.44": 24003, "39.25": 40192, "39.50": 40448, "79.25": 81152}

# Rows: GPU, name, profile id, instance id, first slice, number of slices; and the placements of the product.
GPU_INSTANCES: dict[int, tuple[dict[int, tuple[tuple[int, ...], int]], list[tuple[Any, ...]]]] = {
    # an edited page of documentation: its profile id is that of another profile
    3: ({}, [(0, "2g.10gb", 19, 3, 4, 2), (0, "2g.10gb", 19, 5, 0, 2), (0, "2g.10gb", 19, 6, 2, 2)]),
    7: (A30_PLACEMENTS, [(0, "1g.6gb", 14, 3, 0, 1), (0, "1g.6gb", 14, 4, 1, 1), (0, "2g.12gb", 5, 2, 2, 2)]),
    9: (
        SEVEN_SLICES,
        [
            (0, "1g.5gb", 19, 7, 0, 1),
            (0, "1g.5gb", 19, 8, 1, 1),
            (0, "2g.10gb", 14, 4, 2, 2),
            (0, "3g.20gb", 9, 2, 4, 4),
        ],
    ),
    11: (SEVEN_SLICES, [(0, "3g.20gb", 9, 1, 4, 4), (0, "3g.20gb", 9, 2, 0, 4)]),
}
# Rows: GPU, GPU instance, name, profile id, instance id, first slice, number of slices.
COMPUTE_INSTANCES: dict[int, list[tuple[Any, ...]]] = {
    1: [(0, 7, "1g.5gb", 0, 0, Missing.ABSENT, Missing.ABSENT)],  # a comment of a program, about an old driver
    3: [(0, gpu_instance_id, "1g.24gb", 0, 0, 0, 1) for gpu_instance_id in (3, 4, 5, 6)],
}
# Rows: GPU, GPU instance, name, profile id, whether it is marked, free, total, SM, DEC, ENC, OFA, CE, JPEG.
COMPUTE_INSTANCE_PROFILES = {
    1: [(0, 2, "1c.2g.12gb", 0, False, 0, 2, 14, 2, 0, 0, 2, 0), (0, 2, "2g.12gb", 1, True, 0, 1, 28, 2, 0, 0, 2, 0)],
}
SENTENCES = {
    ("mig-lgip", 11): MigState.INCAPABLE,
    ("mig-lgi", 1): MigState.EMPTY,  # a program's test data: a table without rows, with headings of its own
    ("mig-lgi", 5): MigState.EMPTY,
}
# What no reader of MIG takes for an answer, and what its error says; every other failure is in the tool's own words.
REFUSED = {
    1: "Unable to destroy GPU instance ID 3 from GPU 0: In use by another client",
    21: "Unable to create a GPU instance on GPU 0 using profile 20: In use by another cl…",
    25: "Unable to determine the device handle for GPU1: 0000:0A:00.0: GPU is lost. Rebo…",  # not the row above it
    52: "Failed to display GPU instance profiles: Unknown Error",
}


@pytest.fixture(scope="module")
def answers(corpus: Path) -> dict[str, dict[int, tuple[str, MigListing]]]:
    """By folder and number of the file: its text, and what the parser makes of it."""
    return {
        folder: {
            int(path.name[:3]): (path.read_text(encoding="utf-8"), reader(path.read_bytes()))
            for path in sorted((corpus / "text" / folder).iterdir())
        }
        for folder, reader in READERS.items()
    }


def rows(listing: Any) -> list[Any]:  # noqa: ANN401 - of any listing
    return list(getattr(listing, "profiles", None) or getattr(listing, "instances", None) or ())


def facts(row: ListedMigProfile) -> tuple[Any, ...]:
    found = row.profile
    return (
        found.total_instances,
        found.multiprocessor_count,
        found.copy_engine_count,
        found.decoder_count,
        found.encoder_count,
        found.jpg_count,
        found.ofa_count,
    )


def test_profiles(answers: dict[str, dict[int, tuple[str, MigListing]]]) -> None:
    for number, (product, ids, free, memory) in PROFILES.items():
        found = rows(answers["mig-lgip"][number][1])
        assert (number, [row.profile.mig_profile_id for row in found]) == (number, ids)
        assert (number, [row.free_instances for row in found]) == (number, free)
        assert (number, [str(row.memory_gib) for row in found]) == (number, memory.split())
        assert [row.profile.memory_mib for row in found] == [MIB[printed] for printed in memory.split()]
        assert {(row.smi_index, row.profile.p2p) for row in found} == {(0, False)}
        for row in found:
            *expected, memories = product[row.profile.mig_profile_id, row.profile.mig_profile]
            assert (number, row.profile.mig_profile, facts(row)) == (number, row.profile.mig_profile, tuple(expected))
            assert row.memory_gib in map(Decimal, memories.split())


def test_gpu_instances(answers: dict[str, dict[int, tuple[str, MigListing]]]) -> None:
    for number, (placements, expected) in GPU_INSTANCES.items():
        found = [(row.smi_index, row.instance) for row in rows(answers["mig-lgi"][number][1])]
        assert [
            (
                index,
                each.mig_profile,
                each.mig_profile_id,
                each.gpu_instance_id,
                each.placement_start,
                each.placement_size,
            )
            for index, each in found
        ] == expected
        for _, each in found if placements else ():
            starts, size = placements[each.mig_profile_id]
            assert (each.placement_start in starts, each.placement_size) == (True, size)


def test_compute_instances(answers: dict[str, dict[int, tuple[str, MigListing]]]) -> None:
    for number, expected in COMPUTE_INSTANCES.items():
        found = [(row.smi_index, row.instance) for row in rows(answers["mig-lci"][number][1])]
        assert [
            (
                index,
                each.gpu_instance_id,
                each.mig_profile,
                each.compute_instance_profile_id,
                each.compute_instance_id,
                each.placement_start,
                each.placement_size,
            )
            for index, each in found
        ] == expected


def test_compute_instance_profiles(answers: dict[str, dict[int, tuple[str, MigListing]]]) -> None:
    for number, expected in COMPUTE_INSTANCE_PROFILES.items():
        assert [
            (
                row.smi_index,
                row.gpu_instance_id,
                row.mig_profile,
                row.compute_instance_profile_id,
                row.is_default,
                row.free_instances,
                row.total_instances,
                row.multiprocessor_count,
                row.decoder_count,
                row.encoder_count,
                row.ofa_count,
                row.copy_engine_count,
                row.jpg_count,
            )
            for row in rows(answers["mig-lcip"][number][1])
        ] == expected


def test_placements(corpus: Path) -> None:
    (path,) = (corpus / "text" / "mig-lgipp").glob("001-*")
    found = parse_mig_placements(path.read_bytes()).placements
    assert [row.mig_profile_id for row in found] == [14, 21, 5, 6, 0]
    assert {row.mig_profile_id: (row.placement_starts, row.placement_size) for row in found} == A30_PLACEMENTS
    assert {row.smi_index for row in found} == {0}


def test_states_and_issues(answers: dict[str, dict[int, tuple[str, MigListing]]]) -> None:
    for folder, files in answers.items():
        for number, (_, found) in files.items():
            expected = SENTENCES.get((folder, number), MigState.LISTED)
            assert (folder, number, found.state, found.complete) == (folder, number, expected, True)
            kinds = [IssueKind.TEXT_AROUND] if (folder, number) == ("mig-lci", 1) else []
            assert (folder, number, [issue.kind for issue in found.issues]) == (folder, number, kinds)


def naive(text: str) -> list[list[str]]:
    """The words of each row: what begins with a number, or `GPU`, with the numbers of a second line behind."""
    found: list[list[str]] = []
    for line in text.splitlines():
        words = re.findall(r"[\w.+/-]*\w", re.sub(r"[|+=-]{4,}|^\|", "", line))
        if "MIG" in words[1:3] or (words[:1] == ["GPU"] and "{" in line):
            found.append(
                [word for word in words if word not in {"MIG", "GPU", "Profile", "ID", "Placements", "Placement"}]
            )
        elif found and words and all(word.isdigit() for word in words):
            found[-1] += words
    return found


def spelled(folder: str, row: Any) -> list[str]:  # noqa: ANN401 - of any listing
    """The words of a record, in the tool's order."""
    what = getattr(row, "profile", None) or getattr(row, "instance", None) or row
    known: list[object] = {
        "mig-lgip": lambda: [
            what.mig_profile,
            what.mig_profile_id,
            f"{row.free_instances}/{what.total_instances}",
            row.memory_gib,
            "Yes" if what.p2p else "No",
            what.multiprocessor_count,
            what.decoder_count,
            what.encoder_count,
            what.copy_engine_count,
            what.jpg_count,
            what.ofa_count,
        ],
        "mig-lgi": lambda: [
            what.mig_profile,
            what.mig_profile_id,
            what.gpu_instance_id,
            what.placement_start,
            what.placement_size,
        ],
        "mig-lci": lambda: [
            what.gpu_instance_id,
            what.mig_profile,
            what.compute_instance_profile_id,
            what.compute_instance_id,
            what.placement_start,
            what.placement_size,
        ],
        "mig-lgipp": lambda: [what.mig_profile_id, *what.placement_starts, what.placement_size],
        "mig-lcip": lambda: [
            what.gpu_instance_id,
            what.mig_profile,
            what.compute_instance_profile_id,
            f"{what.free_instances}/{what.total_instances}",
            what.multiprocessor_count,
            what.decoder_count,
            what.encoder_count,
            what.ofa_count,
            what.copy_engine_count,
            what.jpg_count,
        ],
    }[folder]()
    return [str(row.smi_index), *(str(each) for each in known if each is not Missing.ABSENT)]


def test_no_word_of_a_row_is_lost_or_moved(answers: dict[str, dict[int, tuple[str, MigListing]]]) -> None:
    for folder, files in answers.items():
        for number, (text, found) in files.items():
            records = rows(found) or list(getattr(found, "placements", ()))
            expected = naive(text)
            assert (folder, number, [spelled(folder, row) for row in records]) == (folder, number, expected)


def test_failures_are_no_answers(corpus: Path) -> None:
    files = {int(path.name[:3]): path.read_bytes() for path in sorted((corpus / "text" / "failures").iterdir())}
    answer = files.pop(7)
    assert files.keys() >= REFUSED.keys()
    for reader in READERS.values():
        assert reader(answer).state is MigState.INCAPABLE
        for number, data in files.items():
            with pytest.raises(ParseError, match="nothing is listed") as caught:
                reader(data)
            said = " ".join(data.decode().splitlines()[0].split())
            shown = REFUSED.get(number, said if len(said) <= 80 else said[:79] + "…")
            assert (number, caught.value.text) == (number, shown)

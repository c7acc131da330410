from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import attrs
import pytest

from gpuinv.errors import Issue, IssueKind, NoDriverError, SmiError, SmiFailure
from gpuinv.host.gpus import read_gpus
from gpuinv.inventory import Layer, NvLink
from gpuinv.readings import Missing
from gpuinv.sections.seal import seal
from gpuinv.smi.queries import COMPUTE_CAP, FULL
from gpuinv.testing import replay
from gpuinv.versions import DriverVersion
from tests.host.fakes import (
    BUS,
    DRIVER,
    HOSTS,
    MIG_LISTINGS,
    ONE_GPU,
    OPTIONAL,
    U1,
    U2,
    Answers,
    FakeHost,
    FakeSmi,
    FakeTree,
    at,
    captured,
    information,
    result,
    tree,
    xml,
)

if TYPE_CHECKING:
    from pathlib import Path

BOTH = (Layer.NVIDIA_SMI, Layer.PROCFS)


def kinds(issues: tuple[Issue, ...]) -> list[IssueKind]:
    return [issue.kind for issue in issues]


# Whole hosts


def test_a_workstation(fixtures_dir: Path) -> None:
    snapshot = read_gpus(replay(fixtures_dir / "nvidia-smi" / "workstation-rtx-5090"))
    assert snapshot.section.layers == BOTH
    (gpu,) = snapshot.section.gpus
    assert gpu.layers == BOTH
    assert gpu.numa_node is Missing.NOT_AVAILABLE
    assert (gpu.product_architecture, gpu.compute_capability) == ("Blackwell", "12.0")
    assert (gpu.nvlinks, gpu.mig_profiles, gpu.topology) == (Missing.NOT_SUPPORTED, Missing.NOT_SUPPORTED, ())
    (sample,) = snapshot.samples
    assert sample.power.power_draw_mw == 314270
    assert sample.compute_process_count == 1
    assert [query.argv for query in snapshot.queries] == [query.argv for query in (FULL, *OPTIONAL)]
    assert all(query.answered for query in snapshot.queries)
    assert snapshot.issues == ()


def test_under_wsl_everything_comes_from_nvidia_smi(fixtures_dir: Path) -> None:
    """There is no file of the driver and no PCI function; the one query that WSL does not offer is the one issue."""
    snapshot = read_gpus(replay(fixtures_dir / "nvidia-smi" / "wsl2-rtx-5090"))
    assert snapshot.section.layers == (Layer.NVIDIA_SMI,)
    assert snapshot.section.driver_version == DriverVersion("581.80")
    (gpu,) = snapshot.section.gpus
    assert (gpu.gpu_index, str(gpu.pci_bus_id), gpu.layers) == (0, "00000000:F1:00.0", (Layer.NVIDIA_SMI,))
    assert (gpu.minor_number, gpu.numa_node) == (Missing.NOT_SUPPORTED, Missing.ABSENT)
    assert (gpu.topology, gpu.gpu_numa_id) == (Missing.NOT_SUPPORTED, Missing.NOT_SUPPORTED)
    (issue,) = snapshot.issues
    assert issue.kind is IssueKind.QUERY_FAILED
    assert (issue.source, issue.message) == ("nvidia-smi topo -m", "failed with exit code 3")


def test_a_cuda_version_that_is_an_error_leaves_the_layer_and_the_driver() -> None:
    document = (
        b'<?xml version="1.0" ?><nvidia_smi_log><driver_version>546.80</driver_version>'
        b"<cuda_version>ERR!</cuda_version><attached_gpus>1</attached_gpus>"
        b"<gpu id='00000000:01:00.0'><uuid>%s</uuid></gpu></nvidia_smi_log>"
    )
    smi = FakeSmi({**ONE_GPU, FULL: result(FULL, document % U1.encode())})
    section = read_gpus(FakeHost(smi, FakeTree())).section
    assert (section.driver_version, section.cuda_driver_version) == (DriverVersion("546.80"), Missing.ERROR)
    assert section.layers == (Layer.NVIDIA_SMI,)


def test_a_board_with_eight_gpus_and_mig(fixtures_dir: Path) -> None:
    snapshot = read_gpus(replay(fixtures_dir / "nvidia-smi" / "dgx-a100-mig"))
    assert snapshot.issues == ()
    gpus = snapshot.section.gpus
    assert [gpu.gpu_index for gpu in gpus] == list(range(8))
    assert [gpu.minor_number for gpu in gpus] == [2, 3, 6, 7, 0, 1, 4, 5]
    assert [gpu.numa_node for gpu in gpus] == [3, 3, 1, 1, 7, 7, 5, 5]
    profiles = [
        [] if isinstance(gpu.mig_instances, Missing) else sorted(str(each.mig_profile) for each in gpu.mig_instances)
        for gpu in gpus
    ]
    assert profiles == [
        [],
        ["1g.10gb", "2g.20gb", "3g.40gb"],
        [],
        [],
        [],
        [],
        ["1c.3g.40gb", "1c.3g.40gb", "1g.10gb+me"],
        [],
    ]
    assert gpus[1].remapped_rows.row_remap_pending is Missing.HIDDEN_BY_MIG
    assert gpus[5].remapped_rows.remapped_row_unc == 1
    assert (gpus[5].ecc_errors.volatile.uncorrected_total, gpus[5].ecc_errors.aggregate.uncorrected_total) == (0, 1)
    assert [query.argv for query in snapshot.queries] == [query.argv for query in (FULL, *OPTIONAL, *MIG_LISTINGS)]


def test_the_listings_of_a_gpu_in_mig_mode(fixtures_dir: Path) -> None:
    """The placement, and a GPU instance without a compute instance, are in these listings alone."""
    gpus = read_gpus(replay(fixtures_dir / "nvidia-smi" / "dgx-a100-mig")).section.gpus
    gpu = gpus[6]
    assert not isinstance(gpu.gpu_instances, Missing)
    assert not isinstance(gpu.mig_instances, Missing)
    assert [
        (each.gpu_instance_id, each.mig_profile, each.placement_start, each.placement_size)
        for each in gpu.gpu_instances
    ] == [(1, "3g.40gb", 4, 4), (5, "2g.20gb", 0, 2), (7, "1g.10gb+me", 2, 1)]
    assert {each.gpu_instance_id for each in gpu.mig_instances} == {1, 7}
    assert all(isinstance(each.placement_size, int) for each in gpu.mig_instances)
    assert (gpu.nvlinks, gpus[0].gpu_instances) == (Missing.HIDDEN_BY_MIG, Missing.ABSENT)
    assert not isinstance(gpu.mig_profiles, Missing)
    assert gpus[0].mig_profiles is Missing.NOT_AVAILABLE
    nvlinks = gpus[0].nvlinks
    assert not isinstance(nvlinks, Missing)
    assert len(nvlinks) == 12
    assert all(link.up is True and str(link.peer).startswith("nvswitch:00000000:C") for link in nvlinks)
    assert not isinstance(gpus[0].topology, Missing)
    assert {peer.peer for peer in gpus[0].topology} >= {str(other.uuid) for other in gpus[1:]}


@pytest.mark.parametrize("host", HOSTS)
def test_threads_make_no_difference(fixtures_dir: Path, host: str) -> None:
    read = [read_gpus(replay(fixtures_dir / "nvidia-smi" / host)) for _ in range(20)]
    assert all(each == read[0] for each in read)
    assert {seal(each.section) for each in read} == {seal(read[0].section)}


# nvidia-smi


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (
            {
                "stdout": b"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
                "exit_code": 9,
            },
            SmiFailure.DRIVER_NOT_RUNNING,
        ),
        (
            {"stdout": b"Failed to initialize NVML: Driver/library version mismatch\n", "exit_code": 18},
            SmiFailure.VERSION_MISMATCH,
        ),
        (
            {"stderr": b"Failed to initialize NVML: Insufficient Permissions\n", "exit_code": 4},
            SmiFailure.NO_PERMISSION,
        ),
        (
            {
                "stdout": b"Unable to determine the device handle for GPU0000:01:00.0: GPU is lost.\n",
                "exit_code": 15,
            },
            SmiFailure.GPU_LOST,
        ),
        (
            {
                "stdout": b"Unable to determine the device handle for GPU0000:01:00.0: Unknown Error\n"
                b"Unable to determine the device handle for GPU0000:02:00.0: Unknown Error\nNo devices were found\n",
                "exit_code": 6,
            },
            SmiFailure.GPU_LOST,
        ),
        ({"stdout": xml((U1, BUS)), "timed_out": True, "exit_code": None}, SmiFailure.TIMED_OUT),
        ({"stdout": xml((U1, BUS)), "truncated": True, "exit_code": None}, SmiFailure.OTHER),
        ({"stdout": b"hello\n"}, SmiFailure.NOT_XML),
        ({"stdout": b"<nvidia_smi_log><gpu>"}, SmiFailure.NOT_XML),
        ({"stdout": b""}, SmiFailure.NOT_XML),
        ({"stderr": b"Segmentation fault\n", "exit_code": -11}, SmiFailure.OTHER),
        ({"stdout": b"No devices were found\n", "exit_code": 9}, SmiFailure.DRIVER_NOT_RUNNING),
    ],
)
def test_a_failed_snapshot_is_no_section(answer: dict[str, object], failure: SmiFailure) -> None:
    """A tool that hangs, dies or answers nothing retires no GPU: there is no section, whatever procfs knows."""
    smi = FakeSmi({**ONE_GPU, FULL: result(FULL, **answer)})  # type: ignore[arg-type] # facts, by name
    with pytest.raises(SmiError) as caught:
        read_gpus(FakeHost(smi, at(BUS, information(U1, BUS))))
    assert caught.value.failure is failure
    assert caught.value.argv == FULL.argv
    assert smi.asked == [FULL]


def test_no_devices_on_a_working_driver_is_an_empty_section() -> None:
    smi = FakeSmi({FULL: result(FULL, b"No devices were found\n", exit_code=6)})
    snapshot = read_gpus(FakeHost(smi, tree()))
    assert (snapshot.section.gpus, snapshot.samples, snapshot.issues) == ((), (), ())
    assert snapshot.section.layers == BOTH
    assert snapshot.section.driver_version == DriverVersion("550.54.15")
    assert [(query.argv, query.answered) for query in snapshot.queries] == [(FULL.argv, True)]


def test_a_failed_optional_query_is_an_issue_of_the_merged_snapshot() -> None:
    refused = b'Field "compute_cap" is not a valid field to query.\n'
    smi = FakeSmi({**ONE_GPU, COMPUTE_CAP: result(COMPUTE_CAP, refused, exit_code=2)})
    snapshot = read_gpus(FakeHost(smi, FakeTree()))
    (gpu,) = snapshot.section.gpus
    assert gpu.compute_capability is Missing.NOT_SUPPORTED
    assert gpu.nvlinks == (NvLink(link=0, up=True, peer="nvswitch:00000000:C4:00.0", remote_link=7),)
    (issue,) = snapshot.issues
    assert (issue.kind, issue.source) == (IssueKind.QUERY_FAILED, COMPUTE_CAP.source)
    assert (issue.message, issue.text) == ("failed with exit code 2", refused.decode().strip())


def test_a_host_without_nvidia_smi_shows_what_procfs_has() -> None:
    snapshot = read_gpus(FakeHost(FakeSmi({}), at(BUS, information(U1, BUS))))
    assert snapshot.section.layers == (Layer.PROCFS,)
    (gpu,) = snapshot.section.gpus
    assert (gpu.uuid, gpu.product_architecture, gpu.serial) == (U1, "Ada Lovelace", Missing.ABSENT)
    assert kinds(snapshot.issues) == [IssueKind.NO_DRIVER]
    assert (snapshot.samples, snapshot.queries) == ((), ())


def test_a_host_without_any_driver_has_nothing_to_show() -> None:
    with pytest.raises(NoDriverError):
        read_gpus(FakeHost(FakeSmi({}), FakeTree()))
    snapshot = read_gpus(FakeHost(FakeSmi(ONE_GPU), FakeTree()))
    assert snapshot.section.layers == (Layer.NVIDIA_SMI,)


# Both layers


def test_the_layers_disagree() -> None:
    answers = captured_of_one("0000:09:00.0")
    snapshot = read_gpus(FakeHost(FakeSmi(answers), tree(**{BUS: information(U2, BUS)})))
    assert [(gpu.gpu_index, gpu.uuid, gpu.layers) for gpu in snapshot.section.gpus] == [
        (0, U2, (Layer.PROCFS,)),
        (1, U1, (Layer.NVIDIA_SMI,)),
    ]
    assert [(issue.kind, issue.uuid) for issue in snapshot.issues] == [
        (IssueKind.LAYERS_DISAGREE, U2),
        (IssueKind.LAYERS_DISAGREE, U1),
    ]


def captured_of_one(bus: str) -> Answers:
    return {**ONE_GPU, FULL: result(FULL, xml((U1, bus)))}


@pytest.mark.parametrize("content", [errno.EACCES, errno.EIO, b"nothing of the kind\n"])
def test_a_gpu_whose_file_cannot_be_read_is_met_by_its_address(content: bytes | int) -> None:
    merged = read_gpus(FakeHost(FakeSmi(ONE_GPU), at(BUS, content)))
    assert [(gpu.uuid, gpu.layers) for gpu in merged.section.gpus] == [(U1, BOTH)]
    assert len(merged.issues) == 1


def test_a_directory_that_cannot_be_listed_is_no_layer() -> None:
    host = tree()
    host.files[f"{DRIVER}/gpus"] = errno.EACCES
    merged = read_gpus(FakeHost(FakeSmi(ONE_GPU), host))
    assert merged.section.layers == (Layer.NVIDIA_SMI,)
    assert kinds(merged.issues) == [IssueKind.NO_PERMISSION]
    with pytest.raises(NoDriverError):
        read_gpus(FakeHost(FakeSmi({}), host))


def test_what_was_sampled_is_not_in_the_section(fixtures_dir: Path) -> None:
    answers = captured(fixtures_dir, "dgx-a100-mig")
    busy = answers[FULL].stdout.replace(b"<gpu_temp>", b"<gpu_temp>1")
    host = replay(fixtures_dir / "nvidia-smi" / "dgx-a100-mig")
    first = read_gpus(FakeHost(FakeSmi(answers), host.tree))
    second = read_gpus(FakeHost(FakeSmi({**answers, FULL: attrs.evolve(answers[FULL], stdout=busy)}), host.tree))
    assert first.samples != second.samples
    assert first.section == second.section

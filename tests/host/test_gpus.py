from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import attrs
import pytest

from gpuinv.errors import Issue, IssueKind, NoDriverError, SmiError, SmiFailure
from gpuinv.host.gpus import read_gpus, read_procfs, read_smi
from gpuinv.host.ports import MAX_FILE_BYTES, CommandResult
from gpuinv.ids import GpuUuid, PciBusId, PciId
from gpuinv.inventory import Layer
from gpuinv.readings import Missing
from gpuinv.smi.queries import COMPUTE_CAP, FULL, LIST, Query
from gpuinv.testing import replay
from gpuinv.versions import DriverVersion

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

U1 = GpuUuid("GPU-3d9e0c55-1111-4c0f-8a00-000000000001")
U2 = GpuUuid("GPU-3d9e0c55-1111-4c0f-8a00-000000000002")
DRIVER = "/proc/driver/nvidia"
PCI = "/sys/bus/pci/devices"
BOTH = (Layer.NVIDIA_SMI, Layer.PROCFS)


def xml(*gpus: tuple[str, str], attached: int | None = None) -> bytes:
    rows = "".join(
        f'<gpu id="{bus}"><product_name>NVIDIA L4</product_name><uuid>{uuid}</uuid><pci><pci_bus_id>{bus}</pci_bus_id>'
        "</pci></gpu>"
        for uuid, bus in gpus
    )
    count = len(gpus) if attached is None else attached
    return (
        f'<?xml version="1.0" ?><nvidia_smi_log><driver_version>550.54.15</driver_version>'
        f"<attached_gpus>{count}</attached_gpus>{rows}</nvidia_smi_log>"
    ).encode()


def result(query: Query, stdout: bytes = b"", **how: object) -> CommandResult:
    facts: dict[str, object] = {"argv": query.argv, "stdout": stdout, "exit_code": 0, "seconds": 0.5, **how}
    return CommandResult(**facts)  # type: ignore[arg-type] # facts, by name


ONE_GPU = {
    FULL: result(FULL, xml((U1, "00000000:01:00.0"))),
    COMPUTE_CAP: result(COMPUTE_CAP, f"{U1}, 8.9\n".encode()),
    LIST: result(LIST, f"GPU 0: NVIDIA L4 (UUID: {U1})\n".encode()),
}


@attrs.define
class FakeSmi:
    """Answers from a table; what is not in it is a tool that is not there."""

    answers: dict[Query, CommandResult]
    timeouts: list[float] = attrs.field(factory=list)

    def run(self, args: Sequence[str], *, timeout: float) -> CommandResult:
        self.timeouts.append(timeout)
        answer = self.answers.get(Query(tuple(args), required=tuple(args) == FULL.args))
        if answer is None:
            raise NoDriverError
        return answer


@attrs.define
class FakeTree:
    """Files and directories by path; an errno in place of a content is raised."""

    files: dict[str, bytes | str | tuple[str, ...] | int] = attrs.field(factory=dict)

    def _get(self, path: str, kind: type) -> object:
        found = self.files.get(path, errno.ENOENT)
        if isinstance(found, int):
            raise OSError(found, os.strerror(found), path)
        assert isinstance(found, kind)
        return found

    def read(self, path: str, *, limit: int = MAX_FILE_BYTES) -> bytes:
        found = self._get(path, bytes)
        assert isinstance(found, bytes)
        assert len(found) <= limit
        return found

    def list(self, path: str) -> tuple[str, ...]:
        found = self._get(path, tuple)
        assert isinstance(found, tuple)
        return found

    def link(self, path: str) -> str:
        found = self._get(path, str)
        assert isinstance(found, str)
        return found

    def exists(self, path: str) -> bool:
        return path in self.files


@attrs.frozen
class FakeHost:
    smi: FakeSmi
    tree: FakeTree


def information(uuid: str, bus: str) -> bytes:
    return f"Model: \t\t NVIDIA L4\nGPU UUID: \t {uuid}\nBus Location: \t {bus}\nDevice Minor: \t 0\n".encode()


def tree(**gpus: bytes | int) -> FakeTree:
    files: dict[str, bytes | str | tuple[str, ...] | int] = {
        f"{DRIVER}/version": b"NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5\n",
        f"{DRIVER}/gpus": tuple(gpus),
    }
    files.update({f"{DRIVER}/gpus/{name}/information": content for name, content in gpus.items()})
    return FakeTree(files)


def at(bus: str, content: bytes | int) -> FakeTree:
    return tree(**{bus: content})


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
    (sample,) = snapshot.samples
    assert sample.power.power_draw_mw == 314270
    assert sample.compute_process_count == 1
    assert [query.argv for query in snapshot.queries] == [FULL.argv, COMPUTE_CAP.argv, LIST.argv]
    assert all(query.answered for query in snapshot.queries)


def test_under_wsl_everything_comes_from_nvidia_smi(fixtures_dir: Path) -> None:
    snapshot = read_gpus(replay(fixtures_dir / "nvidia-smi" / "wsl2-rtx-5090"))
    assert snapshot.section.layers == (Layer.NVIDIA_SMI,)
    assert snapshot.section.driver_version == DriverVersion("581.80")
    (gpu,) = snapshot.section.gpus
    assert (gpu.gpu_index, str(gpu.pci_bus_id), gpu.layers) == (0, "00000000:F1:00.0", (Layer.NVIDIA_SMI,))
    assert (gpu.minor_number, gpu.numa_node) == (Missing.NOT_SUPPORTED, Missing.ABSENT)
    assert IssueKind.LAYERS_DISAGREE not in kinds(snapshot.issues)


def test_a_board_with_eight_gpus_and_mig(fixtures_dir: Path) -> None:
    snapshot = read_gpus(replay(fixtures_dir / "nvidia-smi" / "dgx-a100-mig"))
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
        ({"stdout": xml((U1, "0000:01:00.0")), "timed_out": True, "exit_code": None}, SmiFailure.TIMED_OUT),
        ({"stdout": xml((U1, "0000:01:00.0")), "truncated": True, "exit_code": None}, SmiFailure.OTHER),
        ({"stdout": b"hello\n"}, SmiFailure.NOT_XML),
        ({"stdout": b"<nvidia_smi_log><gpu>"}, SmiFailure.NOT_XML),
        ({"stdout": b""}, SmiFailure.NOT_XML),
        ({"stderr": b"Segmentation fault\n", "exit_code": -11}, SmiFailure.OTHER),
        ({"stdout": b"No devices were found\n", "exit_code": 9}, SmiFailure.DRIVER_NOT_RUNNING),
    ],
)
def test_a_failed_snapshot_is_no_section(answer: dict[str, object], failure: SmiFailure) -> None:
    smi = FakeSmi({**ONE_GPU, FULL: result(FULL, **answer)})  # type: ignore[arg-type] # facts, by name
    with pytest.raises(SmiError) as caught:
        read_gpus(FakeHost(smi, at("0000:01:00.0", information(U1, "0000:01:00.0"))))
    assert caught.value.failure is failure
    assert caught.value.argv == FULL.argv
    assert len(smi.timeouts) == 1


def test_output_that_is_no_document_says_what_is_wrong_with_it() -> None:
    with pytest.raises(SmiError, match="nvidia-smi -q -x: not xml") as caught:
        read_smi(FakeSmi({FULL: result(FULL, b"<nvidia_smi_log><gpu></nvidia_smi_log>")}))
    assert "line 1" in caught.value.output


def test_no_devices_on_a_working_driver_is_an_empty_section() -> None:
    said = b"No devices were found\n"
    answers = {query: result(query, said, exit_code=6) for query in (FULL, COMPUTE_CAP, LIST)}
    snapshot = read_gpus(FakeHost(FakeSmi(answers), tree()))
    assert (snapshot.section.gpus, snapshot.samples, snapshot.issues) == ((), (), ())
    assert snapshot.section.layers == BOTH
    assert snapshot.section.driver_version == DriverVersion("550.54.15")
    assert [query.answered for query in snapshot.queries] == [True, True, True]


def test_a_whole_document_counts_whatever_the_exit_code() -> None:
    answers = {**ONE_GPU, FULL: result(FULL, xml((U1, "0000:01:00.0")), exit_code=14)}
    snapshot, queries = read_smi(FakeSmi(answers))
    assert [gpu.uuid for gpu in snapshot.gpus] == [U1]
    assert (queries[0].exit_code, queries[0].answered, queries[0].seconds) == (14, True, 0.5)


@pytest.mark.parametrize(
    ("answer", "message", "text"),
    [
        (
            {"stdout": b'Field "compute_cap" is not a valid field to query.\n', "exit_code": 2},
            "failed with exit code 2",
            "F",
        ),
        ({"stderr": b"oops\nmore\n", "stdout": b"out", "exit_code": 255}, "failed with exit code 255", "oops"),
        ({"exit_code": -9}, "failed with exit code -9", ""),
        (
            {"stdout": f"{U1}, 8.9".encode(), "timed_out": True, "exit_code": None, "seconds": 30.01},
            "did not end within 30 s and was killed",
            U1,
        ),
        (
            {"stdout": f"{U1}, 8.9".encode(), "truncated": True, "exit_code": None},
            "printed more than 67108864 bytes and was killed",
            U1,
        ),
    ],
)
def test_a_query_that_may_fail_leaves_its_fields_missing(answer: dict[str, object], message: str, text: str) -> None:
    smi = FakeSmi({**ONE_GPU, COMPUTE_CAP: result(COMPUTE_CAP, **answer)})  # type: ignore[arg-type] # facts, by name
    snapshot = read_gpus(FakeHost(smi, FakeTree()))
    (gpu,) = snapshot.section.gpus
    assert gpu.compute_capability is Missing.ABSENT
    (issue,) = snapshot.issues
    assert (issue.kind, issue.source, issue.message) == (IssueKind.QUERY_FAILED, COMPUTE_CAP.source, message)
    assert issue.text.startswith(text)
    assert [query.answered for query in snapshot.queries] == [True, False, True]


def test_all_queries_together_have_a_minute() -> None:
    slow = {query: attrs.evolve(answer, seconds=25.0) for query, answer in ONE_GPU.items()}
    smi = FakeSmi(slow)
    snapshot, queries = read_smi(smi)
    assert smi.timeouts == [30.0, 30.0, 10.0]
    assert snapshot.issues == ()
    hung = attrs.evolve(slow[COMPUTE_CAP], seconds=35.0, timed_out=True, exit_code=None)
    smi = FakeSmi({**slow, COMPUTE_CAP: hung})
    snapshot, queries = read_smi(smi)
    assert smi.timeouts == [30.0, 30.0]
    assert [gpu.uuid for gpu in snapshot.gpus] == [U1]
    assert [query.answered for query in queries] == [True, False]
    assert [issue.message for issue in snapshot.issues] == [
        "did not end within 35 s and was killed",
        "was not run: the time for all queries was used up",
    ]


def test_a_tool_that_vanishes_between_two_queries_costs_only_the_second() -> None:
    snapshot, queries = read_smi(FakeSmi({FULL: ONE_GPU[FULL], LIST: ONE_GPU[LIST]}))
    assert [gpu.uuid for gpu in snapshot.gpus] == [U1]
    assert [query.argv for query in queries] == [FULL.argv, LIST.argv]
    assert [issue.message for issue in snapshot.issues] == ["was not run: nvidia-smi is not there any more"]


def test_a_host_without_nvidia_smi_shows_what_procfs_has() -> None:
    snapshot = read_gpus(FakeHost(FakeSmi({}), at("0000:01:00.0", information(U1, "0000:01:00.0"))))
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


# procfs and sysfs


def test_the_layers_disagree() -> None:
    both = tree(**{"0000:01:00.0": information(U2, "0000:01:00.0")})
    snapshot = read_gpus(FakeHost(FakeSmi({**ONE_GPU, FULL: result(FULL, xml((U1, "0000:09:00.0")))}), both))
    assert [(gpu.gpu_index, gpu.uuid, gpu.layers) for gpu in snapshot.section.gpus] == [
        (0, U2, (Layer.PROCFS,)),
        (1, U1, (Layer.NVIDIA_SMI,)),
    ]
    assert [(issue.kind, issue.uuid) for issue in snapshot.issues] == [
        (IssueKind.LAYERS_DISAGREE, U2),
        (IssueKind.LAYERS_DISAGREE, U1),
    ]


def test_a_function_of_sysfs_is_read_by_the_address_that_procfs_gives() -> None:
    host = at("0000:01:00.0", information(U1, "0000:01:00.0"))
    function = f"{PCI}/0000:01:00.0"
    host.files |= {
        function: ("vendor", "device", "numa_node", "driver", "max_link_width", "resource", "iommu_group"),
        f"{function}/vendor": b"0x10de\n",
        f"{function}/device": b"0x27b8\n",
        f"{function}/numa_node": b"1\n",
        f"{function}/driver": "../../../bus/pci/drivers/nvidia",
        f"{function}/max_link_width": errno.EIO,
        f"{function}/iommu_group": errno.ENOENT,
    }
    section, issues = read_procfs(host)
    (gpu,) = section.gpus
    assert (gpu.pci_device_id, gpu.numa_node, gpu.max_link_width) == (PciId(0x10DE, 0x27B8), 1, Missing.ABSENT)
    assert [str(issue) for issue in issues] == [f"{function}/max_link_width: could not be read (EIO)"]


def test_a_function_that_breaks_its_form_is_left_out() -> None:
    host = at("0000:01:00.0", information(U1, "0000:01:00.0"))
    function = f"{PCI}/0000:01:00.0"
    host.files |= {function: ("vendor",), f"{function}/vendor": b"x" * 70_000}
    section, issues = read_procfs(host)
    assert [gpu.uuid for gpu in section.gpus] == [U1]
    assert [(issue.kind, issue.source) for issue in issues] == [(IssueKind.BAD_VALUE, function)]


@pytest.mark.parametrize(
    ("content", "kind", "reason"),
    [
        (errno.EACCES, IssueKind.NO_PERMISSION, Missing.NO_PERMISSION),
        (errno.EPERM, IssueKind.NO_PERMISSION, Missing.NO_PERMISSION),
        (errno.EIO, IssueKind.READ_ERROR, Missing.ERROR),
        (b"nothing of the kind\n", IssueKind.BAD_VALUE, Missing.ERROR),
    ],
)
def test_a_gpu_whose_file_cannot_be_read_stays_by_its_address(
    content: bytes | int, kind: IssueKind, reason: Missing
) -> None:
    section, issues = read_procfs(at("0000:01:00.0", content))
    (gpu,) = section.gpus
    assert (gpu.pci_bus_id, gpu.uuid, gpu.product_name, gpu.gpu_excluded) == (PciBusId(0, 1, 0), *[reason] * 3)
    assert kinds(issues) == [kind]
    merged = read_gpus(FakeHost(FakeSmi(ONE_GPU), at("0000:01:00.0", content))).section.gpus
    assert [(gpu.uuid, gpu.layers) for gpu in merged] == [(U1, BOTH)]


def test_an_unreadable_gpu_without_an_address_is_counted_all_the_same() -> None:
    section, _ = read_procfs(at("0", errno.EACCES))
    assert [(gpu.uuid, gpu.pci_bus_id) for gpu in section.gpus] == [(Missing.NO_PERMISSION, Missing.NO_PERMISSION)]


def test_an_address_that_only_the_directory_tells_is_none_where_that_is_a_number() -> None:
    section, _ = read_procfs(at("0", f"Model: GeForce GTX 480\nGPU UUID: {U1}\n".encode()))
    assert [(gpu.uuid, gpu.pci_bus_id) for gpu in section.gpus] == [(U1, Missing.ABSENT)]


def test_a_gpu_that_leaves_between_two_reads_is_gone() -> None:
    assert read_procfs(at("0000:01:00.0", errno.ENOENT))[0].gpus == ()


def test_a_directory_that_cannot_be_listed_is_not_a_host_without_gpus() -> None:
    host = tree()
    host.files[f"{DRIVER}/gpus"] = errno.EACCES
    section, issues = read_procfs(host)
    assert (section.layers, section.gpus) == ((), ())
    assert kinds(issues) == [IssueKind.NO_PERMISSION]
    assert read_gpus(FakeHost(FakeSmi(ONE_GPU), host)).section.layers == (Layer.NVIDIA_SMI,)
    with pytest.raises(NoDriverError):
        read_gpus(FakeHost(FakeSmi({}), host))


def test_an_error_without_a_number_is_a_read_error() -> None:
    class Odd(FakeTree):
        def list(self, path: str) -> tuple[str, ...]:
            raise OSError(path)

    _, issues = read_procfs(Odd())
    assert [str(issue) for issue in issues] == [f"{DRIVER}/gpus: could not be read (error)"]


def test_a_version_that_is_none() -> None:
    host = tree()
    host.files[f"{DRIVER}/version"] = b"something else\n"
    section, issues = read_procfs(host)
    assert section.driver_version is Missing.ABSENT
    assert [(issue.kind, issue.source) for issue in issues] == [(IssueKind.BAD_VALUE, f"{DRIVER}/version")]

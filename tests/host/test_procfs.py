from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from gpuinv.errors import IssueKind
from gpuinv.host.procfs import read_procfs
from gpuinv.ids import PciBusId, PciId
from gpuinv.inventory import Layer
from gpuinv.readings import Missing
from gpuinv.testing import replay
from tests.host.fakes import BUS, DRIVER, HOSTS, U1, FakeTree, at, information, tree

if TYPE_CHECKING:
    from pathlib import Path

PCI = "/sys/bus/pci/devices"


def test_a_function_of_sysfs_is_read_by_the_address_that_procfs_gives() -> None:
    host = at(BUS, information(U1, BUS))
    function = f"{PCI}/{BUS}"
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
    host = at(BUS, information(U1, BUS))
    function = f"{PCI}/{BUS}"
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
    section, issues = read_procfs(at(BUS, content))
    (gpu,) = section.gpus
    assert (gpu.pci_bus_id, gpu.uuid, gpu.product_name, gpu.gpu_excluded) == (PciBusId(0, 1, 0), *[reason] * 3)
    assert [issue.kind for issue in issues] == [kind]


def test_an_unreadable_gpu_without_an_address_is_counted_all_the_same() -> None:
    section, _ = read_procfs(at("0", errno.EACCES))
    assert [(gpu.uuid, gpu.pci_bus_id) for gpu in section.gpus] == [(Missing.NO_PERMISSION, Missing.NO_PERMISSION)]


def test_an_address_that_only_the_directory_tells_is_none_where_that_is_a_number() -> None:
    section, _ = read_procfs(at("0", f"Model: GeForce GTX 480\nGPU UUID: {U1}\n".encode()))
    assert [(gpu.uuid, gpu.pci_bus_id) for gpu in section.gpus] == [(U1, Missing.ABSENT)]


def test_a_gpu_that_leaves_between_two_reads_is_gone() -> None:
    assert read_procfs(at(BUS, errno.ENOENT))[0].gpus == ()


def test_a_directory_that_cannot_be_listed_is_not_a_host_without_gpus() -> None:
    host = tree()
    host.files[f"{DRIVER}/gpus"] = errno.EACCES
    section, issues = read_procfs(host)
    assert (section.layers, section.gpus) == ((), ())
    assert [issue.kind for issue in issues] == [IssueKind.NO_PERMISSION]


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


@pytest.mark.parametrize("host", HOSTS)
def test_a_captured_host(fixtures_dir: Path, host: str) -> None:
    section, issues = read_procfs(replay(fixtures_dir / "nvidia-smi" / host).tree)
    assert issues == ()
    assert (len(section.gpus), section.layers) == {
        "dgx-a100-mig": (8, (Layer.PROCFS,)),
        "workstation-rtx-5090": (1, (Layer.PROCFS,)),
        "wsl2-rtx-5090": (0, ()),
    }[host]
    assert all(gpu.layers == (Layer.PROCFS,) for gpu in section.gpus)


def test_a_host_without_the_driver_has_no_layer() -> None:
    section, issues = read_procfs(FakeTree())
    assert (section.layers, section.gpus, issues) == ((), (), ())
    gpu_without_a_function, _ = read_procfs(at(BUS, information(U1, BUS)))
    assert [(gpu.uuid, gpu.pci_device_id) for gpu in gpu_without_a_function.gpus] == [(U1, Missing.ABSENT)]

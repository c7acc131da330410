"""The `os` section: the operating system and what it offers to workloads."""

from __future__ import annotations

import attrs

from gpuinv.inventory._fields import doc, reading, rows
from gpuinv.readings import Reading

__all__ = ["ContainerRuntime", "OsSection"]


@attrs.frozen(kw_only=True)
class ContainerRuntime:
    """A container or VM runtime that is installed."""

    runtime: str = doc("Its name, `containerd`.")
    version: Reading[str] = reading("Its version.")


@attrs.frozen(kw_only=True)
class OsSection:
    """The operating system."""

    distribution: Reading[str] = reading("`ID` of os-release: `ubuntu`.")
    distribution_version: Reading[str] = reading("`VERSION_ID` of os-release: `24.04`.")
    pretty_name: Reading[str] = reading("`PRETTY_NAME` of os-release.")
    kernel_release: Reading[str] = reading("Release of the kernel, as `uname -r` prints it.")
    cgroup_version: Reading[int] = reading("1 or 2.")
    kvm_available: Reading[bool] = reading("Whether /dev/kvm is there.")
    iommu_enabled: Reading[bool] = reading("Whether the kernel has IOMMU groups.")
    hostname: Reading[str] = reading("The host's name.")
    runtimes: Reading[tuple[ContainerRuntime, ...]] = rows("Runtimes.", by=("runtime",))

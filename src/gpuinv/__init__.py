"""gpuinv reads what an NVIDIA host says of its GPUs, and decides what follows.

Parsers take text or bytes and return records; rules take records and return decisions. Nothing here touches a host:
that is `gpuinv.host`. A host in a file is `gpuinv.testing`.

Every name below loads on first use, so that importing gpuinv costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuinv.errors import (
        GpuInvError,
        InvalidSection,
        Issue,
        IssueKind,
        NoDriverError,
        ParseError,
        SmiError,
        SmiFailure,
        UsageError,
    )
    from gpuinv.ids import DeviceId, GpuUuid, MigUuid, PciBusId, PciId
    from gpuinv.inventory import Gpu, GpuSample, GpuSection, Layer, MigInstance, NodeInventory, OpaqueSection
    from gpuinv.kernel.pci import parse_pci_function
    from gpuinv.kernel.proc_nvidia import parse_proc_information, parse_proc_version
    from gpuinv.readings import Missing, Reading, is_known
    from gpuinv.sections.enrich import enrich
    from gpuinv.sections.seal import SealedSection, seal, verify
    from gpuinv.smi.compute_cap import parse_compute_cap
    from gpuinv.smi.gpu_list import parse_smi_list
    from gpuinv.smi.mig_tables import parse_mig_profiles
    from gpuinv.smi.nvlink import parse_nvlink_remote, parse_nvlink_status
    from gpuinv.smi.query_gpu import parse_query_gpu
    from gpuinv.smi.query_xml import parse_smi_xml
    from gpuinv.smi.records import SmiSnapshot, Snapshot
    from gpuinv.smi.topology import parse_topology
    from gpuinv.versions import DriverVersion

__all__ = [
    "DeviceId",
    "DriverVersion",
    "Gpu",
    "GpuInvError",
    "GpuSample",
    "GpuSection",
    "GpuUuid",
    "InvalidSection",
    "Issue",
    "IssueKind",
    "Layer",
    "MigInstance",
    "MigUuid",
    "Missing",
    "NoDriverError",
    "NodeInventory",
    "OpaqueSection",
    "ParseError",
    "PciBusId",
    "PciId",
    "Reading",
    "SealedSection",
    "SmiError",
    "SmiFailure",
    "SmiSnapshot",
    "Snapshot",
    "UsageError",
    "enrich",
    "is_known",
    "parse_compute_cap",
    "parse_mig_profiles",
    "parse_nvlink_remote",
    "parse_nvlink_status",
    "parse_pci_function",
    "parse_proc_information",
    "parse_proc_version",
    "parse_query_gpu",
    "parse_smi_list",
    "parse_smi_xml",
    "parse_topology",
    "seal",
    "verify",
]

_HOMES = {
    "GpuInvError": "gpuinv.errors",
    "InvalidSection": "gpuinv.errors",
    "Issue": "gpuinv.errors",
    "IssueKind": "gpuinv.errors",
    "NoDriverError": "gpuinv.errors",
    "ParseError": "gpuinv.errors",
    "SmiError": "gpuinv.errors",
    "SmiFailure": "gpuinv.errors",
    "UsageError": "gpuinv.errors",
    "DeviceId": "gpuinv.ids",
    "GpuUuid": "gpuinv.ids",
    "MigUuid": "gpuinv.ids",
    "PciBusId": "gpuinv.ids",
    "PciId": "gpuinv.ids",
    "Missing": "gpuinv.readings",
    "Reading": "gpuinv.readings",
    "is_known": "gpuinv.readings",
    "DriverVersion": "gpuinv.versions",
    "Gpu": "gpuinv.inventory",
    "GpuSample": "gpuinv.inventory",
    "GpuSection": "gpuinv.inventory",
    "Layer": "gpuinv.inventory",
    "MigInstance": "gpuinv.inventory",
    "NodeInventory": "gpuinv.inventory",
    "OpaqueSection": "gpuinv.inventory",
    "parse_pci_function": "gpuinv.kernel.pci",
    "parse_proc_information": "gpuinv.kernel.proc_nvidia",
    "parse_proc_version": "gpuinv.kernel.proc_nvidia",
    "enrich": "gpuinv.sections.enrich",
    "SealedSection": "gpuinv.sections.seal",
    "seal": "gpuinv.sections.seal",
    "verify": "gpuinv.sections.seal",
    "parse_compute_cap": "gpuinv.smi.compute_cap",
    "parse_smi_list": "gpuinv.smi.gpu_list",
    "parse_smi_xml": "gpuinv.smi.query_xml",
    "SmiSnapshot": "gpuinv.smi.records",
    "Snapshot": "gpuinv.smi.records",
    "parse_topology": "gpuinv.smi.topology",
    "parse_nvlink_status": "gpuinv.smi.nvlink",
    "parse_nvlink_remote": "gpuinv.smi.nvlink",
    "parse_mig_profiles": "gpuinv.smi.mig_tables",
    "parse_query_gpu": "gpuinv.smi.query_gpu",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

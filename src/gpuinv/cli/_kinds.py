"""What `gpuinv parse` can read: one row for each output or file."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
from rich.text import Text

from gpuinv.cli import _links, _records, _tables
from gpuinv.smi.remapped_rows import REMAPPED_ROWS_FIELDS

__all__ = ["KINDS", "Kind"]


@attrs.frozen(kw_only=True)
class Kind:
    """An output or a file that can be parsed on its own."""

    name: str
    reads: str
    """What it is the output of."""
    parser: str
    """Its parser, `module:function`, which loads on first use."""
    lines: Callable[[Any, int], list[Text]] = _records.field_lines
    """What a person is shown of the record, on that many columns."""
    fields: tuple[str, ...] | None = None
    """What a query asks for that may ask for anything: where neither the caller nor a header says it, these. None for
    an output of one form."""

    def parse(self, data: bytes, fields: Sequence[str] = ()) -> object:
        """Read the data, which holds `fields` where there is a choice.

        Raises:
            ParseError: it is not what it is said to be.
            UsageError: there is no such query.
        """
        parser = pkgutil.resolve_name(self.parser)
        record: object = parser(data) if self.fields is None else parser(data, fields)
        return record


_ROWS: Final = (
    Kind(
        name="q-x",
        reads="nvidia-smi -q -x",
        parser="gpuinv.smi.query_xml:parse_smi_xml",
        lines=_records.snapshot_lines,
    ),
    Kind(name="L", reads="nvidia-smi -L", parser="gpuinv.smi.gpu_list:parse_smi_list", lines=_records.list_lines),
    Kind(
        name="compute-cap",
        reads="nvidia-smi --query-gpu=uuid,compute_cap --format=csv",
        parser="gpuinv.smi.compute_cap:parse_compute_cap",
        lines=_records.capability_lines,
    ),
    Kind(
        name="query-gpu",
        reads="nvidia-smi --query-gpu=<fields> --format=csv",
        parser="gpuinv.smi.query_gpu:parse_query_gpu",
        lines=_tables.query_lines,
        fields=(),
    ),
    Kind(
        name="samples",
        reads="nvidia-smi --query-gpu=<as samples asks> --format=csv",
        parser="gpuinv.smi.samples:parse_samples",
        lines=_tables.samples_lines,
    ),
    Kind(
        name="compute-apps",
        reads="nvidia-smi --query-compute-apps=<fields> --format=csv",
        parser="gpuinv.smi.compute_apps:parse_compute_apps",
        lines=_tables.compute_app_lines,
        fields=("gpu_uuid",),
    ),
    Kind(
        name="remapped-rows",
        reads="nvidia-smi --query-remapped-rows=<fields> --format=csv",
        parser="gpuinv.smi.remapped_rows:parse_remapped_rows",
        lines=_tables.remapped_row_lines,
        fields=REMAPPED_ROWS_FIELDS,
    ),
    Kind(
        name="topo",
        reads="nvidia-smi topo -m",
        parser="gpuinv.smi.topology:parse_topology",
        lines=_links.topology_lines,
    ),
    Kind(
        name="nvlink-s",
        reads="nvidia-smi nvlink -s",
        parser="gpuinv.smi.nvlink:parse_nvlink_status",
        lines=_links.link_status_lines,
    ),
    Kind(
        name="nvlink-R",
        reads="nvidia-smi nvlink -R",
        parser="gpuinv.smi.nvlink:parse_nvlink_remote",
        lines=_links.link_remote_lines,
    ),
    Kind(
        name="nvlink-e",
        reads="nvidia-smi nvlink -e",
        parser="gpuinv.smi.nvlink:parse_nvlink_errors",
        lines=_links.link_error_lines,
    ),
    Kind(
        name="mig-lgip",
        reads="nvidia-smi mig -lgip",
        parser="gpuinv.smi.mig_tables:parse_mig_profiles",
        lines=_tables.mig_profile_lines,
    ),
    Kind(
        name="mig-lgi",
        reads="nvidia-smi mig -lgi",
        parser="gpuinv.smi.mig_tables:parse_gpu_instances",
        lines=_tables.gpu_instance_lines,
    ),
    Kind(
        name="mig-lci",
        reads="nvidia-smi mig -lci",
        parser="gpuinv.smi.mig_tables:parse_compute_instances",
        lines=_tables.compute_instance_lines,
    ),
    Kind(
        name="mig-lgipp",
        reads="nvidia-smi mig -lgipp",
        parser="gpuinv.smi.mig_tables:parse_mig_placements",
        lines=_tables.placement_lines,
    ),
    Kind(
        name="mig-lcip",
        reads="nvidia-smi mig -lcip",
        parser="gpuinv.smi.mig_tables:parse_compute_instance_profiles",
        lines=_tables.compute_instance_profile_lines,
    ),
    Kind(name="version", reads="nvidia-smi --version", parser="gpuinv.smi.smi_version:parse_smi_version"),
    Kind(
        name="help-query-gpu",
        reads="nvidia-smi --help-query-gpu",
        parser="gpuinv.smi.query_help:parse_help_query_gpu",
        lines=_tables.query_help_lines,
    ),
    Kind(
        name="gpu-reset",
        reads="nvidia-smi --gpu-reset",
        parser="gpuinv.smi.gpu_reset:parse_gpu_reset",
        lines=_tables.gpu_reset_lines,
    ),
    Kind(
        name="proc-information",
        reads="/proc/driver/nvidia/gpus/<bus id>/information",
        parser="gpuinv.kernel.proc_nvidia:parse_proc_information",
    ),
    Kind(
        name="proc-version",
        reads="/proc/driver/nvidia/version",
        parser="gpuinv.kernel.proc_nvidia:parse_proc_version",
    ),
)

KINDS: Final = {kind.name: kind for kind in _ROWS}

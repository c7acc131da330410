"""What is asked of nvidia-smi, in the one spelling that readers, captures and replays share."""

from __future__ import annotations

import attrs

from gpuinv.text import MAX_BYTES

__all__ = [
    "COMPUTE_CAP",
    "COMPUTE_INSTANCES",
    "COMPUTE_INSTANCE_PROFILES",
    "FULL",
    "GPU_INSTANCES",
    "LIST",
    "MAX_OUTPUT_BYTES",
    "MIG_PLACEMENTS",
    "MIG_PROFILES",
    "NVLINK_ERRORS",
    "NVLINK_REMOTE",
    "NVLINK_STATUS",
    "OVERALL_SECONDS",
    "QUERY_SECONDS",
    "TOOL",
    "TOPOLOGY",
    "Query",
]

TOOL = "nvidia-smi"

MAX_OUTPUT_BYTES = MAX_BYTES
"""The most output of one command that is kept: the runner's bound is the parsers'."""

QUERY_SECONDS = 30.0
"""How long one query may take. A wedged GPU can hang nvidia-smi for ever."""

OVERALL_SECONDS = 60.0
"""How long all queries of a snapshot may take together."""


@attrs.frozen
class Query:
    """One call of nvidia-smi: its arguments, and whether a snapshot can do without its answer."""

    args: tuple[str, ...]
    required: bool = attrs.field(default=False, kw_only=True)

    @property
    def argv(self) -> tuple[str, ...]:
        """The whole command line."""
        return (TOOL, *self.args)

    @property
    def source(self) -> str:
        """How errors and issues name it: `nvidia-smi -q -x`."""
        return " ".join(self.argv)


FULL = Query(("-q", "-x"), required=True)
LIST = Query(("-L",))
COMPUTE_CAP = Query(("--query-gpu=uuid,compute_cap", "--format=csv,noheader"))
TOPOLOGY = Query(("topo", "-m"))
NVLINK_STATUS = Query(("nvlink", "-s"))
NVLINK_REMOTE = Query(("nvlink", "-R"))
NVLINK_ERRORS = Query(("nvlink", "-e"))
MIG_PROFILES = Query(("mig", "-lgip"))
GPU_INSTANCES = Query(("mig", "-lgi"))
COMPUTE_INSTANCES = Query(("mig", "-lci"))
MIG_PLACEMENTS = Query(("mig", "-lgipp"))
COMPUTE_INSTANCE_PROFILES = Query(("mig", "-lcip"))

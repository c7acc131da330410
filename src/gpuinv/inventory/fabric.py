"""How GPUs reach each other: NVLinks, the topology row, and membership in an NVLink fabric."""

from __future__ import annotations

import attrs

from gpuinv.inventory._fields import doc, reading, record
from gpuinv.readings import Missing, Reading

__all__ = ["Fabric", "FabricHealth", "NvLink", "TopologyPeer"]

_REGISTERING = frozenset({"Not Started", "In Progress"})
_NO_CLUSTER = "00000000-0000-0000-0000-000000000000"


@attrs.frozen(kw_only=True)
class NvLink:
    """One NVLink of a GPU. Its speed is a sample, not inventory."""

    link: int = doc("The link's number on its GPU.")
    up: Reading[bool] = reading("Whether the link is up; a link that sleeps is up.")
    peer: Reading[str] = reading("The UUID of this node's GPU at the far end, else `nvswitch:<pci bus id>`.")
    remote_link: Reading[int] = reading("The link's number at the far end.")


@attrs.frozen(kw_only=True)
class TopologyPeer:
    """One cell of a GPU's row in the topology matrix."""

    peer: str = doc("The peer GPU's UUID, else its address; a NIC's device; where it is not known, the tool's label.")
    kind: str = doc("How the two are connected: `NV`, `PIX`, `PXB`, `PHB`, `NODE`, `SYS` (the `SOC` of old releases).")
    nvlink_count: Reading[int] = reading("How many NVLinks connect them, where they are.")


@attrs.frozen(kw_only=True)
class FabricHealth:
    """What the driver says of the fabric's health, as it spells it."""

    summary: Reading[str] = reading("`Healthy`, `Unhealthy`, `Limited Capacity`.")
    bandwidth: Reading[str] = reading("`Full` or `Degraded`.")
    route_recovery_in_progress: Reading[bool] = reading("Whether a route is being recovered.")
    route_unhealthy: Reading[bool] = reading("Whether a route is unhealthy.")
    access_timeout_recovery: Reading[bool] = reading("Whether access timeouts are being recovered.")
    incorrect_configuration: Reading[str] = reading("What is configured wrongly, or `None`.")
    partition_assigned: Reading[bool] = reading("Whether a partition is assigned.")


@attrs.frozen(kw_only=True)
class Fabric:
    """A GPU's registration with an NVLink fabric. Membership is the pair of cluster and clique, never one alone."""

    state: Reading[str] = reading("`Not Started`, `In Progress`, `Completed`.")
    status: Reading[str] = reading("Outcome of the registration: `Success`, else the error.")
    cluster_uuid: Reading[str] = reading("UUID of the cluster; all zero on a node that is in none.")
    clique_id: Reading[int] = reading("Id of the clique in the cluster.")
    health: FabricHealth = record("Health of the fabric.", FabricHealth)

    @property
    def clique(self) -> Reading[tuple[str, int]]:
        """The (cluster UUID, clique id) that the GPU belongs to.

        An all-zero cluster is none, and reads NOT_SUPPORTED. While the registration goes on, membership is
        NOT_AVAILABLE. Health does not decide it.
        """
        if isinstance(self.cluster_uuid, Missing):
            return Missing.NOT_AVAILABLE if self.state in _REGISTERING else self.cluster_uuid
        if self.cluster_uuid == _NO_CLUSTER:
            return Missing.NOT_SUPPORTED
        if isinstance(self.clique_id, Missing):
            return self.clique_id
        return (self.cluster_uuid, self.clique_id)

"""The one table of `nvidia-smi --query-gpu=…`: every field with its aliases, its unit, and how a cell of it is read.

The names and aliases are those of `--help-query-gpu` of drivers 590 to 610. The sets of two drivers differ, and not
always by growing; a field that the table does not have is read as text.
"""

from __future__ import annotations

import gpuinv.values as v
from gpuinv.smi import _cells as c
from gpuinv.smi._csv import Column

__all__ = ["QUERY_FIELDS", "query_field"]


def _columns(reader: v.ValueReader, names: str, unit: str = "") -> tuple[Column, ...]:
    """Columns read alike; names are parted by blanks, the aliases of one by `=`."""
    return tuple(Column(tuple(each.split("=")), reader, unit) for each in names.split())


def _below(prefix: str, reader: v.ValueReader, names: str, unit: str = "", *, alias: str = "") -> tuple[Column, ...]:
    """Columns below a common prefix, which may have an older name."""
    prefixes = (prefix, alias) if alias else (prefix,)
    return tuple(
        Column(tuple(f"{each}.{name}" for each in prefixes for name in names_of.split("=")), reader, unit)
        for names_of in names.split()
    )


_IDENTITY = (
    *_columns(v.TEXT, "timestamp vgpu_driver_capability.heterogenous_multivGPU hostname"),
    *_columns(v.DRIVER_VERSION, "driver_version kmd_version"),
    *_columns(v.INTEGER, "index count"),
    *_columns(v.NAME, "name=gpu_name serial=gpu_serial"),
    *_columns(v.UUID, "uuid=gpu_uuid"),
    *_columns(v.BUS_ID, "pci.bus_id=gpu_bus_id"),
    *_below("pci", c.HEXADECIMAL, "domain bus device baseClass subClass"),
    *_below("pci", v.PCI_IDS, "device_id sub_device_id"),
    *_below("pcie.link", v.INTEGER, "gen.current gen.gpucurrent gen.max gen.gpumax gen.hostmax"),
    *_below("pcie.link", v.INTEGER, "width.current width.max"),
    *_columns(v.UPPER, "vbios_version"),
    *_below("inforom", v.NAME, "img=image oem ecc pwr=power checksum_validation"),
    *_columns(v.MAJOR_MINOR, "compute_cap"),
    *_below("platform", v.NAME, "chassis_serial_number peer_type gpu_fabric_guid"),
    *_below("platform", v.INTEGER, "slot_number tray_index host_id module_id"),
)
_STATE = (
    *_columns(c.FLAG, "display_mode display_attached display_active persistence_mode accounting.mode"),
    *_columns(v.INTEGER, "accounting.buffer_size"),
    *_columns(v.NAME, "addressing_mode compute_mode c2c.mode gpu_recovery_action"),
    *_columns(v.NAME, "driver_model.current driver_model.pending"),
    *_below("gom", v.NAME, "current pending", alias="gpu_operation_mode"),
    *_columns(c.FLAG, "mig.mode.current mig.mode.pending gsp.mode.current gsp.mode.default"),
    *_columns(c.FLAG, "dramEncryption.mode.current dramEncryption.mode.pending"),
    *_below(
        "fabric", v.NAME, "state status clusterUuid health.summary health.bandwidth health.incorrect_configuration"
    ),
    *_below("fabric", v.INTEGER, "cliqueId"),
    *_below("fabric.health", c.FLAG, "route_recovery_in_progress route_unhealthy access_timeout_recovery"),
    *_below("fabric.health", c.FLAG, "partition_assigned"),
)
_USE = (
    *_columns(c.PERCENT, "fan.speed", "%"),
    *_columns(v.NAME, "pstate"),
    *_below("memory", c.MIB, "total reserved used free", "MiB"),
    *_below("protected_memory", c.MIB, "total used free", "MiB"),
    *_below("utilization", c.PERCENT, "gpu memory encoder decoder jpeg ofa", "%"),
    *_below("encoder.stats", v.INTEGER, "sessionCount averageFps averageLatency"),
    *_below("temperature", c.CELSIUS, "gpu gpu.tlimit memory"),
    *_below("clocks", c.MHZ, "current.graphics=gr current.sm=sm current.memory=mem current.video=video", "MHz"),
    *_below("clocks.max", c.MHZ, "graphics=gr sm memory=mem", "MHz"),
    *_below("clocks.applications", c.MHZ, "graphics=gr memory=mem", "MHz"),
    *_below("clocks.default_applications", c.MHZ, "graphics=gr memory=mem", "MHz"),
    *_below("clocks_event_reasons", c.HEXADECIMAL, "supported active", alias="clocks_throttle_reasons"),
    *_below(
        "clocks_event_reasons",
        c.FLAG,
        "gpu_idle applications_clocks_setting sw_power_cap hw_slowdown hw_thermal_slowdown hw_power_brake_slowdown "
        "sw_thermal_slowdown sync_boost",
        alias="clocks_throttle_reasons",
    ),
    *_below(
        "clocks_event_reasons_counters",
        c.MICROSECONDS,
        "sw_power_cap sync_boost sw_thermal_slowdown hw_thermal_slowdown hw_power_brake_slowdown",
        "us",
    ),
    *_columns(c.SECONDS, "bbx.time_run", "seconds"),
)
_POWER = (
    *_columns(
        c.MILLIWATTS,
        "power.draw power.draw.average=gpu.power.draw.average power.draw.instant=gpu.power.draw.instant "
        "power.limit=gpu.power.requested_limit enforced.power.limit=gpu.power.current_limit "
        "power.default_limit=gpu.power.default_limit power.min_limit=gpu.power.min_limit "
        "power.max_limit=gpu.power.max_limit",
        "W",
    ),
    *_below("module", c.MILLIWATTS, "power.draw.average power.draw.instant power.limit=power.requested_limit", "W"),
    *_below("module", c.MILLIWATTS, "enforced.power.limit=power.current_limit", "W"),
    *_below("module.power", c.MILLIWATTS, "default_limit min_limit max_limit", "W"),
    *_below("gpu.base", c.MILLIWATTS, "current requested default min max", "W"),
)
_LOCATIONS = "device_memory dram register_file l1_cache l2_cache texture_memory cbu sram total"
_ERRORS = (
    *_columns(c.FLAG, "ecc.mode.current ecc.mode.pending"),
    *_below("ecc.errors.corrected.volatile", v.COUNTER, _LOCATIONS),
    *_below("ecc.errors.corrected.aggregate", v.COUNTER, _LOCATIONS),
    *_below("ecc.errors.uncorrected.volatile", v.COUNTER, f"{_LOCATIONS} sram.parity sram.secded"),
    *_below("ecc.errors.uncorrected.aggregate", v.COUNTER, f"{_LOCATIONS} sram.parity sram.secded"),
    *_below("ecc.errors.uncorrected.aggregate.sram", c.FLAG, "thresholdExceeded"),
    *_below("ecc.errors.uncorrected.aggregate.sram", v.COUNTER, "l2 sm mcu pcie other"),
    *_below("retired_pages", v.COUNTER, "single_bit_ecc.count=sbe double_bit.count=dbe"),
    *_below("retired_pages", c.FLAG, "pending"),
    *_below(
        "remapped_rows", v.COUNTER, "correctable=sbe uncorrectable=dbe correctable_inactive uncorrectable_inactive"
    ),
    *_below("remapped_rows", c.FLAG, "pending failure"),
    *_below("remapped_rows.histogram", v.INTEGER, "max high partial low none"),
)
_SMOOTHING = (
    *_below(
        "power_smoothing",
        c.MILLIWATTS,
        "tmp_floor tmp_ceil primary_power_floor secondary_power_floor min_primary_floor_activation_offset "
        "min_primary_floor_activation_point curr_profile.secondary_power_floor curr_profile.primary_floor_act_offset "
        "admin_override.secondary_power_floor admin_override.primary_floor_act_offset",
        "W",
    ),
    *_below(
        "power_smoothing",
        c.MILLISECONDS,
        "window_multiplier curr_profile.ramp_down_hysteresis admin_override.ramp_down_hysteresis",
        "ms",
    ),
    *_below("power_smoothing", c.FLAG, "enabled delayed_power_smoothing_supported soc_power_smoothing_enabled"),
)

QUERY_FIELDS: tuple[Column, ...] = (*_IDENTITY, *_STATE, *_USE, *_POWER, *_ERRORS, *_SMOOTHING)
"""Every field whose cells have a known form, by its names; the first is the one that drivers list first."""

_BY_NAME = {name: column for column in QUERY_FIELDS for name in column.names}


def query_field(name: str) -> Column:
    """The column of a field by any of its names; one that the table does not have is text."""
    return _BY_NAME.get(name) or Column((name,), v.TEXT)

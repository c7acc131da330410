"""Samples: what moves while the hardware stays the same. Never part of a section, never hashed."""

from __future__ import annotations

import attrs

from gpuinv.ids import GpuUuid, PciBusId
from gpuinv.inventory._fields import doc, reading, record
from gpuinv.readings import Missing, Reading

__all__ = [
    "Clocks",
    "GpuProcess",
    "GpuSample",
    "MemoryUsage",
    "MigSample",
    "PowerReadings",
    "Temperature",
    "Utilization",
]


@attrs.frozen(kw_only=True)
class MemoryUsage:
    """One pool of memory at one moment."""

    total_mib: Reading[int] = reading("Size.", unit="MiB")
    reserved_mib: Reading[int] = reading("Reserved by the driver (from R510 on).", unit="MiB")
    used_mib: Reading[int] = reading("In use.", unit="MiB")
    free_mib: Reading[int] = reading("Free.", unit="MiB")


@attrs.frozen(kw_only=True)
class Utilization:
    """Busy time of the engines."""

    gpu_util_percent: Reading[int] = reading("Time with a kernel running.", unit="%")
    memory_util_percent: Reading[int] = reading("Time with memory read or written.", unit="%")
    encoder_util_percent: Reading[int] = reading("Encoders.", unit="%")
    decoder_util_percent: Reading[int] = reading("Decoders.", unit="%")
    jpeg_util_percent: Reading[int] = reading("JPEG engines.", unit="%")
    ofa_util_percent: Reading[int] = reading("Optical flow accelerators.", unit="%")


@attrs.frozen(kw_only=True)
class Temperature:
    """Temperatures, and the two ways in which drivers state their limits: absolute thresholds, or margins (`tlimit`).

    A threshold is degrees of the sensor; a margin is degrees left before the limit, and its thresholds are 0 or
    negative. They are never comparable with each other.
    """

    gpu_temp_c: Reading[int] = reading("The GPU's temperature.", unit="°C")
    memory_temp_c: Reading[int] = reading("The memory's temperature.", unit="°C")
    gpu_temp_tlimit_c: Reading[int] = reading("Margin left before the GPU slows down.", unit="°C")
    gpu_temp_max_threshold_c: Reading[int] = reading("Threshold of shutdown.", unit="°C")
    gpu_temp_slow_threshold_c: Reading[int] = reading("Threshold of slowdown.", unit="°C")
    gpu_temp_max_gpu_threshold_c: Reading[int] = reading("Highest operating temperature of the GPU.", unit="°C")
    gpu_temp_max_mem_threshold_c: Reading[int] = reading("Highest operating temperature of the memory.", unit="°C")
    gpu_temp_max_tlimit_threshold_c: Reading[int] = reading("Margin of shutdown.", unit="°C")
    gpu_temp_slow_tlimit_threshold_c: Reading[int] = reading("Margin of slowdown.", unit="°C")
    gpu_temp_max_gpu_tlimit_threshold_c: Reading[int] = reading("Margin of the highest operating point.", unit="°C")
    gpu_temp_max_mem_tlimit_threshold_c: Reading[int] = reading("The same for the memory.", unit="°C")


@attrs.frozen(kw_only=True)
class PowerReadings:
    """Power drawn, and the limit in force at that moment."""

    average_power_draw_mw: Reading[int] = reading("Average over the last second.", unit="mW")
    instant_power_draw_mw: Reading[int] = reading("At this moment.", unit="mW")
    legacy_power_draw_mw: Reading[int] = reading(
        "The one value of drivers before R570, and of the CSV query's `power.draw`.", unit="mW"
    )
    current_power_limit_mw: Reading[int] = reading("The limit in force.", unit="mW")
    requested_power_limit_mw: Reading[int] = reading(
        "The limit that was asked for, which is also the CSV query's `power.limit`.", unit="mW"
    )

    @property
    def power_draw_mw(self) -> Reading[int]:
        """The draw as `--query-gpu=power.draw` prints it: the average, else the instant, else the one old value."""
        return _first(self.average_power_draw_mw, self.instant_power_draw_mw, self.legacy_power_draw_mw)

    @property
    def power_limit_mw(self) -> Reading[int]:
        """The limit in force, else the one that was asked for."""
        return _first(self.current_power_limit_mw, self.requested_power_limit_mw)


def _first(*readings: Reading[int]) -> Reading[int]:
    """The first known value, else the reason of the first that was read at all."""
    for found in readings:
        if not isinstance(found, Missing):
            return found
    return next((found for found in readings if found is not Missing.ABSENT), Missing.ABSENT)


@attrs.frozen(kw_only=True)
class Clocks:
    """Clock rates."""

    graphics_clock_mhz: Reading[int] = reading("Graphics clock.", unit="MHz")
    sm_clock_mhz: Reading[int] = reading("SM clock.", unit="MHz")
    mem_clock_mhz: Reading[int] = reading("Memory clock.", unit="MHz")
    video_clock_mhz: Reading[int] = reading("Video clock.", unit="MHz")


@attrs.frozen(kw_only=True)
class GpuProcess:
    """A process on the GPU. On a vGPU host the names are those of VMs and the pids are not the host's."""

    pid: Reading[int] = reading("Process id.")
    process_type: Reading[str] = reading("`C` computes, `G` draws, `C+G` both, `M+C` is an MPS client.")
    process_name: Reading[str] = reading("Its name, as it calls itself.")
    used_memory_mib: Reading[int] = reading("Its memory; WDDM does not tell.", unit="MiB")
    gpu_instance_id: Reading[int] = reading("The GPU instance that it runs in.")
    compute_instance_id: Reading[int] = reading("The compute instance that it runs in.")

    @property
    def computes(self) -> bool:
        """Whether it is a compute process: its type contains `C`. A compositor is none."""
        return not isinstance(self.process_type, Missing) and "C" in self.process_type


@attrs.frozen(kw_only=True)
class MigSample:
    """The memory of a MIG device at one moment."""

    gpu_instance_id: int = doc("The id of the GPU instance.")
    compute_instance_id: int = doc("The id of the compute instance.")
    fb_memory: MemoryUsage = record("Frame buffer memory.", MemoryUsage)
    bar1_memory: MemoryUsage = record("BAR1 aperture.", MemoryUsage)


@attrs.frozen(kw_only=True)
class GpuSample:
    """What one GPU was doing at one moment."""

    uuid: Reading[GpuUuid] = reading("The GPU's identity.")
    pci_bus_id: Reading[PciBusId] = reading("Its PCI address.")
    fb_memory: MemoryUsage = record("Frame buffer memory.", MemoryUsage)
    bar1_memory: MemoryUsage = record("BAR1 aperture.", MemoryUsage)
    utilization: Utilization = record("Busy time.", Utilization)
    temperature: Temperature = record("Temperatures.", Temperature)
    power: PowerReadings = record("Power of the GPU.", PowerReadings)
    clocks: Clocks = record("Clock rates.", Clocks)
    performance_state: Reading[str] = reading("`P0` (fastest) to `P15`.")
    fan_speed_percent: Reading[int] = reading("Fan speed.", unit="%")
    current_link_gen: Reading[int] = reading("PCIe generation now; an idle GPU lowers it.")
    current_link_width: Reading[int] = reading("PCIe width now; an idle GPU may lower it.", unit="lanes")
    replay_counter: Reading[int] = reading("PCIe replays since the last reset.")
    replay_rollover_counter: Reading[int] = reading("How often the replay counter rolled over.")
    tx_util_kbps: Reading[int] = reading("PCIe traffic from the GPU.", unit="KB/s")
    rx_util_kbps: Reading[int] = reading("PCIe traffic to the GPU.", unit="KB/s")
    clocks_event_reasons: Reading[tuple[str, ...]] = reading(
        "Why the clocks are not at their maximum: the active ones."
    )
    processes: Reading[tuple[GpuProcess, ...]] = reading("The processes.")
    compute_app_count: Reading[int] = reading("Compute processes, counted by a source that does not list the others.")
    mig_samples: tuple[MigSample, ...] = doc("Its MIG devices.", default=())

    @property
    def compute_process_count(self) -> Reading[int]:
        """How many processes compute: of the list, else as they were counted without one."""
        if self.processes is Missing.ABSENT:
            return self.compute_app_count
        if isinstance(self.processes, Missing):
            return self.processes
        return sum(process.computes for process in self.processes)

"""ECC error counters, retired pages and remapped rows: what the memory of a GPU has been through."""

from __future__ import annotations

import attrs

from gpuinv.inventory._fields import reading, record, wide
from gpuinv.readings import Reading, is_known, sum_readings

__all__ = ["EccCounts", "EccErrors", "EccMode", "EccScope", "RemappedRows", "RetiredPages", "SramSources"]


@attrs.frozen(kw_only=True)
class EccMode:
    """Whether ECC is on, now and after the next reboot."""

    current_ecc: Reading[bool] = reading("Whether ECC is on.")
    pending_ecc: Reading[bool] = reading("Whether ECC will be on after the next reboot.")


@attrs.frozen(kw_only=True)
class EccCounts:
    """Errors of one severity by location. A GPU fills one of three layouts; the other locations are ABSENT.

    Before Turing: `total` and the locations of the die. From Turing on: `sram` and `dram`. From Ampere with R552 on,
    uncorrected SRAM errors come as `sram_parity` and `sram_secded`.
    """

    total: Reading[int] = wide("The tool's own total, which pre-Turing GPUs have.")
    device_memory: Reading[int] = wide("Errors in device memory.")
    register_file: Reading[int] = wide("Errors in register files.")
    l1_cache: Reading[int] = wide("Errors in L1 caches.")
    l2_cache: Reading[int] = wide("Errors in the L2 cache.")
    texture_memory: Reading[int] = wide("Errors in texture memory.")
    texture_shm: Reading[int] = wide("Errors in texture shared memory.")
    cbu: Reading[int] = wide("Errors in the CBU, the convergence barrier unit.")
    sram: Reading[int] = wide("Errors in SRAM.")
    sram_parity: Reading[int] = wide("SRAM errors found by parity.")
    sram_secded: Reading[int] = wide("SRAM errors found by SEC-DED.")
    dram: Reading[int] = wide("Errors in DRAM.")

    @property
    def sum(self) -> Reading[int]:
        """All errors: the tool's total, else what the locations add up to.

        Where the known parts are 0 and a part could not be read, the sum is unknown and says why.
        """
        if is_known(self.total):
            return self.total
        split = () if is_known(self.sram) else (self.sram_parity, self.sram_secded)
        die = (
            self.device_memory,
            self.register_file,
            self.l1_cache,
            self.l2_cache,
            self.texture_memory,
            self.texture_shm,
            self.cbu,
        )
        return sum_readings((self.total, *die, self.sram, *split, self.dram))


@attrs.frozen(kw_only=True)
class EccScope:
    """The counters of one lifetime: since the driver was loaded (volatile) or since the board was made (aggregate)."""

    corrected: EccCounts = record("Corrected errors (single-bit ones on old GPUs).", EccCounts)
    uncorrected: EccCounts = record("Uncorrected errors (double-bit ones on old GPUs).", EccCounts)
    sram_threshold_exceeded: Reading[bool] = reading("Whether SRAM errors passed the threshold for replacement.")

    @property
    def corrected_total(self) -> Reading[int]:
        """All corrected errors."""
        return self.corrected.sum

    @property
    def uncorrected_total(self) -> Reading[int]:
        """All uncorrected errors."""
        return self.uncorrected.sum


@attrs.frozen(kw_only=True)
class SramSources:
    """Where the aggregate uncorrected SRAM errors happened. They repeat the aggregate: never add them to it."""

    sram_l2: Reading[int] = wide("Errors in L2.")
    sram_sm: Reading[int] = wide("Errors in the SMs.")
    sram_microcontroller: Reading[int] = wide("Errors in microcontrollers.")
    sram_pcie: Reading[int] = wide("Errors in the PCIe unit.")
    sram_other: Reading[int] = wide("Errors elsewhere.")


@attrs.frozen(kw_only=True)
class EccErrors:
    """ECC counters and the repair states that newer drivers print beside them."""

    volatile: EccScope = record("Since the driver was loaded or the GPU reset.", EccScope)
    aggregate: EccScope = record("Since the board was made.", EccScope)
    aggregate_uncorrectable_sram_sources: SramSources = record(
        "Where the aggregate uncorrected SRAM errors happened.", SramSources
    )
    channel_repair_pending: Reading[bool] = reading("Whether a memory channel will be repaired at the next reset.")
    tpc_repair_pending: Reading[bool] = reading("Whether a TPC will be repaired at the next reset.")
    unrepairable_memory: Reading[bool] = reading("Whether memory was found that no repair can help.")


@attrs.frozen(kw_only=True)
class RetiredPages:
    """Pages of memory that the driver no longer uses, on GPUs that retire pages."""

    single_bit_retired_count: Reading[int] = wide("Pages retired for repeated single-bit errors.")
    double_bit_retired_count: Reading[int] = wide("Pages retired for a double-bit error.")
    pending_retirement: Reading[bool] = reading("Whether a page will be retired at the next reboot.")


@attrs.frozen(kw_only=True)
class RemappedRows:
    """Rows of memory that spare rows stand in for, on GPUs that remap rows (Ampere and later)."""

    remapped_row_corr: Reading[int] = wide("Rows remapped for corrected errors.")
    remapped_row_unc: Reading[int] = wide("Rows remapped for uncorrected errors.")
    remapped_row_corr_inactive: Reading[int] = wide("Remappings for corrected errors that are not active yet.")
    remapped_row_unc_inactive: Reading[int] = wide("Remappings for uncorrected errors that are not active yet.")
    row_remap_pending: Reading[bool] = reading("Whether a row will be remapped at the next reset.")
    row_remap_failure: Reading[bool] = reading("Whether a remapping ever failed.")

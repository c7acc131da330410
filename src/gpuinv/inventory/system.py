"""The `system` section: what the firmware says of the machine (DMI), and how it boots."""

from __future__ import annotations

import attrs

from gpuinv.inventory._fields import reading
from gpuinv.readings import Reading

__all__ = ["SystemSection"]


@attrs.frozen(kw_only=True)
class SystemSection:
    """The machine. Serials and the product UUID are readable by root only, and NO_PERMISSION otherwise."""

    sys_vendor: Reading[str] = reading("Vendor of the system.")
    product_name: Reading[str] = reading("Product name of the system.")
    product_version: Reading[str] = reading("Version of the product.")
    product_sku: Reading[str] = reading("Stock-keeping unit of the product.")
    product_family: Reading[str] = reading("Family of the product.")
    product_serial: Reading[str] = reading("Serial number of the system.")
    product_uuid: Reading[str] = reading("UUID of the system, lower case, as the kernel gives it.")
    board_vendor: Reading[str] = reading("Vendor of the main board.")
    board_name: Reading[str] = reading("Name of the main board.")
    board_serial: Reading[str] = reading("Serial number of the main board.")
    chassis_vendor: Reading[str] = reading("Vendor of the chassis.")
    chassis_serial: Reading[str] = reading("Serial number of the chassis.")
    bios_vendor: Reading[str] = reading("Vendor of the firmware.")
    bios_version: Reading[str] = reading("Version of the firmware.")
    bios_date: Reading[str] = reading("Date of the firmware, as it states it.")
    boot_mode: Reading[str] = reading("`uefi` or `bios`.")
    secure_boot: Reading[bool] = reading("Whether Secure Boot is on.")
    tpm_version_major: Reading[int] = reading("Major version of the TPM.")

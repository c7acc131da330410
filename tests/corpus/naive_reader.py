"""Read a raw `nvidia-smi -q -x` document with regular expressions only.

The independent oracle of the corpus test: it shares no code, table or name with the real parser, so that
both are wrong in the same way only by coincidence. It is naive on purpose: it never decides whether a document
is well-formed (it reads backslash-escaped quotes too), and reads nothing that the comparison does not need.
"""

import re
from dataclasses import dataclass

# Not values: the word itself is the reason why there is none. `None` is not one of them (a recovery action).
_NO_VALUE = re.compile(
    r"|\[?(?:N/A|ERR!|Not Found|Not Supported|Unknown Error|GPU is lost|Insufficient \w+)\]?"
    r"|Requested functionality has been deprecated",
    re.IGNORECASE,
)
_GPU = re.compile(r"<gpu\s+id\s*=\s*\\?[\"']([^\"'\\>]*)\\?[\"']\s*>(.*?)</gpu\s*>", re.DOTALL)


Sums = tuple[int | None, int | None]  # corrected, uncorrected; None where no part of it is known
Remap = tuple[int | None, int | None, bool | None, bool | None]  # correctable, uncorrectable, pending, failure


@dataclass(frozen=True)
class NaiveGpu:
    """One `<gpu>` block; power values are the number's own text (`500.00`), in watts."""

    bus_id: str
    uuid: str | None
    product_name: str | None
    serial: str | None
    vbios: str | None
    fb_total_mib: int | None
    ecc_volatile: Sums
    ecc_aggregate: Sums
    remap: Remap
    mig_mode: str | None
    mig_devices: tuple[tuple[int | None, int | None], ...]  # (gpu instance, compute instance) of each
    power_limit: str | None
    power_default: str | None
    power_min: str | None
    power_max: str | None
    recovery_action: str | None


def read(document: bytes) -> list[NaiveGpu]:
    """Return the GPUs of the first document in `document`, in its order."""
    text = document.decode("utf-8", "replace").partition("</nvidia_smi_log>")[0]
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = _cut(_cut(text, "supported_clocks"), "processes")
    return [_gpu(found[1], found[2]) for found in _GPU.finditer(text)]


def _gpu(bus_id: str, body: str) -> NaiveGpu:
    migs = re.findall(r"<mig_device>(.*?)</mig_device>", body, re.DOTALL)
    body = _cut(body, "mig_devices")
    ecc = _block(body, "ecc_errors")
    rows = _block(body, "remapped_rows")
    power = _block(body, "gpu_power_readings") or _block(body, "power_readings")
    limits = (_watts(power, tag) for tag in ("current_power_limit", "enforced_power_limit", "power_limit"))
    return NaiveGpu(
        bus_id=bus_id.strip(),
        uuid=_word(body, "uuid"),
        product_name=_word(body, "product_name"),
        serial=_word(body, "serial"),
        vbios=_word(body, "vbios_version"),
        fb_total_mib=_count(_block(body, "fb_memory_usage"), "total", r"\s*MiB"),
        ecc_volatile=_ecc(_block(ecc, "volatile")),
        ecc_aggregate=_ecc(_block(ecc, "aggregate")),
        remap=(
            _count(rows, "remapped_row_corr"),
            _count(rows, "remapped_row_unc"),
            _yes(rows, "remapped_row_pending"),
            _yes(rows, "remapped_row_failure"),
        ),
        mig_mode=_word(_block(body, "mig_mode"), "current_mig"),
        mig_devices=tuple((_count(mig, "gpu_instance_id"), _count(mig, "compute_instance_id")) for mig in migs),
        power_limit=next((limit for limit in limits if limit is not None), None),
        power_default=_watts(power, "default_power_limit"),
        power_min=_watts(power, "min_power_limit"),
        power_max=_watts(power, "max_power_limit"),
        recovery_action=_word(body, "gpu_recovery_action"),
    )


def _ecc(group: str) -> Sums:
    if "<single_bit>" in group or "<double_bit>" in group:
        return _count(_block(group, "single_bit"), "total"), _count(_block(group, "double_bit"), "total")
    sram = [_count(group, "sram_uncorrectable")]
    if sram == [None]:
        sram = [_count(group, "sram_uncorrectable_parity"), _count(group, "sram_uncorrectable_secded")]
    corrected = _sum(_count(group, "sram_correctable"), _count(group, "dram_correctable"))
    return corrected, _sum(*sram, _count(group, "dram_uncorrectable"))


def _sum(*parts: int | None) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _cut(text: str, tag: str) -> str:
    return re.sub(rf"<{tag}>.*?</{tag}>", "", text, flags=re.DOTALL)


def _block(text: str, tag: str) -> str:
    found = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    return found[1] if found else ""


def _word(text: str, tag: str) -> str | None:
    word = _block(text, tag).strip()
    return None if _NO_VALUE.fullmatch(word) else word


def _count(text: str, tag: str, unit: str = "") -> int | None:
    found = re.fullmatch(rf"([0-9]+){unit}", _block(text, tag).strip())
    return int(found[1]) if found else None


def _watts(text: str, tag: str) -> str | None:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*W", _block(text, tag).strip())
    return found[1] if found else None


def _yes(text: str, tag: str) -> bool | None:
    return {"Yes": True, "No": False}.get(_block(text, tag).strip())

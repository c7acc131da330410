"""Which architecture a GPU has: as the driver says, else by its compute capability, else by its name.

Names come from a table of names (`data/architectures.tsv`), then from rules over whole words, which hold for names that
the table does not have yet. A name that neither knows has no architecture: a wrong one is worse.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING

from gpuinv.readings import Missing, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["architecture", "architecture_of_compute_capability", "architecture_of_name"]

_CAPABILITY = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})", re.ASCII)
_CAPABILITIES = (
    (1, 0, "Tesla"),
    (2, 0, "Fermi"),
    (3, 0, "Kepler"),
    (5, 0, "Maxwell"),
    (6, 0, "Pascal"),
    (7, 0, "Volta"),
    (7, 5, "Turing"),
    (8, 0, "Ampere"),
    (8, 9, "Ada Lovelace"),
    (9, 0, "Hopper"),
    (10, 0, "Blackwell"),
    (11, 0, "Blackwell"),
    (12, 0, "Blackwell"),
    (13, 0, "Rubin"),
)
"""Major, the first minor, architecture; a later row of one major wins."""

_SEPARATORS = re.compile(r"[\s()/_-]+")
_BRANDS = ("tesla ", "quadro ", "grid ")
# Read from the top; each is tried on the words of the name in lower case, joined by blanks, without "nvidia".
_RULES = tuple(
    (re.compile(pattern, re.ASCII), name)
    for pattern, name in (
        (r".*\bada generation\b", "Ada Lovelace"),
        (r".*\bblackwell\b", "Blackwell"),
        (r"rtx 6000d\b", "Blackwell"),
        (r"quadro rtx [0-9]{4}\b", "Turing"),
        (r"(?:quadro )?rtx a[0-9]{3,4}h?\b", "Ampere"),
        (r"(?:geforce )?rtx 3050 a\b", "Ada Lovelace"),
        (r"(?:geforce )?rtx 50[5-9]0(?:ti|d)?\b", "Blackwell"),
        (r"(?:geforce )?rtx 40[5-9]0(?:ti|d)?\b", "Ada Lovelace"),
        (r"(?:geforce )?rtx (?:30[5-9]0(?:ti)?|2050)\b", "Ampere"),
        (r"(?:geforce )?rtx 20[6-8]0(?:ti)?\b", "Turing"),
        (r"(?:geforce )?gtx 16[356]0\b", "Turing"),
        (r"(?:geforce )?gtx 10[5-8]0\b", "Pascal"),
        (r"(?:tesla |grid )?(?:b[123]00|gb[23]00|gb10)\b", "Blackwell"),
        (r"(?:tesla |grid )?(?:h20|h[128]00|gh200)\b", "Hopper"),
        (r"(?:tesla |grid )?(?:l2|l4|l20|l40[sg]?)\b", "Ada Lovelace"),
        (r"(?:tesla |grid )?(?:a2|a10[gm]?|a16|a30|a40|a100x?|a30x|a800|ax800)\b", "Ampere"),
        (r"(?:tesla |grid )?(?:t4|t40)\b", "Turing"),
        (r"(?:quadro )?t(?:400e?|500|550|600|1000|1200|2000)\b", "Turing"),
        (r"(?:tesla |grid )?v100s?\b", "Volta"),
        (r"(?:tesla |grid )?(?:p4|p6|p40|p100)\b", "Pascal"),
        (r"quadro p[0-9]{3,4}\b", "Pascal"),
        (r"(?:tesla |grid )(?:m4|m6|m10|m40|m60)\b", "Maxwell"),
        (r"tesla (?:k8|k10|k20[a-z]*|k40[a-z]*|k80)\b", "Kepler"),
    )
)


def architecture(
    product_architecture: Reading[str], compute_capability: Reading[str], product_name: Reading[str]
) -> Reading[str]:
    """The architecture, spelled as nvidia-smi prints it (`Ada Lovelace`), from the first of the three that tells.

    Where none does: the reason of `product_architecture`, or NOT_AVAILABLE where it reads `Unknown`.
    """
    if isinstance(product_architecture, str) and product_architecture not in {"", "Unknown"}:
        return product_architecture
    guess = None
    if isinstance(compute_capability, str):
        guess = architecture_of_compute_capability(compute_capability)
    if guess is None and isinstance(product_name, str):
        guess = architecture_of_name(product_name)
    if guess is not None:
        return guess
    return product_architecture if isinstance(product_architecture, Missing) else Missing.NOT_AVAILABLE


def architecture_of_compute_capability(compute_capability: str) -> str | None:
    """The architecture of a CUDA compute capability (`8.9`); None for one that is not known, or no capability."""
    match = _CAPABILITY.fullmatch(compute_capability.strip())
    if match is None:
        return None
    major, minor = int(match[1]), int(match[2])
    found = [name for row_major, first_minor, name in _CAPABILITIES if row_major == major and first_minor <= minor]
    return found[-1] if found else None


def architecture_of_name(product_name: str) -> str | None:
    """The architecture of a GPU by its name, as a driver of any age prints it (`NVIDIA A100-PCIE-40GB`, `Tesla T4`).

    None for a name that is not known or that two architectures share.
    """
    key = _key(product_name)
    table = _table()
    found = table.get(key) or table.get(_without_brand(key))
    if found is not None:
        return found
    return next((name for pattern, name in _RULES if pattern.match(key)), None)


@cache
def _table() -> Mapping[str, str]:
    """The architectures by key, also without the brand, which old drivers print and new ones do not.

    `Quadro RTX 6000` keeps its brand: it alone tells Turing from the successors that are called `RTX 6000` too.
    """
    exact = dict(_rows())
    short = {_without_brand(key): name for key, name in exact.items() if not key.startswith("quadro rtx ")}
    return MappingProxyType(short | exact)


def _rows() -> list[tuple[str, str]]:
    text = resources.files("gpuinv.naming").joinpath("data", "architectures.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return [(_key(name), architecture_name) for name, architecture_name in rows]


def _key(product_name: str) -> str:
    """The words of a name in lower case, joined by blanks: `-`, `/`, `_` and parentheses separate words too."""
    return " ".join(_SEPARATORS.split(product_name.casefold())).strip().removeprefix("nvidia ")


def _without_brand(key: str) -> str:
    return next((key.removeprefix(brand) for brand in _BRANDS if key.startswith(brand)), key)

from __future__ import annotations

import pytest

from gpuinv.naming import architecture as module
from gpuinv.naming.architecture import (
    architecture,
    architecture_of_compute_capability,
    architecture_of_name,
)
from gpuinv.readings import Missing, Reading

KNOWN = {
    "Fermi",
    "Kepler",
    "Maxwell",
    "Pascal",
    "Volta",
    "Turing",
    "Ampere",
    "Ada Lovelace",
    "Hopper",
    "Blackwell",
}


@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        ("1.3", "Tesla"),
        ("2.1", "Fermi"),
        ("3.7", "Kepler"),
        ("4.0", None),
        ("5.2", "Maxwell"),
        ("6.1", "Pascal"),
        ("7.0", "Volta"),
        ("7.2", "Volta"),
        ("7.5", "Turing"),
        ("8.0", "Ampere"),
        ("8.7", "Ampere"),
        ("8.9", "Ada Lovelace"),
        ("9.0", "Hopper"),
        ("10.0", "Blackwell"),
        ("10.3", "Blackwell"),
        ("11.0", "Blackwell"),
        ("12.1", "Blackwell"),
        ("13.0", "Rubin"),
        ("14.0", None),
        ("9", None),
        ("", None),
        ("nine", None),
    ],
)
def test_compute_capabilities(capability: str, expected: str | None) -> None:
    assert architecture_of_compute_capability(capability) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NVIDIA A100-PCIE-40GB", "Ampere"),
        ("A100-PCIE-40GB", "Ampere"),
        ("nvidia  a100-sxm4-80gb ", "Ampere"),
        ("Tesla T4", "Turing"),
        ("NVIDIA Tesla T4", "Turing"),
        ("T4", "Turing"),
        ("NVIDIA T400 4GB", "Turing"),
        ("T1000", "Turing"),
        ("NVIDIA RTX A6000", "Ampere"),
        ("NVIDIA RTX 6000 Ada Generation", "Ada Lovelace"),
        ("Quadro RTX 6000", "Turing"),
        ("NVIDIA RTX 6000D", "Blackwell"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "Blackwell"),
        ("NVIDIA GeForce RTX 2050", "Ampere"),
        ("NVIDIA GeForce MX570", "Ampere"),
        ("NVIDIA GeForce MX450", "Turing"),
        ("GeForce MX130", "Maxwell"),
        ("GeForce MX350", "Pascal"),
        ("NVIDIA GeForce GTX 1660 Ti", "Turing"),
        ("GeForce GTX 1080 Ti", "Pascal"),
        ("NVIDIA GeForce RTX 3050 A Laptop GPU", "Ada Lovelace"),
        ("NVIDIA GeForce RTX 3050 Laptop GPU", "Ampere"),
        ("NVIDIA GeForce RTX 4090", "Ada Lovelace"),
        ("NVIDIA GeForce RTX 5090", "Blackwell"),
        ("TITAN X (Pascal)", "Pascal"),
        ("GeForce GTX TITAN X", "Maxwell"),
        ("NVIDIA TITAN V", "Volta"),
        ("NVIDIA TITAN RTX", "Turing"),
        ("Tesla V100-SXM2-32GB", "Volta"),
        ("Tesla P100-PCIE-16GB", "Pascal"),
        ("Tesla K80", "Kepler"),
        ("Tesla M2070", "Fermi"),
        ("GRID K520", "Kepler"),
        ("Quadro K2200", "Maxwell"),
        ("Quadro K4000", "Kepler"),
        ("NVIDIA CMP 50HX", "Turing"),
        ("NVIDIA CMP 90HX", "Ampere"),
        ("NVIDIA DGX Display", "Turing"),
        ("NVIDIA PG506-232", "Ampere"),
        ("NVIDIA DRIVE P2021", "Blackwell"),
        ("NVIDIA GeForce GT 1030", "Pascal"),
        ("NVIDIA GH200 480GB", "Hopper"),
        ("NVIDIA GB10", "Blackwell"),
    ],
)
def test_names_of_the_table(name: str, expected: str) -> None:
    assert architecture_of_name(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("GRID A100X-10C", "Ampere"),
        ("NVIDIA A40-48Q", "Ampere"),
        ("GRID P4-1Q", "Pascal"),
        ("GRID V100S-16Q", "Volta"),
        ("GRID T4-16Q", "Turing"),
        ("GRID M60-4Q", "Maxwell"),
        ("NVIDIA L40G", "Ada Lovelace"),
        ("NVIDIA H200 141GB HBM3e", "Hopper"),
        ("NVIDIA GB300 NVL", "Blackwell"),
        ("NVIDIA B300 SXM7", "Blackwell"),
        ("NVIDIA RTX 4200 Ada Generation", "Ada Lovelace"),
        ("NVIDIA RTX PRO 7000 Blackwell", "Blackwell"),
        ("NVIDIA RTX 6000D v2", "Blackwell"),
        ("Quadro RTX 6000 passive", "Turing"),
        ("Quadro RTX A6000", "Ampere"),
        ("NVIDIA RTX A3500", "Ampere"),
        ("NVIDIA GeForce RTX 3050 A", "Ada Lovelace"),
        ("GeForce RTX 5090D", "Blackwell"),
        ("GeForce RTX 4080 SUPER v2", "Ada Lovelace"),
        ("RTX 3080 12GB", "Ampere"),
        ("RTX 2070 SUPER", "Turing"),
        ("GTX 1650 SUPER", "Turing"),
        ("GTX 1070 Ti v2", "Pascal"),
        ("NVIDIA T550", "Turing"),
        ("Quadro P6000 v2", "Pascal"),
        ("Tesla K40x", "Kepler"),
    ],
)
def test_names_by_rule(name: str, expected: str) -> None:
    assert architecture_of_name(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "",
        "NVIDIA",
        "NVIDIA Graphics Device",
        "Graphics Device",
        "NVIDIA RTX 6000",
        "RTX 5000",
        "NVIDIA A1000X",
        "NVIDIA H1000",
        "Tesla T10",
        "GeForce GTX 750 Ti",
        "GeForce GTX 860M",
        "NVIDIA GeForce GT 730",
        "GeForce RTX 6090",
        "Radeon RX 7900",
    ],
)
def test_names_that_nobody_can_tell(name: str) -> None:
    assert architecture_of_name(name) is None


def test_every_row_of_the_table_is_whole_and_names_agree() -> None:
    rows = module._rows()  # noqa: SLF001
    seen: dict[str, str] = {}
    for key, name in rows:
        assert key
        assert name in KNOWN
        assert seen.setdefault(key, name) == name
    assert {name for _, name in rows} == KNOWN


def test_a_name_without_its_brand_means_one_architecture() -> None:
    short: dict[str, set[str]] = {}
    for key, name in module._rows():  # noqa: SLF001
        if not key.startswith("quadro rtx "):
            short.setdefault(module._without_brand(key), set()).add(name)  # noqa: SLF001
    assert [key for key, names in short.items() if len(names) > 1] == []


def test_no_rule_contradicts_the_table() -> None:
    for key, expected in module._rows():  # noqa: SLF001
        by_rule = next((name for pattern, name in module._RULES if pattern.match(key)), expected)  # noqa: SLF001
        assert (key, by_rule) == (key, expected)


@pytest.mark.parametrize(
    ("told", "capability", "name", "expected"),
    [
        ("Hopper", "8.0", "Tesla T4", "Hopper"),
        ("Unknown", "8.9", "Tesla T4", "Ada Lovelace"),
        (Missing.ABSENT, "9.0", "Tesla T4", "Hopper"),
        (Missing.ABSENT, "99.0", "Tesla T4", "Turing"),
        (Missing.ABSENT, Missing.NOT_SUPPORTED, "Tesla T4", "Turing"),
        (Missing.LOST, Missing.ABSENT, "Graphics Device", Missing.LOST),
        (Missing.ABSENT, Missing.ABSENT, Missing.ERROR, Missing.ABSENT),
        ("Unknown", Missing.ABSENT, Missing.ABSENT, Missing.NOT_AVAILABLE),
    ],
)
def test_the_first_that_tells(
    told: Reading[str], capability: Reading[str], name: Reading[str], expected: Reading[str]
) -> None:
    assert architecture(told, capability, name) == expected
